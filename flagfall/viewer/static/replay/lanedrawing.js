// Drawing of one time lane on a canvas.

import { duration } from "../common/format.js";
import { logarithmic } from "../common/svg.js";
import { sizedContext, themeColours } from "./canvas.js";
import { LATE, VERDICTS, WORST_FIRST } from "./marks.js";

/** Heights in pixels: marks at the top, bars below them, and the bank at the bottom. */
const MARKS = 14;
const BARS = 72;
const BANK = 16;

/** Distance of the lines over turns that are unknown under another time control. */
const HATCH = 7;

/** Chunks that are read turn by turn; more of them are drawn from their summary. */
export const MAX_DETAIL_CHUNKS = 8;

/** Space between the centres of two marks. */
const MARK_WIDTH = 7;

/** Shortest time that a lane shows, and the share of the longest one from which on bars are seen. */
const FLOOR_NS = 1000;
const FLOOR_SHARE = 1e-4;

/**
 * Scale of think times, the same for all lanes of a match.
 * @param {Object} summary summary of the match
 * @param {Object} store its store; limits come from the chunks that are there
 * @returns {Function} logarithmic scale from nanoseconds to pixels of a lane
 */
export function laneScale(summary, store) {
  let high = 2 * FLOOR_NS;
  for (const chunk of summary.chunks) high = Math.max(high, ...chunk.max_spent_ns.filter(Number.isFinite));
  const low = Math.max(FLOOR_NS, high * FLOOR_SHARE);
  const { soft, hard } = limitsOf(store);
  const top = 1.6 * Math.max(high, soft ?? 0, hard ?? 0);
  return logarithmic([low, top], [MARKS + BARS, MARKS]);
}

/** Limits of the first turn that is at hand, for lanes that are drawn from summaries. */
function limitsOf(store) {
  const [columns] = store.chunks.map.values();
  const first = (column) => columns?.raw[column].find((value) => value !== null) ?? null;
  return { soft: first("soft_ns"), hard: first("hard_ns") };
}

/**
 * Draw a lane.
 * @param {HTMLCanvasElement} canvas canvas of the lane
 * @param {{store: Object, seat: number, first: number, last: number, width: number, scale: Function,
 *   judgement: ?Object}} lane what to draw: turns from `first` to `last` of a seat, on `width` pixels; `judgement`:
 *   under another time control
 */
export function drawLane(canvas, lane) {
  const { store, first, last, width, scale, judgement } = lane;
  const hasBank = bankOf(store) > 0;
  const height = MARKS + BARS + (hasBank ? BANK + 4 : 0) + 1;
  const context = sizedContext(canvas, width, height);
  const colours = themeColours(canvas);
  const pen = { context, colours, width, perTurn: width / (last - first + 1), scale, bank: hasBank ? bankOf(store) : 0 };
  drawFloor(pen);
  drawGrid(pen);
  const marks = new Map();
  const [from, to] = [store.chunkOf(first), store.chunkOf(last)];
  const inDetail = to - from < MAX_DETAIL_CHUNKS;
  for (let k = from; k <= to; k++) {
    const columns = inDetail ? store.peek(k) : store.chunks.get(k);
    if (columns && inDetail) drawTurns(pen, lane, columns, judgement?.columns(k, columns.raw) ?? columns.raw, marks);
    else drawSummary(pen, lane, k, marks);
  }
  const limits = judgement ? steadyLimits(judgement) : limitsOf(store);
  if (!inDetail) drawSteadyLimits(pen, limits);
  const known = judgement ? drawUnknown(pen, lane) : width;
  nameGrid(pen);
  nameLimits(pen, limits);
  drawMarks(pen, marks, known);
}

/** Limits of the first turn under another time control; null for none. */
function steadyLimits({ steady: { soft, hard } }) {
  const finite = (limit) => (limit === Infinity ? null : limit);
  return { soft: finite(soft), hard: finite(hard) };
}

/** Largest bank in the chunks that are at hand, or 0 where the match has none. */
function bankOf(store) {
  let high = 0;
  for (const columns of store.chunks.map.values()) {
    columns.bank ??= columns.raw.bank_ns.reduce((most, one) => Math.max(most, one ?? 0), 0);
    high = Math.max(high, columns.bank);
  }
  return high;
}

function drawFloor({ context, colours, width }) {
  context.fillStyle = colours.sunken;
  context.fillRect(0, MARKS, width, BARS);
}

/** Powers of ten of the scale with their heights, away from its ends. */
function gridOf(scale) {
  const found = [];
  for (let power = Math.ceil(Math.log10(scale.domain[0])); 10 ** power < scale.domain[1]; power++) {
    const y = Math.round(scale(10 ** power)) + 0.5;
    if (y <= MARKS + BARS - 4 && y >= MARKS + 9) found.push({ power, y });
  }
  return found;
}

function drawGrid({ context, colours, width, scale }) {
  context.fillStyle = colours.line;
  for (const { y } of gridOf(scale)) context.fillRect(0, y, width, 1);
}

/** Values of the scale at its right end: 1 µs, 1 ms and 1 s. */
function nameGrid({ context, colours, width, scale }) {
  context.font = `10px ${colours.sans}`;
  context.textAlign = "right";
  for (const { power, y } of gridOf(scale).filter((one) => one.power % 3 === 0)) {
    const text = duration(10 ** power);
    const wide = context.measureText(text).width + 6;
    context.globalAlpha = 0.85;
    context.fillStyle = colours.surface;
    context.fillRect(width - wide - 1, y - 6, wide, 12);
    context.globalAlpha = 1;
    context.fillStyle = colours.muted;
    context.fillText(text, width - 4, y + 3.5);
  }
}

/** Bars, limits, credits and bank of a chunk; several turns in one pixel show their longest. */
function drawTurns(pen, { seat, first, last }, columns, raw, marks) {
  const { turns } = columns;
  const bars = new Map();
  const isWide = pen.perTurn >= 1;
  for (const turn of turns) {
    const row = turn < first || turn > last ? -1 : columns.row(turn, seat);
    if (row < 0) continue;
    const x = isWide ? (turn - first) * pen.perTurn : Math.floor((turn - first) * pen.perTurn);
    const before = bars.get(x);
    if (!before || raw.spent_ns[before.row] < raw.spent_ns[row]) bars.set(x, { row, x });
    if (raw.verdict[row] !== "on time") mark(marks, x + (isWide ? pen.perTurn / 2 : 0.5), raw.verdict[row]);
  }
  const wide = isWide ? Math.max(1, pen.perTurn - (pen.perTurn >= 4 ? 1 : 0)) : 1;
  for (const { row, x } of bars.values()) drawBar(pen, raw, row, x, wide);
  drawLimits(pen, raw, [...bars.values()], isWide ? pen.perTurn : 1);
}

function drawBar({ context, colours, scale, bank }, raw, row, x, wide) {
  const bottom = MARKS + BARS;
  const y = scale(raw.spent_ns[row]);
  const isOver = raw.soft_ns[row] !== null && raw.spent_ns[row] >= raw.soft_ns[row];
  context.fillStyle = isOver ? colours.lateMark : colours.think;
  context.fillRect(x, y, wide, bottom - y);
  if (raw.credit_ns[row]) {
    const top = scale(raw.spent_ns[row] + raw.credit_ns[row]);
    context.fillStyle = colours.credit;
    context.fillRect(x, Math.min(top, y - 2), Math.max(wide, 1.5), Math.max(2, y - top));
  }
  if (bank && raw.bank_ns[row] !== null) {
    const high = (BANK * raw.bank_ns[row]) / bank;
    context.fillStyle = colours.thinkSoft;
    context.fillRect(x, bottom + 4 + BANK - high, Math.max(wide, 1), high);
  }
}

/** Dashed line at the soft limit, whole line at the hard one, as far as they lie inside the scale. */
function drawLimits({ context, colours, scale }, raw, bars, wide) {
  for (const [column, dash, colour] of [["soft_ns", [4, 3], colours.late], ["hard_ns", [], colours.bad]]) {
    context.strokeStyle = colour;
    context.setLineDash(dash);
    context.beginPath();
    let before = null;
    for (const { row, x } of bars) {
      const limit = raw[column][row];
      const isSame = column === "hard_ns" && limit === raw.soft_ns[row];
      if (limit === null || limit > scale.domain[1] || isSame) continue;
      const y = Math.round(scale(limit)) + 0.5;
      if (before !== y) context.moveTo(x, y);
      context.lineTo(x + wide, y);
      before = y;
    }
    context.stroke();
  }
  context.setLineDash([]);
}

/** Names of the limits at the left end of their lines, beside each other where the lines are close. */
function nameLimits({ context, colours, scale }, { soft, hard }) {
  let [x, above] = [2, -Infinity];
  const limits = [[soft, "limit", colours.late], [hard === soft ? null : hard, "hard limit", colours.bad]];
  for (const [limit, name, colour] of limits) {
    if (limit === null || limit > scale.domain[1]) continue;
    const y = scale(limit);
    if (Math.abs(y - above) > 12) x = 2;
    const wide = nameAt({ context, colours }, `${name} ${duration(limit)}`, x, y, colour);
    [x, above] = [x + wide + 4, y];
  }
}

function drawSteadyLimits(pen, { soft, hard }) {
  const raw = { soft_ns: [soft], hard_ns: [hard] };
  drawLimits(pen, raw, [{ row: 0, x: 0 }], pen.width);
}

/** Chunk that is drawn from its summary: a band up to its longest turn, and its marks. */
function drawSummary(pen, { store, seat, first, last, judgement }, k, marks) {
  const { context, colours, scale, perTurn } = pen;
  const chunk = store.summary.chunks[k];
  const next = chunk.first + chunk.turns;
  const x = Math.floor((Math.max(chunk.first, first) - first) * perTurn);
  const end = Math.ceil((Math.min(next, last + 1) - first) * perTurn);
  const spent = chunk.max_spent_ns[seat];
  const seen = judgement ? judgement.seen(k, seat) : seenIn(chunk, store.summary.seats[seat], seat);
  if (Number.isFinite(spent)) {
    const y = scale(spent);
    context.fillStyle = seen.some((verdict) => LATE.has(verdict)) ? colours.lateMark : colours.think;
    context.fillRect(x, y, Math.max(1, end - x), MARKS + BARS - y);
  }
  for (const verdict of seen) mark(marks, (x + end) / 2, verdict);
}

/** Verdicts that the summary of a chunk tells of. */
function seenIn(chunk, { late, illegal, disqualified: out }, seat) {
  const has = {
    late: (chunk.max_share[seat] ?? 0) >= 1 || (chunk.late > 0 && late > 0),
    illegal: chunk.illegal && illegal,
    disqualified: out && out.turn >= chunk.first && out.turn < chunk.first + chunk.turns,
  };
  return Object.keys(has).filter((verdict) => has[verdict]);
}

/** What comes after the first turn that changes: hatched, and grey from where the seat is disqualified. Returns where it
 * begins. */
function drawUnknown({ context, colours, width, perTurn }, { seat, first, judgement }) {
  const place = (turn) => Math.max(0, (turn + 1 - first) * perTurn);
  const { out } = judgement.seats[seat];
  if (out !== null && place(out) < width) {
    context.globalAlpha = 0.7;
    context.fillStyle = colours.sunken;
    context.fillRect(place(out), MARKS, width, BARS);
    context.globalAlpha = 1;
  }
  const x = judgement.first ? place(judgement.first.turn) : width;
  if (x >= width) return width;
  context.save();
  context.beginPath();
  context.rect(x, MARKS, width - x, BARS);
  context.clip();
  context.strokeStyle = colours.control;
  context.globalAlpha = 0.35;
  context.beginPath();
  for (let at = x - (x % HATCH) - BARS; at < width; at += HATCH) {
    context.moveTo(at, MARKS + BARS);
    context.lineTo(at + BARS, MARKS);
  }
  context.stroke();
  context.restore();
  context.fillStyle = colours.accent;
  context.fillRect(Math.max(0, x - 1), 0, 2, MARKS + BARS);
  nameAt({ context, colours }, "unknown from here", Math.min(x + 4, width - 100), MARKS + BARS - 8, colours.text);
  return x;
}

/** Text on the ground of a lane. */
function nameAt({ context, colours }, text, x, y, colour) {
  context.font = `10px ${colours.sans}`;
  context.textAlign = "left";
  const wide = context.measureText(text).width + 6;
  context.globalAlpha = 0.85;
  context.fillStyle = colours.sunken;
  context.fillRect(x, y - 6, wide, 12);
  context.globalAlpha = 1;
  context.fillStyle = colour;
  context.fillText(text, x + 3, y + 3.5);
  return wide;
}

/** Keep the worst verdict of each place. */
function mark(marks, x, verdict) {
  const place = Math.floor(x / MARK_WIDTH);
  const before = marks.get(place);
  if (!before || WORST_FIRST.indexOf(verdict) < WORST_FIRST.indexOf(before.verdict)) marks.set(place, { x, verdict });
}

function drawMarks({ context, width }, marks, known) {
  const style = getComputedStyle(context.canvas);
  for (const { x, verdict } of marks.values()) {
    const { shape, colour } = VERDICTS[verdict] ?? VERDICTS.absent;
    context.save();
    context.globalAlpha = x > known ? 0.6 : 1;
    context.translate(Math.max(0, Math.min(x - 4, width - 8)), 3);
    context.scale(0.8, 0.8);
    context.fillStyle = style.getPropertyValue(colour);
    context.fill(new Path2D(shape));
    context.restore();
  }
}
