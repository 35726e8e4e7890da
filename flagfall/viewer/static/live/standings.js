// Table of the standings, each estimate with its interval drawn.

import { el, fill, shortName, visible } from "../common/dom.js";
import { columnText, count, countOf, filledColumns, fixed, intervalText, number, percent } from "../common/format.js";
import { intervalMark, intervalRange } from "../common/intervals.js";

/**
 * Panel of the standings.
 * @returns {{element: HTMLElement, show: function(Object): void}}
 */
export function standingsPanel() {
  const info = el("span", { class: "small muted" });
  const body = el("div", {}, el("p", { class: "muted" }, "The standings are being computed."));
  const element = el("section", { class: "panel standings", id: "standings", "aria-labelledby": "standings-title" },
    el("header", {}, el("h2", { id: "standings-title" }, "Standings"), info), body);

  function show(stands) {
    if (stands.why) {
      fill(info);
      fill(body, el("p", { class: "muted" }, visible(stands.why, undefined, { code: true })));
      return;
    }
    const open = body.querySelector("details")?.open ?? false;
    fill(info, `after ${countOf(stands.matches, "match", "matches")}${stands.over ? "" : ", so far"}`);
    fill(body,
      el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Standings" }, table(stands)),
      stands.left_out ? el("p", { class: "small muted" }, `${countOf(stands.left_out, "more agent")}: flagfall results shows all.`) : null,
      el("ul", { class: "notes small muted" }, stands.notes.map((note) => el("li", {}, visible(note, undefined, { code: true })))),
      byTask(stands, open));
    element.dataset.matches = stands.matches;
  }

  return { element, show };
}

/** Table of all agents. */
function table({ rows, columns, drawn: key, elo_level: eloLevel }) {
  const drawn = columns.find((one) => one.key === key);
  const range = intervalRange(rows.map((row) => row[key]).filter(Boolean));
  const cells = [
    ["#", "number", (row) => el("td", { class: "number place" }, row.place)],
    ["Agent", "", (row) => el("th", { scope: "row", class: "agent" }, visible(row.agent, 60))],
    rows.some((row) => row[key]) && [`${percent(key === "elo" ? eloLevel : 0.95)} interval`, "strip", (row) => el("td", { class: "strip" }, intervalCell(row[key], range, drawn))],
    ...filledColumns(columns, rows).map((one) => [one.label, "number",
      (row) => el("td", { class: "number" }, one.mark ? mark(row[one.key], one.mark) : columnText(one, row[one.key]))]),
  ].filter(Boolean);
  return el("table", {},
    el("thead", {}, el("tr", {}, cells.map(([name, kind]) => el("th", { scope: "col", class: kind }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", { dataset: { agent: row.agent } }, cells.map(([, , cell]) => cell(row))))));
}

/** Count that is marked where it is not zero. */
function mark(value, kind) {
  return value ? el("span", { class: `tag ${kind}` }, count(value)) : "0";
}

/** Drawing of one interval, with its numbers. */
function intervalCell(interval, range, { label: name, decimals }) {
  const label = interval && `${name} ${intervalText(interval, (one) => fixed(one, decimals))}`;
  return label && el("div", { role: "img", "aria-label": label, title: label }, intervalMark(interval, range, 0));
}

/** Table by task, folded at first. */
function byTask(stands, open) {
  if (!stands.tasks.length) return null;
  return el("details", { open },
    el("summary", {}, "By task"),
    el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Standings by task" },
      el("table", {},
        el("thead", {}, el("tr", {}, [["Task", ""], ["Agent", ""], ["Matches", "number"], ["Mean score, 95 % interval", "number"],
          ["Disqualified", "number"]].map(([name, kind]) => el("th", { scope: "col", class: kind }, name)))),
        el("tbody", {}, stands.tasks.map((row) => el("tr", {},
          el("td", {}, shortName(row.short, 60, row.task)),
          el("td", {}, visible(row.agent, 60)),
          el("td", { class: "number" }, count(row.matches)),
          el("td", { class: "number" }, row.score ? intervalText(row.score, (one) => number(one, 3)) : "–"),
          el("td", { class: "number" }, mark(row.fell, "bad"))))))),
    stands.tasks_left_out ? el("p", { class: "small muted" }, `${countOf(stands.tasks_left_out, "more row")}.`) : null);
}
