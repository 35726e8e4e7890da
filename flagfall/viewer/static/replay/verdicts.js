// Verdicts: word, tone, and a shape that tells them apart without colour.

import { svg } from "../common/svg.js";

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
  absent: { tone: "", colour: "--control-line", shape: "M0 4H10V6H0Z", means: "disqualified before; NIL was played" },
};

/** Order in which marks that share a place are shown: the first one wins. */
export const WORST_FIRST = ["disqualified", "illegal", "overrun", "late", "absent"];

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
