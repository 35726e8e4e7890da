// Under another clock: limits that can be changed, and what becomes of the recorded turns.

import { el, fill } from "../common/dom.js";
import { count, countOf } from "../common/format.js";
import { logarithmic } from "../common/svg.js";
import { Judgement, RecordedTimes } from "./judging.js";
import { seatTitle } from "./marks.js";
import { MAX_SHOWN_SEATS } from "./store.js";

/** Limits that can be changed, by their names in time controls; those of turns are in ascending order. */
const LIMITS = { act: "Limit (act)", act_abort: "Abort (act_abort)", act_hard: "Hard limit (act_hard)", bank: "Bank", increment: "Increment" };
const OF_TURNS = ["act", "act_abort", "act_hard"];

/** Steps of a slider; the last one is no limit. */
const STEPS = 600;

/** How far a slider of a limit of turns reaches beyond the lanes, and that of a bank from its value. */
const BEYOND = 10;
const AROUND_BANK = 100;

const UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };

/** Duration as time controls write it, in the shortest form; `none` for no limit. */
function writtenDuration(ns) {
  if (ns === null) return "none";
  const forms = Object.entries(UNITS).map(([unit, size]) => [String(ns / size), unit, size])
    .filter(([text, , size]) => /^\d+(\.\d+)?$/.test(text) && Math.round(Number(text) * size) === ns);
  return forms.map(([text, unit]) => text + unit).sort((one, other) => one.length - other.length)[0] ?? `${ns}ns`;
}

/** Nanoseconds of a written duration, null for `none`; undefined for what is neither. */
function readDuration(text) {
  if (text === "none") return null;
  const [, digits, unit] = /^(\d{1,15}(?:\.\d{1,13})?)\s*(ns|us|ms|s|m|h)$/.exec(text.replace(/[µμ]/, "u")) ?? [];
  return digits && Math.round(Number(digits) * UNITS[unit]);
}

/** The words of a time control that can be changed here. */
function controlText({ act, act_hard: hard, act_abort: abort, bank, increment }) {
  const after = (sign, value) => (value === null ? "" : sign + writtenDuration(value));
  const words = [
    act === null ? after("act_hard=", hard) : `act=${writtenDuration(act)}${after("/", hard)}`,
    after("act_abort=", abort),
    bank !== null && `bank=${writtenDuration(bank)}${after("+", increment)}`,
  ];
  return words.filter(Boolean).join(" ") || "no limits";
}

/** Duration in three digits. */
function rounded(ns) {
  return Math.round(Number(ns.toPrecision(3)));
}

/** Why the turns cannot be judged again, or an empty text. */
function problemOf({ match, turn_span: [first] }) {
  if (match.tick_ns !== null) return "At real-time pace the tick decides: there is nothing to compute under other limits.";
  const isCharged = match.limits.bank !== null || match.limits.total !== null;
  return first > 0 && isCharged ? "This page holds a part of the match: what was left of the time before it is not known." : "";
}

/** The button and the panel of another time control, and the handles of its limits in the lanes. */
export class OtherClock {
  /**
   * @param {Object} store store of the replay
   * @param {function(number): void} go called with the turn to be shown
   * @param {function(): void} changed called when the lanes have to be drawn again
   */
  constructor(store, go, changed) {
    Object.assign(this, { store, go, changed });
    this.control = this.own;
    this.version = 0; // changes with what is drawn
    this.times = new RecordedTimes(store, () => this.redraw());
    this.button = el("button", { type: "button", class: "small", "aria-expanded": "false", onclick: () => this.toggle() }, "Under another clock");
    this.element = el("div", { class: "other-clock", role: "group", "aria-label": "Under another clock", hidden: true });
    this.words = el("div", { class: "other-clock", hidden: true }); // below the lanes, which have to stay under the pointer
  }

  /** Limits of the match. */
  get own() {
    return this.store.summary.match.limits;
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Show the panel or hide it; without it the lanes are those of the match. */
  toggle() {
    if (this.button.hidden) return;
    this.element.hidden = this.words.hidden = this.isOpen;
    this.button.setAttribute("aria-expanded", String(this.isOpen));
    if (!this.fields) this.build();
    this.reset();
  }

  build() {
    this.problem = problemOf(this.store.summary);
    this.fields = new Map();
    this.counts = el("ul", { class: "bare-list small number" });
    this.change = el("p", { class: "small" });
    const back = el("button", { type: "button", class: "small", onclick: () => this.reset() }, "Limits of the match");
    fill(this.element, this.problem ? el("p", { class: "muted small" }, this.problem)
      : [el("p", { class: "muted small" }, "Drag a limit in the lanes, or set it here: which turns would have been late?"),
        this.names().map((name) => this.makeField(name)), back]);
    fill(this.words, el("div", { role: "status" }, this.counts), this.change);
  }

  /** Limits that can be changed: those that the match had, and the two of every turn. */
  names() {
    const { own } = this;
    return Object.keys(LIMITS).filter((name) => ({ act: true, act_hard: true, increment: own.bank !== null })[name] ?? own[name] !== null);
  }

  makeField(name) {
    const slider = el("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": LIMITS[name] });
    slider.addEventListener("input", () => this.set(name, this.valueAt(name, Number(slider.value))));
    slider.addEventListener("keydown", (event) => /^(Arrow|Home|End|Page)/.test(event.key) && event.stopPropagation());
    const text = el("input", { type: "text", class: "number", size: 8, "aria-label": `${LIMITS[name]} as text`, spellcheck: "false" });
    const problem = el("span", { class: "tag bad", role: "alert", hidden: true }, "write a duration such as 20ms, or none");
    text.addEventListener("change", () => {
      const value = readDuration(text.value.trim());
      problem.hidden = value !== undefined;
      text.setAttribute("aria-invalid", String(value === undefined));
      if (value !== undefined) this.set(name, value);
    });
    this.fields.set(name, { slider, text, problem });
    return el("div", { class: "limit-field" }, el("span", { class: "small" }, LIMITS[name]), slider, text, problem);
  }

  /** Scale of the positions of a slider. */
  scaleOf(name) {
    const own = this.own[name];
    const range = [0, STEPS - 1];
    if (!OF_TURNS.includes(name)) return logarithmic([(own || UNITS.s) / AROUND_BANK, (own || UNITS.s) * AROUND_BANK], range);
    const [low, high] = this.scale.domain;
    return logarithmic([Math.min(low, own || low), BEYOND * Math.max(high, own ?? 0)], range);
  }

  valueAt(name, position) {
    return position === STEPS ? null : rounded(this.scaleOf(name).invert(position));
  }

  /**
   * Change a limit; others of turns move along where they would come in the wrong order.
   * @param {string} name its name
   * @param {?number} value nanoseconds, null for no limit
   */
  set(name, value) {
    const next = { ...this.control, [name]: value };
    const place = OF_TURNS.indexOf(name);
    for (const [at, other] of OF_TURNS.entries()) {
      if (place < 0 || value === null || next[other] === null) continue;
      next[other] = at < place ? Math.min(next[other], value) : Math.max(next[other], value);
    }
    if (name === "increment" && value !== null) next.bank ??= this.own.bank;
    if (next.bank === null) next.increment = null;
    this.control = next;
    this.redraw();
  }

  /** Put the limits of the match back. */
  reset() {
    this.control = this.own;
    for (const { text, problem } of this.fields.values()) {
      problem.hidden = true;
      text.removeAttribute("aria-invalid");
    }
    this.redraw();
  }

  redraw() {
    this.version += 1;
    this.changed();
  }

  /**
   * Judge the turns, and show the counts.
   * @param {Function} scale scale of the lanes
   * @returns {?Judgement} null where the lanes are those of the match
   */
  draw(scale) {
    this.scale = scale;
    this.button.hidden = !this.store.summary.chunks.some((chunk) => chunk.max_spent_ns.some((longest) => longest > 0));
    if (!this.isOpen || this.problem) return null;
    this.times.read();
    const key = `${this.version} ${this.store.summary.turns}`;
    if (this.judged !== key) {
      this.judged = key;
      this.judgement = new Judgement(this.times, this.control);
      this.showLimits();
      this.showCounts();
    }
    return this.judgement;
  }

  showLimits() {
    for (const [name, { slider, text }] of this.fields) {
      const value = this.control[name];
      const position = value === null ? STEPS : Math.round(this.scaleOf(name)(value));
      slider.value = String(Math.min(value === null ? STEPS : STEPS - 1, position));
      slider.setAttribute("aria-valuetext", writtenDuration(value));
      if (document.activeElement !== text) text.value = writtenDuration(value);
    }
  }

  showCounts() {
    const { summary } = this.store;
    const { first, seats, verdicts } = this.judgement;
    const under = controlText(this.control);
    const isMany = seats.length > 1;
    fill(this.counts, seats.slice(0, MAX_SHOWN_SEATS).map((seat, index) =>
      el("li", {}, isMany && [seatTitle(summary, index), ": "], countsText(seat, under))));
    const looked = this.times.isRead ? "" : ` ${count(this.times.looked)} of ${countOf(summary.turns, "turn")} looked at so far.`;
    if (first === null) {
      fill(this.change, "No verdict changes.", looked);
      return;
    }
    const { turn, seat, recorded, verdict } = first;
    const now = verdict === "unknown" ? `${recorded} in the match, not known under these limits` : `${recorded} in the match, ${verdict} under these limits`;
    const link = el("button", { type: "button", class: "bare link", onclick: () => this.go(turn) }, `turn ${count(turn)}`);
    fill(this.change, "The first change is ", link, isMany && ` of seat ${seat}`, `: ${now}. `,
      el("strong", {}, "Everything after it is unknown"), ": the agents would have seen something else. ",
      "Marks and counts after it take each turn to last as long as it did. ",
      verdicts.has("unknown") && "Where the record does not tell a verdict, the mark is a ring, and the count a range.", looked);
  }

  /**
   * Make the handles of the limits in a lane.
   * @param {HTMLElement} room the lane
   * @returns {function(): void} moves the handles to the limits
   */
  makeHandles(room) {
    const handles = ["act", "act_hard"].map((name) => {
      const move = (event) => {
        event.stopPropagation();
        const [bottom, top] = this.scale.range;
        const y = event.clientY - room.getBoundingClientRect().top;
        if (event.buttons & 1) this.set(name, rounded(this.scale.invert(Math.max(top, Math.min(bottom, y)))));
      };
      const handle = el("div", { class: "limit-handle", dataset: { limit: name }, "aria-hidden": "true" }, el("span"));
      handle.addEventListener("pointerdown", (event) => {
        event.stopPropagation();
        handle.setPointerCapture(event.pointerId);
      });
      handle.addEventListener("pointermove", move);
      room.append(handle);
      return [name, handle];
    });
    return () => {
      const { bank, total } = this.control;
      for (const [name, handle] of handles) {
        const value = this.control[name];
        handle.hidden = !this.isOpen || this.problem !== "" || value === null || bank !== null || total !== null;
        if (!handle.hidden) handle.style.top = `${Math.max(this.scale.range[1], Math.min(this.scale.range[0], this.scale(value)))}px`;
      }
    };
  }

  close() {
    this.times.close();
  }
}

/** Late turns of a seat in the match and under other limits, and when it is disqualified. */
function countsText({ late: { recorded, least, most }, out, perhapsOut, wasOut }, under) {
  const range = least === most ? count(most) : `${count(least)} to ${count(most)}`;
  const parts = [`late: ${count(recorded)} recorded, ${range} under ${under}`];
  if (wasOut !== null) parts.push(`disqualified in turn ${count(wasOut)} as recorded`);
  if (perhapsOut !== null) parts.push(`perhaps disqualified for turn ${count(perhapsOut)}, or a later one`);
  if (out !== null && out !== wasOut) parts.push(`disqualified for turn ${count(out)}`);
  return parts.join("; ");
}
