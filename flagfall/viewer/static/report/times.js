// Use of time: distributions of think times against the limits, late turns, disqualifications.

import { el, visible } from "../common/dom.js";
import { count, countOf, duration, percent } from "../common/format.js";
import { drawing, logarithmic, svg } from "../common/svg.js";
import { agentLook } from "../common/palette.js";
import { agentLabel, agentName, fittedDrawing, matchName, reportLabel, reportName, reportSection } from "./parts.js";
import { sortableTable, valuesTable } from "./tables.js";

const REPORT_ROW = 38;
const REPORT_FIRST_AGENTS = 16;
const REPORT_MOST_LIMITS = 4;
const REPORT_UNITS = [["1 ns", 1], ["10 ns", 10], ["100 ns", 100], ["1 µs", 1e3], ["10 µs", 1e4], ["100 µs", 1e5], ["1 ms", 1e6], ["10 ms", 1e7],
  ["100 ms", 1e8], ["1 s", 1e9], ["10 s", 1e10], ["1:40", 1e11], ["16:40", 1e12], ["2.8 h", 1e13], ["28 h", 1e14]];

/**
 * Distributions of think times, with the limits of a turn.
 * @param {Object} data the report
 * @returns {?HTMLElement} null where no turn was timed
 */
export function thinkSection(data) {
  const { agents, limits } = data.times;
  if (!agents.length) return null;
  const drawn = limits.slice(0, REPORT_MOST_LIMITS);
  let shown = agents.slice(0, REPORT_FIRST_AGENTS);
  const chart = fittedDrawing((width) => reportRidges(data, width, shown, drawn));
  const more = agents.length > shown.length ? el("button", { type: "button", class: "show-all", onclick: () => {
    shown = agents;
    chart.redraw();
    more.remove();
  } }, `Show all ${count(agents.length)} agents`) : null;
  return reportSection("times", "Think time", "How long the turns of each agent took, on a logarithmic scale. Each hill is as high as its agent's most frequent time.",
    reportLimitKeys(data, drawn, limits.length), chart, more,
    valuesTable("Think times", ["Agent", "Turns", "Median", "99 %", "Longest"], () => data.standings.map((row) => [
      reportName(row.agent), count(row.turns), duration(row.think_p50_ns), duration(row.think_p99_ns), duration(row.think_max_ns)])));
}

/** What the vertical lines are. */
function reportLimitKeys(data, drawn, all) {
  const key = (kind, text) => el("span", { class: `limit-key ${kind}` }, text);
  const items = drawn.flatMap(({ soft_ns: soft, hard_ns: hard, tasks }) => {
    const where = all > 1 ? ` (${tasks.length > 2 ? countOf(tasks.length, "task") : tasks.map((task) => reportLabel(data.tasks[task].name)).join(", ")})` : "";
    return [soft !== null && key("soft", `soft limit ${duration(soft)}${where}`), hard !== null && key("hard", `hard limit ${duration(hard)}${where}`)];
  });
  const left = all - drawn.length;
  return el("p", { class: "limit-keys small" }, items, left ? el("span", { class: "muted" }, `${countOf(left, "other time control")} not drawn`) : null,
    all ? null : el("span", { class: "muted" }, "no limit of a turn"));
}

function reportRidges(data, width, agents, limits) {
  const ratio = data.times.bins_of_an_octave;
  const at = (bin) => 2 ** (bin / ratio);
  const edges = limits.flatMap(({ soft_ns: soft, hard_ns: hard }) => [soft, hard]).filter((one) => one !== null);
  const low = Math.max(1, Math.min(...agents.map(({ first }) => at(first)), ...edges));
  const high = Math.max(...agents.map(({ first, counts }) => at(first + counts.length)), ...edges) * 1.3;
  const named = Math.min(150, width * 0.32);
  const x = logarithmic([low, Math.max(high, low * 10)], [named, width - 8]);
  const bottom = agents.length * REPORT_ROW + 14;
  const marks = reportThinned(REPORT_UNITS.filter(([, ns]) => ns >= low && ns <= high), (width - named) / 58);
  const line = (kind, ns) => (ns === null ? null : svg("line", { class: `limit ${kind}`, x1: x(ns), x2: x(ns), y1: 4, y2: bottom }));
  return drawing(width, bottom + 22, `Think times of ${countOf(agents.length, "agent")}; the values stand in the table below.`,
    svg("g", { class: "axis" }, marks.map(([text, ns]) => svg("g", {},
      svg("line", { class: "grid", x1: x(ns), x2: x(ns), y1: 8, y2: bottom }),
      svg("text", { x: x(ns), y: bottom + 16, "text-anchor": "middle" }, text)))),
    agents.map((one, row) => reportHill(data, one, x, at, row * REPORT_ROW + REPORT_ROW + 8, named)),
    limits.map(({ soft_ns: soft, hard_ns: hard }) => [line("soft", soft), line("hard", hard)]));
}

/** Every n-th of some marks, so that at most `most` are left. */
function reportThinned(marks, most) {
  const step = Math.max(1, Math.ceil(marks.length / Math.max(1, most)));
  return marks.filter((_, place) => place % step === 0);
}

function reportHill(data, { agent, first, counts }, x, at, base, named) {
  const highest = Math.max(...counts);
  const top = (turns) => base - (turns / highest) * (REPORT_ROW - 8);
  const steps = counts.map((turns, place) => {
    const [from, to] = [x(at(first + place)), Math.max(x(at(first + place + 1)), x(at(first + place)) + 2)];
    return `L${from.toFixed(1)} ${top(turns).toFixed(1)}L${to.toFixed(1)} ${top(turns).toFixed(1)}`;
  });
  const [start, end] = [x(at(first)), Math.max(x(at(first + counts.length)), x(at(first)) + 2)];
  const { colour } = agentLook(agent);
  const name = reportLabel(data.agents[agent], Math.max(6, Math.floor(named / 6.4)));
  return svg("g", { class: "hill" },
    svg("line", { class: "base", x1: 0, x2: x.range[1], y1: base, y2: base }),
    svg("text", { class: "name", x: 0, y: base - 6 }, name),
    svg("path", { d: `M${start.toFixed(1)} ${base}${steps.join("")}L${end.toFixed(1)} ${base}Z`, style: { fill: colour, stroke: colour } }));
}

/**
 * Late turns and other faults of each agent, and its disqualifications with the end of its standard error.
 * @param {Object} data the report
 * @returns {HTMLElement}
 */
export function faultsSection(data) {
  const places = new Map(data.agents.map((name, place) => [name, place]));
  const column = (label, name, title) => ({ label, title, number: true, value: (row) => row[name], cell: (row) => (row[name] ? count(row[name]) : "·") });
  const clean = data.standings.every((row) => !row.late && !row.fell && !row.illegal && !row.dropped);
  const table = sortableTable("Late turns and faults", [
    { label: "Agent", value: (row) => row.agent, cell: (row) => agentName(data, places.get(row.agent)), header: true },
    { label: "Turns", number: true, value: (row) => row.turns, cell: (row) => count(row.turns) },
    column("Late", "late", "Turns for which the agent was late"),
    { label: "Late share", number: true, value: (row) => (row.turns ? row.late / row.turns : null), cell: (row) => (row.late ? percent(row.late / row.turns, 2) : "·") },
    { label: "Over the limit", title: "Total time beyond the limits", number: true, value: (row) => row.over_ns, cell: (row) => (row.over_ns ? duration(row.over_ns) : "·") },
    { label: "Longest turn", number: true, value: (row) => row.think_max_ns, cell: (row) => duration(row.think_max_ns) },
    column("Disq. late", "time_losses", "Matches in which it was disqualified for being late"),
    column("Disq. other", "crashes", "Matches in which it was disqualified for another reason"),
    column("Illegal", "illegal", "Turns answered with an action outside the action space"),
    column("Dropped", "dropped", "Replies that answered no open turn"),
  ], data.standings);
  return reportSection("faults", "Late turns and faults",
    clean ? "No agent was late, gave an illegal answer or was disqualified." : null, table, reportFalls(data));
}

function reportFalls(data) {
  const { rows, left_out: left } = data.falls;
  if (!rows.length) return null;
  return el("div", { class: "falls" },
    el("h3", {}, "Disqualifications"),
    el("p", { class: "muted small" }, "One entry for each agent and reason, with the first case."),
    rows.map((row) => reportFall(data, row)),
    left ? el("p", { class: "muted small" }, `${countOf(left, "other kind")} of disqualification left out.`) : null);
}

function reportFall(data, { agent, reason, count: times, tasks, match, at_ns: at, detail }) {
  const where = tasks.map(([task, n], place) => [place ? ", " : "", reportName(data.tasks[task].name), n < times ? ` (${count(n)})` : ""]);
  return el("details", { class: "fall" },
    el("summary", {}, agentLabel(data, agent), " ", el("span", { class: "tag bad" }, reportLabel(reason)), " ",
      el("span", { class: "muted" }, countOf(times, "match", "matches"))),
    el("p", { class: "small" }, "On ", where, ". First case: match ", el("code", {}, matchName(data, match)), at === null ? null : ` after ${duration(at)}`, "."),
    detail ? el("div", { class: "detail-text", tabindex: 0, role: "region", "aria-label": "Detail and end of the standard error" }, visible(detail, 4200, { lines: true }))
      : el("p", { class: "muted small" }, "No detail: the journal of this match is missing or cannot be read."));
}
