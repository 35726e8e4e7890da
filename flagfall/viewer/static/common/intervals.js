// Intervals of estimates, drawn beside each other on one scale.

import { el } from "./dom.js";
import { shortNumber } from "./format.js";
import { agentLook } from "./palette.js";
import { linear, robustRange, svg } from "./svg.js";

/**
 * Ends of the scale of a set of intervals, a little wider than they are; see `robustRange`.
 * @param {Array<{value: number, low: ?number, high: ?number}>} intervals the intervals
 * @returns {[number, number]}
 */
export function intervalRange(intervals) {
  const points = intervals.map(intervalPoint);
  const [least, most] = robustRange(points);
  const near = intervals.filter((_, place) => points[place] >= least && points[place] <= most);
  const low = Math.min(least, robustRange(near.map((one) => one.low ?? intervalPoint(one)))[0]);
  const high = Math.max(most, robustRange(near.map((one) => one.high ?? intervalPoint(one)))[1]);
  const span = high - low || Math.abs(high) || 1;
  const room = (isOpen) => (isOpen ? 0.12 : 0.04) * span;
  return intervals.length ? [low - room(near.some((one) => one.low === null && one.high !== null)), high + room(near.some((one) => one.high === null && one.low !== null))] : [0, 1];
}

/**
 * Where an interval is: its estimate, or the end of one that has no other end.
 * @param {{value: number, low: ?number, high: ?number}} interval the interval
 * @returns {number}
 */
export function intervalPoint({ value, low, high }) {
  return (low === null) === (high === null) ? value : low ?? high;
}

/**
 * Interval as a dot with a line, on the scale of its column; an arrow stands at an end of the scale beyond which it
 * goes on, with the estimate if that is there. The numbers stand beside it, so screen readers skip it.
 * @param {?{value: number, low: ?number, high: ?number}} interval what is drawn
 * @param {[number, number]} range values at both ends of the drawing
 * @param {number} agent place of the agent, for its colour
 * @returns {HTMLElement}
 */
export function intervalMark(interval, range, agent) {
  const [width, height] = [160, 18];
  const [least, most] = range;
  const x = linear(range, [4, width - 4]);
  const { colour } = agentLook(agent);
  const mark = svg("svg", { class: "interval", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" });
  const box = el("div", { class: "interval-mark", "aria-hidden": "true" }, mark);
  mark.append(svg("line", { class: "track", x1: 0, x2: width, y1: 9, y2: 9 }));
  if (least < 0 && most > 0) mark.append(svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: height }));
  if (!interval) return box;
  const { value, low, high } = interval;
  const [point, from, to] = [intervalPoint(interval), low ?? -Infinity, high ?? Infinity];
  const inside = (one) => x(Math.max(least, Math.min(most, one)));
  const open = low === null && high === null;
  if (!open && from <= most && to >= least) mark.append(svg("line", { class: "span", x1: inside(from), x2: inside(to), y1: 9, y2: 9, style: { stroke: colour } }));
  if (point === value && point >= least && point <= most) mark.append(svg("line", { class: "dot", x1: x(value), x2: x(value), y1: 9, y2: 9, style: { stroke: colour } }));
  const ends = [["low", "◂", point < least, !open && from < least], ["high", "▸", point > most, !open && to > most]];
  for (const [side, arrow, isBeyond, goesOn] of ends) {
    if (isBeyond || goesOn) box.append(el("span", { class: `beyond ${side}` }, arrow, isBeyond ? ` ${shortNumber(point)}` : null));
  }
  return box;
}
