// Standings: a row for each agent, with its interval drawn.

import { el } from "../common/dom.js";
import { columnText, filledColumns, fixed, intervalText } from "../common/format.js";
import { agentName, intervalMark, intervalRange, reportName, reportSection } from "./parts.js";
import { sortableTable } from "./tables.js";

/** Characters of a note that are shown at first; it may name all agents. */
const REPORT_MAX_NOTE = 300;

/**
 * Standings, and those without time losses if there were any.
 * @param {Object} data the report
 * @returns {HTMLElement}
 */
export function standingsSection(data) {
  const { label } = data.columns.find(({ key }) => key === data.drawn);
  const lead = `${label} with its 95 % interval; where intervals overlap, the order may be chance.`;
  return reportSection("standings", data.state === "over" ? "Standings" : "Standings so far", lead,
    reportAgentTable(data, data.standings, "Standings"),
    data.sprt && el("p", { class: "sprt" }, reportSprtText(data.sprt)),
    data.notes.map((note) => el("p", { class: "muted small note" }, reportName(note, REPORT_MAX_NOTE))),
    data.timeless.length ? el("details", { class: "more-tables" },
      el("summary", {}, "Without the matches in which the clock disqualified an agent"),
      reportAgentTable(data, data.timeless, "Standings without time losses")) : null);
}

function reportSprtText({ llr, lower, upper, decision }) {
  const state = decision ? `${decision} is accepted` : "not decided yet";
  return `Sequential test: log likelihood ratio ${llr.toFixed(2)} between ${lower.toFixed(2)} and ${upper.toFixed(2)}; ${state}.`;
}

/** Table of agents; columns in which no row has a value are left out. */
function reportAgentTable(data, rows, caption) {
  const places = new Map(data.agents.map((name, place) => [name, place]));
  const drawn = data.columns.find(({ key }) => key === data.drawn);
  const range = intervalRange(rows.map((row) => row[drawn.key]).filter(Boolean));
  const mark = { label: `${drawn.label} interval`, value: (row) => reportEstimate(drawn, row), down: drawn.best !== "low",
    cell: (row) => intervalMark(row[drawn.key], range, places.get(row.agent)) };
  const columns = [
    { label: "#", title: "Place", value: (row) => row.place, number: true, down: false },
    { label: "Agent", value: (row) => row.agent, cell: (row) => agentName(data, places.get(row.agent)), header: true },
    rows.some((row) => row[drawn.key]) && mark,
    ...filledColumns(data.columns, rows).map((column) => ({
      label: column.label, title: column.note || null, number: true, down: column.best !== "low",
      value: (row) => reportEstimate(column, row), cell: (row) => reportValue(column, row[column.key]) })),
  ];
  return sortableTable(caption, columns.filter(Boolean), rows);
}

/** Number by which a column sorts a row. */
function reportEstimate({ key }, row) {
  const value = row[key];
  return value && typeof value === "object" ? value.value : value;
}

function reportValue(column, value) {
  if (column.form === "interval") return intervalText(value, (one) => fixed(one, column.decimals));
  const text = columnText(column, value);
  return column.mark && value ? el("span", { class: `tag ${column.mark}` }, text) : text;
}
