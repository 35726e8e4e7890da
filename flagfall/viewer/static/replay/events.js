// The list of events: rows for what happened, by kind and text; only the rows in view exist.

import { el, fill, visible } from "../common/dom.js";
import { clockTime, count, number } from "../common/format.js";
import { VERDICTS } from "./verdicts.js";

const ROW_HEIGHT = 30;

/** Rows beyond the visible ones, so that scrolling shows no gaps. */
const SPARE_ROWS = 6;

/** Highest list in pixels that every browser scrolls; longer ones move by more than a row a pixel. */
const MAX_LIST_HEIGHT = 8_000_000;

/** Longest text of a row. */
const MAX_ROW_CHARS = 240;

/** Kinds in the order of their buttons: the counts of a chunk that estimate their rows. All other kinds of events
 * belong to the last one. */
const KINDS = [
  { name: "Late", kinds: ["late", "overrun"], counts: ["late"] },
  { name: "Illegal", kinds: ["illegal"], counts: ["illegal"] },
  { name: "Rewards", kinds: ["reward"], counts: ["rewarded"] },
  { name: "Tasks", kinds: ["start", "end"], counts: ["tasks", "tasks"] },
  { name: "Stalls", kinds: ["stall"], counts: ["stalls"] },
  { name: "Dropped", kinds: ["dropped"], counts: ["dropped"] },
  { name: "Seats and match", kinds: [], counts: ["disqualified"] },
];

/** Name of the button that shows and hides a kind. */
const buttonOf = (kind) => (KINDS.find((row) => row.kinds.includes(kind)) ?? KINDS.at(-1)).name;

const TONES = { stall: "credit", dropped: "late", damaged: "bad" };
const LABELS = { start: "task", end: "task", over: "match" };

/** Rows of a chunk: its events, and its turns that were not plain, by time. */
function rowsOf(columns, seats) {
  if (columns.listed) return columns.listed;
  const { raw } = columns;
  const who = (seat) => (seats.length > 1 ? `Seat ${seat}: ` : "");
  const rows = raw.events.map((event) => ({ ...event }));
  raw.turn.forEach((turn, row) => {
    const verdict = raw.verdict[row];
    const place = { at_ns: raw.at_ns[row], turn, seat: raw.seat[row] };
    if (verdict === "late" || verdict === "overrun" || verdict === "illegal") {
      const refused = raw.refused[row] === null ? "" : `: ${raw.refused[row]}`;
      rows.push({ ...place, kind: verdict, text: `${who(raw.seat[row])}${VERDICTS[verdict].means}${refused}` });
    }
    const reward = raw.reward[row];
    if (!reward) return;
    const text = `${who(raw.seat[row])}reward ${number(reward, 6)}`;
    rows.push({ ...place, kind: "reward", tone: reward < 0 ? "bad" : "good", text });
  });
  columns.listed = rows.sort((a, b) => a.at_ns - b.at_ns || a.turn - b.turn);
  return columns.listed;
}

/** Panel with the list and its filters. */
export class EventsPanel {
  /**
   * @param {Object} store store of the replay
   * @param {function(number): void} go called with the turn of the row that was pressed
   */
  constructor(store, go) {
    this.store = store;
    this.go = go;
    this.hidden = new Set();
    this.wanted = "";
    this.list = el("ol", { class: "event-rows" });
    this.scroller = el("div", { class: "event-list", tabindex: "0", role: "region", "aria-label": "Events" }, this.list);
    this.scroller.addEventListener("scroll", () => this.later());
    this.search = el("input", { type: "search", placeholder: "Filter by text", "aria-label": "Filter events by text" });
    this.search.addEventListener("input", () => this.filter());
    this.total = el("span", { class: "muted small number" });
    this.follow = el("button", { type: "button", class: "small", onclick: () => this.reveal() }, "Show this turn");
    this.element = el("section", { class: "panel events", "aria-label": "List of events" },
      el("header", {}, el("h2", {}, "Events"), this.total),
      el("div", { class: "event-filters" }, this.makeKinds(),
        el("div", { class: "filter-line" }, this.search, this.follow)),
      this.scroller);
  }

  makeKinds() {
    const { chunks } = this.store.summary;
    const sum = (counts) => counts.reduce((all, one) => all + chunks.reduce((n, chunk) => n + (chunk[one] ?? 0), 0), 0);
    const shown = KINDS.filter((row) => row.name === "Seats and match" || sum(row.counts) > 0);
    return el("div", { class: "kinds", role: "group", "aria-label": "Kinds of events" }, shown.map((row) => {
      const button = el("button", { type: "button", class: "kind small", "aria-pressed": "true" }, row.name);
      button.addEventListener("click", () => {
        const off = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!off));
        off ? this.hidden.add(row.name) : this.hidden.delete(row.name);
        this.filter();
      });
      return button;
    }));
  }

  filter() {
    this.wanted = this.search.value.trim().toLowerCase();
    this.scroller.scrollTop = 0;
    this.drawn = "";
    this.later();
  }

  /** Rows of a chunk that pass the filters, or undefined while it is not there. */
  rows(k) {
    const columns = this.store.chunks.get(k);
    if (!columns) return undefined;
    return rowsOf(columns, this.store.summary.seats)
      .filter((row) => !this.hidden.has(buttonOf(row.kind)) && (!this.wanted || row.text.toLowerCase().includes(this.wanted)));
  }

  /** Number of rows of each chunk: exact where it is there, otherwise what the summary counts. */
  lengths() {
    this.known ??= new Map();
    const filterKey = `${[...this.hidden].sort()} ${this.wanted}`;
    if (this.filterKey !== filterKey) this.known.clear();
    this.filterKey = filterKey;
    return this.store.summary.chunks.map((chunk, k) => {
      const exact = this.rows(k)?.length;
      if (exact !== undefined) this.known.set(k, exact);
      return this.known.get(k) ?? this.estimate(chunk);
    });
  }

  estimate(chunk) {
    if (this.wanted) return 1;
    const shown = KINDS.filter((row) => !this.hidden.has(row.name));
    return shown.reduce((sum, row) => sum + row.counts.reduce((n, one) => n + (chunk[one] ?? 0), 0), 0);
  }

  later() {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0;
      this.draw(this.turn, this.version);
    });
  }

  /**
   * Draw the rows in view.
   * @param {number} turn number of the turn that is shown
   * @param {string} version changes when the data have changed
   */
  draw(turn, version) {
    this.turn = turn;
    this.version = version;
    const { scrollTop, clientHeight } = this.scroller;
    const key = `${scrollTop} ${clientHeight} ${version} ${this.filterKey}`;
    if (key !== this.drawn) this.drawRows(scrollTop, clientHeight);
    this.drawn = key;
    if (this.marked !== turn) this.markTurn(turn);
  }

  drawRows(scrollTop, clientHeight) {
    const lengths = this.lengths();
    const total = lengths.reduce((sum, one) => sum + one, 0);
    const height = Math.min(total * ROW_HEIGHT, MAX_LIST_HEIGHT);
    this.list.style.height = `${height}px`;
    this.total.textContent = count(total);
    const visibleRows = Math.ceil(clientHeight / ROW_HEIGHT);
    const room = Math.max(1, height - clientHeight);
    const isWhole = height < MAX_LIST_HEIGHT;
    const top = isWhole ? Math.floor(scrollTop / ROW_HEIGHT) : Math.round((scrollTop / room) * (total - visibleRows));
    const offset = isWhole ? 0 : scrollTop - top * ROW_HEIGHT;
    const from = Math.max(0, top - SPARE_ROWS);
    const nodes = [];
    let start = 0;
    lengths.forEach((length, k) => {
      const [low, high] = [Math.max(from, start), Math.min(top + visibleRows + SPARE_ROWS, start + length)];
      for (let i = low; i < high; i++) nodes.push(this.makeRow(k, i - start, i * ROW_HEIGHT + offset));
      start += length;
    });
    fill(this.list, nodes);
    this.marked = null;
  }

  makeRow(k, index, y) {
    if (!this.rows(k)) this.store.peek(k);
    const row = this.rows(k)?.[index];
    if (!row) return el("li", { class: "event-row muted", style: { top: `${y}px` } }, "…");
    const tone = row.tone ?? VERDICTS[row.kind]?.tone ?? TONES[row.kind] ?? "";
    const button = el("button", { type: "button", onclick: () => this.go(row.turn) },
      el("span", { class: "number muted event-turn" }, count(row.turn)),
      el("span", { class: "number muted event-time" }, clockTime(row.at_ns)),
      el("span", { class: `tag ${tone}` }, LABELS[row.kind] ?? row.kind),
      el("span", { class: "event-text" }, visible(row.text.slice(0, MAX_ROW_CHARS), MAX_ROW_CHARS, { code: true })));
    return el("li", { class: "event-row", style: { top: `${y}px` }, dataset: { turn: row.turn } }, button);
  }

  markTurn(turn) {
    this.marked = turn;
    for (const row of this.list.children) row.classList.toggle("current", row.dataset.turn === String(turn));
  }

  /** Scroll to the first row at or after the turn that is shown. */
  async reveal() {
    const k = this.store.chunkOf(this.turn);
    if (!(await this.store.load(k).catch(() => undefined))) return; // a notice says why
    const lengths = this.lengths();
    const inside = this.rows(k).findIndex((row) => row.turn >= this.turn);
    const index = lengths.slice(0, k).reduce((sum, one) => sum + one, 0) + (inside < 0 ? lengths[k] : inside);
    const total = lengths.reduce((sum, one) => sum + one, 0);
    const height = Math.min(total * ROW_HEIGHT, MAX_LIST_HEIGHT);
    this.scroller.scrollTop = (index / Math.max(1, total)) * height - this.scroller.clientHeight / 3;
    this.marked = null;
    this.later();
  }
}
