// Results on each task: a card for each task, with the agents and their intervals.

import { el } from "../common/dom.js";
import { count, intervalText, shortNumber } from "../common/format.js";
import { intervalMark, intervalRange } from "../common/intervals.js";
import { agentName, reportLabel, reportName, reportSection, taskName } from "./parts.js";
import { sortableTable } from "./tables.js";

/** Cards that are shown at first, and agents on a card. */
const REPORT_FIRST_CARDS = 12;
const REPORT_MOST_AGENTS_OF_A_CARD = 10;

/**
 * Cards of the tasks, and all their rows as a table.
 * @param {Object} data the report
 * @returns {?HTMLElement} null where nothing was played
 */
export function tasksSection(data) {
  if (!data.task_rows.length) return null;
  const byTask = new Map();
  for (const row of data.task_rows) byTask.set(row.task, [...(byTask.get(row.task) ?? []), row]);
  const cards = el("div", { class: "cards" });
  const waiting = [...byTask];
  const add = (number) => cards.append(...waiting.splice(0, number).map(([task, rows]) => reportCard(data, task, rows)));
  const more = el("button", { type: "button", class: "show-all", onclick: () => { add(waiting.length); more.remove(); } },
    `Show all ${count(byTask.size)} tasks`);
  add(REPORT_FIRST_CARDS);
  return reportSection("tasks", "Tasks", "Mean score of each agent with its 95 % interval over the seeds. Each task has a scale of its own.",
    cards, waiting.length ? more : null,
    el("details", { class: "more-tables" }, el("summary", {}, "All results as a table"), reportTaskTable(data)));
}

function reportCard(data, task, rows) {
  const best = [...rows].sort((one, other) => other.score.value - one.score.value);
  const shown = best.slice(0, REPORT_MOST_AGENTS_OF_A_CARD);
  const range = intervalRange(shown.map((row) => row.score));
  const { name, score, seats } = data.tasks[task];
  const equal = best.length > 1 && best.every((row) => reportScoreText(row) === reportScoreText(best[0]) && !row.fell);
  const measure = seats > 1 ? "share of the opponents beaten" : score === "reward" ? "reward of a match" : "share of instances solved";
  return el("article", { class: "card" },
    el("h3", {}, taskName(data, task)),
    el("p", { class: "muted small" }, measure),
    equal ? el("p", { class: "equal" }, `All ${count(best.length)} agents: ${reportScoreText(best[0])}`) : el("table", {},
      el("caption", { class: "visually-hidden" }, `Scores on ${reportLabel(name)}`),
      el("thead", { class: "visually-hidden" }, el("tr", {}, ["Agent", "Interval", "Score"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, shown.map((row) => el("tr", {},
        el("th", { scope: "row" }, agentName(data, row.agent)),
        el("td", { class: "mark" }, intervalMark(row.score, range, row.agent)),
        el("td", { class: "number", title: reportScoreText(row) }, shortNumber(row.score.value),
          row.fell ? el("span", { class: "tag bad" }, `${count(row.fell)} disq.`) : null))))),
    best.length > shown.length && !equal ? el("p", { class: "muted small" }, `The best ${shown.length} of ${count(best.length)} agents`) : null);
}

function reportScoreText({ score }) {
  return intervalText(score, shortNumber);
}

function reportTaskTable(data) {
  return sortableTable("Results by task and agent", [
    { label: "Task", value: (row) => data.tasks[row.task].name, cell: (row) => reportName(data.tasks[row.task].name) },
    { label: "Agent", value: (row) => data.agents[row.agent], cell: (row) => agentName(data, row.agent), header: true },
    { label: "Matches", number: true, value: (row) => row.matches, cell: (row) => count(row.matches) },
    { label: "Score", number: true, value: (row) => row.score.value, cell: reportScoreText },
    { label: "Reward", title: "Mean reward of a match", number: true, value: (row) => row.reward, cell: (row) => shortNumber(row.reward) },
    { label: "Solved", number: true, value: (row) => row.solved, cell: (row) => count(row.solved) },
    { label: "Instances", number: true, value: (row) => row.tasks, cell: (row) => count(row.tasks) },
    { label: "Disqualified", number: true, value: (row) => row.fell, cell: (row) => count(row.fell) },
  ], data.task_rows, { of: data.task_rows_of });
}
