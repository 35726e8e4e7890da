// Colours of agents, which an agent keeps in all drawings of a report.

const REPORT_COLOURS = 8;
const REPORT_DASHES = ["", "6 3", "2 3", "8 3 2 3"];

/** Agents that drawings of many lines show at first: more cannot be told apart. */
export const AGENTS_SHOWN_AT_FIRST = 8;

/**
 * Look of an agent's line: eight colours, then the same colours dashed.
 * @param {number} agent place of the agent in the standings, from 0
 * @returns {{colour: string, dash: string}}
 */
export function agentLook(agent) {
  return {
    colour: `var(--series-${(agent % REPORT_COLOURS) + 1})`,
    dash: REPORT_DASHES[Math.floor(agent / REPORT_COLOURS) % REPORT_DASHES.length],
  };
}
