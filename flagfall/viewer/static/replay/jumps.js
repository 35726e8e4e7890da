// Jumps to the next or previous turn of a kind, by the counts of the chunks and the rows of the one that has it.

import { LATE } from "./marks.js";

/** Turns with one of some verdicts. */
function turnsJudged({ raw }, verdicts) {
  return raw.turn.filter((_, row) => verdicts.has(raw.verdict[row]));
}

/** Turns whose action earned a reward. */
function rewardedTurns({ raw }) {
  return raw.turn.filter((_, row) => raw.reward[row]);
}

/** Turns before which events of a kind stand. */
function turnsOf(columns, kind) {
  return columns.raw.events.filter((event) => event.kind === kind).map((event) => event.turn);
}

const ILLEGAL = new Set(["illegal"]);

/**
 * Kinds of turns to jump to: key of the chunk's count, key on the keyboard, label, and the turns of a chunk.
 * @type {Array<{kind: string, key: string, label: string, turns: function(Object): number[]}>}
 */
export const JUMPS = [
  { kind: "late", key: "l", label: "late turn", short: "Late", turns: (c) => turnsJudged(c, LATE) },
  { kind: "illegal", key: "i", label: "illegal action", short: "Illegal", turns: (c) => turnsJudged(c, ILLEGAL) },
  {
    kind: "disqualified", key: "d", label: "disqualification", short: "Disqualified",
    turns: (c) => turnsOf(c, "disqualified"),
  },
  { kind: "rewarded", key: "r", label: "reward", short: "Reward", turns: rewardedTurns },
  { kind: "tasks", key: "t", label: "task", short: "Task", turns: (c) => turnsOf(c, "start") },
  { kind: "stalls", key: "s", label: "stall of the host", short: "Stall", turns: (c) => turnsOf(c, "stall") },
];

/**
 * Count of a kind over the match.
 * @param {Object} summary summary of the match
 * @param {string} kind key of the count
 * @returns {number}
 */
export function totalOf(summary, kind) {
  return summary.chunks.reduce((sum, chunk) => sum + (chunk[kind] ?? 0), 0);
}

/**
 * Find the next turn of a kind.
 * @param {Object} store store of the replay
 * @param {Object} jump a row of `JUMPS`
 * @param {number} from turn from which to search; it is not found itself
 * @param {1|-1} direction forwards or backwards
 * @returns {Promise<?number>} number of the turn, or null if there is none
 */
export async function findTurn(store, jump, from, direction) {
  const { chunks } = store.summary;
  for (let k = store.chunkOf(from); k >= 0 && k < chunks.length; k += direction) {
    if (!chunks[k][jump.kind]) continue;
    const [, last] = store.span;
    const turns = jump.turns(await store.load(k)).map((turn) => Math.min(turn, last));
    const found = turns.filter((turn) => (turn - from) * direction > 0);
    if (found.length) return direction > 0 ? Math.min(...found) : Math.max(...found);
  }
  return null;
}
