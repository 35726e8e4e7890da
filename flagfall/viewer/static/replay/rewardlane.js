// The lane of rewards: what each seat has been paid so far, as a line over the turns.

import { plain } from "../common/dom.js";
import { number } from "../common/format.js";
import { agentStroke } from "../common/palette.js";
import { linear, linePath, svg } from "../common/svg.js";
import { MAX_DETAIL_CHUNKS } from "./lanedrawing.js";

/** Height in pixels, and what is free above and below the lines. */
const REWARD_HEIGHT = 72;
const REWARD_PADDING = 8;

/** Greatest sum that is drawn: differences of two are still numbers. */
const MAX_SUM = Number.MAX_VALUE / 4;

function add(sum, reward) {
  return Math.max(-MAX_SUM, Math.min(MAX_SUM, sum + reward));
}

/**
 * Draw the rewards of all seats, added up from the beginning of the match.
 * @param {SVGElement} room drawing to fill
 * @param {{store: Object, seats: number, first: number, last: number, width: number}} lane what to draw: turns from
 *   `first` to `last` of the first seats, on `width` pixels
 */
export function drawRewards(room, { store, seats, first, last, width }) {
  const points = Array.from({ length: seats }, (_, seat) => pointsOf(store, seat, first, last));
  const values = points.flatMap((of) => of.map(([, value]) => value));
  const bound = (choose) => values.reduce((one, other) => choose(one, other), 0);
  const [low, high] = [bound(Math.min), bound(Math.max)];
  const x = linear([first, last + 1], [0, width]);
  const y = linear([low, high === low ? low + 1 : high], [REWARD_HEIGHT - REWARD_PADDING, REWARD_PADDING]);
  const scaled = points.map((of) => linePath(thinned(of.map(([turn, value]) => [x(turn), y(value)]))));
  const zero = svg("line", { class: "zero", x1: 0, x2: width, y1: y(0), y2: y(0) });
  const label = (value) => svg("text", { x: 4, y: y(value), dy: value === low && low !== high ? "-0.3em" : "0.7em" },
    number(value));
  room.setAttribute("viewBox", `0 0 ${width} ${REWARD_HEIGHT}`);
  room.setAttribute("width", width);
  room.setAttribute("height", REWARD_HEIGHT);
  const sums = points.map((of, seat) => `seat ${seat} ${number(of.at(-1)?.[1] ?? 0)}`).join(", ");
  room.setAttribute("aria-label", plain(`Rewards added up: ${sums}`, 400));
  room.replaceChildren(zero, ...scaled.map((d, seat) => svg("path", { d, ...agentStroke(seat) })),
    ...[...new Set([high, low])].map(label));
}

/** Steps of the sum of one seat: by turns where their chunks are there, otherwise from chunk to chunk. */
function pointsOf(store, seat, first, last) {
  const { chunks } = store.summary;
  const [from, to] = [store.chunkOf(first), store.chunkOf(last)];
  const inDetail = to - from < MAX_DETAIL_CHUNKS;
  let sum = chunks.slice(0, from).reduce((all, chunk) => add(all, chunk.rewards[seat]), 0);
  const points = [];
  for (let k = from; k <= to; k++) {
    const columns = inDetail ? store.peek(k) : undefined;
    const { first: begin, turns, rewards } = chunks[k];
    if (!points.length) points.push([Math.max(begin, first), sum]);
    const after = add(sum, rewards[seat]);
    if (columns) sum = addTurns(points, columns, seat, [first, last], sum);
    else points.push([Math.min(begin + turns, last + 1), after]);
    sum = after;
  }
  const [, end] = points.at(-1) ?? [0, 0];
  points.push([last + 1, end]);
  return points;
}

/** Add a step for each action that earned something; before the first turn in view they move its beginning. */
function addTurns(points, columns, seat, [first, last], before) {
  let sum = before;
  for (const turn of columns.turns) {
    const reward = columns.raw.reward[columns.row(turn, seat)];
    if (!reward || turn > last) continue;
    const after = add(sum, reward);
    if (turn >= first) points.push([turn, sum], [turn, after]);
    sum = after;
    if (turn < first) points[points.length - 1][1] = sum;
  }
  return sum;
}

/** Points without most of those that share a pixel: the first, the lowest, the highest and the last remain. */
function thinned(points) {
  const kept = [];
  for (let at = 0; at < points.length;) {
    const pixel = Math.floor(points[at][0]);
    const column = [];
    for (; at < points.length && Math.floor(points[at][0]) === pixel; at++) column.push(points[at]);
    if (column.length < 5) kept.push(...column);
    else {
      const byHeight = [...column].sort((one, other) => one[1] - other[1]);
      kept.push(column[0], byHeight[0], byHeight.at(-1), column.at(-1));
    }
  }
  return kept;
}
