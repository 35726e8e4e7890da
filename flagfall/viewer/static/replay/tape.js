// Byte tasks as a tape: lines of turns, each with lanes for teacher, learner and reward.

import { el } from "../common/dom.js";
import { sizedContext, themeColours } from "./canvas.js";

const CELL = 13;
const LANE = 18;
const REWARD_LANE = 9;
const GAP = 12;
const LINE = 2 * LANE + REWARD_LANE + GAP;
const MARGIN = 62;
const SILENCE = 32;

/** Text of a byte or bit in its cell. */
function glyphOf(value) {
  if (value === null || value === undefined) return "";
  if (value === 0 || value === 1) return String(value);
  if (value === SILENCE) return "·";
  if (value > SILENCE && value < 127) return String.fromCharCode(value);
  return value < 256 && value > 160 ? String.fromCharCode(value) : "▯";
}

/** Tape of the turns around the one shown. */
export class TapeView {
  constructor() {
    this.canvas = el("canvas", {
      class: "tape",
      role: "img",
      "aria-label": "Tape of the bytes of teacher and learner, and of rewards; the panel of the turn has them as text",
    });
    this.element = el("div", { class: "tape-room" }, this.canvas);
    this.place = { first: 0, cells: 1 };
    this.drawn = "";
  }

  /**
   * Draw the tape.
   * @param {Object} store store of the replay
   * @param {number} turn number of the turn to mark
   * @param {string} version changes when the data or the colours have changed
   */
  draw(store, turn, version) {
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    const cells = Math.max(8, Math.floor((width - MARGIN - 4) / CELL));
    const lines = Math.max(1, Math.floor((height - 4) / LINE));
    const line = Math.floor((turn - store.span[0]) / cells);
    this.pitch = Math.max(LINE, Math.floor((height - 4) / lines));
    const top = this.topLine(line, lines, Math.floor((store.span[1] - store.span[0]) / cells));
    const key = `${width} ${height} ${top} ${turn} ${version}`;
    if (key === this.drawn || width === 0) return;
    this.drawn = key;
    const context = sizedContext(this.canvas, width, height);
    const colours = themeColours(this.canvas);
    this.place = { first: store.span[0] + top * cells, cells };
    for (let row = 0; row < lines; row++) this.drawLine(context, colours, store, turn, row);
  }

  /** First line to show: the marked one stays where it is while it is in view. */
  topLine(line, lines, last) {
    const top = this.top ?? 0;
    const moved = line < top || line >= top + lines ? line - Math.floor(lines / 2) : top;
    this.top = Math.max(0, Math.min(moved, last - lines + 1));
    return this.top;
  }

  drawLine(context, colours, store, marked, row) {
    const { first, cells } = this.place;
    const from = first + row * cells;
    if (from > store.span[1]) return;
    const y = 4 + row * this.pitch;
    this.drawGround(context, colours, from, y, Math.min(cells, store.span[1] - from + 1));
    context.textAlign = "center";
    context.font = `12.5px ${colours.mono}`;
    for (let turn = from; turn < from + cells && turn <= store.span[1]; turn++) {
      const columns = store.at(turn);
      const at = columns?.row(turn, 0) ?? -1;
      const x = MARGIN + (turn - from) * CELL;
      if (turn === marked) drawMark(context, colours, x, y);
      if (at >= 0) drawCell(context, colours, columns.raw, at, x, y);
      if (columns && startsTask(columns, turn)) drawBorder(context, colours, x, y);
    }
  }

  drawGround(context, colours, from, y, cells) {
    context.fillStyle = colours.sunken;
    context.fillRect(MARGIN, y, cells * CELL, LANE);
    context.fillStyle = colours.accentSoft;
    context.fillRect(MARGIN, y + LANE, cells * CELL, LANE);
    context.fillStyle = colours.muted;
    context.font = `10.5px ${colours.sans}`;
    context.textAlign = "left";
    context.fillText("teacher", 2, y + 12.5);
    context.fillText("learner", 2, y + LANE + 12.5);
    context.textAlign = "right";
    context.fillText(from.toLocaleString("en"), MARGIN - 6, y + 2 * LANE + 9);
  }

  /**
   * Turn at a point of the canvas.
   * @param {number} x pixels from its left edge
   * @param {number} y pixels from its top
   * @returns {?number} number of a turn, or null beside the tape
   */
  turnAt(x, y) {
    const cell = Math.floor((x - MARGIN) / CELL);
    if (cell < 0 || cell >= this.place.cells) return null;
    return this.place.first + Math.floor((y - 4) / this.pitch) * this.place.cells + cell;
  }
}

function startsTask(columns, turn) {
  columns.starts ??= new Set(columns.raw.events.filter((one) => one.kind === "start").map((one) => one.turn));
  return columns.starts.has(turn);
}

function drawMark(context, colours, x, y) {
  context.fillStyle = colours.accent;
  context.fillRect(x, y - 3, CELL, 2 * LANE + REWARD_LANE + 5);
  context.fillStyle = colours.surface;
  context.fillRect(x + 1.5, y - 1.5, CELL - 3, 2 * LANE + REWARD_LANE + 2);
}

function drawBorder(context, colours, x, y) {
  context.fillStyle = colours.control;
  context.fillRect(x - 0.5, y - 4, 1, 2 * LANE + REWARD_LANE + 6);
}

function drawCell(context, colours, raw, at, x, y) {
  const [heard, played] = [raw.numbers?.observation?.[at], raw.numbers?.action?.[at]];
  context.fillStyle = heard === SILENCE ? colours.control : colours.text;
  context.fillText(glyphOf(heard), x + CELL / 2, y + 13.5);
  context.fillStyle = played === SILENCE ? colours.control : colours.accent;
  context.fillText(glyphOf(played), x + CELL / 2, y + LANE + 13.5);
  const reward = raw.reward[at];
  if (reward) drawReward(context, colours, reward, x + CELL / 2, y + 2 * LANE + 1.5);
  if (raw.verdict[at] !== "on time") {
    context.fillStyle = raw.verdict[at] === "late" ? colours.lateMark : colours.badMark;
    context.fillRect(x + 1, y + 2 * LANE - 2.5, CELL - 2, 2.5);
  }
}

/** Triangle upwards for a reward, downwards for a punishment. */
function drawReward(context, colours, reward, x, y) {
  context.fillStyle = reward > 0 ? colours.good : colours.badMark;
  const [base, tip] = reward > 0 ? [y + 7, y] : [y, y + 7];
  context.beginPath();
  context.moveTo(x - 4.5, base);
  context.lineTo(x + 4.5, base);
  context.lineTo(x, tip);
  context.fill();
}

