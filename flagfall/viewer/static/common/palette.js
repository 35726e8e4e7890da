// Colours of agents and seats, which each of them keeps in all drawings of a page.

import { svg } from "./svg.js";

const SERIES_COLOURS = 8;
const SERIES_DASHES = ["", "6 3", "2 3", "8 3 2 3"];

/** Agents that drawings of many lines show at first: more cannot be told apart. */
export const AGENTS_SHOWN_AT_FIRST = 8;

/**
 * Look of an agent's line: eight colours, then the same colours dashed.
 * @param {number} agent place of the agent in the standings, or number of the seat, from 0
 * @returns {{colour: string, dash: string}}
 */
export function agentLook(agent) {
  return {
    colour: `var(--series-${(agent % SERIES_COLOURS) + 1})`,
    dash: SERIES_DASHES[Math.floor(agent / SERIES_COLOURS) % SERIES_DASHES.length],
  };
}

/**
 * Stroke of an agent's line, as attributes of a path.
 * @param {number} agent its place or the number of its seat, as for `agentLook`
 * @returns {Object}
 */
export function agentStroke(agent) {
  const { colour, dash } = agentLook(agent);
  return { stroke: colour, "stroke-dasharray": dash || null, "stroke-width": 2, fill: "none" };
}

/**
 * Short stroke in the look of an agent's line, to stand beside its name.
 * @param {number} agent its place or the number of its seat, as for `agentLook`
 * @returns {SVGElement}
 */
export function swatch(agent) {
  const line = svg("line", { x1: 0, x2: 16, y1: 5, y2: 5, ...agentStroke(agent), "stroke-width": 4 });
  return svg("svg", { class: "swatch", viewBox: "0 0 16 10", width: 16, height: 10, "aria-hidden": "true" }, line);
}
