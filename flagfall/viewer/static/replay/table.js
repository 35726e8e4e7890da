// Worlds without pictures as a table: a row a turn, with what each seat saw, did and earned.

import { el, fill, plain, shortName } from "../common/dom.js";
import { count, countOf, number } from "../common/format.js";
import { resultTag, rewardsText, seatTitle } from "./marks.js";
import { inOneLine, MAX_SHOWN_SEATS } from "./store.js";

/** Rows before the shown turn, and all rows. */
const ROWS_BEFORE = 8;
const TABLE_ROWS = 13;

/** Longest text of a cell; the panel of the turn has all of it. */
const MAX_CELL_CHARS = 80;

/** Table of the turns around the one shown. */
export class TableView {
  /**
   * @param {Object} store store of the replay
   * @param {function(number, boolean): void} go called with the turn that was pressed, and whether its end was
   */
  constructor(store, go) {
    this.store = store;
    this.go = go;
    this.seats = store.summary.seats.slice(0, MAX_SHOWN_SEATS);
    const column = (kind) => el("col", { class: kind });
    const columns = [column("lead"), this.seats.map(() => ["observation", "action", "reward"].map(column))];
    this.head = el("thead");
    this.body = el("tbody");
    this.element = el("div", { class: "turn-table scrolls", tabindex: "0", role: "region", "aria-label": "Table of turns" },
      el("table", { style: { "--seats": this.seats.length } }, el("colgroup", {}, columns), this.head, this.body));
    this.drawn = "";
  }

  /**
   * Draw the rows around a turn.
   * @param {number} turn number of the turn to mark
   * @param {boolean} atEnd mark the end of its task
   * @param {string} version changes when the data have changed
   */
  draw(turn, atEnd, version) {
    const key = `${turn} ${atEnd} ${version}`;
    if (key === this.drawn) return;
    this.drawn = key;
    this.drawHead(turn);
    const [first, last] = this.store.span;
    const from = Math.max(first, Math.min(turn - ROWS_BEFORE, last - TABLE_ROWS + 1));
    const rows = [];
    for (let one = from; one < from + TABLE_ROWS && one <= last; one++) {
      const isShown = one === turn;
      rows.push(this.row(one, isShown && !atEnd));
      if (this.store.hasEnd(one)) rows.push(this.endRow(one, isShown && atEnd));
    }
    fill(this.body, rows);
  }

  drawHead(turn) {
    const players = this.store.players(turn);
    const key = JSON.stringify(players);
    if (key === this.headed) return;
    this.headed = key;
    const column = (name, kind = null) => el("th", { scope: "col", class: kind }, name);
    const columns = () => [column("Observation", "observation"), column("Action", "action"), column("Reward", "number")];
    const name = (_, index) => el("th", { scope: "colgroup", colspan: "3", class: "seat" },
      seatTitle(this.store.summary, index, players[index]));
    const isMany = this.seats.length > 1;
    fill(this.head,
      isMany && el("tr", {}, el("td"), this.seats.map(name)),
      el("tr", {}, column("Turn", "number"), this.seats.map(columns)));
  }

  /** First cell of a row: a button that leads there. */
  lead(turn, atEnd, text) {
    const press = () => this.go(turn, atEnd);
    return el("th", { scope: "row", class: "number" }, el("button", { type: "button", class: "bare link", onclick: press }, text));
  }

  row(turn, isShown) {
    const columns = this.store.at(turn);
    const cells = this.seats.map((_, seat) => this.cells(columns, turn, seat));
    return el("tr", { ...this.mark(isShown), onclick: () => this.go(turn, false) }, this.lead(turn, false, count(turn)), cells);
  }

  mark(isShown) {
    return isShown ? { class: "current", "aria-current": "true" } : {};
  }

  cells(columns, turn, seat) {
    const row = columns?.row(turn, seat) ?? -1;
    if (row < 0) return el("td", { colspan: "3", class: "muted" }, columns ? "" : "…");
    const { raw } = columns;
    const words = (name) => {
      const text = inOneLine(this.store.words(turn, seat, name).text);
      return el("td", { class: `mono ${name}` }, shortName(text, MAX_CELL_CHARS));
    };
    const judged = raw.verdict[row] === "on time" ? null : raw.verdict[row];
    const reward = el("td", { class: `number${raw.reward[row] ? " earned" : ""}` }, number(raw.reward[row], 6));
    const action = words("action");
    if (judged) action.append(" ", el("span", { class: "muted small" }, plain(judged, 20)));
    return [words("observation"), action, reward];
  }

  /** Row behind the last turn of a task, for what its actions led to. */
  endRow(turn, isShown) {
    const task = this.store.summary.tasks[this.store.taskOf(turn)];
    const text = task?.ended && [resultTag(task), " ", plain(task.ended, 40), ` · reward ${rewardsText(task)} · `,
      countOf(task.steps, "step")];
    return el("tr", { ...this.mark(isShown), onclick: () => this.go(turn, true) }, this.lead(turn, true, "End"),
      el("td", { colspan: String(3 * this.seats.length), class: "muted" }, text));
  }
}
