// Standings: a row for each agent, with its interval drawn.

import { el } from "../common/dom.js";
import { count, duration, number } from "../common/format.js";
import { agentName, intervalMark, intervalText, intervalRange, reportName, reportSection } from "./parts.js";
import { sortableTable } from "./tables.js";

/** Characters of a note that are shown at first; it may name all agents. */
const REPORT_MAX_NOTE = 300;

const reportWhole = (value) => number(Math.round(value));
const reportShare = (value) => value.toFixed(2);

/**
 * Standings, and those without time losses if there were any.
 * @param {Object} data the report
 * @returns {HTMLElement}
 */
export function standingsSection(data) {
  const rated = data.standings.some((row) => row.elo);
  const lead = rated
    ? "Elo with its 95 % interval; where intervals overlap, the order may be chance."
    : "Scores with their 95 % intervals; where intervals overlap, the order may be chance.";
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
  const main = rows.some((row) => row.elo) ? "elo" : "score";
  const range = intervalRange(rows.map((row) => row[main]).filter(Boolean));
  const mark = { label: main === "elo" ? "Elo interval" : "Score interval", value: (row) => row[main]?.value ?? null, down: true,
    cell: (row) => intervalMark(row[main], range, places.get(row.agent)) };
  const columns = [
    { label: "#", title: "Place", value: (row) => row.place, number: true, down: false },
    { label: "Agent", value: (row) => row.agent, cell: (row) => agentName(data, places.get(row.agent)), header: true },
    rows.some((row) => row[main]) && mark,
    reportSome(rows, "points", { label: "Points", number: true, value: (row) => row.points }),
    reportSome(rows, "buchholz", { label: "Buchholz", number: true, value: (row) => row.buchholz }),
    reportSome(rows, "elo", { label: "Elo", number: true, value: (row) => row.elo?.value ?? null, cell: (row) => intervalText(row.elo, reportWhole) }),
    reportSome(rows, "score", { label: "Score", title: "Share of the others that it beat", number: true, value: (row) => row.score?.value ?? null, cell: (row) => intervalText(row.score, reportShare) }),
    reportSome(rows, "skill", { label: "Skill", number: true, value: (row) => row.skill?.mu ?? null,
      cell: (row) => (row.skill ? `${row.skill.mu.toFixed(1)} ± ${row.skill.sigma.toFixed(1)}` : "–") }),
    reportCounted("Matches", "matches"),
    ...(rows.some((row) => row.wins + row.draws + row.losses) ? [reportCounted("Won", "wins"), reportCounted("Drawn", "draws"), reportCounted("Lost", "losses")] : []),
    { label: "Median", title: "Median think time of a turn", number: true, value: (row) => row.think_p50_ns, cell: (row) => duration(row.think_p50_ns) },
    { label: "99 %", title: "Time that 99 % of the turns did not exceed", number: true, value: (row) => row.think_p99_ns, cell: (row) => duration(row.think_p99_ns) },
  ];
  return sortableTable(caption, columns.filter(Boolean), rows);
}

function reportSome(rows, name, column) {
  if (!rows.some((row) => row[name] !== null && row[name] !== undefined)) return null;
  return { ...column, cell: column.cell ?? ((row) => number(column.value(row))) };
}

/** Column of a count. */
function reportCounted(label, name) {
  return { label, number: true, value: (row) => row[name], cell: (row) => count(row[name]) };
}
