// Single matches: those whose replay stands in the page, the latest ones, and void attempts.

import { el, visible } from "../common/dom.js";
import { count, countOf, duration, shortNumber } from "../common/format.js";
import { agentName, matchName, reportName, reportSection, taskName } from "./parts.js";
import { sortableTable } from "./tables.js";

/** Characters of a reason that are shown at first. */
const REPORT_MAX_WHY = 300;

/**
 * Matches with an embedded replay, each with the reason that it was chosen.
 * @param {Object} data the report
 * @returns {?HTMLElement} null where none is embedded
 */
export function replaysSection(data) {
  if (!data.embedded.length) return null;
  return reportSection("replays", "Replays", "Matches worth seeing, chosen from the results. A replay opens in this page.",
    sortableTable("Replays", [
      { label: "Replay", value: (row) => row.match, header: true, cell: (row) => matchName(data, row.match) },
      { label: "Chosen for", value: (row) => row.why },
      ...reportColumns(data),
    ], data.embedded));
}

/**
 * The matches that were stored last, and void attempts.
 * @param {Object} data the report
 * @returns {?HTMLElement} null where nothing was played
 */
export function matchesSection(data) {
  const { rows, of } = data.matches;
  if (!rows.length && !data.voids.count) return null;
  const lead = rows.length < of ? `The last ${count(rows.length)} of ${count(of)} matches.` : `${countOf(of, "match", "matches")}, in the order in which they ended.`;
  const hint = [" A journal opens with ", el("code", {}, "flagfall replay FILE"),
    data.embedded.length ? null : ["; ", el("code", {}, "flagfall report DIR --embed 6"), " puts replays into this page"], "."];
  return reportSection("matches", "Matches", [lead, hint],
    sortableTable("Matches", [
      { label: "Match", value: (row) => row.match, cell: (row) => matchName(data, row.match), header: true },
      ...reportColumns(data),
      { label: "Journal", value: (row) => row.journal, cell: (row) => (row.journal ? el("a", { href: `./${row.journal}`, download: "" }, "journal", el("span", { class: "visually-hidden" }, " of ", reportName(row.match))) : "–") },
    ], rows, { first: 20 }),
    reportVoids(data.voids));
}

/** Columns that both tables have. */
function reportColumns(data) {
  const hasOpenings = [...data.matches.rows, ...data.embedded].some((row) => row.opening);
  return [
    { label: "Task", value: (row) => data.tasks[row.task]?.name ?? "", cell: (row) => taskName(data, row.task) },
    ...(hasOpenings ? [{ label: "Opening", value: (row) => row.opening, cell: (row) => reportName(row.opening || "–") }] : []),
    { label: "Agents and scores", value: (row) => row.seats.map(({ agent }) => data.agents[agent] ?? "").join(" "), cell: (row) => el("span", { class: "seats" }, row.seats.map((seat) => reportSeatOf(data, seat))) },
    { label: "Turns", number: true, value: (row) => row.turns, cell: (row) => count(row.turns) },
    { label: "Late", number: true, value: (row) => row.late, cell: (row) => (row.late ? count(row.late) : "·") },
    { label: "Time", number: true, value: (row) => row.elapsed_ns, cell: (row) => duration(row.elapsed_ns) },
  ];
}

function reportSeatOf(data, { agent, score, fell }) {
  return el("span", { class: "seat" }, agentName(data, agent), " ", el("strong", { class: "number" }, shortNumber(score)),
    fell ? [" ", el("span", { class: "tag bad" }, reportName(fell))] : null);
}

function reportVoids({ count: times, rows }) {
  if (!times) return null;
  return el("details", { class: "more-tables" },
    el("summary", {}, `${countOf(times, "void attempt")}, played again`),
    el("p", { class: "muted small" }, "A fault or a stall of the host affected them, so they count for nothing."),
    el("ul", { class: "voids" }, rows.map(({ match, attempt, why }) => el("li", {}, el("code", {}, reportName(match)), ` attempt ${count(attempt)}: `, visible(why, REPORT_MAX_WHY, { code: true })))));
}
