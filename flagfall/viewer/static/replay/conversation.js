// The conversation: what agents noted on their turns, to read down, page by page.

import { el, plain, refill } from "../common/dom.js";
import { clockTime, count } from "../common/format.js";
import { FilteredRows } from "./filteredrows.js";
import { icon, seatTitle } from "./marks.js";
import { noteBlocks, noteText } from "./notes.js";

const NOTES_A_PAGE = 20;

/** Rows of a chunk that have a note. */
function notesIn({ raw }) {
  return raw.turn.map((turn, row) => ({ turn, seat: raw.seat[row], at_ns: raw.at_ns[row], note: raw.note[row] }))
    .filter(({ note }) => note !== null);
}

/** Number of notes of a chunk, of all seats. */
function recordedNotes({ notes }) {
  return notes.reduce((sum, one) => sum + one, 0);
}

/** Panel with the notes; it is hidden while the match has none. */
export class ConversationPanel {
  /**
   * @param {Object} store store of the replay
   * @param {function(number): void} go called with the turn of a note that was pressed
   */
  constructor(store, go) {
    this.store = store;
    this.go = go;
    this.page = 0;
    this.rows = new FilteredRows(store, {
      name: "Notes",
      search: "Search in all notes",
      rows: notesIn,
      text: ({ note }) => noteText(note),
      recorded: recordedNotes,
      known: (entry, _, seat) => (seat === null ? recordedNotes(entry) : entry.notes[seat]),
      make: (row) => this.makeEntry(row),
      filtered: () => this.show(0),
      counted: () => this.redraw(),
    });
    this.build();
  }

  build() {
    this.place = el("span", { class: "small number" });
    this.list = el("ol", { class: "bare-list conversation-list", tabindex: "0", "aria-label": "Notes" });
    const turnOver = (name, label, step) => el("button", {
      type: "button", class: "icon", "aria-label": label, title: label, onclick: () => this.show(this.page + step),
    }, icon(name));
    this.back = turnOver("back", "Earlier notes", -1);
    this.next = turnOver("next", "Later notes", 1);
    this.element = el("section", { class: "panel conversation", "aria-label": "Conversation" },
      el("header", {}, el("h2", {}, "Conversation"), this.rows.total),
      el("div", { class: "filter-line" }, this.rows.search, this.rows.seats,
        el("button", { type: "button", class: "small", onclick: () => this.reveal() }, "Show this turn"),
        el("span", { class: "pager" }, this.back, this.place, this.next)),
      this.list, this.rows.nothing);
  }

  /** Show a page. */
  show(page) {
    this.page = page;
    this.list.scrollTop = 0;
    this.redraw();
  }

  redraw() {
    this.drawn = "";
    this.draw(this.turn, this.version);
  }

  /**
   * Draw the page of notes, and mark those of a turn.
   * @param {number} turn number of the turn that is shown
   * @param {string} version changes when the data have changed
   */
  draw(turn, version) {
    this.element.hidden = this.rows.all === 0;
    const isNew = this.turn !== turn;
    [this.turn, this.version] = [turn, version];
    if (!this.element.hidden && this.drawn !== version) this.drawPage();
    else if (isNew) this.markTurn();
    this.drawn = version;
  }

  drawPage() {
    const lengths = this.rows.lengths();
    const found = lengths.reduce((sum, one) => sum + one, 0);
    const pages = Math.max(1, Math.ceil(found / NOTES_A_PAGE));
    this.page = Math.max(0, Math.min(this.page, pages - 1));
    const first = this.page * NOTES_A_PAGE;
    const last = Math.min(found, first + NOTES_A_PAGE);
    this.place.textContent = found ? `${count(first + 1)} to ${count(last)}` : "";
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    refill(this.list, this.rows.elements(lengths, first, last));
    this.markTurn();
  }

  makeEntry({ turn, seat, at_ns: at, note }) {
    const { summary } = this.store;
    return el("li", { dataset: { turn } },
      el("header", {},
        el("button", { type: "button", class: "bare link", onclick: () => this.go(turn) }, `Turn ${count(turn)}`),
        summary.seats.length > 1 && el("span", {}, seatTitle(summary, seat)), el("span", { class: "muted small number" }, plain(clockTime(at)))),
      noteBlocks(note, { wanted: this.rows.wanted }));
  }

  markTurn() {
    for (const entry of this.list.children) {
      const isShown = entry.dataset.turn === String(this.turn);
      entry.classList.toggle("current", isShown);
      if (isShown) entry.setAttribute("aria-current", "true");
      else entry.removeAttribute("aria-current");
    }
  }

  /** Show the first note at or after the turn that is shown. */
  async reveal() {
    const index = await this.rows.find(this.turn);
    if (index === null) return;
    this.show(Math.floor(index / NOTES_A_PAGE));
    const entry = this.list.children[index % NOTES_A_PAGE];
    if (entry) this.list.scrollTop = entry.offsetTop;
  }

  /** Stop counting. */
  close() {
    this.rows.close();
  }
}
