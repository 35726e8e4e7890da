// Cross table: how each agent did against each other one.

import { el, fill } from "../common/dom.js";
import { count, number, percent } from "../common/format.js";
import { agentName, reportLabel, reportName, reportSection } from "./parts.js";
import { sortableTable } from "./tables.js";

/** Agents of the table: more columns cannot be read. */
const REPORT_MOST_AGENTS = 24;

/**
 * Cross table of the best agents, and the opponents of any agent.
 * @param {Object} data the report
 * @returns {?HTMLElement} null where no two agents met
 */
export function crossSection(data) {
  if (!data.cross.pairs.length) return null;
  const meetings = new Map();
  for (const [one, other, points, games] of data.cross.pairs) {
    meetings.set(`${one} ${other}`, { points, games });
    meetings.set(`${other} ${one}`, { points: games - points, games });
  }
  const size = Math.min(data.agents.length, REPORT_MOST_AGENTS);
  const cut = data.agents.length > REPORT_MOST_AGENTS ? ` The best ${size} of ${count(data.agents.length)} agents; choose one below for all its opponents.` : "";
  return reportSection("cross", "Cross table",
    `Points of the agent on the left against the one above, in percent of their duels; a draw is half a point.${cut}`,
    reportCrossTable(data, meetings, size), reportOpponents(data, meetings));
}

function reportCrossTable(data, meetings, size) {
  const agents = [...Array(size).keys()];
  const head = el("tr", {}, el("th", { scope: "col" }, "Agent"), agents.map((agent) => el("th", { scope: "col", class: "cell", title: reportLabel(data.agents[agent], 80) },
    agent + 1, el("span", { class: "visually-hidden" }, " ", reportLabel(data.agents[agent])))));
  const rows = agents.map((agent) => el("tr", {},
    el("th", { scope: "row" }, el("span", { class: "rank" }, agent + 1), " ", reportName(data.agents[agent])),
    agents.map((other) => reportCrossCell(data, meetings, agent, other))));
  return el("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Cross table" },
    el("table", { class: "cross" }, el("caption", { class: "visually-hidden" }, "Cross table"), el("thead", {}, head), el("tbody", {}, rows)));
}

/** Cell of two agents, tinted by the share of the points. */
function reportCrossCell(data, meetings, agent, other) {
  if (agent === other) return el("td", { class: "cell self" }, el("span", { class: "visually-hidden" }, "itself"));
  const met = meetings.get(`${agent} ${other}`);
  if (!met) return el("td", { class: "cell muted" }, "·");
  const share = met.points / met.games;
  const strength = Math.round(Math.abs(share - 0.5) * 200);
  const tint = `color-mix(in srgb, var(${share >= 0.5 ? "--good-soft" : "--bad-soft"}) ${strength}%, transparent)`;
  const title = `${reportLabel(data.agents[agent])}: ${number(met.points)} of ${count(met.games)} against ${reportLabel(data.agents[other])}`;
  return el("td", { class: "cell", title, style: { background: tint }, dataset: { points: met.points, games: met.games } }, Math.round(100 * share));
}

/** Opponents of one agent, which the reader chooses. */
function reportOpponents(data, meetings) {
  const place = el("div", { class: "opponents" });
  const choice = el("select", { id: "opponents-of", onchange: () => show() },
    el("option", { value: "" }, "choose an agent"),
    data.agents.map((name, agent) => el("option", { value: agent }, `${agent + 1}. ${reportLabel(name)}`)));
  const show = () => {
    if (choice.value === "") { fill(place); return; }
    const agent = Number(choice.value);
    const rows = data.agents.map((_, other) => ({ other, ...meetings.get(`${agent} ${other}`) })).filter((row) => row.games);
    fill(place, sortableTable(`Opponents of ${reportLabel(data.agents[agent])}`, [
      { label: "#", number: true, down: false, value: (row) => row.other + 1 },
      { label: "Opponent", value: (row) => data.agents[row.other], cell: (row) => agentName(data, row.other), header: true },
      { label: "Points", number: true, value: (row) => row.points, cell: (row) => number(row.points) },
      { label: "Duels", number: true, value: (row) => row.games, cell: (row) => count(row.games) },
      { label: "Share", number: true, value: (row) => row.points / row.games, cell: (row) => percent(row.points / row.games) },
    ], rows));
  };
  return el("div", { class: "choice" }, el("label", { for: "opponents-of" }, "All opponents of "), choice, place);
}
