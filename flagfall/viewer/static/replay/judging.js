// The recorded turns of a match, judged by the clock under another time control.

import { Budget, verdictOf } from "./budget.js";
import { LATE } from "./marks.js";

/** Verdicts by the number with which they are kept; the last one is of a turn that may have one or another. */
const JUDGED = ["on time", "illegal", "late", "overrun", "disqualified", "absent", "unknown"];
const CODE_OF = Object.fromEntries(JUDGED.map((verdict, code) => [verdict, code]));

/** Time that is longer than any other. */
const VERY_LONG = Number.MAX_VALUE;

/** Grace period for an answer on a host that stalled, see `flagfall/timing/stalls.py`. */
const GRACE_NS = 5e6;

/** Times and verdicts of all turns, a chunk at a time; a long match has a million, of which these alone are kept. */
export class RecordedTimes {
  /**
   * @param {Object} store store of the replay
   * @param {function(): void} changed called when more turns were read
   */
  constructor(store, changed) {
    Object.assign(this, { store, changed });
    this.chunks = [];
    this.run = null;
  }

  /** Read the chunks that were not read yet, or have grown. */
  async read() {
    if (this.run || this.isRead) return;
    const run = {};
    this.run = run;
    let asked = 0; // turns of the chunk when it was asked for: it may grow meanwhile
    const isWanted = (k) => {
      asked = this.store.summary.chunks[k].turns;
      return !this.has(k);
    };
    const take = (columns, k) => {
      if (columns) this.chunks[k] = keptColumns(columns.raw, asked);
      this.changed();
    };
    await this.store.survey(isWanted, take, () => this.run !== run);
    if (this.run === run) this.run = null;
  }

  /** True if a chunk was read as it is now. */
  has(k) {
    return this.chunks[k]?.turns === this.store.summary.chunks[k].turns;
  }

  /** Number of turns that were read. */
  get looked() {
    return this.store.summary.chunks.reduce((sum, { turns }, k) => sum + (this.has(k) ? turns : 0), 0);
  }

  /** True if all turns were read. */
  get isRead() {
    return this.store.summary.chunks.every((_, k) => this.has(k));
  }

  /** Stop reading. */
  close() {
    this.run = null;
  }
}

/** What is kept of a chunk, with the number of its turns. */
function keptColumns(raw, turns) {
  return {
    turns,
    turn: Float64Array.from(raw.turn),
    seat: Uint16Array.from(raw.seat),
    at: Float64Array.from(raw.at_ns),
    spent: Float64Array.from(raw.spent_ns),
    verdict: Uint8Array.from(raw.verdict, (verdict) => CODE_OF[verdict] ?? CODE_OF.absent),
  };
}

/** Time after which an open turn is judged at the latest. */
function judgedAfter({ soft, abort }) {
  return abort === Infinity ? soft : Math.max(soft, abort);
}

/**
 * One seat under another time control, turn by turn: `flagfall/recording/what_if.py`, but that what follows a late turn is
 * unknown here where that would have ended at another time. After the first change of the match every turn is taken to
 * last as long as it did.
 */
class SeatJudge {
  constructor(seat, own, other, abortables) {
    Object.assign(this, { facts: seat, abortables });
    this.wasLate = seat.disqualified?.reason === "late";
    this.own = new Budget(own);
    this.other = new Budget(other);
    for (const budget of [this.own, this.other]) budget.chargeStart(seat.ready_ns ?? 0);
    this.late = { recorded: 0, least: 0, most: 0 };
    this.out = null; // turn for which it is disqualified
    this.perhapsOut = null; // first turn for which it may be
    this.wasOut = null; // turn in which it was disqualified, as the journal has it
    this.ended = 0; // end of its last turn
    this.isBusy = false; // since its last turn was late
    this.isBlind = false; // and ended at another time, or may have reached the hard limit
    this.hasChanged = false; // a verdict of the match has changed
    this.limits = this.other.limits();
    // A turn shorter than this is as it was; where budgets have to be charged there is none.
    this.plain = this.own.isFlat && this.other.isFlat ? shortest(this.limits, this.own.limits()) : -1;
  }

  /** A verdict of the match has changed. */
  change() {
    this.hasChanged = true;
    this.isBlind = false;
  }

  /**
   * Judge the next turn of the seat; `limits` are then those of this turn under the other time control.
   * @param {{turn: number, at: number, spent: number, recorded: string}} row its number, when it ended, its time, and its
   *   recorded verdict
   * @returns {{now: string, verdict: string}} its verdict, which is `late` before the agent has thought up to the hard
   *   limit, and the verdict with what comes of that
   */
  judge({ turn, at, spent, recorded }) {
    const own = this.own.limits();
    this.limits = this.other.limits();
    this.late.recorded += LATE.has(recorded);
    if (recorded === "disqualified") this.wasOut = turn;
    if (recorded === "absent" || this.out !== null) return { now: "absent", verdict: "absent" };
    const range = this.range(at, spent, recorded, own);
    const cap = judgedAfter(this.limits);
    let now = this.verdict(range.map((time) => Math.min(time, cap)));
    let verdict = this.verdict(range);
    if (this.isBlind || this.isAsItWas(recorded, own, now)) now = verdict = this.isBlind ? "unknown" : recorded;
    else if (recorded === "disqualified" && (!this.wasLate || this.isBusy)) now = verdict = "unknown";
    if (!this.hasChanged && now === recorded) verdict = now; // what comes of it shows in the next turn
    this.add(turn, verdict, range);
    this.charge(recorded, spent, now, own);
    this.ended = at;
    this.isBusy = LATE.has(recorded);
    return { now, verdict };
  }

  /** Verdict of a turn by the shortest and the longest time that it takes. */
  verdict(range) {
    const found = new Set(this.abortables.flatMap((can) => range.map((time) => verdictOf(time, this.limits, can))));
    return found.size === 1 ? [...found][0] : "unknown";
  }

  /** Shortest and longest time of a turn: of one over its limit the journal has the beginning alone. */
  range(at, spent, recorded, own) {
    const { soft, hard, abort } = own;
    if (LATE.has(recorded)) {
      if (this.isOpenUpToAnswer(spent, own)) return [spent, spent];
      const least = Math.max(spent, recorded === "late" ? soft : abort);
      return [least, Math.max(least, hard === Infinity ? VERY_LONG : hard - 1)];
    }
    if (recorded === "disqualified") {
      if (this.wasLate) return [Math.min(hard, judgedAfter(own)), VERY_LONG];
      return [0, Math.max(0, Math.min(at - this.ended, judgedAfter(own) - 1, hard - 1))];
    }
    // Beyond its limit an answer was given a grace period, on a host that stalled.
    const limit = Math.min(soft, hard);
    const time = spent - (spent >= limit ? Math.max(GRACE_NS, spent - limit + 1) : 0);
    return [time, time];
  }

  /** Whether a late turn stayed open up to its answer, as with `act_abort`. */
  isOpenUpToAnswer(spent, { soft, abort }) {
    return soft <= spent && spent < abort && abort < Infinity;
  }

  /** Whether the verdict is the recorded one. */
  isAsItWas(recorded, own, now) {
    const isSame = ["soft", "hard", "abort"].every((name) => own[name] === this.limits[name]);
    if (isSame) return true;
    if (recorded === "disqualified") return !this.wasLate && now === "on time";
    return !LATE.has(recorded) && now === "on time"; // such as illegal
  }

  /** Charge a turn. What follows a late one is unknown where that ends at another time, or may have lasted too long. */
  charge(recorded, spent, now, own) {
    const { soft, hard, abort } = this.limits;
    const isOver = now !== "on time" && (LATE.has(recorded) ? soft !== own.soft || abort !== own.abort : LATE.has(now));
    const after = judgedAfter(this.limits);
    this.own.charge(spent);
    this.other.charge(isOver ? Math.min(Math.max(spent, soft), after, VERY_LONG) : spent);
    const isMoved = after !== judgedAfter(own) && !(this.isOpenUpToAnswer(spent, own) && spent < after);
    this.isBlind = !this.hasChanged && LATE.has(recorded) && (isMoved || hard < own.hard);
  }

  add(turn, verdict, range) {
    const [low, high] = range.map((time) => verdictOf(time, this.limits, this.abortables[0]));
    if (verdict === "disqualified") this.out = turn;
    const isUnknown = verdict === "unknown";
    const isLate = LATE.has(isUnknown ? low : verdict);
    this.late.most += isLate || (isUnknown && (this.isBlind || high !== "on time"));
    this.late.least += isLate && this.perhapsOut === null;
    if ((isUnknown || LATE.has(verdict)) && high === "disqualified") this.perhapsOut ??= turn;
  }

  /** Take the end of the turns: a hard limit that came after the last one is known by its event alone. */
  end(last) {
    const { disqualified } = this.facts;
    if (this.out !== null || this.wasOut !== null || this.hasChanged || !this.wasLate || disqualified.turn > last + 1) return;
    this.wasOut = disqualified.turn;
    const [own, other] = [this.own, this.other].map(({ control }) => new Budget(control).limits().hard);
    if (this.isBlind || (this.isBusy && other > own)) this.perhapsOut ??= this.wasOut;
    else this.out = this.wasOut;
  }
}

/** Shortest of the limits of turns. */
function shortest(...limits) {
  return Math.min(...limits.flatMap(({ soft, hard, abort }) => [soft, hard, abort]));
}

/** Verdicts other than on time of a set of codes. */
function verdictsOf(bits) {
  return JUDGED.filter((_, code) => code > 0 && bits & (1 << code));
}

/** The turns of a match under another time control. */
export class Judgement {
  /**
   * Judge all turns that were read.
   * @param {RecordedTimes} times recorded times
   * @param {Object} control the other time control, as `summary.match.limits`
   */
  constructor(times, control) {
    this.control = control;
    const { summary, span: [, last] } = times.store;
    const has = (verdict) => times.chunks.some((chunk) => chunk?.verdict.includes(CODE_OF[verdict]));
    // A task without an action for that has its agents disqualified by `act_abort`.
    const isOut = summary.match.limits.act_abort !== null && has("disqualified")
      && summary.seats.some((seat) => seat.disqualified?.reason === "late");
    const abortables = has("overrun") ? [true] : isOut ? [false] : [true, false];
    this.seats = summary.seats.map((seat) => new SeatJudge(seat, summary.match.limits, control, abortables));
    this.steady = this.seats[0]?.limits; // limits of the first turn
    this.verdicts = new Set(); // verdicts that occur
    this.first = null; // the first turn whose verdict changes or may change
    this.chunks = summary.chunks.map((_, k) => (times.has(k) ? this.judge(times.chunks[k]) : null));
    if (!times.isRead) return;
    for (const [seat, judge] of this.seats.entries()) {
      judge.end(last);
      const recorded = judge.wasOut === null ? "not disqualified" : "disqualified";
      if (judge.perhapsOut !== null) this.first ??= { turn: last, seat, recorded, verdict: "unknown" };
    }
  }

  judge({ turn, seat, at, spent, verdict: recorded }) {
    const size = turn.length;
    const isFlat = this.seats[0].other.isFlat;
    const [soft, hard, bank] = Array.from({ length: 3 }, () => (isFlat ? null : new Float64Array(size)));
    const found = { verdict: new Uint8Array(size), soft, hard, bank, seen: new Uint8Array(this.seats.length) };
    let codes = 0;
    for (let row = 0; row < size; row++) {
      const [judge, was] = [this.seats[seat[row]], recorded[row]];
      let code = was;
      if (was > CODE_OF.illegal || spent[row] >= judge.plain || judge.isBusy || judge.out !== null) {
        const { now, verdict } = judge.judge({ turn: turn[row], at: at[row], spent: spent[row], recorded: JUDGED[was] });
        code = CODE_OF[verdict];
        if (now !== JUDGED[was]) this.change({ turn: turn[row], seat: seat[row], recorded: JUDGED[was], verdict: now });
      } else judge.ended = at[row];
      found.verdict[row] = code;
      found.seen[seat[row]] |= 1 << code;
      codes |= 1 << code;
      if (!isFlat) [soft[row], hard[row], bank[row]] = [judge.limits.soft, judge.limits.hard, judge.other.bank ?? 0];
    }
    for (const verdict of verdictsOf(codes)) this.verdicts.add(verdict);
    return found;
  }

  /** Take a verdict that changes. */
  change(first) {
    if (this.first) return;
    this.first = first;
    for (const seat of this.seats) seat.change();
  }

  /**
   * Columns of a chunk with verdicts, limits and bank under the other time control.
   * @param {number} k number of the chunk
   * @param {Object} raw its columns
   * @returns {Object} columns to draw; without verdicts and limits where the turns were not read yet
   */
  columns(k, raw) {
    const size = raw.turn.length;
    const column = (values, one) => Array.from(values ?? Array(size).fill(one), (value) => (value === Infinity ? null : value));
    const found = this.chunks[k];
    if (found?.verdict.length !== size) return { ...raw, verdict: column(null, "on time"), soft_ns: column(null, null), hard_ns: column(null, null) };
    return {
      ...raw,
      verdict: Array.from(found.verdict, (code) => JUDGED[code]),
      soft_ns: column(found.soft, this.steady.soft),
      hard_ns: column(found.hard, this.steady.hard),
      bank_ns: column(this.control.bank === null ? null : found.bank, null),
    };
  }

  /**
   * Verdict of a row.
   * @param {number} k number of its chunk
   * @param {number} row its place there
   * @returns {string|undefined} undefined where the turns were not read yet
   */
  verdict(k, row) {
    return JUDGED[this.chunks[k]?.verdict[row]];
  }

  /**
   * Verdicts other than on time in a chunk.
   * @param {number} k number of the chunk
   * @param {number} seat number of the seat
   * @returns {string[]} each once
   */
  seen(k, seat) {
    return verdictsOf(this.chunks[k]?.seen[seat] ?? 0);
  }
}
