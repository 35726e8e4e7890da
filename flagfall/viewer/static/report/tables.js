// Tables that readers can sort, and that begin with few rows.

import { announce, el, fill } from "../common/dom.js";
import { count } from "../common/format.js";

/** Rows that a table shows at first. */
const REPORT_FIRST_ROWS = 50;

/**
 * Make a table whose headings sort it. Each cell keeps its value in `data-value`.
 * @param {string} caption what it shows, for screen readers
 * @param {Array<{label: string, title?: string, number?: boolean, value: function(Object): *,
 *   cell?: function(Object): *, down?: boolean, header?: boolean, kind?: string}>} columns `value` sorts a row, `cell`
 *   shows it; `down`: sorted from the largest value first; `header`: the cell names its row; `kind`: a class
 * @param {Array<Object>} rows the rows, in their first order
 * @param {{first?: number, of?: number}} [options] rows shown at first; rows there are in all, if not all came
 * @returns {HTMLElement}
 */
export function sortableTable(caption, columns, rows, { first = REPORT_FIRST_ROWS, of = rows.length } = {}) {
  let order = rows;
  let shown = Math.min(first, rows.length);
  let sorted = { column: -1, down: false };
  const body = el("tbody");
  const heads = columns.map((column, place) => el("th", { scope: "col", class: reportKindOf(column), title: column.title },
    el("button", { type: "button", class: "bare sort", onclick: () => sort(place) }, column.label)));
  const more = el("button", { type: "button", class: "show-all", onclick: () => { shown = rows.length; show(); } });
  const show = () => {
    fill(body, order.slice(0, shown).map((row) => el("tr", {}, columns.map((column) => reportCellOf(column, row)))));
    more.hidden = shown >= rows.length;
    fill(more, `Show all ${count(rows.length)} rows`);
  };
  const sort = (place) => {
    const column = columns[place];
    const down = sorted.column === place ? !sorted.down : Boolean(column.down ?? column.number);
    sorted = { column: place, down };
    order = [...rows].sort((one, other) => reportCompare(column.value(one), column.value(other), down));
    heads.forEach((head, number) => {
      if (number === place) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    show();
    announce(`Sorted by ${column.label}, ${down ? "largest" : "smallest"} first`);
  };
  show();
  const left = of > rows.length ? el("p", { class: "muted small" }, `${count(rows.length)} of ${count(of)} rows; `, el("code", {}, "flagfall results"), " has them all.") : null;
  return el("div", { class: "table" },
    el("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": caption },
      el("table", {}, el("caption", { class: "visually-hidden" }, caption), el("thead", {}, el("tr", {}, heads)), body)),
    more, left);
}

/** Cell of one row. */
function reportCellOf(column, row) {
  const value = column.value(row);
  const data = value === null || value === undefined || typeof value === "object" ? {} : { value };
  const shown = column.cell ? column.cell(row) : value ?? "";
  return el(column.header ? "th" : "td", { scope: column.header ? "row" : null, class: reportKindOf(column), dataset: data }, shown);
}

/** Class of the cells of a column: the one that names the rows stays where it is when the others are scrolled. */
function reportKindOf(column) {
  return [column.number && "number", column.header && "stays", column.kind].filter(Boolean).join(" ") || null;
}

/** Order of two values; missing ones come last. */
function reportCompare(one, other, down) {
  const missing = (value) => value === null || value === undefined || Number.isNaN(value);
  if (missing(one) || missing(other)) return missing(one) - missing(other);
  const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
  return down ? -order : order;
}

/**
 * Make the values of a drawing readable as a table, folded at first.
 * @param {string} caption what the table shows
 * @param {string[]} heads headings of its columns
 * @param {function(): Array<Array<*>>} rows makes the rows when the table is opened; the first cell names its row
 * @returns {HTMLElement}
 */
export function valuesTable(caption, heads, rows) {
  const details = el("details", { class: "values" }, el("summary", {}, "Values as a table"));
  const open = () => {
    if (!details.open || details.querySelector("table")) return;
    details.append(el("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": caption },
      el("table", {},
        el("caption", { class: "visually-hidden" }, caption),
        el("thead", {}, el("tr", {}, heads.map((head, place) => el("th", { scope: "col", class: place ? "number" : "stays" }, head)))),
        el("tbody", {}, rows().map((row) => el("tr", {}, row.map((cell, place) => place
          ? el("td", { class: "number" }, cell)
          : el("th", { scope: "row", class: "stays" }, cell))))))));
  };
  details.addEventListener("toggle", open);
  return details;
}
