// Colours of agents and seats, which each of them keeps in all drawings of a page.

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
