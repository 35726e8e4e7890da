// Cross table: how each agent did against each other one, and by how much it is better.

import { el, fill } from "../common/dom.js";
import { count, fixed, intervalText, number, percent } from "../common/format.js";
import { agentName, levelOf, reportLabel, reportName, reportSection } from "./parts.js";
import { sortableTable } from "./tables.js";

/** Agents of the table: more columns cannot be read. */
const REPORT_MOST_AGENTS = 24;

/** Opponents that are listed at first. */
const REPORT_FIRST_OPPONENTS = 10;

/**
 * Cross table of the best agents, and the opponents of any agent.
 * @param {Object} data the report
 * @returns {?HTMLElement} null where no two agents met, or there are only two, of which the standings say all
 */
export function crossSection(data) {
  if (data.agents.length < 3 || (!data.cross.pairs.length && !data.differences.length)) return null;
  const meetings = new Map();
  const put = (one, other, facts) => meetings.set(`${one} ${other}`, { ...meetings.get(`${one} ${other}`), ...facts });
  for (const [one, other, points, games] of data.cross.pairs) {
    put(one, other, { points, games });
    put(other, one, { points: games - points, games });
  }
  for (const { one, other, ...difference } of data.differences) {
    put(one, other, difference);
    put(other, one, reportReversed(difference));
  }
  const size = Math.min(data.agents.length, REPORT_MOST_AGENTS);
  const cut = data.agents.length > REPORT_MOST_AGENTS ? ` The best ${size} of ${count(data.agents.length)} agents; choose one below for all its opponents.` : "";
  const lead = data.cross.pairs.length ? `Points of the agent on the left against the one above, in percent of their duels; a draw is half a point.${cut}` : null;
  return reportSection("cross", "Cross table", lead,
    lead && reportCrossTable(data, meetings, size), reportOpponents(data, meetings));
}

/** Difference from the point of view of the other agent. */
function reportReversed({ score, better, elo, skill, los }) {
  const less = (one) => one === null ? null : -one;
  const interval = (one) => one && { ...one, value: -one.value, low: less(one.high), high: less(one.low) };
  const rest = (share) => share === null ? null : 1 - share;
  return { score: interval(score), better: rest(better), elo: interval(elo), skill: interval(skill), los: rest(los) };
}

/** Interval with some decimals, in the cell of a table. */
function reportInterval(interval, decimals) {
  return interval ? intervalText(interval, (one) => fixed(one, decimals)) : "–";
}

function reportCrossTable(data, meetings, size) {
  const agents = [...Array(size).keys()];
  const head = el("tr", {}, el("th", { scope: "col", class: "stays" }, "Agent"), agents.map((agent) => el("th", { scope: "col", class: "cell", title: reportLabel(data.agents[agent], 80) },
    agent + 1, el("span", { class: "visually-hidden" }, " ", reportLabel(data.agents[agent])))));
  const rows = agents.map((agent) => el("tr", {},
    el("th", { scope: "row", class: "stays" }, el("span", { class: "rank" }, agent + 1), " ", reportName(data.agents[agent])),
    agents.map((other) => reportCrossCell(data, meetings, agent, other))));
  return el("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Cross table" },
    el("table", { class: "cross" }, el("caption", { class: "visually-hidden" }, "Cross table"), el("thead", {}, head), el("tbody", {}, rows)));
}

/** Cell of two agents, tinted by the share of the points. */
function reportCrossCell(data, meetings, agent, other) {
  if (agent === other) return el("td", { class: "cell self" }, el("span", { class: "visually-hidden" }, "itself"));
  const met = meetings.get(`${agent} ${other}`);
  if (!met?.games) return el("td", { class: "cell muted" }, "·");
  const share = met.points / met.games;
  const strength = Math.round(Math.abs(share - 0.5) * 160);
  const tint = `color-mix(in srgb, var(${share >= 0.5 ? "--good-soft" : "--bad-soft"}) ${strength}%, transparent)`;
  const title = `${reportLabel(data.agents[agent])}: ${number(met.points)} of ${count(met.games)} against ${reportLabel(data.agents[other])}`;
  return el("td", { class: "cell", title, style: { background: tint }, dataset: { points: met.points, games: met.games } }, Math.round(100 * share));
}

/** Opponents of one agent, which the reader chooses. */
function reportOpponents(data, meetings) {
  const place = el("div", { class: "opponents" });
  const choice = el("select", { id: "opponents-of", onchange: () => show() },
    data.agents.map((name, agent) => el("option", { value: agent }, `${agent + 1}. ${reportLabel(name)}`)));
  const show = () => {
    const agent = Number(choice.value);
    const rows = data.agents.map((_, other) => ({ other, ...meetings.get(`${agent} ${other}`) })).filter((row) => row.games || row.score !== undefined);
    const known = (key) => rows.some((row) => row[key] !== null && row[key] !== undefined);
    fill(place, sortableTable(`Opponents of ${reportLabel(data.agents[agent])}`, [
      { label: "#", number: true, down: false, value: (row) => row.other + 1 },
      { label: "Opponent", value: (row) => data.agents[row.other], cell: (row) => agentName(data, row.other), header: true },
      known("games") && { label: "Points", number: true, value: (row) => row.points, cell: (row) => number(row.points) },
      known("games") && { label: "Duels", number: true, value: (row) => row.games, cell: (row) => count(row.games) },
      known("games") && { label: "Share", number: true, value: (row) => row.points / row.games, cell: (row) => percent(row.games ? row.points / row.games : null) },
      ...[["elo", "Elo"], ["skill", "Skill"]].map(([key, label]) => known(key) && { label: `${label} difference`, title: `With its ${levelOf(data, key)} interval`,
        number: true, value: (row) => row[key]?.value, cell: (row) => reportInterval(row[key], 0) }),
      known("los") && { label: "Stronger", title: "Probability that it scores more than half of the points of their duels", number: true,
        value: (row) => row.los, cell: (row) => percent(row.los, 1) },
      known("score") && { label: "Score difference", title: "Mean over the tasks, paired by seed, with its 95 % interval", number: true, value: (row) => row.score?.value,
        cell: (row) => reportInterval(row.score, 3) },
      known("better") && { label: "Better", title: "Probability that its mean score is higher", number: true, value: (row) => row.better,
        cell: (row) => percent(row.better, 1) },
    ].filter(Boolean), rows, { first: REPORT_FIRST_OPPONENTS }));
  };
  show();
  return el("div", { class: "choice" }, el("label", { for: "opponents-of" }, "All opponents of "), choice, place);
}
