// Limits of a turn: the share of turns that agents would lose under others, and the smallest that are enough.

import { el } from "../common/dom.js";
import { count, countOf, duration, percent } from "../common/format.js";
import { agentLook } from "../common/palette.js";
import { axisLeft, bandPath, drawing, linePath, logarithmic, svg } from "../common/svg.js";
import { agentLegend } from "./choice.js";
import { agentName, fittedDrawing, reportLabel, reportName, reportSection } from "./parts.js";
import { sortableTable, valuesTable } from "./tables.js";
import { REPORT_UNITS, reportThinned } from "./times.js";

const REPORT_LIMITS_HEIGHT = 300;
const REPORT_LIMITS_MARGIN = { top: 26, right: 12, bottom: 24, left: 52 };
const REPORT_ALL_COLOUR = "var(--text)";

/**
 * Share of turns lost over the limit of a turn.
 * @param {Object} data the report
 * @param {Object} choice agents that are shown, see `agentChoice`
 * @returns {?HTMLElement} null where no think times are known
 */
export function limitsSection(data, choice) {
  const { curves, left_out: left, unread, remarks } = data.limits;
  if (!curves.length) return null;
  const controls = [...new Set(curves.map(({ control }) => control))];
  const agents = [...new Set(curves.map(({ agent }) => agent).filter((agent) => agent !== null))];
  const notes = [
    ...remarks.map((text) => `${text[0].toUpperCase()}${text.slice(1)}.`),
    unread && `The journals of ${countOf(unread, "match", "matches")} are not there, or cannot be read.`,
    left && `${countOf(left, "curve")} left out to keep the page small.`,
  ].filter(Boolean);
  return reportSection("limits", "Limits",
    "The share of turns that each agent would lose under another limit of a turn (act), if it thinks as long as it did. Computed from the think times in the journals; bands are 95 % intervals between matches.",
    agents.length > 1 && agentLegend(data, choice, agents),
    controls.map((control) => reportLimitCard(data, choice, curves.filter((one) => one.control === control), controls.length > 1)),
    notes.map((note) => el("p", { class: "muted small note" }, note)));
}

/** Name of the agent of a curve, for places where only text fits. */
function reportCurveLabel(data, { agent }) {
  return agent === null ? "All agents" : reportLabel(data.agents[agent]);
}

function reportCurveName(data, { agent }) {
  return agent === null ? "All agents" : agentName(data, agent);
}

/** The agents under one time control. */
function reportLimitCard(data, choice, curves, isTitled) {
  const [{ control, soft_ns: soft, hard_ns: hard, advice }] = curves;
  const isShown = ({ agent }) => agent === null || curves.length === 1 || choice.has(agent);
  const said = `${reportCurveLabel(data, curves[0])}: ${reportAdviceText(advice)}`;
  const chart = fittedDrawing((width) => reportLimitDrawing(data, width, curves, curves.filter(isShown), said));
  choice.onChange(chart.redraw);
  const keys = [soft !== null && ["soft", `limit of today ${duration(soft)}`], hard !== null && ["hard", `hard limit of today ${duration(hard)}`]].filter(Boolean);
  const points = ({ limits_ns: limits, ...curve }) => limits.map((limit, place) =>
    [reportCurveName(data, curve), duration(limit), reportShareText(curve, place)]);
  return el("article", { class: "limits-of" },
    isTitled && el("h3", {}, reportName(control, 100)),
    el("p", { class: "advice" }, said),
    el("p", { class: "limit-keys small" }, keys.map(([kind, text]) => el("span", { class: `limit-key ${kind}` }, text)),
      el("span", { class: "muted" }, `dot: the smallest limit at which at most ${reportOneIn(advice.lost)} is lost`)),
    chart, reportAdviceTable(data, curves),
    valuesTable("Share of turns lost", ["Agent", "Limit (act)", "Turns lost"], () => curves.flatMap(points)));
}

/** `one turn in 1,000`, of a share of 0.001. */
function reportOneIn(share) {
  return `one turn in ${count(Math.round(1 / share))}`;
}

/** Advice in a sentence. */
function reportAdviceText({ lost, act_ns: act, low_ns: low, high_ns: high, is_least: isLeast }) {
  if (isLeast) return `more than act=${duration(act)} is needed to lose at most ${reportOneIn(lost)}; for how long the agent thinks beyond that is not recorded`;
  const interval = high === null ? `${low === null ? "" : `at least ${duration(low)}; `}too few turns for an upper end` : `${duration(low)} to ${duration(high)}`;
  return `act=${duration(act)} (${interval}) would lose at most ${reportOneIn(lost)}`;
}

function reportAdviceTable(data, curves) {
  const columns = [
    { label: "Agent", value: (row) => reportCurveLabel(data, row), cell: (row) => reportCurveName(data, row), header: true },
    { label: "Matches", number: true, value: ({ matches }) => matches, cell: ({ matches }) => count(matches) },
    { label: "Think times", number: true, value: ({ turns }) => turns, cell: ({ turns }) => count(turns) },
    { label: "Worth", title: "Number of independent turns that they are worth: those of one match depend on each other", number: true,
      value: ({ worth }) => worth, cell: ({ worth }) => count(worth) },
    { label: "Lost today", title: "Share of turns lost under the limit of today", number: true,
      value: ({ limits_ns: limits, soft_ns: soft, share }) => share[limits.indexOf(soft)] ?? null,
      cell: (row) => (row.soft_ns === null ? "–" : reportShareText(row, row.limits_ns.indexOf(row.soft_ns))) },
    { label: "Smallest limit", title: `At most ${reportOneIn(curves[0].advice.lost)} is lost`, number: true, value: ({ advice }) => advice.act_ns,
      cell: ({ advice }) => `${advice.is_least ? "> " : ""}${duration(advice.act_ns)}` },
    { label: "Interval", title: `95 %, between matches; its upper end takes about ${count(curves[0].advice.turns_needed)} independent turns`, value: ({ advice }) => advice.high_ns, number: true, cell: ({ advice }) => reportIntervalText(advice) },
    { label: "Longest", title: "Longest think time, which a hard limit has to exceed", number: true,
      value: ({ advice }) => advice.longest_ns, cell: ({ advice }) => duration(advice.longest_ns) },
  ];
  if (curves.some(({ advice }) => advice.bank_ns !== null)) {
    columns.push({ label: "Bank", title: "Smallest bank that no match used up", number: true,
      value: ({ advice }) => advice.bank_ns, cell: ({ advice }) => duration(advice.bank_ns) });
  }
  return sortableTable("Smallest limits", columns, curves);
}

function reportIntervalText({ is_least: isLeast, low_ns: low, high_ns: high }) {
  if (isLeast) return "–";
  if (high === null) return low === null ? "–" : `≥ ${duration(low)}`;
  return `${duration(low)} to ${duration(high)}`;
}

/** Share at a limit, with its interval; where more may be lost, what is known. */
function reportShareText({ share, low, high, at_least: atLeast }, place) {
  const text = (one) => (one > 0 && one < 0.001 ? percent(one, 3) : percent(one, 2));
  if (atLeast[place]) return `≥ ${text(share[place])}`;
  return `${text(share[place])} [${text(low[place])}, ${text(high[place])}]`;
}

/** Curves on two logarithmic scales; shares below the lowest mark stand at the bottom, as none. */
function reportLimitDrawing(data, width, all, curves, label) {
  const { top, right, bottom, left } = REPORT_LIMITS_MARGIN;
  const [{ soft_ns: soft, hard_ns: hard, advice: { lost } }] = all;
  const limits = all.flatMap(({ limits_ns: some }) => some);
  const lowest = Math.min(lost, ...all.flatMap(({ share }) => share.filter((one) => one > 0)));
  const decades = Math.ceil(-Math.log10(lowest) - 1e-9);
  const x = logarithmic([Math.min(...limits) / 1.1, Math.max(...limits) * 1.1], [left, width - right]);
  const y = logarithmic([10 ** -(decades + 0.5), 1], [REPORT_LIMITS_HEIGHT - bottom, top]);
  const marks = reportThinned(reportLimitMarks(x.domain), (width - left) / 58);
  const shares = [...Array(decades + 1).keys()].map((decade) => 10 ** -decade);
  const line = (kind, ns) => ns !== null && ns >= x.domain[0] && ns <= x.domain[1]
    && svg("line", { class: `limit ${kind}`, x1: x(ns), x2: x(ns), y1: top, y2: y.range[0] });
  return drawing(width, REPORT_LIMITS_HEIGHT, label,
    axisLeft(y, left, { values: [...shares, y.domain[0]], label: "turns lost", across: width - left - right,
      format: (share) => (share === y.domain[0] ? "none" : `${Number((100 * share).toPrecision(2))} %`) }),
    svg("g", { class: "axis" }, marks.map(([text, ns]) => svg("g", {},
      svg("line", { class: "grid", x1: x(ns), x2: x(ns), y1: top, y2: y.range[0] }),
      svg("text", { x: x(ns), y: REPORT_LIMITS_HEIGHT - 8, "text-anchor": "middle" }, text)))),
    svg("line", { class: "wanted", x1: left, x2: width - right, y1: y(lost), y2: y(lost) }),
    line("soft", soft), line("hard", hard), curves.map((curve) => reportLimitCurve(curve, x, y)));
}

/** Times on the scale of limits: powers of ten, and with fewer than three of them 1, 2 and 5 times these. */
function reportLimitMarks([low, high]) {
  const within = (marks) => marks.filter(([, ns]) => ns >= low && ns <= high);
  const powers = within(REPORT_UNITS);
  return powers.length > 2 ? powers : within(REPORT_UNITS.flatMap(([, ns]) => [1, 2, 5].map((times) => [duration(times * ns), times * ns])));
}

/** A curve up to where nothing is lost, with its band, dotted where more may be lost, and the smallest limit with its
 * interval. */
function reportLimitCurve({ agent, limits_ns: all, share, low, high, at_least: atLeast, advice }, x, y) {
  const end = share.findIndex((one, place) => one === 0 && !atLeast[place]);
  const limits = all.slice(0, end < 0 ? all.length : end + 1);
  const { colour, dash } = agent === null ? { colour: REPORT_ALL_COLOUR, dash: "" } : agentLook(agent);
  const part = (isKept) => linePath(limits.map((limit, place) => [x(limit), isKept(place) ? y(share[place]) : NaN]));
  const known = limits.map((limit, place) => [x(limit), y(low[place]), y(high[place])]).filter((_, place) => !atLeast[place]);
  const style = { stroke: colour, fill: "none" };
  const { lost, act_ns: act, low_ns: from, high_ns: to, is_least: isLeast } = advice;
  const [height, isKnown] = [y(lost), !isLeast && act <= x.domain[1]];
  return svg("g", { class: "limit-curve" },
    known.length > 1 && svg("path", { class: "band", d: bandPath(known), style: { fill: colour } }),
    svg("path", { class: "line", d: part((place) => !atLeast[place]), "stroke-dasharray": dash || null, style }),
    svg("path", { class: "line", d: part((place) => atLeast[place] || atLeast[place + 1]), "stroke-dasharray": "2 4", style }),
    isKnown && to !== null && svg("line", { class: "advised", x1: x(from), x2: Math.min(x.range[1], x(to)), y1: height, y2: height, style }),
    isKnown && svg("circle", { cx: x(act), cy: height, r: 4, style: { fill: colour } }));
}
