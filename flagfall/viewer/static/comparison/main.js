// Entry of the comparison of two tournaments: how agents and tasks that both have differ.

import { readBlock } from "../common/blocks.js";
import { briefName, el, fill, visible } from "../common/dom.js";
import { count, countOf, duration, fixed, intervalText, percent, shortNumber } from "../common/format.js";
import { intervalMark, intervalRange } from "../common/intervals.js";
import { reportName, reportSection } from "../report/parts.js";
import { sortableTable } from "../report/tables.js";

const MAX_TITLE = 80;
const MAX_FACT = 200;
const MAX_NAMES = 100;
const UNKNOWN = "not bounded";
const ORDER = ["First", "Second"];

/** Whether the interval of a change leaves 0 out. */
function isSure({ low, high }) {
  return (low !== null && low > 0) || (high !== null && high < 0);
}

/** Difference with a sign. */
function signed(value, decimals) {
  return `${value > 0 ? "+" : ""}${decimals === null ? shortNumber(value) : fixed(value, decimals)}`;
}

/** Columns of a figure in both tournaments, and of its change, drawn on one scale. */
function figureColumns(rows, label, level, decimals, figure) {
  const text = (one) => (decimals === null ? shortNumber(one) : fixed(one, decimals));
  const drawn = (row) => figure(row)?.slice(2).find((change) => intervalText(change, text) !== UNKNOWN) ?? null;
  const range = intervalRange(rows.map(drawn).filter(Boolean));
  return [
    { label: "Change", number: true, title: `The second less the first, with the ${level} interval of the difference`, value: (row) => figure(row)?.[2].value,
      cell: (row) => (figure(row) ? el(isSure(figure(row)[2]) ? "strong" : "span", {}, intervalText(figure(row)[2], (one) => signed(one, decimals))) : "–") },
    { label: "Drawn", kind: "drawn", value: (row) => figure(row)?.[2].value, down: true, cell: (row) => intervalMark(drawn(row), range, 0) },
    ...ORDER.map((name, place) => ({ label: `${name} ${label}`, number: true, title: `With its ${level} interval`, value: (row) => figure(row)?.[place].value,
      cell: (row) => (figure(row) ? intervalText(figure(row)[place], text) : "–") })),
  ];
}

/** How many changes are sure, in a sentence. */
function sureText(changes, what) {
  const sure = changes.filter(isSure).length;
  if (changes.every(({ lack }) => lack)) return "There is too little for intervals of the differences.";
  return sure ? `${count(sure)} of ${countOf(changes.length, what)} differ by more than chance explains.` : "No difference is larger than chance explains.";
}

/** Agents in both: Elo relative to each other. */
function agentsSection(data) {
  const level = percent(data.elo_level);
  const changes = data.agents.map(({ elo }) => elo?.[2]).filter(Boolean);
  const lead = changes.length ? ["Elo less the mean of the agents that won and lost in both tournaments, with its ", level, " interval. ", sureText(changes, "agent")]
    : "No Elo can be compared: fewer than two of these agents won and lost against the others in both tournaments.";
  return reportSection("agents", "Agents in both", lead,
    sortableTable("Agents in both tournaments", [
      { label: "Agent", value: (row) => row.agent, cell: (row) => reportName(row.agent), header: true },
      ...(changes.length ? figureColumns(data.agents, "Elo", level, 0, ({ elo }) => elo) : []),
      ...ORDER.map((name, place) => ({ label: `${name} matches`, number: true, value: (row) => row.matches[place], cell: (row) => count(row.matches[place]) })),
    ], data.agents, { of: data.agents_of }),
    data.only.map((names, place) => names.length ? el("p", { class: "small note" }, `Only in the ${ORDER[place].toLowerCase()}: `,
      names.slice(0, MAX_NAMES).map((name, at) => [at ? ", " : "", reportName(name)]), names.length > MAX_NAMES ? ` and ${count(names.length - MAX_NAMES)} more` : null, ".") : null));
}

/** Tasks in both, for each agent. */
function tasksSection(data) {
  const others = data.other_opponents.length ? el("p", { class: "small note" }, "Not compared, since the opponents or the measure differ: ",
    data.other_opponents.slice(0, MAX_NAMES).map((task, at) => [at ? ", " : "", reportName(task)]), ".") : null;
  if (!data.tasks.length) return others && reportSection("tasks", "Tasks in both", null, others);
  const settings = new Set(data.settings);
  return reportSection("tasks", "Tasks in both", ["Mean score with its 95 % interval. ", sureText(data.tasks.map(({ score }) => score[2]), "row")],
    sortableTable("Tasks in both tournaments", [
      { label: "Task", value: (row) => row.task, header: true,
        cell: (row) => [briefName(row.task, data.short, 40), settings.has(row.task) ? [" ", el("span", { class: "tag late" }, "settings differ")] : null] },
      { label: "Agent", value: (row) => row.agent, cell: (row) => reportName(row.agent) },
      ...figureColumns(data.tasks, "score", "95 %", null, ({ score }) => score),
    ], data.tasks, { of: data.tasks_of }), others);
}

/** Think times beside each other; nothing where no turn took any. */
function thinkingSection(data) {
  const rows = data.agents.filter((row) => [...row.think_p50_ns, ...row.think_p99_ns].some(Boolean));
  if (!rows.length) return null;
  const columns = [["think_p50_ns", "median"], ["think_p99_ns", "99 %"]].flatMap(([key, label]) => ORDER.map((name, place) => (
    { label: `${name} ${label}`, number: true, value: (row) => row[key][place], cell: (row) => (row[key][place] ? duration(row[key][place]) : "–") })));
  return reportSection("times", "Think time", "Time that half, and 99 %, of the turns of an agent did not exceed.",
    sortableTable("Think times", [{ label: "Agent", value: (row) => row.agent, cell: (row) => reportName(row.agent), header: true }, ...columns], rows));
}

/** Settings in which the plans differ. */
function plansSection({ changes, changes_of: of }) {
  return reportSection("plans", "Plans", changes.length ? "Settings in which the plans differ; what changes how matches are played may explain a difference." : "Both plans have the same settings.",
    changes.length ? el("ul", { class: "changes" }, changes.map((line) => el("li", {}, visible(line)))) : null,
    of > changes.length ? el("p", { class: "muted small" }, `${countOf(of - changes.length, "more difference")}.`) : null);
}

/** Facts of both tournaments. */
function bothSection({ folders }) {
  const labels = [...new Set(folders.flatMap(({ facts }) => facts.map(([label]) => label)))];
  const [first, second] = folders.map(({ facts }) => new Map(facts));
  return reportSection("facts", "Tournaments", null,
    sortableTable("Facts of both tournaments", [
      { label: "Fact", value: (label) => label, header: true },
      ...[first, second].map((facts, place) => ({ label: ORDER[place], kind: "fact", value: (label) => facts.get(label), cell: (label) => reportName(facts.get(label) ?? "–", MAX_FACT) })),
    ], labels));
}

const comparison = readBlock("comparison");
fill(document.getElementById("page"), el("div", { class: "report" },
  el("header", { class: "report-head" },
    el("h1", {}, "Two tournaments compared"),
    comparison.folders.map(({ title, state_line: state, facts }, place) => {
      const known = new Map(facts);
      return el("p", { class: "lead-line" }, el("span", { class: "muted" }, `${ORDER[place]}: `), el("strong", {}, reportName(title, MAX_TITLE)),
        el("span", { class: "muted" }, " in ", reportName(known.get("Folder") ?? "", MAX_TITLE), known.has("Begun") ? `, begun ${known.get("Begun")}` : null),
        state ? el("span", { class: "small" }, " ", el("span", { class: "tag late" }, "not over"), ` ${state}`) : null);
    })),
  [agentsSection, tasksSection, thinkingSection, plansSection, bothSection].map((section) => section(comparison)),
  el("footer", { class: "muted small" }, "Made by flagfall. This file needs no network.")));
document.body.dataset.ready = "true";
