// Standings: a row for each agent, with its interval drawn.

import { el, visible } from "../common/dom.js";
import { columnText, count, countOf, filledColumns, fixed, intervalText, number } from "../common/format.js";
import { intervalMark, intervalPoint, intervalRange } from "../common/intervals.js";
import { agentName, levelOf, reportName, reportSection } from "./parts.js";
import { sortableTable } from "./tables.js";

/** Characters of a note that are shown at first; it may name all agents. */
const REPORT_MAX_NOTE = 300;

/** How sure the order of the best agents is, and the places of those that each agent is better than. */
function reportOrder(data) {
  const better = data.agents.map(() => []);
  for (const { one, other, ...difference } of data.differences) {
    const { low, high } = difference[data.drawn] ?? { low: null, high: null };
    if (low !== null && low > 0) better[one].push(other);
    if (high !== null && high < 0) better[other].push(one);
  }
  better.forEach((some) => some.sort((one, other) => one - other));
  const compared = data.differences.reduce((most, { other }) => Math.max(most, other + 1), 0);
  const ties = [];
  for (let first = 0, end = 0; first < compared; first++) {
    let last = first;
    const isTied = (place) => !better.slice(first, place).some((some) => some.includes(place)) && !better[place].some((one) => one >= first && one < place);
    while (last + 1 < compared && isTied(last + 1)) last += 1;
    if (last > first && last + 1 > end) ties.push([first, last]);
    end = Math.max(end, last + 1);
  }
  return { better, compared, ties };
}

/** Places of some agents, which are in order, as text: "3–5, 9". */
function reportPlaces(data, agents) {
  const place = (agent) => count(data.standings[agent].place);
  const runs = agents.filter((agent, at) => agent !== agents[at - 1] + 1).map((first) => {
    let last = first;
    while (agents.includes(last + 1)) last += 1;
    return [place(first), place(last)];
  });
  return runs.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(", ");
}

/**
 * The agent that leads, by how much, and whether that may be chance.
 * @param {Object} data the report
 * @returns {?HTMLElement} null where there is no order
 */
export function leadLine(data) {
  const [first, second] = data.standings;
  if (!second || !second.matches || !first.matches) return null;
  const [one, other] = [0, 1].map((place) => el("strong", {}, reportName(data.agents[place])));
  const { label, key, decimals } = data.columns.find((column) => column.key === data.drawn);
  const difference = data.differences.find((pair) => pair.one === 0 && pair.other === 1)?.[key] ?? null;
  const what = key === "score" ? " in score" : ` ${label}`;
  const by = difference && [intervalText(difference, (value) => fixed(value, decimals)), what, key === "elo" && data.elo_level !== 0.95 ? ` (${levelOf(data, key)} interval)` : null];
  const isSure = difference && (difference.low > 0 || difference.high < 0);
  const tied = data.standings.filter(({ place }) => place === 1).length;
  const line = (...parts) => el("p", { class: "lead-line" }, parts, ".");
  if (tied > 2) return line(`${tied === data.agents.length ? "All " : ""}${count(tied)} agents share the first place`);
  if (first.points !== null) return line(one, ` is first with ${countOf(first.points, "point")}, `, other, ` has ${number(second.points)}`, by && ["; between them: ", by]);
  if (isSure) return line(one, " leads ", other, " by ", by);
  return line(one, " and ", other, " cannot be told apart", by && [": ", by]);
}

/**
 * Standings, and those without time losses if there were any.
 * @param {Object} data the report
 * @returns {HTMLElement}
 */
export function standingsSection(data) {
  const { label, key } = data.columns.find((column) => column.key === data.drawn);
  const order = reportOrder(data);
  const whole = order.ties.length === 1 && order.ties[0][1] - order.ties[0][0] + 1 === order.compared;
  const ties = order.ties.map(([from, to]) => reportPlaces(data, [...Array(to - from + 1).keys()].map((one) => one + from)));
  const tied = order.compared < 3 ? null : whole ? `No two of the ${data.agents.length > order.compared ? "best " : ""}${count(order.compared)} agents can be told apart.`
    : ties.length ? `Neighbours that cannot be told apart: places ${ties.join("; ")}.` : null;
  return reportSection("standings", data.state === "over" ? "Standings" : "Standings so far", `${label} with its ${levelOf(data, key)} interval.`,
    reportAgentTable(data, data.standings, "Standings", order),
    tied && el("p", { class: "small ties" }, tied),
    data.sprt && el("p", { class: "sprt" }, reportSprtText(data.sprt)),
    data.notes.map((note) => el("p", { class: "muted small note" }, visible(note, REPORT_MAX_NOTE, { code: true }))),
    data.timeless.length ? el("details", { class: "more-tables" },
      el("summary", {}, "Without the matches in which the clock disqualified an agent"),
      reportAgentTable(data, data.timeless, "Standings without time losses")) : null);
}

function reportSprtText({ llr, lower, upper, decision }) {
  const state = decision ? `${decision} is accepted` : "not decided yet";
  return `Sequential test: log likelihood ratio ${llr.toFixed(2)} between ${lower.toFixed(2)} and ${upper.toFixed(2)}; ${state}.`;
}

/** Table of agents; columns in which no row has a value are left out, and drawings of equal values. */
function reportAgentTable(data, rows, caption, order = { better: [], compared: 0 }) {
  const places = new Map(data.agents.map((name, place) => [name, place]));
  const drawn = data.columns.find(({ key }) => key === data.drawn);
  const intervals = rows.map((row) => row[drawn.key]).filter(Boolean);
  const range = intervalRange(intervals);
  const differ = new Set(intervals.map(intervalPoint)).size > 1;
  const better = ({ agent }) => order.better[places.get(agent)];
  const [first, ...others] = filledColumns(data.columns, rows).map((column) => ({
    label: column.label, title: column.note || null, number: true, down: column.best !== "low",
    value: (row) => reportEstimate(column, row), cell: (row) => reportValue(column, row[column.key]) }));
  const columns = [
    { label: "#", title: "Place", value: (row) => row.place, number: true, down: false },
    { label: "Agent", value: (row) => row.agent, cell: (row) => agentName(data, places.get(row.agent)), header: true },
    first,
    order.compared > 2 && order.better.some(({ length }) => length) && { label: "Better than", number: true, value: (row) => better(row).length,
      title: `Places of the agents that it is better than: the ${levelOf(data, data.drawn)} interval of their difference is above 0, of each pair by itself`,
      cell: (row) => (places.get(row.agent) < order.compared ? reportPlaces(data, better(row)) : "") || "–" },
    differ && { label: `${drawn.label} interval`, kind: "drawn", value: (row) => reportEstimate(drawn, row), down: drawn.best !== "low",
      cell: (row) => intervalMark(row[drawn.key], range, places.get(row.agent)) },
    ...others,
  ];
  return sortableTable(caption, columns.filter(Boolean), rows);
}

/** Number by which a column sorts a row. */
function reportEstimate({ key }, row) {
  const value = row[key];
  return value && typeof value === "object" ? value.value : value;
}

function reportValue(column, value) {
  if (column.form === "interval" && value) return intervalText(value, (one) => fixed(one, column.decimals));
  const text = columnText(column, value);
  return column.mark && value ? el("span", { class: `tag ${column.mark}` }, text) : text;
}
