// Filters over a whole match: how many rows pass one, counted part by part, and a choice of the seat.

import { el, plain } from "../common/dom.js";
import { count, countOf } from "../common/format.js";

/** Time until a part that could not be read is tried again. */
const UNREAD_MS = 5000;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** The number of rows of each chunk that pass a filter. Where the summary does not tell it, chunks are read for it one
 * after the other, and not kept. */
export class FilterCounts {
  /**
   * @param {Object} store store of the replay
   * @param {{rows: function(Object, number): Array, known: function(Object, number): ?number,
   *   changed: function(): void}} filter `rows`: rows of a chunk that pass, from its columns and its number; `known`:
   *   their number by the chunk's entry in the summary, or null; `changed`: called as counting goes on
   */
  constructor(store, { rows, known, changed }) {
    Object.assign(this, { store, known, changed, makeRows: rows });
    this.restart();
  }

  /** Count again, as the filter has changed. */
  restart() {
    this.counted = new Map();
    this.held = new WeakMap();
    this.summary = null;
    this.run = null;
  }

  /** Rows of a chunk that pass; undefined while the chunk is not there. */
  rows(k) {
    const columns = this.store.chunks.map.get(k);
    if (!columns) return undefined;
    if (!this.held.has(columns)) this.held.set(columns, this.countRows(columns, k));
    return this.held.get(columns);
  }

  countRows(columns, k) {
    const rows = this.makeRows(columns, k);
    if (!columns.isStale) this.counted.set(k, { key: this.keyOf(k), length: rows.length });
    return rows;
  }

  /** Number of rows of each chunk; 0 for one that is still to be read. */
  lengths() {
    if (this.summary !== this.store.summary) this.grow();
    return this.summary.chunks.map((_, k) => this.lengthOf(k) ?? this.rows(k)?.length ?? 0);
  }

  /** Number of rows of a chunk as it is now, or null if it has to be read. */
  lengthOf(k) {
    this.rows(k); // counts them
    const counted = this.counted.get(k);
    return counted?.key === this.keyOf(k) ? counted.length : this.known(this.summary.chunks[k], k);
  }

  /**
   * Places of rows in their chunks.
   * @param {number[]} lengths number of rows of each chunk
   * @param {number} first number of the first row, of all that pass
   * @param {number} end number of the row after the last one
   * @returns {Array<{k: number, index: number, name: string}>} number of the chunk, place among its rows that pass, and
   *   a name that another row has not, as long as the filter stays
   */
  places(lengths, first, end) {
    const found = [];
    let start = 0;
    lengths.forEach((length, k) => {
      const from = Math.max(first, start);
      const to = Math.min(end, start + length);
      const isStale = this.store.chunks.map.get(k)?.isStale ?? false;
      for (let i = from; i < to; i++) found.push({ k, index: i - start, name: `${k} ${i - start} ${this.keyOf(k)} ${isStale}` });
      start += length;
    });
    return found;
  }

  /** What is recorded of a chunk so far; what agents printed comes with the end of the match. */
  keyOf(k) {
    const { turns, rewarded } = this.summary.chunks[k];
    return `${turns} ${rewarded} ${this.summary.over !== null}`;
  }

  /** Take a summary that has grown, and count what is new. */
  grow() {
    this.summary = this.store.summary;
    this.held = new WeakMap();
    this.isCounting = this.summary.chunks.some((_, k) => this.lengthOf(k) === null);
    if (this.isCounting) this.count();
  }

  async count() {
    const run = {};
    this.run = run;
    for (let k = 0; k < this.summary.chunks.length; k++) {
      if (this.lengthOf(k) !== null) continue;
      const columns = await this.store.look(k).catch(() => null); // a notice says why
      if (this.run !== run) return;
      if (columns === null) k -= 1;
      else this.countRows(columns, k);
      this.changed();
      await pause(columns === null ? UNREAD_MS : 0); // the page draws meanwhile
      if (this.run !== run) return;
    }
    this.isCounting = false;
    this.changed();
  }

  /** Turns of the chunks that were counted. */
  get looked() {
    return this.summary.chunks.reduce((sum, { turns }, k) => sum + (this.lengthOf(k) === null ? 0 : turns), 0);
  }

  /** Stop counting. */
  close() {
    this.run = null;
  }

  /**
   * The number of rows that pass, in words.
   * @param {number} found rows that pass so far
   * @param {number} all rows without a filter
   * @returns {string} it says how much was looked at, as long as that is not everything
   */
  text(found, all) {
    const looked = this.isCounting ? ` so far; ${count(this.looked)} of ${countOf(this.summary.turns, "turn")} looked at` : "";
    return `${found === all ? count(all) : `${count(found)} of ${count(all)}`}${looked}`;
  }
}

/**
 * Choice of one seat or all.
 * @param {Array<Object>} seats seats of the summary
 * @param {string} label what is filtered, for screen readers
 * @param {function(?number): void} choose called with the number of the seat, or null for all
 * @returns {?HTMLElement} null where there is one seat
 */
export function seatChoice(seats, label, choose) {
  if (seats.length < 2) return null;
  const options = seats.map((seat, index) => el("option", { value: index }, `Seat ${index} · ${plain(seat.name, 30)}`));
  const select = el("select", { class: "seat-choice", "aria-label": label }, el("option", { value: "" }, "All seats"), options);
  select.addEventListener("change", () => choose(select.value === "" ? null : Number(select.value)));
  return select;
}
