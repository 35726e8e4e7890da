// Rows of a whole match that pass a filter by text and seat: counted part by part, and made where they are in view.

import { el, plain } from "../common/dom.js";
import { count, countOf, searchable } from "../common/format.js";

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

/** List with its fields for a text and a seat. Where the summary does not tell how many rows of a chunk pass, chunks
 * are read for it one after the other, and not kept. */
export class FilteredRows {
  /**
   * @param {Object} store store of the replay
   * @param {{name: string, search: string, rows: function(Object, number): Array<{turn: number, seat: ?number}>,
   *   text: function(Object): string, recorded: function(Object, number): number,
   *   known: function(Object, number, ?number): ?number, make: function(Object, Object): HTMLElement,
   *   filtered: function(): void, counted: function(): void}} list `name`: what the rows are, as a label; `search`:
   *   label of the field for a text; `rows`: those of a chunk, from its columns and its number; `text`: what is searched
   *   of a row; `recorded`: number of rows of a chunk by its entry in the summary, from that and its number; `known`:
   *   the same of one seat, or null if the summary does not tell it; `make`: element of a row, from it and its place;
   *   `filtered`: called with another filter; `counted`: called as counting goes on
   */
  constructor(store, { name, search, rows, text, recorded, known, make, filtered, counted }) {
    Object.assign(this, { store, rowsIn: rows, textOf: text, recorded, known, make, filtered, counted });
    this.search = el("input", { type: "search", placeholder: search, "aria-label": search, oninput: () => this.filter() });
    this.seats = this.seatChoice(`${name} of`);
    this.total = el("span", { class: "muted small number" });
    this.nothing = el("p", { class: "muted nothing", role: "status" });
    this.restart();
  }

  /** Choice of one seat or all; null where there is one seat. */
  seatChoice(label) {
    const { seats } = this.store.summary;
    if (seats.length < 2) return null;
    const options = seats.map((seat, index) => el("option", { value: index }, `Seat ${index} · ${plain(seat.name, 30)}`));
    return el("select", { class: "seat-choice", "aria-label": label, onchange: () => this.filter() },
      el("option", { value: "" }, "All seats"), options);
  }

  /** Count and make the rows again, as the filter has changed. */
  filter() {
    this.restart();
    this.filtered();
  }

  restart() {
    this.wanted = searchable(this.search.value.trim());
    this.seat = this.seats?.value ? Number(this.seats.value) : null;
    this.numbers = new Map();
    this.held = new WeakMap();
    this.shown = new Map();
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
    const rows = this.rowsIn(columns, k).filter((row) => (this.seat === null || row.seat === this.seat)
      && (!this.wanted || searchable(this.textOf(row)).includes(this.wanted)));
    if (!columns.isStale) this.numbers.set(k, { key: this.keyOf(k), length: rows.length });
    return rows;
  }

  /** Number of rows without a filter. */
  get all() {
    if (this.summary !== this.store.summary) this.grow();
    return this.unfiltered;
  }

  /**
   * Count the rows that pass, and show their number.
   * @returns {number[]} number of rows of each chunk; 0 for one that is still to be read
   */
  lengths() {
    const { all } = this;
    const lengths = this.summary.chunks.map((_, k) => this.lengthOf(k) ?? this.rows(k)?.length ?? 0);
    const found = sum(lengths);
    const looked = this.isCounting ? ` so far; ${count(this.looked)} of ${countOf(this.summary.turns, "turn")} looked at` : "";
    this.total.textContent = `${found === all ? count(all) : `${count(found)} of ${count(all)}`}${looked}`;
    this.nothing.textContent = found || this.isCounting ? "" : "Nothing matches.";
    return lengths;
  }

  /** Number of rows of a chunk as it is now, or null if it has to be read. */
  lengthOf(k) {
    this.rows(k); // counts them
    const number = this.numbers.get(k);
    if (number?.key === this.keyOf(k)) return number.length;
    return this.wanted ? null : this.known(this.summary.chunks[k], k, this.seat);
  }

  /**
   * Elements of rows; those that are shown stay, with what was unfolded.
   * @param {number[]} lengths number of rows of each chunk
   * @param {number} first number of the first row, of all that pass
   * @param {number} end number of the row after the last one
   * @returns {HTMLElement[]}
   */
  elements(lengths, first, end) {
    const places = this.places(lengths, first, end);
    const made = places.map((place) => this.shown.get(place.name) ?? this.element(place));
    this.shown = new Map(places.map(({ name }, i) => [name, made[i]]).filter(([, one]) => one.dataset.turn));
    return made;
  }

  element(place) {
    const row = this.rows(place.k)?.[place.index];
    if (row) return this.make(row, place);
    this.store.peek(place.k);
    return el("li", { class: "muted" }, "…");
  }

  /** Places of rows in their chunks, with names that another row has not, as long as the filter stays. */
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

  /**
   * Find the first row at or after a turn.
   * @param {number} turn number of the turn
   * @returns {Promise<?number>} its number, of all that pass; null if it cannot be read
   */
  async find(turn) {
    const k = this.store.chunkOf(turn);
    if (!(await this.store.load(k).catch(() => undefined))) return null; // a notice says why
    const lengths = this.lengths();
    const inside = this.rows(k).findIndex((row) => row.turn >= turn);
    return sum(lengths.slice(0, k)) + (inside < 0 ? lengths[k] : inside);
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
    this.unfiltered = sum(this.summary.chunks.map(this.recorded));
    this.isCounting = this.summary.chunks.some((_, k) => this.lengthOf(k) === null);
    if (this.isCounting) this.count();
  }

  async count() {
    const run = {};
    this.run = run;
    const take = (columns, k) => {
      if (columns) this.countRows(columns, k);
      this.counted();
    };
    await this.store.survey((k) => this.lengthOf(k) === null, take, () => this.run !== run);
    if (this.run !== run) return;
    this.isCounting = false;
    this.counted();
  }

  /** Turns of the chunks that were counted. */
  get looked() {
    return sum(this.summary.chunks.map(({ turns }, k) => (this.lengthOf(k) === null ? 0 : turns)));
  }

  /** Stop counting. */
  close() {
    this.run = null;
  }
}
