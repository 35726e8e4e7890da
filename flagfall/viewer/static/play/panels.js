// The start screen, the score beside the game, and the end screen.

import { el, fill, plain, visible } from "../common/dom.js";
import { count, countOf, duration, number } from "../common/format.js";
import { keyName } from "./buttons.js";
import { limitsInWords } from "./clock.js";

/** Characters of a goal that are shown at once; a button shows more. */
export const MAX_GOAL = 600;

/** Longest name of a task or an agent that is shown at once. */
const MAX_NAME = 80;

/** Result of a task in a word. */
function resultWord({ result, ended }) {
  if (result === true) return "solved";
  if (result === false) return "not solved";
  return ended === "cut" ? "cut short" : "over";
}

/** What is clicked or pressed in a task. */
function waysToPlay({ controls, board }) {
  if (!board) return keyList(controls);
  const hasPieces = board.actions.some(([, areas]) => areas.length > 1);
  return el("p", {}, hasPieces ? "Click a piece, and then where it goes." : "Click the picture where you play.",
    " Every action has a button, too.");
}

/** The keys of a task, as a list. */
function keyList(controls) {
  if (controls.kind === "json") return [el("p", {}, "You type each action as JSON.")];
  if (controls.kind === "bytes") {
    return [el("p", {}, "You type lines. Each step sends one character, or a space where nothing waits to be sent; the teacher sends one character back."),
      el("p", { class: "muted" }, "You find out from the rewards what the teacher wants.")];
  }
  return controls.groups.map(({ name, buttons }) => el("section", {},
    controls.groups.length > 1 ? el("h3", {}, name) : null,
    el("ul", { class: "bare-list keys" }, buttons.map((button) => el("li", {},
      button.keys.length ? button.keys.map((key) => el("kbd", {}, keyName(key))) : el("span", { class: "muted" }, "button"),
      " ", visible(button.name, MAX_NAME))))));
}

/**
 * Make the screen before the match.
 * @param {Object} about facts about the match
 * @param {function(): void} begin called when the person begins
 * @returns {HTMLElement}
 */
export function startScreen(about, begin) {
  const { facts } = about;
  const others = about.agents.map((name, seat) => [name, facts?.players[seat]]).filter((_, seat) => seat !== about.seat);
  const mine = facts?.players[about.seat];
  return el("section", { class: "panel start", "aria-labelledby": "start-title" },
    el("h2", { id: "start-title" }, "Before you begin"),
    others.length ? el("p", {}, "You play ", mine ? [el("strong", {}, visible(mine, MAX_NAME)), " "] : null, "against ",
      others.map(([name, player], i) => [i ? ", " : "", visible(name, MAX_NAME), player ? [" (", visible(player, MAX_NAME), ")"] : null]), ".") : null,
    facts?.goal ? el("div", { class: "goal" }, el("h3", {}, "Goal"), visible(facts.goal, MAX_GOAL, { lines: true })) : null,
    facts ? el("div", { class: "key-lists" }, waysToPlay(facts)) : null,
    el("p", {}, limitsInWords(about)),
    about.steps ? el("p", {}, `The match ends after ${countOf(about.steps, "turn")}.`) : null,
    el("p", { class: "muted small" }, "The clock starts when you press the button. The time that the connection takes counts as yours."),
    el("button", { type: "button", class: "primary big", id: "begin", onclick: begin }, "Begin"));
}

/**
 * Make the score beside the game.
 * @returns {{element: HTMLElement, show: function(Object): void}}
 */
export function scorePanel() {
  const figures = el("dl", { class: "figures" });
  const recent = el("p", { class: "recent number", "aria-label": "Last rewards" });
  const tasks = el("ul", { class: "bare-list results small" });
  const element = el("section", { class: "panel score", "aria-label": "Score" }, figures, recent, tasks);
  const figure = (name, value, kind = "") => el("div", { class: kind }, el("dt", {}, name), el("dd", { class: "number" }, value));
  return {
    element,
    show: (score) => {
      fill(figures, figure("reward", number(score.reward), "main"), figure("turns", count(score.turns)),
        score.late ? figure("late", count(score.late), "late") : null,
        score.illegal ? figure("illegal", count(score.illegal), "bad") : null);
      fill(recent, score.rewards.length
        ? [el("span", { class: "muted small" }, "last rewards "), score.rewards.slice(-6).map((one) =>
          [" ", el("span", { class: one > 0 ? "tag good" : "tag bad" }, one > 0 ? `+${number(one)}` : number(one))])]
        : el("span", { class: "muted small" }, "no reward yet"));
      fill(tasks, score.tasks.slice(-4).reverse().map((one) => el("li", {},
        el("span", { class: `tag ${one.result === true ? "good" : one.result === false ? "bad" : ""}` }, resultWord(one)), " ",
        visible(one.task, MAX_NAME), el("span", { class: "muted" }, ` ${number(one.reward)} in ${countOf(one.steps, "step")}`))));
    },
  };
}

/**
 * Name of an agent with what the task calls its player, such as `Ada (white, you)`.
 * @param {Object} about facts about the match
 * @param {number} seat number of the seat
 * @param {Array<string>} players what the task calls the player of each seat; empty where it has no names
 * @returns {Array}
 */
export function agentName(about, seat, players) {
  const name = about.agents[seat];
  const facts = [players[seat], seat === about.seat && name !== "you" ? "you" : ""].filter(Boolean);
  return [visible(name, MAX_NAME), facts.length ? el("span", { class: "muted" }, ` (${plain(facts.join(", "), MAX_NAME)})`) : null];
}

/** The end in a few words: the result of the person, or why there is none. */
function headline(over, about) {
  const mine = over.seats[about.seat];
  if (over.reason === "void") return "The match is void";
  if (mine?.disqualified) return "You were disqualified";
  if (over.seats.length > 1) {
    const { winners } = over;
    if (winners.includes(about.seat)) return winners.length > 1 ? "A draw" : "You have won";
    return winners.length ? "You have lost" : "Nobody has won";
  }
  const played = over.tasks.reduce((sum, task) => sum + task.played, 0);
  const solved = over.tasks.reduce((sum, task) => sum + task.solved, 0);
  const failed = over.tasks.reduce((sum, task) => sum + task.failed, 0);
  if (played === 1 && solved) return "Solved";
  if (played === 1 && failed) return "Not solved";
  if (played > 1 && solved + failed) return `${countOf(solved, "task")} of ${count(played)} solved`;
  return over.reason === "stopped" ? "You have ended the match" : "The match is over";
}

const REASONS = {
  late: "too late: no answer before the hard limit",
  garbage: "the page sent something that is not an answer",
  gone: "the page was closed",
};

/**
 * Say why a seat was disqualified.
 * @param {string} reason as in the journal
 * @returns {string|HTMLElement}
 */
export function reasonText(reason) {
  return REASONS[reason] ?? visible(reason, MAX_NAME);
}

/**
 * Make the screen after the match.
 * @param {Object} over the message about the end
 * @param {Object} about facts about the match
 * @param {Array<string>} players what the task calls the player of each seat
 * @returns {HTMLElement}
 */
export function endScreen(over, about, players) {
  const mine = over.seats[about.seat];
  const row = (seat, place) => el("tr", {},
    el("th", { scope: "row" }, agentName(about, place, players)),
    [number(seat.reward), count(seat.turns), count(seat.late), count(seat.illegal),
      duration(seat.turns ? seat.think_ns / seat.turns : null)].map((value) => el("td", { class: "number" }, value)));
  return el("section", { class: "panel end", id: "end", tabindex: "-1", "aria-labelledby": "end-title" },
    el("h2", { id: "end-title" }, headline(over, about)),
    mine ? el("p", { class: "final number" }, number(mine.reward), el("span", { class: "muted small" }, " reward")) : null,
    mine?.disqualified ? el("p", { class: "notice bad" }, reasonText(mine.disqualified)) : null,
    over.fault ? el("p", { class: "notice bad" }, visible(over.fault, 600, { lines: true })) : null,
    over.why && over.seats.length > 1 ? el("p", {}, `${over.why.charAt(0).toUpperCase()}${over.why.slice(1)}.`) : null,
    over.replay ? el("p", { id: "replay" }, el("a", { href: over.replay, target: "_blank", class: "primary watch" }, "Watch the replay"),
      el("span", { class: "muted small" }, " as long as this page is open")) : null,
    over.seats.length ? el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Result of each seat" }, el("table", {},
      el("thead", {}, el("tr", {}, ["agent", "reward", "turns", "late", "illegal", "mean think"].map((name, i) =>
        el("th", { scope: "col", class: i ? "number" : null }, name)))),
      el("tbody", {}, over.seats.map(row)))) : null,
    over.journal ? el("div", { class: "where" },
      el("p", {}, "The match is recorded in ", el("code", {}, visible(over.journal, 400)), "."),
      el("ul", { class: "commands" }, ["replay", "verify"].map((command) =>
        el("li", {}, el("code", {}, `flagfall ${command} `, visible(over.journal, 400)))),
      el("li", {}, el("code", {}, "flagfall results ", visible(over.folder, 400))))) : null,
    el("p", { class: "muted small" }, "You can close this page."));
}
