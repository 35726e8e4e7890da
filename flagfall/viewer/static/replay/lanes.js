// The lanes over the whole match or part of it: rewards added up, and the think time of each seat against its limits.

import { el, fill, plain } from "../common/dom.js";
import { count, countOf, duration, number } from "../common/format.js";
import { swatch } from "../common/palette.js";
import { svg } from "../common/svg.js";
import { onThemeChange, themeName } from "./canvas.js";
import { drawLane, laneScale } from "./lanedrawing.js";
import { seatTitle, VERDICTS, verdictShape } from "./marks.js";
import { OtherClock } from "./otherclock.js";
import { drawRewards } from "./rewardlane.js";
import { MAX_SHOWN_SEATS } from "./store.js";

/** Fewest turns that a lane shows. */
const CLOSEST = 20;

/** Factor of one step of zooming. */
const ZOOM = 2;

/** Panel with the lane of rewards and a lane for each seat, and a line at the turn that is shown. */
export class LanesPanel {
  /**
   * @param {Object} store store of the replay
   * @param {function(number): void} go called with the turn that was pressed
   */
  constructor(store, go) {
    this.store = store;
    this.go = go;
    this.range = null;
    this.drawn = "";
    this.clock = new OtherClock(store, go, () => this.redraw());
    this.lanes = store.summary.seats.slice(0, MAX_SHOWN_SEATS).map((seat, index) => this.makeLane(seat, index));
    this.rewards = this.makeRewards();
    this.reading = el("span", { class: "muted small number reading" });
    this.title = el("span", { class: "muted small number" });
    this.heading = el("h2");
    this.legend = el("ul", { class: "bare-list legend small muted" });
    this.element = el("section", { class: "panel lanes", "aria-label": "Rewards and think time" },
      el("header", {}, this.heading, this.title, this.reading, this.clock.button, this.zoomButtons()),
      this.clock.element, this.rewards.element, this.lanes.map((lane) => lane.element),
      this.legend, this.clock.words);
    this.endTheme = onThemeChange(() => this.redraw());
  }

  makeLane(seat, index) {
    const canvas = el("canvas", { class: "lane", role: "img", "aria-label": laneLabel(seat) });
    const note = el("span", { class: "muted" }, ` ${laneNote(seat)}`);
    const { summary } = this.store;
    const name = [summary.seats.length > 1 && swatch(index), seatTitle(summary, index), note];
    const row = this.makeRow(name, canvas, (turn) => this.timeOf(turn, index));
    return { canvas, moveHandles: this.clock.makeHandles(row.room), ...row };
  }

  /** Lane of what the seats have been paid. */
  makeRewards() {
    const drawing = svg("svg", { class: "rewards", role: "img" });
    const row = this.makeRow(["Rewards added up"], drawing, (turn) => this.rewardsOf(turn));
    return { drawing, ...row };
  }

  /** Row with a name and something drawn over the turns; `values` returns what is read at a turn. */
  makeRow(name, drawn, values) {
    const head = el("div", { class: "playhead" });
    const room = el("div", { class: "lane-room" }, drawn, head);
    const press = (event) => {
      if (event.buttons & 1) this.go(this.turnAt(event.clientX, room));
      const turn = Math.min(this.store.span[1], this.turnAt(event.clientX, room));
      fill(this.reading, [`turn ${count(turn)}`, ...values(turn)].join(" · "));
    };
    room.addEventListener("pointerdown", (event) => {
      room.setPointerCapture(event.pointerId);
      press(event);
    });
    room.addEventListener("pointermove", press);
    room.addEventListener("pointerleave", () => fill(this.reading));
    return { head, room, element: el("div", { class: "lane-row" }, el("p", { class: "lane-name small" }, name), room) };
  }

  zoomButtons() {
    const button = (text, label, run) =>
      el("button", { type: "button", "aria-label": label, title: label, onclick: run }, text);
    this.whole = button("Whole match", "Show the whole match", () => this.zoom(Infinity));
    return el("span", { class: "zoom" },
      button("−", "Show more turns", () => this.zoom(ZOOM)),
      button("+", "Show fewer turns", () => this.zoom(1 / ZOOM)), this.whole);
  }

  /** First and last turn in view. */
  get view() {
    return this.range ?? this.store.span;
  }

  /**
   * Show more or fewer turns around the one shown.
   * @param {number} factor above 1 for more turns; Infinity for the whole match
   */
  zoom(factor) {
    const [first, last] = this.store.span;
    const width = Math.max(CLOSEST, Math.round((this.view[1] - this.view[0] + 1) * factor));
    this.range = width >= last - first + 1 ? null : this.around(this.turn, width);
    this.redraw();
  }

  /** Range of a width around a turn, inside the match. */
  around(turn, width) {
    const [first, last] = this.store.span;
    const from = Math.max(first, Math.min(turn - (width >> 1), last - width + 1));
    return [from, from + width - 1];
  }

  turnAt(clientX, room) {
    const box = room.getBoundingClientRect();
    const [first, last] = this.view;
    return first + Math.floor(((clientX - box.left) / box.width) * (last - first + 1));
  }

  /** Think time and verdict of a turn. */
  timeOf(turn, seat) {
    const { columns, row } = this.rowOf(turn, seat);
    if (row < 0) return [];
    const verdict = plain(columns.raw.verdict[row], 20);
    const other = this.judgement?.verdict(this.store.chunkOf(turn), row) ?? verdict;
    return [duration(columns.raw.spent_ns[row]), verdict, ...(other === verdict ? [] : [`under another clock ${other}`])];
  }

  /** What a turn's actions earned. */
  rewardsOf(turn) {
    return this.lanes.flatMap((_, seat) => {
      const { columns, row } = this.rowOf(turn, seat);
      const reward = row < 0 ? 0 : columns.raw.reward[row];
      return reward ? [`${this.lanes.length > 1 ? `seat ${seat}: ` : ""}reward ${number(reward, 6)}`] : [];
    });
  }

  rowOf(turn, seat) {
    const columns = this.store.chunks.get(this.store.chunkOf(turn));
    return { columns, row: columns?.row(turn, seat) ?? -1 };
  }

  redraw() {
    this.drawn = "";
    if (this.turn !== undefined) this.draw(this.turn, this.version);
  }

  /**
   * Draw the lanes if they have changed, and move the line to the turn.
   * @param {number} turn number of the turn
   * @param {string} version changes when the data have changed
   */
  draw(turn, version) {
    this.turn = turn;
    this.version = version;
    if (this.range) this.follow(turn);
    const [first, last] = this.view;
    const width = this.lanes[0]?.room.clientWidth ?? 0;
    if (!width) return;
    const key = `${first} ${last} ${width} ${version} ${themeName()} ${this.clock.version}`;
    if (key !== this.drawn) {
      this.drawn = key;
      this.drawLanes(first, last, width);
    }
    const x = ((turn - first + 0.5) / (last - first + 1)) * width;
    for (const lane of [this.rewards, ...this.lanes]) lane.head.style.transform = `translateX(${Math.round(x * 2) / 2}px)`;
  }

  /** Keep the turn in view. */
  follow(turn) {
    const [first, last] = this.range;
    const edge = (last - first) >> 4;
    const width = last - first + 1;
    if (turn < first + edge || turn > last - edge) this.range = this.around(turn, width);
  }

  drawLanes(first, last, width) {
    const scale = laneScale(this.store.summary, this.store);
    this.whole.disabled = this.range === null;
    const turns = last - first + 1;
    this.title.textContent = this.range ? `turns ${count(first)} to ${count(last)}` : countOf(turns, "turn");
    this.rewards.element.hidden = !this.store.summary.chunks.some((chunk) => chunk.rewarded);
    this.heading.textContent = this.rewards.element.hidden ? "Think time" : "Rewards and think time";
    if (!this.rewards.element.hidden) {
      drawRewards(this.rewards.drawing, { store: this.store, seats: this.lanes.length, first, last, width });
    }
    this.judgement = this.clock.draw(scale);
    showLegend(this.legend, this.store.summary, this.judgement);
    const view = { store: this.store, first, last, width, scale, judgement: this.judgement };
    this.lanes.forEach((lane, seat) => {
      drawLane(lane.canvas, { ...view, seat });
      lane.moveHandles();
    });
  }

  close() {
    this.endTheme();
    this.clock.close();
  }
}

/** Short counts of a seat. */
function laneNote(seat) {
  const parts = [];
  if (seat.late) parts.push(`${count(seat.late)} late`);
  if (seat.illegal) parts.push(`${count(seat.illegal)} illegal`);
  if (seat.dropped) parts.push(countOf(seat.dropped, "dropped reply", "dropped replies"));
  if (seat.credit_ns) parts.push(`${duration(seat.credit_ns)} credited`);
  if (seat.disqualified) parts.push(`disqualified: ${plain(seat.disqualified.reason, 40)}`);
  return parts.join(" · ");
}

function laneLabel(seat) {
  return `Think time of ${plain(seat.name, 60)} in ${countOf(seat.turns, "turn")}. ${laneNote(seat)}`;
}

/** Show the meaning of the marks that occur in the match, or under another clock, by word and shape. */
function showLegend(element, summary, judgement) {
  const occurs = {
    late: summary.seats.some((seat) => seat.late),
    overrun: summary.seats.some((seat) => seat.late) && summary.match.limits?.act_abort,
    illegal: summary.seats.some((seat) => seat.illegal),
    disqualified: summary.seats.some((seat) => seat.disqualified),
    absent: summary.seats.some((seat) => seat.disqualified),
    ...Object.fromEntries([...(judgement?.verdicts ?? [])].map((verdict) => [verdict, true])),
  };
  const key = (colour, dashed = false) => {
    const look = dashed ? { "stroke-width": 1.5, "stroke-dasharray": "4 3" } : { "stroke-width": 7 };
    const line = svg("line", { x1: 0, x2: 16, y1: 5, y2: 5, stroke: `var(${colour})`, ...look });
    return svg("svg", { viewBox: "0 0 16 10", width: 16, height: 10, "aria-hidden": "true" }, line);
  };
  const items = [el("li", {}, key("--think"), "think time (logarithmic)"), el("li", {}, key("--late", true), "limit")];
  if (summary.match.limits?.bank) items.push(el("li", {}, key("--think-soft"), "left on the clock"));
  const isCredited = summary.seats.some((seat) => seat.credit_ns);
  if (isCredited) items.push(el("li", {}, key("--credit"), "credited for stalls of the host"));
  for (const [verdict, seen] of Object.entries(occurs)) {
    if (seen) items.push(el("li", { title: VERDICTS[verdict].means }, verdictShape(verdict), verdict));
  }
  fill(element, items);
}
