// Panels around the turns: the title and result, the tasks, what agents printed, and the settings.

import { briefName, el, fill, plain, shortName, visible } from "../common/dom.js";
import { count, countOf, duration, number } from "../common/format.js";
import { swatch } from "../common/palette.js";
import { textBlock } from "../common/texts.js";
import { resultTag, rewardsText, seatTitle } from "./marks.js";
import { MAX_SHOWN_SEATS } from "./store.js";

/** Tasks that are listed at first. */
const TASKS_AT_FIRST = 50;

/** Names of agents or tasks in a title. */
const NAMES_IN_TITLE = 4;

/** Why a match ended, in words. */
const REASONS = { steps: "limit of turns", seats: "every seat disqualified", stopped: "stopped on request" };

/** A few names, and how many more there are, those of tasks short; `joint` makes what stands between two of them. */
function fewNames(names, leftOut, joint, short = {}) {
  const shown = names.slice(0, NAMES_IN_TITLE).flatMap((name, i) => [i ? joint() : null, briefName(name, short)]);
  const rest = Math.max(0, names.length - NAMES_IN_TITLE) + (leftOut ?? 0);
  return rest ? [...shown, ` and ${count(rest)} more`] : shown;
}

/** Wall time of a journal in whole seconds. */
function begunText(begun) {
  const time = new Date(begun);
  return Number.isNaN(time.getTime()) ? plain(begun, 40) : `${time.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Who has won, as a sentence; of one seat what it reached. */
function resultText({ result, seats, over, state, tasks, tasks_left_out: leftOut }) {
  const { winners, why, played, solved, failed, drawn } = result;
  if (seats.length === 1) {
    const judged = solved + failed;
    const reward = seats[0].reward === null ? "" : `reward ${number(seats[0].reward, 6)}`;
    const begun = tasks.length + leftOut;
    return [judged > 0 && `solved ${count(solved)} of ${countOf(judged, "task")}`,
      reward && (judged || begun < 2 ? reward : `${reward} in ${countOf(begun, "episode")}`)].filter(Boolean).join(" · ");
  }
  if (!winners.length) return state === "growing" && !over ? "not decided yet" : `no winner: ${why}`;
  const names = winners.slice(0, NAMES_IN_TITLE).map((seat) => `seat ${seat}`).join(", ");
  const rest = winners.length > NAMES_IN_TITLE ? ` and ${count(winners.length - NAMES_IN_TITLE)} more` : "";
  if (winners.length > 1) return winners.length === seats.length ? "draw" : `draw of ${names}${rest}`;
  const [winner] = winners;
  const wins = played > 1 && `${count(seats[winner].won)} of ${countOf(played, "episode")}${drawn ? `, ${count(drawn)} drawn` : ""}`;
  return ["wins", why || wins].filter(Boolean).join(": ");
}

/** Seats with what they were paid; the winner is marked. */
class Scores {
  constructor(store) {
    this.store = store;
    this.players = [];
    this.list = el("ul", { class: "bare-list scores" });
    this.text = el("strong");
    this.element = el("p", { class: "result" }, this.text);
  }

  /** Show the state of a summary. */
  grow() {
    const { summary } = this.store;
    const [winner] = summary.result.winners.length === 1 ? summary.result.winners : [];
    const text = resultText(summary);
    fill(this.text, winner !== undefined && [this.name(winner), " "], text);
    this.element.hidden = !text;
    const { seats } = summary;
    const row = (seat, index) => el("li", { class: summary.result.winners.includes(index) ? "best" : null },
      swatch(index), this.name(index), " ",
      el("span", { class: "number" }, seat.reward === null ? "" : number(seat.reward, 6)),
      seat.disqualified && el("span", { class: "tag bad" }, "disqualified: ", plain(seat.disqualified.reason, 40)));
    this.list.hidden = seats.length === 1;
    const rest = seats.length - MAX_SHOWN_SEATS + summary.match.agents_left_out;
    fill(this.list, seats.slice(0, MAX_SHOWN_SEATS).map(row),
      rest > 0 && el("li", { class: "muted" }, countOf(rest, "more seat")));
  }

  /** Name of a seat: its agent, and what the task calls its player. */
  name(index) {
    const player = this.players[index];
    const place = `seat ${index}${player ? `, ${plain(player, 40)}` : ""}`;
    return [shortName(this.store.summary.seats[index].name), el("span", { class: "muted" }, ` (${place})`)];
  }

  /** Take the names of the players of a turn. */
  draw(turn) {
    const players = this.store.players(turn);
    if (!players.length || JSON.stringify(players) === JSON.stringify(this.players)) return;
    this.players = players;
    this.grow();
  }
}

/** Title, result and state of the match. */
export class Heading {
  /**
   * @param {Object} store store of the replay
   * @param {function(): void} help opens the sheet of keys
   */
  constructor(store, help) {
    const { summary } = store;
    this.store = store;
    this.tags = el("p", { class: "tags" });
    this.notice = el("p", { class: "notice", hidden: true });
    this.scores = new Scores(store);
    const { agents, agents_left_out: moreAgents, tasks, tasks_left_out: moreTasks } = summary.match;
    const quiet = (word) => el("span", { class: "muted" }, ` ${word} `);
    const on = [quiet("on"), fewNames(tasks, moreTasks, () => ", ", summary.short)];
    const title = el("h1", {}, fewNames(agents, moreAgents, () => quiet("vs")), on);
    const begun = summary.match.begun && ` · ${begunText(summary.match.begun)}`;
    const file = el("p", { class: "muted small subtitle" }, visible(summary.file, 120), begun);
    const button = el("button", { type: "button", onclick: help, title: "Keyboard (?)" }, "Keyboard ", el("kbd", {}, "?"));
    const titles = el("div", { class: "titles" }, title, file);
    const result = el("div", { class: "outcome" }, this.scores.element, this.scores.list);
    this.element = el("header", { class: "heading" }, titles, this.tags, button, result, this.notice);
    this.grow();
  }

  /** Show a summary that has grown. */
  grow() {
    const { over, state, state_detail: detail, turns, seats, match: { parents } } = this.store.summary;
    const tag = (tone, text) => el("span", { class: `tag ${tone}` }, text);
    const [{ disqualified }] = seats.length === 1 ? seats : [{}];
    fill(this.tags,
      state === "complete" ? null : tag(state === "damaged" ? "bad" : "late", state),
      over && tag(over.reason === "void" ? "bad" : "", REASONS[over.reason] ?? plain(over.reason, 40)),
      tag("", countOf(turns, "turn")),
      parents.length > 0 && tag("", `played from turn ${parents.at(-1).turn}`),
      disqualified && tag("bad", `disqualified: ${plain(disqualified.reason, 40)}`));
    this.scores.grow();
    const problem = [state === "complete" ? "" : detail, over?.detail].filter(Boolean).join(" ");
    this.notice.hidden = !problem;
    fill(this.notice, visible(problem, 600, { code: true }));
  }

  /** Follow the turn that is shown: its task may have names for the players. */
  draw(turn) {
    this.scores.draw(turn);
  }
}

/** Table of the tasks; a row leads to the first turn of its task. */
export class TasksPanel {
  constructor(store, go) {
    this.store = store;
    this.go = go;
    this.limit = TASKS_AT_FIRST;
    this.body = el("tbody");
    this.more = el("button", { type: "button", class: "more", onclick: () => { this.limit = Infinity; this.grow(); } });
    this.total = el("span", { class: "muted small number" });
    const head = ["Task", "First turn", "Turns", "Result", "Reward", "Ended"]
      .map((name, i) => el("th", { scope: "col", class: [1, 2, 4].includes(i) ? "number" : null }, name));
    this.element = el("section", { class: "panel tasks", "aria-label": "Tasks" },
      el("header", {}, el("h2", {}, "Tasks"), this.total),
      el("div", { class: "scrolls task-table", tabindex: "0", role: "region", "aria-label": "Table of tasks" },
        el("table", {}, el("thead", {}, el("tr", {}, head)), this.body)), this.more);
    this.grow();
  }

  /** Show the tasks of a summary that has grown. */
  grow() {
    const { tasks, tasks_left_out: leftOut = 0 } = this.store.summary;
    this.total.textContent = count(tasks.length + leftOut);
    fill(this.body, tasks.slice(0, this.limit).map((task) => this.row(task)));
    this.rows = null;
    const rest = tasks.length - Math.min(tasks.length, this.limit);
    this.more.hidden = !rest;
    this.more.textContent = `Show ${countOf(rest, "more task")}`;
  }

  row(task) {
    const metrics = Object.entries(task.metrics ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join("; ");
    const go = () => this.go(task.first_turn);
    return el("tr", { dataset: { first: task.first_turn }, title: metrics ? plain(metrics, 400) : null },
      el("th", { scope: "row" }, el("button", { type: "button", class: "bare link", onclick: go }, briefName(task.task, this.store.summary.short))),
      el("td", { class: "number" }, count(task.first_turn)), el("td", { class: "number" }, count(task.turns)),
      el("td", {}, resultTag(task) ?? el("span", { class: "muted" }, "–")), el("td", { class: "number" }, rewardsText(task)),
      el("td", {}, plain(task.ended || "–", 40)));
  }

  /** Mark the task of a turn. */
  draw(turn) {
    const low = this.store.taskOf(turn);
    if (this.marked === low && this.rows) return;
    this.rows ??= [...this.body.children];
    this.rows[this.marked]?.classList.remove("current");
    this.rows[low]?.classList.add("current");
    this.marked = low;
  }
}

/** Why seats were disqualified, and what their agents printed. */
export class PrintsPanel {
  /** @param {Object} summary summary of the match */
  constructor(summary) {
    this.element = el("section", { class: "panel prints", "aria-label": "Prints and reasons" });
    this.grow(summary);
  }

  /** Take a summary that has grown: prints come with the end of the match. */
  grow(summary) {
    const found = summary.seats.map((seat, index) => [seat, index])
      .filter(([seat]) => seat.disqualified || seat.printed.length);
    this.element.hidden = !found.length;
    fill(this.element, el("header", {}, el("h2", {}, "Prints and reasons")), found.map(([seat, index]) => el("article", {},
      el("h3", {}, seatTitle(summary, index)),
      seat.disqualified && reasonOf(seat.disqualified),
      seat.printed.length > 0 && el("dl", { class: "box printed", tabindex: "0", "aria-label": "Printed" }, seat.printed.map(partOf)))));
  }
}

/**
 * Why a seat was disqualified.
 * @param {Object} disqualified facts of the seat in the summary
 * @returns {HTMLElement[]}
 */
export function reasonOf({ at_ns: at, reason, detail }) {
  return [
    el("p", { class: "notice bad" }, `Disqualified after ${duration(at)}: `, visible(reason, 80)),
    detail && el("div", { class: "box", tabindex: "0", role: "region", "aria-label": "Detail" }, textBlock("Detail", detail, { code: true })),
  ];
}

/**
 * A part of what an agent printed; it was printed in this turn or before.
 * @param {Object} part its row in the summary
 * @returns {HTMLElement[]}
 */
export function partOf({ turn, text, left_out: leftOut }) {
  return [
    leftOut > 0 && el("div", {}, el("dt", {}), el("dd", {}, el("em", {}, `${countOf(leftOut, "byte")} left out`))),
    el("div", {}, el("dt", {}, `by turn ${count(turn)}`), el("dd", {}, el("pre", {}, visible(text, 2000, { lines: true })))),
  ];
}

/** Name, host and start of a seat. */
function seatText({ name, host, ready_ns: ready }) {
  return `${name}; host ${host ?? "none"}${ready === null ? "" : `; ready after ${duration(ready)}`}`;
}

/**
 * Settings of the match, as the journal has them.
 * @param {Object} summary summary of the match
 * @returns {HTMLElement}
 */
export function settingsPanel(summary) {
  const { match, seats } = summary;
  const rows = [
    ["File", summary.file], ["Task scheduler", match.scheduler], ["Seed", match.seed],
    ["Time control", match.time_control],
    ["Clock", match.clock], ["Pace", match.tick_ns ? `a tick every ${duration(match.tick_ns)}` : "lock-step"],
    ["Limit of turns", match.steps === null ? "none" : count(match.steps)],
    ...match.parents.map(({ turn, agents }) => [`Before turn ${turn}`, `turns of a recorded match of ${agents.join(", ")}`]),
    ["Begun", match.begun ? begunText(match.begun) : "not recorded"],
    ["Recorded by", `flagfall ${match.flagfall}, schema ${match.schema}`],
    ...seats.map((seat, index) => [`Seat ${index}`, seatText(seat)]),
  ];
  const row = ([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, visible(String(value), 200)));
  return el("section", { class: "panel settings", "aria-label": "Settings" }, el("header", {}, el("h2", {}, "Match")),
    el("dl", { class: "facts" }, rows.map(row)));
}
