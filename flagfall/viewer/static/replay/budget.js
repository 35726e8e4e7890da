// The limits of turns under a time control, and the verdict of a turn: the arithmetic of `flagfall/timing/budget.py`.

const orNever = (limit) => limit ?? Infinity;

/** Remaining time of one seat under a time control. */
export class Budget {
  /**
   * @param {Object} control durations in nanoseconds by their names in `flagfall.TimeControl`, null for no limit, and
   *   `late`
   */
  constructor(control) {
    this.control = control;
    this.bank = control.bank;
    this.used = 0;
  }

  /** True if the limits never change. */
  get isFlat() {
    return this.control.bank === null && this.control.total === null;
  }

  /**
   * Limits of the next turn in nanoseconds, Infinity for none.
   * @returns {{soft: number, hard: number, abort: number}} times from which it is late, disqualifies, and aborts
   */
  limits() {
    const { act, act_hard: hard, act_abort: abort, late } = this.control;
    const left = this.left();
    const own = this.bank === null ? orNever(act) : (act ?? 0) + this.bank;
    const soft = Math.min(own, orNever(hard), left);
    return { soft, hard: late === "nil" ? Math.min(orNever(hard), left) : soft, abort: orNever(abort) };
  }

  left() {
    const { total, grace } = this.control;
    return total === null ? Infinity : Math.max(0, total + (grace ?? 0) - this.used);
  }

  /**
   * Book the time of the start.
   * @param {number} spent nanoseconds
   */
  chargeStart(spent) {
    this.used += spent;
  }

  /**
   * Book the time of a turn, and add the increment.
   * @param {number} spent nanoseconds
   */
  charge(spent) {
    this.used += spent;
    if (this.bank === null) return;
    const { act, increment } = this.control;
    this.bank = Math.max(0, this.bank - Math.max(0, spent - (act ?? 0))) + (increment ?? 0);
  }
}

/**
 * Judge a turn by the clock; exactly a limit is over it.
 * @param {number} spent time that it took in nanoseconds
 * @param {{soft: number, hard: number, abort: number}} limits its limits
 * @param {boolean} isAbortable the task has an action that aborts its episode
 * @returns {string} the verdict
 */
export function verdictOf(spent, { soft, hard, abort }, isAbortable) {
  if (spent >= hard) return "disqualified";
  if (spent < soft) return "on time";
  if (soft >= hard) return "disqualified";
  if (spent < abort) return "late";
  return isAbortable ? "overrun" : "disqualified";
}
