// The list of events: rows for what happened, by kind and text; only the rows in view exist.

import { el, refill, visible } from "../common/dom.js";
import { clockTime, count, number } from "../common/format.js";
import { FilteredRows } from "./filteredrows.js";
import { VERDICTS } from "./marks.js";

const ROW_HEIGHT = 30;

/** Rows beyond the visible ones, so that scrolling shows no gaps. */
const SPARE_ROWS = 6;

/** Highest list in pixels that every browser scrolls; longer ones move by more than a row a pixel. */
const MAX_LIST_HEIGHT = 8_000_000;

/** Longest text of a row, and of one that was opened: that of a chunk, or what an agent printed. */
const MAX_ROW_CHARS = 240;
const MAX_OPEN_CHARS = 20_000;

/** Kinds in the order of their buttons, and the counts of a chunk that add up to their rows. All other kinds of events
 * belong to the last one; the summary lists prints. */
const KINDS = [
  { name: "Late", kinds: ["late", "overrun"], counts: ["late"] },
  { name: "Illegal", kinds: ["illegal"], counts: ["illegal"] },
  { name: "Rewards", kinds: ["reward"], counts: ["rewarded"] },
  { name: "Tasks", kinds: ["start", "end"], counts: ["tasks", "ends"] },
  { name: "Stalls", kinds: ["stall"], counts: ["stalls"] },
  { name: "Dropped", kinds: ["dropped"], counts: ["dropped"] },
  { name: "Prints", kinds: ["print"], counts: [] },
  { name: "Seats and match", kinds: [], counts: ["disqualified", "others"] },
];

/** Name of the button that shows and hides a kind. */
const buttonOf = (kind) => (KINDS.find((row) => row.kinds.includes(kind)) ?? KINDS.at(-1)).name;

const TONES = { stall: "credit", dropped: "late", damaged: "bad" };
const LABELS = { start: "task", end: "task", over: "match" };

/** Rows of a chunk: its events, its turns that were not plain, and what was printed by them, by time. */
function rowsOf({ raw }, seats, prints) {
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
  for (const { seat, turn, text } of prints) {
    const row = raw.turn.findIndex((one) => one >= turn);
    rows.push({ at_ns: raw.at_ns.at(row) ?? 0, turn, seat, kind: "print", text: `${who(seat)}printed by this turn: ${text}` });
  }
  return rows.sort((a, b) => a.at_ns - b.at_ns || a.turn - b.turn);
}

const labelOf = ({ kind }) => LABELS[kind] ?? kind;

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
    this.opened = null;
    this.rows = new FilteredRows(store, {
      name: "Events",
      search: "Filter events by text",
      rows: (columns, k) => rowsOf(columns, store.summary.seats, this.prints(k))
        .filter(({ kind }) => !this.hidden.has(buttonOf(kind))),
      text: (row) => `${labelOf(row)} ${row.text}`,
      recorded: (entry, k) => this.recorded(entry, k, KINDS),
      known: (entry, k, seat) => (seat === null ? this.recorded(entry, k, KINDS.filter((row) => !this.hidden.has(row.name))) : null),
      make: (row, place) => this.makeRow(row, place),
      filtered: () => {
        this.scroller.scrollTop = 0;
        this.opened = null;
        this.redraw();
      },
      counted: () => this.redraw(),
    });
    this.build();
  }

  build() {
    this.list = el("ol", { class: "bare-list event-rows" });
    this.scroller = el("div", { class: "event-list", tabindex: "0", role: "region", "aria-label": "Events" },
      this.rows.nothing, this.list);
    this.scroller.addEventListener("scroll", () => this.later());
    this.kinds = KINDS.map((row) => this.makeKind(row));
    this.element = el("section", { class: "panel events", "aria-label": "List of events" },
      el("header", {}, el("h2", {}, "Events"), this.rows.total),
      el("div", { class: "event-filters" },
        el("div", { class: "kinds", role: "group", "aria-label": "Kinds of events" }, this.kinds),
        el("div", { class: "filter-line" }, this.rows.search, this.rows.seats,
          el("button", { type: "button", class: "small", onclick: () => this.reveal() }, "Show this turn"))),
      this.scroller);
  }

  makeKind({ name }) {
    const button = el("button", { type: "button", class: "kind small", "aria-pressed": "true" }, name);
    button.addEventListener("click", () => {
      const off = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!off));
      off ? this.hidden.add(name) : this.hidden.delete(name);
      this.rows.filter();
    });
    return button;
  }

  /** What was printed by the turns of a chunk; what was printed after the last turn stands at that one. */
  prints(k) {
    const { summary } = this.store;
    if (this.printsOf !== summary) {
      this.printsOf = summary;
      this.printed = summary.chunks.map(() => []);
      summary.seats.forEach(({ printed }, seat) => printed.forEach((part) => {
        const turn = this.store.shownTurn(part);
        this.printed[this.store.chunkOf(turn)].push({ seat, turn, text: part.text });
      }));
    }
    return this.printed[k];
  }

  /** Number of rows of a chunk by the summary, of some kinds. */
  recorded(entry, k, kinds) {
    const prints = kinds.some(({ name }) => name === "Prints") ? this.prints(k).length : 0;
    return kinds.flatMap(({ counts }) => counts).reduce((sum, one) => sum + entry[one], prints);
  }

  later() {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0;
      this.draw(this.turn, this.version);
    });
  }

  redraw() {
    this.drawn = "";
    this.later();
  }

  /**
   * Draw the rows in view.
   * @param {number} turn number of the turn that is shown
   * @param {string} version changes when the data have changed
   */
  draw(turn, version) {
    this.turn = turn;
    this.version = version;
    const { scrollTop, clientHeight, clientWidth } = this.scroller;
    const key = `${scrollTop} ${clientHeight} ${clientWidth} ${version}`;
    if (key !== this.drawn) this.drawRows(scrollTop, clientHeight);
    this.drawn = key;
    if (this.marked !== turn) this.markTurn(turn);
  }

  /** Hide the buttons of kinds that the match has not. */
  drawKinds() {
    const { summary } = this.store;
    if (this.kindsOf === summary) return;
    this.kindsOf = summary;
    this.kinds.forEach((button, i) => {
      button.hidden = !summary.chunks.some((entry, k) => this.recorded(entry, k, [KINDS[i]]));
    });
  }

  drawRows(scrollTop, clientHeight) {
    this.drawKinds();
    const lengths = this.rows.lengths();
    const total = lengths.reduce((sum, one) => sum + one, 0);
    const height = Math.min(total * ROW_HEIGHT, MAX_LIST_HEIGHT);
    const inView = Math.ceil(clientHeight / ROW_HEIGHT);
    const room = Math.max(1, height - clientHeight);
    const isWhole = height < MAX_LIST_HEIGHT;
    const top = isWhole ? Math.floor(scrollTop / ROW_HEIGHT) : Math.round((scrollTop / room) * (total - inView));
    const offset = isWhole ? 0 : scrollTop - top * ROW_HEIGHT;
    const above = SPARE_ROWS + Math.ceil((this.opened?.height ?? 0) / ROW_HEIGHT);
    const from = Math.max(0, top - above);
    const rows = this.rows.elements(lengths, from, Math.min(total, top + inView + SPARE_ROWS));
    refill(this.list, rows);
    for (const row of this.rows.shown.values()) this.markCut(row);
    const opened = this.rows.shown.get(this.opened?.name);
    if (opened) this.opened.height = opened.offsetHeight - ROW_HEIGHT;
    const before = this.opened ? lengths.slice(0, this.opened.k).reduce((sum, one) => sum + one, this.opened.index) : total;
    rows.forEach((row, i) => {
      row.style.top = `${(from + i) * ROW_HEIGHT + offset + (from + i > before ? this.opened.height : 0)}px`;
    });
    this.list.style.height = `${height + (this.opened?.height ?? 0)}px`;
    this.marked = null;
    if (opened && this.opened.isNew) this.showWhole(opened);
  }

  /** Scroll to the end of a row that was opened, or to its beginning where it is higher than the list. */
  showWhole(item) {
    this.opened.isNew = false;
    const end = item.offsetTop + item.offsetHeight - this.scroller.clientHeight;
    this.scroller.scrollTop = Math.min(item.offsetTop, Math.max(this.scroller.scrollTop, end));
  }

  makeRow(row, place) {
    const tone = row.tone ?? VERDICTS[row.kind]?.tone ?? TONES[row.kind] ?? "";
    const button = el("button", { type: "button", class: "bare", onclick: () => this.press(item, row, place) },
      el("span", { class: "number muted event-turn" }, count(row.turn)),
      el("span", { class: "number muted event-time" }, clockTime(row.at_ns)),
      el("span", { class: `tag ${tone}` }, labelOf(row)),
      el("span", { class: "event-text" }, visible(row.text.slice(0, MAX_ROW_CHARS), MAX_ROW_CHARS, { code: true })));
    const item = el("li", { class: "event-row", dataset: { turn: row.turn, chars: row.text.length } }, button);
    if (this.opened?.name === place.name) openRow(item, row);
    return item;
  }

  /** Lead to the turn of a row; open a row whose text is cut, or close it. */
  press(item, row, place) {
    this.go(row.turn);
    if (!item.firstElementChild.hasAttribute("aria-expanded")) return;
    const shown = this.rows.shown.get(this.opened?.name);
    if (shown) closeRow(shown);
    if (shown !== item) openRow(item, row);
    this.opened = shown === item ? null : { ...place, height: 0, isNew: true };
    this.redraw();
  }

  /** Mark whether a row has more text than it shows, so that it can be opened. */
  markCut(item) {
    const [button] = item.children;
    if (item.children.length > 1) return;
    const text = button.lastElementChild;
    const isCut = item.dataset.chars > MAX_ROW_CHARS || text.scrollWidth > text.clientWidth;
    if (isCut) button.setAttribute("aria-expanded", "false");
    else button.removeAttribute("aria-expanded");
  }

  markTurn(turn) {
    this.marked = turn;
    for (const row of this.list.children) row.classList.toggle("current", row.dataset.turn === String(turn));
  }

  /** Scroll to the first row at or after the turn that is shown. */
  async reveal() {
    const index = await this.rows.find(this.turn);
    if (index === null) return;
    const total = this.rows.lengths().reduce((sum, one) => sum + one, 0);
    const height = Math.min(total * ROW_HEIGHT, MAX_LIST_HEIGHT);
    this.scroller.scrollTop = (index / Math.max(1, total)) * height - this.scroller.clientHeight / 3;
    this.marked = null;
    this.later();
  }

  /** Stop counting. */
  close() {
    this.rows.close();
  }
}

/** Show the text of a row in full below it. */
function openRow(item, row) {
  item.append(el("div", { class: "box event-detail mono", tabindex: "0", role: "region", "aria-label": "Text in full" },
    visible(row.text, MAX_OPEN_CHARS, { lines: true })));
  item.classList.add("open");
  item.firstElementChild.setAttribute("aria-expanded", "true");
}

function closeRow(item) {
  item.lastElementChild.remove();
  item.classList.remove("open");
  item.firstElementChild.setAttribute("aria-expanded", "false");
}
