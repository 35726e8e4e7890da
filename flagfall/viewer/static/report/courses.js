// Ratings over the course of the tournament, and learning curves over the episodes of a match.

import { el } from "../common/dom.js";
import { count, countOf, number, shortNumber } from "../common/format.js";
import { agentLegend } from "./choice.js";
import { lineDrawing } from "./lines.js";
import { fittedDrawing, levelOf, reportLabel, reportName, reportSection, taskName } from "./parts.js";
import { valuesTable } from "./tables.js";

const REPORT_WIDE = 560;
const REPORT_MAX_END_LABEL = 20;

/**
 * Rating, or mean score, after growing parts of the schedule.
 * @param {Object} data the report
 * @param {Object} choice agents that are shown, see `agentChoice`
 * @returns {?HTMLElement} null where there is nothing to draw
 */
export function ratingSection(data, choice) {
  const course = data.ratings;
  if (!course || !reportHasCourse(course.series)) return null;
  const rated = course.kind !== "score";
  const title = rated ? "Rating over time" : "Score over time";
  const lead = `${course.label}${rated ? ` with its ${levelOf(data, course.kind)} interval` : ""}, computed from the first matches of the schedule, at ${countOf(course.matches.length, "point")}.`;
  const agents = course.series.map(({ agent }) => agent);
  const named = course.series.map((one) => ({ ...one, name: reportLabel(data.agents[one.agent], REPORT_MAX_END_LABEL) }));
  const chart = fittedDrawing((width) => lineDrawing(width, named.filter(({ agent }) => choice.has(agent)), {
    x: course.matches, xLabel: "matches", yLabel: course.label, height: 320, named: width >= REPORT_WIDE, zero: rated,
    format: shortNumber, label: `${title}: ${reportSummary(data, course.series)}`,
  }));
  choice.onChange(chart.redraw);
  return reportSection("rating", title, lead, agentLegend(data, choice, agents), chart,
    valuesTable(title, ["Agent", ...course.matches.map((match) => `${count(match)}`)],
      () => course.series.map(({ agent, value }) => [reportName(data.agents[agent]), ...value.map((one) => shortNumber(one))])));
}

/** Whether some line has two points, and some two values differ: else the standings say all. */
function reportHasCourse(series) {
  const values = series.map(({ value }) => value.filter((one) => one !== null));
  return values.some((some) => some.length > 1) && new Set(values.flat()).size > 1;
}

/** Last values of the first agents, in words. */
function reportSummary(data, series) {
  return series.slice(0, 3).map(({ agent, value }) => {
    const last = value.findLast((one) => one !== null);
    return `${reportLabel(data.agents[agent])} ends at ${shortNumber(last ?? null)}`;
  }).join(", ");
}

/**
 * Learning curves: one drawing for each task.
 * @param {Object} data the report
 * @param {Object} choice agents that are shown
 * @returns {?HTMLElement} null where no match has several episodes
 */
export function curvesSection(data, choice) {
  const { tasks } = data.curves;
  if (!tasks.length) return null;
  const agents = [...new Set(tasks.flatMap(({ series }) => series.map(({ agent }) => agent)))].sort((one, other) => one - other);
  return reportSection("curves", "Learning curves",
    "Results of the episodes of a match in order; repeats are averaged.",
    agentLegend(data, choice, agents),
    el("div", { class: "cards curves" }, tasks.map((task) => reportCurveCard(data, choice, task))),
    reportCurveNotes(data.curves).map((note) => el("p", { class: "muted small note" }, note)));
}

/** Parts of the data that the curves leave out. */
function reportCurveNotes({ sampled, read, of, unread, left_out: left }) {
  return [
    sampled && `Drawn from a random sample of ${count(read)} of ${count(of)} journals.`,
    unread && `${countOf(unread, "journal")} could not be read to the end.`,
    left && `${countOf(left, "curve")} left out to keep the page small.`,
  ].filter(Boolean);
}

function reportCurveCard(data, choice, { task, measure, episodes, repeats, band, series }) {
  const name = data.tasks[task].short;
  const named = series.map(({ agent, mean, low, high, repeats: times }) => ({
    agent, name: reportLabel(data.agents[agent], REPORT_MAX_END_LABEL), value: mean, low: times > 1 ? low : low.map(() => null), high,
  }));
  const x = [...Array(Math.max(...series.map(({ mean }) => mean.length))).keys()].map((bin) => Math.min(bin * episodes + (episodes + 1) / 2, (bin + 1) * episodes));
  const yLabel = measure === "solved" ? "share solved" : "reward";
  const chart = fittedDrawing((width) => lineDrawing(width, named.filter(({ agent }) => choice.has(agent)), {
    x, xLabel: "episode", yLabel, height: 220, format: shortNumber,
    label: `Learning curves on ${reportLabel(name)}: ${yLabel} by episode. ${reportSummary(data, named)}`,
  }));
  choice.onChange(chart.redraw);
  const bins = episodes > 1 ? `a point is the mean of ${count(episodes)} episodes` : null;
  const bands = repeats > 1 ? `band: ${band === "range" ? `lowest to highest of ${count(repeats)} repeats` : `middle 80 % of ${count(repeats)} repeats`}` : null;
  return el("article", { class: "card" },
    el("h3", {}, taskName(data, task)), chart,
    el("p", { class: "muted small" }, [bins, bands].filter(Boolean).join("; ")),
    valuesTable(`Learning curves on ${reportLabel(name)}`, ["Agent", ...x.map((at) => number(at))],
      () => named.map(({ agent, value }) => [reportName(data.agents[agent]), ...x.map((_, place) => shortNumber(value[place] ?? null))])));
}
