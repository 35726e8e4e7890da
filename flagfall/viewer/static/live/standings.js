// Table of the standings, each estimate with its interval drawn.

import { el, fill, visible } from "../common/dom.js";
import { count, countOf, duration, number } from "../common/format.js";
import { drawing, linear, svg } from "../common/svg.js";

const STRIP_WIDTH = 150;
const STRIP_HEIGHT = 14;

/** Estimates in the order in which they are preferred for the drawing. */
const ESTIMATES = [
  { key: "elo", name: "Elo", show: (value) => number(Math.round(value)) },
  { key: "score", name: "Score", show: (value) => value.toFixed(3) },
];

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
      fill(body, el("p", { class: "muted" }, visible(stands.why)));
      return;
    }
    const open = body.querySelector("details")?.open ?? false;
    fill(info, `after ${countOf(stands.matches, "match", "matches")}${stands.over ? "" : ", so far"}`);
    fill(body,
      el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Standings" }, table(stands.rows)),
      stands.left_out ? el("p", { class: "small muted" }, `${countOf(stands.left_out, "more agent")}: flagfall results shows all.`) : null,
      el("ul", { class: "notes small muted" }, stands.notes.map((note) => el("li", {}, visible(note)))),
      byTask(stands, open));
    element.dataset.matches = stands.matches;
  }

  return { element, show };
}

/** Table of all agents. */
function table(rows) {
  const drawn = ESTIMATES.find(({ key }) => rows.some((row) => row[key])) ?? ESTIMATES[1];
  const others = ESTIMATES.filter((one) => one !== drawn && rows.some((row) => row[one.key]));
  const scale = scaleOf(rows.map((row) => row[drawn.key]));
  const has = (key) => rows.some((row) => row[key] !== null);
  const columns = [
    ["#", "number", (row) => el("td", { class: "number place" }, row.place)],
    ["Agent", "", (row) => el("th", { scope: "row", class: "agent" }, visible(row.agent, 60))],
    [drawn.name, "number", (row) => el("td", { class: "number" }, estimate(row[drawn.key], drawn))],
    has(drawn.key) && ["95 % interval", "strip", (row) => el("td", { class: "strip" }, strip(row[drawn.key], scale, drawn))],
    ...others.map((one) => [one.name, "number", (row) => el("td", { class: "number" }, estimate(row[one.key], one))]),
    has("points") && ["Points", "number", (row) => el("td", { class: "number" }, number(row.points))],
    has("skill") && ["Skill", "number", (row) => el("td", { class: "number" }, row.skill ? number(row.skill.mu, 3) : "–")],
    ["Matches", "number", (row) => el("td", { class: "number" }, count(row.matches))],
    rows.some((row) => row.wins + row.draws + row.losses)
      && ["Won, drawn, lost", "number", (row) => el("td", { class: "number" }, [row.wins, row.draws, row.losses].map(count).join(" · "))],
    ["Late turns", "number", (row) => el("td", { class: "number" }, mark(row.late, "late"))],
    ["Disqualified", "number", (row) => el("td", { class: "number" }, mark(row.time_losses + row.crashes, "bad"))],
    ["Median turn", "number", (row) => el("td", { class: "number" }, row.turns ? duration(row.think_p50_ns) : "–")],
    ["99 %", "number", (row) => el("td", { class: "number" }, row.turns ? duration(row.think_p99_ns) : "–")],
  ].filter(Boolean);
  return el("table", {},
    el("thead", {}, el("tr", {}, columns.map(([name, kind]) => el("th", { scope: "col", class: kind }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", { dataset: { agent: row.agent } }, columns.map(([, , cell]) => cell(row))))));
}

/** Count that is marked where it is not zero. */
function mark(value, kind) {
  return value ? el("span", { class: `tag ${kind}` }, count(value)) : "0";
}

/** Estimate as a number. */
function estimate(interval, { show }) {
  return interval ? show(interval.value).replace(/^-/, "−") : "–";
}

/** Scale over all intervals. */
function scaleOf(intervals) {
  const values = intervals.filter(Boolean).flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const [least, most] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
  const room = (most - least || 1) * 0.04;
  return linear([least - room, most + room], [4, STRIP_WIDTH - 4]);
}

/** Drawing of one interval. */
function strip(interval, scale, { show, name }) {
  if (!interval) return null;
  const { value, low, high } = interval;
  const y = STRIP_HEIGHT / 2;
  const known = low !== null && high !== null;
  const label = known ? `${name} from ${show(low)} to ${show(high)}` : `${name} ${show(value)}, without an interval`;
  return drawing(STRIP_WIDTH, STRIP_HEIGHT, label,
    svg("title", {}, label),
    svg("line", { class: "ground", x1: 0, x2: STRIP_WIDTH, y1: y, y2: y }),
    known && svg("line", { class: "interval", x1: scale(low), x2: scale(high), y1: y, y2: y }),
    svg("circle", { class: "estimate", cx: scale(value), cy: y, r: 3.5 }));
}

/** Table by task, folded at first. */
function byTask(stands, open) {
  if (!stands.tasks.length) return null;
  return el("details", { open },
    el("summary", {}, "By task"),
    el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Standings by task" },
      el("table", {},
        el("thead", {}, el("tr", {}, [["Task", ""], ["Agent", ""], ["Matches", "number"], ["Mean score", "number"],
          ["95 % interval", "number"], ["Disqualified", "number"]].map(([name, kind]) => el("th", { scope: "col", class: kind }, name)))),
        el("tbody", {}, stands.tasks.map((row) => el("tr", {},
          el("td", {}, visible(row.task, 60)),
          el("td", {}, visible(row.agent, 60)),
          el("td", { class: "number" }, count(row.matches)),
          el("td", { class: "number" }, number(row.score?.value, 3)),
          el("td", { class: "number" }, row.score?.low == null ? "–" : `${number(row.score.low, 3)} to ${number(row.score.high, 3)}`),
          el("td", { class: "number" }, mark(row.fell, "bad"))))))),
    stands.tasks_left_out ? el("p", { class: "small muted" }, `${countOf(stands.tasks_left_out, "more row")}.`) : null);
}
