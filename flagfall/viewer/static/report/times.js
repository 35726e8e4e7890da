// Use of time: distributions of think times against the limits, late turns, disqualifications.

import { el } from "../common/dom.js";
import { count, countOf, duration, percent } from "../common/format.js";
import { drawing, logarithmic, robustRange, svg } from "../common/svg.js";
import { agentLook } from "../common/palette.js";
import { textBlock } from "../common/texts.js";
import { agentLabel, agentName, fittedDrawing, matchName, reportLabel, reportName, reportSection, taskName } from "./parts.js";
import { sortableTable, valuesTable } from "./tables.js";

const REPORT_ROW = 38;
const REPORT_FIRST_AGENTS = 16;
const REPORT_MOST_LIMITS = 4;

/** A limit is drawn up to so many times the longest usual time; the text above names all. */
const REPORT_FAR_LIMIT = 1000;

/** Share of an agent's turns at either end of its times that does not stretch the scale. */
const REPORT_RARE = 0.001;

/** Marks of scales of durations, in nanoseconds. */
export const REPORT_UNITS = [["1 ns", 1], ["10 ns", 10], ["100 ns", 100], ["1 µs", 1e3], ["10 µs", 1e4], ["100 µs", 1e5], ["1 ms", 1e6], ["10 ms", 1e7],
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
    const where = all > 1 ? ` (${tasks.length > 2 ? countOf(tasks.length, "task") : tasks.map((task) => reportLabel(data.tasks[task].short)).join(", ")})` : "";
    return [soft !== null && key("soft", `soft limit ${duration(soft)}${where}`), hard !== null && key("hard", `hard limit ${duration(hard)}${where}`)];
  });
  const left = all - drawn.length;
  return el("p", { class: "limit-keys small" }, items, left ? el("span", { class: "muted" }, `${countOf(left, "other time control")} not drawn`) : null,
    all ? null : el("span", { class: "muted" }, "no limit of a turn"));
}

function reportRidges(data, width, agents, limits) {
  const ratio = data.times.bins_of_an_octave;
  const at = (bin) => 2 ** (bin / ratio);
  const spans = agents.map(reportUsualBins);
  const [shortest] = robustRange(spans.map(([from]) => from));
  const [, longest] = robustRange(spans.map(([, to]) => to));
  const ends = [at(shortest), at(longest)];
  const edges = limits.flatMap(({ soft_ns: soft, hard_ns: hard }) => [soft, hard])
    .filter((one) => one !== null && one >= ends[0] / REPORT_FAR_LIMIT && one <= ends[1] * REPORT_FAR_LIMIT);
  const low = Math.max(1, Math.min(ends[0], ...edges));
  const high = Math.max(ends[1], ...edges) * 1.3;
  const named = Math.min(150, width * 0.32);
  const x = logarithmic([low, Math.max(high, low * 10)], [named, width - 8]);
  const bottom = agents.length * REPORT_ROW + 14;
  const marks = reportThinned(REPORT_UNITS.filter(([, ns]) => ns >= low && ns <= high), (width - named) / 58);
  const line = (kind, ns) => (!edges.includes(ns) ? null : svg("line", { class: `limit ${kind}`, x1: x(ns), x2: x(ns), y1: 4, y2: bottom }));
  return drawing(width, bottom + 22, `Think times of ${countOf(agents.length, "agent")}; the values stand in the table below.`,
    svg("g", { class: "axis" }, marks.map(([text, ns]) => svg("g", {},
      svg("line", { class: "grid", x1: x(ns), x2: x(ns), y1: 8, y2: bottom }),
      svg("text", { x: x(ns), y: bottom + 16, "text-anchor": "middle" }, text)))),
    agents.map((one, row) => reportHill(data, one, x, at, row * REPORT_ROW + REPORT_ROW + 8, named)),
    limits.map(({ soft_ns: soft, hard_ns: hard }) => [line("soft", soft), line("hard", hard)]));
}

/** Bins of an agent without the few turns at either end that would stretch the scale. */
function reportUsualBins({ first, counts }) {
  const rare = counts.reduce((sum, turns) => sum + turns) * REPORT_RARE;
  const upTo = (some) => {
    let sum = 0;
    return some.findIndex((turns) => (sum += turns) > rare);
  };
  return [first + upTo(counts), first + counts.length - upTo([...counts].reverse())];
}

/**
 * Every n-th of some marks.
 * @param {Array} marks the marks
 * @param {number} most most that are left
 * @returns {Array}
 */
export function reportThinned(marks, most) {
  const step = Math.max(1, Math.ceil(marks.length / Math.max(1, most)));
  return marks.filter((_, place) => place % step === 0);
}

function reportHill(data, { agent, first, counts }, x, at, base, named) {
  const highest = Math.max(...counts);
  const top = (turns) => base - (turns / highest) * (REPORT_ROW - 8);
  const [left, right] = x.range;
  const inside = (ns) => Math.min(right, x(ns));
  const steps = counts.map((turns, place) => {
    if (at(first + place + 1) <= x.domain[0] || at(first + place) >= x.domain[1]) return "";
    const [from, to] = [inside(at(first + place)), Math.max(inside(at(first + place + 1)), inside(at(first + place)) + 2)];
    return `L${from.toFixed(1)} ${top(turns).toFixed(1)}L${to.toFixed(1)} ${top(turns).toFixed(1)}`;
  });
  const [start, end] = [inside(at(first)), Math.max(inside(at(first + counts.length)), inside(at(first)) + 2)];
  const { think_p50_ns: median, think_max_ns: longest } = data.standings[agent];
  const beyond = (isBeyond, at, anchor, text) => isBeyond && svg("text", { class: "beyond", x: at, y: base - 6, "text-anchor": anchor }, text);
  const { colour } = agentLook(agent);
  const name = reportLabel(data.agents[agent], Math.max(6, Math.floor(named / 6.4)));
  return svg("g", { class: "hill" },
    svg("line", { class: "base", x1: 0, x2: x.range[1], y1: base, y2: base }),
    svg("text", { class: "name", x: 0, y: base - 6 }, name),
    svg("path", { d: `M${start.toFixed(1)} ${base}${steps.join("")}L${end.toFixed(1)} ${base}Z`, style: { fill: colour, stroke: colour } }),
    beyond(median < x.domain[0], left, "start", `◂ ${duration(median)}`),
    beyond(at(first + counts.length) > x.domain[1], right, "end", `${duration(median > x.domain[1] ? median : longest)} ▸`));
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
    clean ? "No agent was late, gave an illegal answer or was disqualified." : null, clean ? null : table, reportFalls(data));
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
  const where = tasks.map(([task, n], place) => [place ? ", " : "", taskName(data, task), n < times ? ` (${count(n)})` : ""]);
  return el("details", { class: "fall" },
    el("summary", {}, agentLabel(data, agent), " ", el("span", { class: "tag bad" }, reportLabel(reason)), " ",
      el("span", { class: "muted" }, countOf(times, "match", "matches"))),
    el("p", { class: "small" }, "On ", where, ". First case: match ", el("code", {}, matchName(data, match)), at === null ? null : ` after ${duration(at)}`, "."),
    detail ? el("div", { class: "box detail-text", tabindex: 0, role: "region", "aria-label": "Detail and end of the standard error" }, textBlock("Detail and end of the standard error", detail, { code: true }))
      : el("p", { class: "muted small" }, "No detail: the journal of this match is missing or cannot be read."));
}
