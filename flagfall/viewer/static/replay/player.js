// The position in a replay, and how it moves by itself.

/** Turns a second at speed 1. */
const TURNS_A_SECOND = 10;

/** Speeds that can be chosen; the last entry plays by the recorded times. */
export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64];

/** Longest time that one frame of the page may add, so that a page that was hidden does not leap ahead. */
const LONGEST_FRAME_MS = 250;

/** Position and pace. The view calls `advance` on each frame while `playing` is true. */
export class Player {
  /**
   * @param {Object} store store of the replay
   * @param {function(): void} moved called after each change
   */
  constructor(store, moved) {
    this.store = store;
    this.moved = moved;
    this.turn = store.span[0];
    this.atEnd = false;
    this.playing = false;
    this.speed = 1;
    this.realPace = false;
    this.owed = 0;
    this.last = null;
    this.clock = null;
  }

  /**
   * Go to a turn.
   * @param {number} turn its number; outside of the match the nearest
   * @param {boolean} [atEnd] show the end of the task that ends with the turn
   */
  go(turn, atEnd = false) {
    const [first, last] = this.store.span;
    const next = Math.min(last, Math.max(first, Math.round(turn)));
    if (next === this.turn && atEnd === this.atEnd) return;
    this.turn = next;
    this.atEnd = atEnd;
    this.clock = null;
    this.moved();
  }

  /** Go to the newest state: after the last action of the match if its task has ended. */
  goToEnd() {
    const [, last] = this.store.span;
    this.go(last, this.store.hasEnd(last));
  }

  /**
   * Go on or back by one: a turn, or the end of a task after its last turn.
   * @param {1|-1} direction forwards or backwards
   */
  step(direction) {
    if (direction > 0) {
      if (!this.atEnd && this.store.hasEnd(this.turn)) this.go(this.turn, true);
      else if (this.turn < this.store.span[1]) this.go(this.turn + 1);
    } else if (this.atEnd) this.go(this.turn);
    else if (this.turn > this.store.span[0]) this.go(this.turn - 1, this.store.hasEnd(this.turn - 1));
  }

  /** True where nothing follows. */
  get isOver() {
    return this.turn >= this.store.span[1] && (this.atEnd || !this.store.hasEnd(this.turn));
  }

  /** Start or stop; at the end it starts from the beginning. */
  toggle() {
    if (!this.playing && this.isOver) this.go(this.store.span[0]);
    this.playing = !this.playing;
    this.last = null;
    this.owed = 0;
    this.clock = null;
    this.moved();
  }

  /** Stop. */
  stop() {
    if (this.playing) this.toggle();
  }

  /**
   * Choose a speed.
   * @param {number|"real"} speed a multiple of ten turns a second, or "real" for the recorded times
   */
  setSpeed(speed) {
    this.realPace = speed === "real";
    if (!this.realPace) this.speed = speed;
    this.clock = null;
    this.moved();
  }

  /**
   * Move on by the time since the last frame.
   * @param {number} now time of the frame in milliseconds
   */
  advance(now) {
    const passed = this.last === null ? 0 : Math.min(LONGEST_FRAME_MS, now - this.last);
    this.last = now;
    if (this.realPace) this.followClock(passed);
    else {
      this.owed += (passed / 1000) * TURNS_A_SECOND * this.speed;
      for (; this.owed >= 1 && !this.isOver; this.owed -= 1) this.step(1);
    }
    if (this.isOver) this.stop();
  }

  /** Go to the turn that was played last by the recorded times; wait while its chunk is not there. */
  followClock(passed) {
    const columns = this.store.at(this.turn);
    if (!columns) return;
    const { turn, at_ns: at } = columns.raw;
    const clock = this.clock ?? at[turn.lastIndexOf(this.turn)] ?? 0;
    const next = clock + passed * 1e6;
    let row = turn.lastIndexOf(this.turn);
    while (row + 1 < at.length && at[row + 1] <= next) row += 1;
    const later = this.store.summary.chunks[this.store.chunkOf(this.turn) + 1];
    const isAhead = row + 1 === at.length && later && later.at_ns[0] <= next;
    if (row + 1 === at.length && !later && turn[row] === this.turn) this.goToEnd();
    else this.go(isAhead ? later.first : turn[Math.max(row, 0)]);
    this.clock = next;
  }
}
