// The panel of a turn: what each seat saw, did and used, side by side.

import { el, fill, plain, shortName, visible } from "../common/dom.js";
import { countOf, duration, number } from "../common/format.js";
import { partOf, reasonOf } from "./about.js";
import { seatTitle, VERDICTS, verdictShape } from "./marks.js";
import { noteBlocks } from "./notes.js";
import { inOneLine, MAX_SHOWN_SEATS } from "./store.js";

/** Longest observation that is shown at once, about what its box holds, and longest action. */
const MAX_OBSERVATION_CHARS = 700;
const MAX_ACTION_CHARS = 200;

/** Beginning of an observation that is shown while turns pass: laying out text is the largest part of a frame. */
const PASSING_CHARS = 160;

/** Card of one seat. */
class SeatCard {
  constructor(summary, index) {
    this.shown = {};
    this.title = el("h3");
    this.showTitle(summary, index);
    this.verdict = el("span", { class: "tag" });
    this.values = {};
    const row = (name, label, kind = "") => {
      this.values[name] = el("dd", { class: kind });
      return el("div", { class: `row-${name}` }, el("dt", {}, label), this.values[name]);
    };
    this.meter = el("div", { class: "meter", "aria-hidden": "true" },
      el("span", { class: "used" }), el("span", { class: "soft" }));
    this.element = el("article", { class: "seat-card" },
      el("header", {}, this.title, this.verdict),
      this.meter,
      el("dl", {},
        row("time", "Think time", "number"), row("reward", "Reward", "number"),
        row("action", "Action", "mono"), row("refused", "Refused", "mono"), row("answers", "Answers"),
        row("observation", "Observation", "mono box value-box")));
    this.said = el("div", { class: "said", hidden: true });
    this.note = el("div", { class: "box turn-note", tabindex: "0", role: "region", "aria-label": "Note", hidden: true });
    this.element.append(this.said, this.note);
    this.values.observation.tabIndex = 0; // it scrolls
  }

  /** Show a text in a row if it has changed; null hides the row. */
  set(name, key, make) {
    if (this.shown[name] === key) return;
    this.shown[name] = key;
    this.values[name].parentElement.hidden = key === null;
    if (key !== null) fill(this.values[name], make());
  }

  showVerdict(verdict) {
    if (this.shown.verdict === verdict) return;
    this.shown.verdict = verdict;
    this.verdict.className = `tag ${VERDICTS[verdict]?.tone ?? ""}`;
    this.verdict.title = VERDICTS[verdict]?.means ?? "";
    fill(this.verdict, verdictShape(verdict), verdict === null ? "not asked" : plain(verdict, 20));
  }

  /** Show a row of a chunk; `words`: its observation and action as `Store.words` returns them. */
  show(raw, row, words, isPassing) {
    if (row < 0) return this.showNothing();
    this.showVerdict(raw.verdict[row]);
    const time = timeText(raw, row);
    this.set("time", time, () => time);
    this.showMeter(raw.spent_ns[row], raw.soft_ns[row], raw.hard_ns[row]);
    const reward = number(raw.reward[row], 6);
    this.set("reward", reward, () => reward);
    const { text, value } = words.action;
    this.set("action", `${text}\n${value}`, () => [visible(text, MAX_ACTION_CHARS, { lines: true }),
      value !== null && el("span", { class: "muted" }, "  ", shortName(inOneLine(value)))]);
    const refused = raw.refused[row];
    this.set("refused", refused, () => visible(refused, MAX_ACTION_CHARS, { lines: true }));
    this.showObservation(words.observation.text, isPassing);
    const older = raw.answers?.[row] ?? null;
    this.set("answers", older === null ? null : `turn ${older}`, () => `turn ${older}`);
    return undefined;
  }

  /** Show whose card this is. */
  showTitle(summary, index, player = "") {
    if (this.shown.player === player) return;
    this.shown.player = player;
    fill(this.title, seatTitle(summary, index, player));
  }

  showObservation(text, isPassing) {
    const isShort = isPassing && text.length > PASSING_CHARS;
    const make = () => (isShort ? plain(text, PASSING_CHARS) : visible(text, MAX_OBSERVATION_CHARS, { lines: true }));
    this.set("observation", isShort ? `passing ${text.slice(0, PASSING_CHARS)}` : text, make);
  }

  /**
   * Show what the agent printed by a turn, and why it was disqualified in it.
   * @param {Object} seat the seat in the summary
   * @param {Object} store store of the replay
   * @param {number} turn number of the turn
   */
  showSaid(seat, store, turn) {
    const printed = seat.printed.filter((part) => store.shownTurn(part) === turn);
    const reason = seat.disqualified && store.shownTurn(seat.disqualified) === turn ? seat.disqualified : null;
    const key = printed.length || reason ? `${turn} ${printed.length} ${reason !== null}` : null;
    if (this.shown.said === key) return;
    this.shown.said = key;
    this.said.hidden = key === null;
    fill(this.said, reason && reasonOf(reason),
      printed.length > 0 && el("dl", { class: "box printed", tabindex: "0", "aria-label": "Printed" }, printed.map(partOf)));
  }

  /** Show a note; its place stays in turns without one, so that nothing below moves. */
  showNote(note, hasNotes, isPassing) {
    this.note.hidden = !hasNotes;
    const isShort = isPassing && note !== null;
    if (this.shown.note === note && this.shown.isShort === isShort) return;
    Object.assign(this.shown, { note, isShort });
    const most = isShort ? PASSING_CHARS : undefined;
    fill(this.note, note === null ? el("span", { class: "muted small" }, "No note on this turn") : noteBlocks(note, { most }));
  }

  showNothing() {
    this.showVerdict(null);
    for (const name of ["time", "reward", "action", "observation"]) this.set(name, "–", () => "–");
    this.set("refused", null);
    this.set("answers", null);
    this.showMeter(0, null, null);
  }

  /** Bar of the time used, against the hard limit, with a line at the soft one. */
  showMeter(spent, soft, hard) {
    const full = hard ?? soft;
    const key = `${spent} ${soft} ${hard}`;
    if (this.shown.meter === key) return;
    this.shown.meter = key;
    this.meter.classList.toggle("without", full === null || full === undefined);
    if (full === null || full === undefined) return;
    const [used, mark] = this.meter.children;
    used.style.width = `${Math.min(100, (100 * spent) / full)}%`;
    used.className = soft !== null && spent >= soft ? "used over" : "used";
    mark.hidden = soft === null || soft >= full;
    if (!mark.hidden) mark.style.left = `${(100 * soft) / full}%`;
  }
}

/** Time used, limits, credit and bank in a line. */
function timeText(raw, row) {
  const [soft, hard] = [raw.soft_ns[row], raw.hard_ns[row]];
  const hardText = hard === null || hard === soft ? "" : `, hard ${duration(hard)}`;
  const limits = soft === null ? "no limit" : `of ${duration(soft)}${hardText}`;
  const credit = raw.credit_ns[row] ? `; credited ${duration(raw.credit_ns[row])}` : "";
  const bank = raw.bank_ns[row] === null ? "" : `; ${duration(raw.bank_ns[row])} left on the clock`;
  return `${duration(raw.spent_ns[row])} ${limits}${credit}${bank}`;
}

/** Panel with a card for each seat. */
export class TurnPanel {
  /** @param {Object} store store of the replay */
  constructor(store) {
    this.store = store;
    const { seats } = store.summary;
    const shown = seats.slice(0, MAX_SHOWN_SEATS);
    this.title = el("h2", {}, "Turn");
    this.when = el("span", { class: "muted small number" });
    this.cards = shown.map((_, index) => new SeatCard(store.summary, index));
    const hidden = seats.length - shown.length;
    this.element = el("section", { class: "panel turn", "aria-label": "Turn" },
      el("header", {}, this.title, this.when),
      el("div", { class: "seat-cards" }, this.cards.map((card) => card.element)),
      hidden > 0 && el("p", { class: "small muted" }, `${countOf(hidden, "more seat")} in this match`));
  }

  /**
   * Show a turn.
   * @param {number} turn its number
   * @param {boolean} atEnd show that its action has been played
   * @param {boolean} isPassing other turns follow at once: long texts are shown in part
   * @returns {boolean} false while its chunk is not there
   */
  draw(turn, atEnd, isPassing) {
    const columns = this.store.at(turn);
    const isWaiting = !columns || columns.misses(turn);
    this.element.classList.toggle("waiting", isWaiting);
    if (isWaiting) return false;
    this.title.textContent = `${atEnd ? "After turn" : "Turn"} ${turn.toLocaleString("en")}`;
    const players = this.store.players(turn);
    const { summary } = this.store;
    if (this.notesOf !== summary) {
      this.notesOf = summary;
      this.notes = summary.seats.map((_, seat) => summary.chunks.reduce((sum, { notes }) => sum + notes[seat], 0));
    }
    let at = null;
    this.cards.forEach((card, seat) => {
      const row = columns.row(turn, seat);
      if (row >= 0) at = columns.raw.at_ns[row];
      const words = (name) => this.store.words(turn, seat, name);
      card.showTitle(summary, seat, players[seat]);
      card.showSaid(summary.seats[seat], this.store, turn);
      card.showNote(row < 0 ? null : columns.raw.note[row], this.notes[seat] > 0, isPassing);
      card.show(columns.raw, row, { observation: words("observation"), action: words("action") }, isPassing);
    });
    this.when.textContent = at === null ? "" : `at ${duration(at)}`;
    return true;
  }
}
