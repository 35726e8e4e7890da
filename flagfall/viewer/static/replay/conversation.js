// The conversation: what agents noted on their turns, to read down, page by page.

import { el, plain, refill, shortName } from "../common/dom.js";
import { clockTime, count, searchable } from "../common/format.js";
import { FilterCounts, seatChoice } from "./filters.js";
import { icon } from "./icons.js";
import { noteBlocks, noteText } from "./notes.js";

const NOTES_A_PAGE = 20;

/** Number of notes of a chunk, of one seat or all. */
function notesOf({ notes }, seat) {
  return seat === null ? notes.reduce((sum, one) => sum + one, 0) : notes[seat];
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
    this.seat = null;
    this.wanted = "";
    this.page = 0;
    this.entriesShown = new Map();
    this.counts = new FilterCounts(store, {
      rows: ({ raw }) => raw.turn.map((_, row) => row).filter((row) => this.passes(raw, row)),
      known: (entry) => (this.wanted ? null : notesOf(entry, this.seat)),
      changed: () => this.redraw(),
    });
    this.build();
  }

  build() {
    this.search = el("input", { type: "search", placeholder: "Search in all notes", "aria-label": "Search in all notes" });
    this.search.addEventListener("input", () => this.filter());
    const seats = seatChoice(this.store.summary.seats, "Notes of", (seat) => {
      this.seat = seat;
      this.filter();
    });
    this.total = el("span", { class: "muted small number" });
    this.place = el("span", { class: "small number" });
    this.list = el("ol", { class: "conversation-list", tabindex: "0", "aria-label": "Notes" });
    this.nothing = el("p", { class: "muted nothing", role: "status" });
    const turnOver = (name, label, step) => el("button", {
      type: "button", class: "icon", "aria-label": label, title: label, onclick: () => this.show(this.page + step),
    }, icon(name));
    this.back = turnOver("back", "Earlier notes", -1);
    this.next = turnOver("next", "Later notes", 1);
    this.element = el("section", { class: "panel conversation", "aria-label": "Conversation" },
      el("header", {}, el("h2", {}, "Conversation"), this.total),
      el("div", { class: "filter-line" }, this.search, seats,
        el("button", { type: "button", class: "small", onclick: () => this.reveal() }, "Show this turn"),
        el("span", { class: "pager" }, this.back, this.place, this.next)),
      this.list, this.nothing);
  }

  passes(raw, row) {
    const note = raw.note[row];
    if (note === null || (this.seat !== null && raw.seat[row] !== this.seat)) return false;
    return !this.wanted || searchable(noteText(note)).includes(this.wanted);
  }

  filter() {
    this.wanted = searchable(this.search.value.trim());
    this.counts.restart();
    this.entriesShown.clear();
    this.show(0);
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
    const all = this.store.summary.chunks.reduce((sum, entry) => sum + notesOf(entry, null), 0);
    this.element.hidden = all === 0;
    const isNew = this.turn !== turn;
    [this.turn, this.version] = [turn, version];
    if (all && this.drawn !== version) this.drawPage(all);
    else if (isNew) this.markTurn();
    this.drawn = version;
  }

  drawPage(all) {
    const lengths = this.counts.lengths();
    const found = lengths.reduce((sum, one) => sum + one, 0);
    const pages = Math.max(1, Math.ceil(found / NOTES_A_PAGE));
    this.page = Math.max(0, Math.min(this.page, pages - 1));
    const first = this.page * NOTES_A_PAGE;
    const last = Math.min(found, first + NOTES_A_PAGE);
    this.total.textContent = this.counts.text(found, all);
    this.place.textContent = found ? `${count(first + 1)} to ${count(last)}` : "";
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    this.nothing.textContent = found || this.counts.isCounting ? "" : "Nothing matches.";
    const shown = this.entries(lengths, first, last);
    this.entriesShown = new Map(shown.filter(([, entry]) => entry.dataset.turn !== undefined));
    refill(this.list, shown.map(([, entry]) => entry));
    this.markTurn();
  }

  /** Entries from one place among the notes to another, with names; those that are shown stay, with what was unfolded. */
  entries(lengths, first, last) {
    return this.counts.places(lengths, first, last).map(({ k, index, name }) => {
      const shown = this.entriesShown.get(name);
      if (shown) return [name, shown];
      const row = this.counts.rows(k)?.[index];
      if (row !== undefined) return [name, this.makeEntry(this.store.chunks.map.get(k), row)];
      this.store.peek(k);
      return [name, el("li", { class: "muted" }, "…")];
    });
  }

  makeEntry({ raw }, row) {
    const [turn, seat] = [raw.turn[row], raw.seat[row]];
    const { seats } = this.store.summary;
    const who = seats.length > 1 ? [`Seat ${seat} · `, shortName(seats[seat].name)] : null;
    return el("li", { dataset: { turn } },
      el("header", {},
        el("button", { type: "button", class: "link", onclick: () => this.go(turn) }, `Turn ${count(turn)}`),
        who && el("span", {}, who), el("span", { class: "muted small number" }, plain(clockTime(raw.at_ns[row])))),
      noteBlocks(raw.note[row], { wanted: this.wanted }));
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
    const k = this.store.chunkOf(this.turn);
    const columns = await this.store.load(k).catch(() => undefined); // a notice says why
    if (!columns) return;
    const lengths = this.counts.lengths();
    const inside = this.counts.rows(k).findIndex((row) => columns.raw.turn[row] >= this.turn);
    const index = lengths.slice(0, k).reduce((sum, one) => sum + one, 0) + (inside < 0 ? lengths[k] : inside);
    this.show(Math.floor(index / NOTES_A_PAGE));
    const entry = this.list.children[index % NOTES_A_PAGE];
    if (entry) this.list.scrollTop = entry.offsetTop;
  }

  /** Stop counting. */
  close() {
    this.counts.close();
  }
}
