// Marks that all panels share: titles of seats, verdicts and results with shapes that need no colour, and icons.

import { el, shortName } from "../common/dom.js";
import { number } from "../common/format.js";
import { svg } from "../common/svg.js";

/**
 * Title of a seat: its number, what the task calls its player, and its agent; of a match with one seat the agent.
 * @param {Object} summary summary of the match
 * @param {number} index number of the seat
 * @param {string} [player] what the task calls its player
 * @returns {Array}
 */
export function seatTitle({ seats }, index, player = "") {
  const isMany = seats.length > 1;
  return [isMany && `Seat ${index} · `, player && [shortName(player), " · "], shortName(seats[index].name)];
}

/**
 * Result of a task as a tag: solved or failed, else which seat was paid most.
 * @param {{result: ?boolean, rewards: number[], ended: string}} task its row in the summary
 * @returns {?HTMLElement} null for one without a result
 */
export function resultTag({ result, rewards, ended }) {
  if (result === true) return el("span", { class: "tag good" }, "solved");
  if (result === false) return el("span", { class: "tag bad" }, "failed");
  if (rewards.length < 2 || ended === "cut") return null;
  const best = Math.max(...rewards);
  const isDrawn = rewards.indexOf(best) !== rewards.lastIndexOf(best);
  return el("span", { class: "tag" }, isDrawn ? "drawn" : `seat ${rewards.indexOf(best)} wins`);
}

/**
 * Rewards of a task as text: of several seats one after the other.
 * @param {{reward: number, rewards: number[]}} task its row in the summary
 * @returns {string}
 */
export function rewardsText({ reward, rewards }) {
  return rewards.length > 1 ? rewards.map((one) => number(one, 6)).join(" : ") : number(reward, 6);
}

/**
 * Verdicts by name: tone (class of a tag), colour (a custom property), and path of the shape in a box of 10 by 10.
 * @type {Object<string, {tone: string, colour: string, shape: string, means: string}>}
 */
export const VERDICTS = {
  "on time": { tone: "good", colour: "--good", shape: "", means: "the agent's own action was played" },
  late: { tone: "late", colour: "--late-mark", shape: "M5 1 9.5 9 .5 9Z", means: "no answer in time; NIL was played" },
  overrun: { tone: "late", colour: "--late-mark", shape: "M1 1H9V9H1Z", means: "far over the limit; the episode was aborted" },
  illegal: { tone: "bad", colour: "--bad-mark", shape: "M5 0 10 5 5 10 0 5Z", means: "not in the action space; NIL was played" },
  disqualified: {
    tone: "bad", colour: "--bad-mark", shape: "M1 0 5 3.6 9 0 10 1 6.4 5 10 9 9 10 5 6.4 1 10 0 9 3.6 5 0 1Z",
    means: "out of the match in this turn; NIL was played",
  },
  unknown: {
    tone: "", colour: "--late-mark", shape: "M5 0a5 5 0 1 0 .01 0ZM5 2.4a2.6 2.6 0 1 1-.01 0Z",
    means: "under another clock: late or not, as the recorded time does not tell",
  },
  absent: { tone: "", colour: "--control-line", shape: "M0 4H10V6H0Z", means: "disqualified before; NIL was played" },
};

/** Verdicts that count as late. */
export const LATE = new Set(["late", "overrun"]);

/** Order in which marks that share a place are shown: the first one wins. */
export const WORST_FIRST = ["disqualified", "illegal", "overrun", "late", "unknown", "absent"];

/**
 * Small picture of the shape of a verdict.
 * @param {string} verdict its name
 * @returns {?SVGElement} null for one without a shape
 */
export function verdictShape(verdict) {
  const { shape, colour } = VERDICTS[verdict] ?? {};
  if (!shape) return null;
  const path = svg("path", { d: shape, fill: `var(${colour})` });
  return svg("svg", { viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true", class: "shape" }, path);
}

/** Icons of the controls, as paths in a box of 16 by 16. */
const ICONS = {
  first: "M3 2.5h2v11H3zM13.5 2.5v11L6 8z",
  back: "M11.5 2.5v11L4 8z",
  play: "M4 2.5v11L13.5 8z",
  pause: "M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z",
  next: "M4.5 2.5v11L12 8z",
  last: "M11 2.5h2v11h-2zM2.5 2.5v11L10 8z",
};

/**
 * Icon for a button; the button's label says what it does.
 * @param {string} name name of the icon
 * @returns {SVGElement}
 */
export function icon(name) {
  const path = svg("path", { d: ICONS[name], fill: "currentColor" });
  return svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, path);
}
