// Colours of agents, which an agent keeps in all drawings of a report.

const COLOURS = 8;
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

/** Agents that drawings of many lines show at first: more cannot be told apart. */
export const SHOWN_AT_FIRST = 8;

/**
 * Look of an agent's line: eight colours, then the same colours dashed.
 * @param {number} agent place of the agent in the standings, from 0
 * @returns {{colour: string, dash: string}}
 */
export function lookOf(agent) {
  return {
    colour: `var(--series-${(agent % COLOURS) + 1})`,
    dash: DASHES[Math.floor(agent / COLOURS) % DASHES.length],
  };
}
