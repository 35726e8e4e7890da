// Small drawings: scales, axes, lines, bars and bands.

import { setAttributes } from "./dom.js";

const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * Make an element of SVG, as `el` makes one of HTML.
 * @param {string} tag name of the element
 * @param {Object} [attributes] attributes by name
 * @param {...(Node|string|number|null|Array)} children nodes, or text
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, tag);
  setAttributes(element, attributes);
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false)
    .map((one) => (one instanceof Node ? one : String(one))));
  return element;
}

/**
 * Drawing that scales with its column; `label` is what a screen reader says.
 * @param {number} width width of its coordinates
 * @param {number} height height of its coordinates
 * @param {string} label what it shows, in a sentence
 * @param {...(Node|Array)} children what it holds
 * @returns {SVGElement}
 */
export function drawing(width, height, label, ...children) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "drawing" }, children);
}

/**
 * Linear scale; `invert` leads back.
 * @param {[number, number]} domain values
 * @param {[number, number]} range coordinates
 * @returns {(function(number): number) & {domain: number[], range: number[], invert: function(number): number}}
 */
export function linear([low, high], [from, to]) {
  const span = high - low || 1;
  const scale = (value) => from + ((value - low) / span) * (to - from);
  return Object.assign(scale, {
    domain: [low, high],
    range: [from, to],
    invert: (at) => low + ((at - from) / (to - from || 1)) * span,
  });
}

/**
 * Logarithmic scale to base 10; values at or below zero are drawn at the low end.
 * @param {[number, number]} domain positive values
 * @param {[number, number]} range coordinates
 * @returns {(function(number): number) & {domain: number[], range: number[], invert: function(number): number}}
 */
export function logarithmic([low, high], range) {
  const inner = linear([Math.log10(low), Math.log10(high)], range);
  const scale = (value) => inner(Math.log10(Math.max(value, low)));
  return Object.assign(scale, { domain: [low, high], range, invert: (at) => 10 ** inner.invert(at) });
}

/** A value is far from all others beyond so many times the median distance from the median. */
const FAR = 6;

/** Values of which some may be far from the others. */
const LEAST_VALUES = 4;

/** Share of the values that has to be near: else there are several groups, and none is far from the others. */
const LEAST_NEAR = 2 / 3;

/**
 * Ends of a scale that a few values far from all others do not stretch.
 * @param {number[]} values what is drawn; those that are not finite do not count
 * @returns {[number, number]} the lowest and the highest value, without those far from all others
 */
export function robustRange(values) {
  const ascending = (some) => some.sort((one, other) => one - other);
  const sorted = ascending(values.filter(Number.isFinite));
  if (!sorted.length) return [0, 1];
  const all = [sorted[0], sorted[sorted.length - 1]];
  const middle = sorted[sorted.length >> 1];
  const distances = sorted.map((one) => Math.abs(one - middle));
  const far = FAR * ascending([...distances])[distances.length >> 1];
  const near = sorted.filter((one, place) => distances[place] <= far);
  const ends = [near[0], near[near.length - 1]];
  const stretched = all[1] - all[0] > 2 * (ends[1] - ends[0]) && ends[1] > ends[0];
  return sorted.length >= LEAST_VALUES && near.length >= LEAST_NEAR * sorted.length && stretched ? ends : all;
}

/**
 * Round values between two ends: 1, 2 or 5 times a power of ten.
 * @param {number} low lowest value
 * @param {number} high highest value
 * @param {number} [about] roughly how many
 * @returns {number[]}
 */
export function ticks(low, high, about = 5) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const power = 10 ** Math.floor(Math.log10(span / about));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= span / about) ?? 10);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

/**
 * Axis below a drawing.
 * @param {Function} scale scale of the values
 * @param {number} y coordinate of the axis
 * @param {{format?: function(number): string, values?: number[], label?: string}} [options] texts of the values
 * @returns {SVGElement}
 */
export function axisBottom(scale, y, { format = String, values = ticks(...scale.domain), label = "" } = {}) {
  const [left, right] = scale.range;
  return svg("g", { class: "axis" },
    svg("line", { x1: left, x2: right, y1: y, y2: y }),
    values.map((value) => svg("g", { transform: `translate(${scale(value)} ${y})` },
      svg("line", { y2: 4 }),
      svg("text", { y: 16, "text-anchor": "middle" }, format(value)))),
    label && svg("text", { class: "axis-label", x: (left + right) / 2, y: y + 32, "text-anchor": "middle" }, label));
}

/**
 * Axis on the left of a drawing, with lines across it.
 * @param {Function} scale scale of the values
 * @param {number} x coordinate of the axis
 * @param {{format?: function(number): string, values?: number[], label?: string, across?: number}} [options]
 *   texts of the values; `across`: length of the lines
 * @returns {SVGElement}
 */
export function axisLeft(scale, x, { format = String, values = ticks(...scale.domain), label = "", across = 0 } = {}) {
  const top = Math.min(...scale.range);
  return svg("g", { class: "axis" },
    values.map((value) => svg("g", { transform: `translate(${x} ${scale(value)})` },
      across && svg("line", { class: "grid", x2: across }),
      svg("text", { x: -6, dy: "0.32em", "text-anchor": "end" }, format(value)))),
    label && svg("text", { class: "axis-label", x: x, y: top - 8, "text-anchor": "start" }, label));
}

/**
 * Path through points; a gap where a coordinate is no number.
 * @param {Array<[number, number]>} points coordinates
 * @returns {string} value of the attribute `d`
 */
export function linePath(points) {
  let pen = false;
  return points.map(([x, y]) => {
    const drawn = Number.isFinite(x) && Number.isFinite(y);
    const part = drawn ? `${pen ? "L" : "M"}${round(x)} ${round(y)}` : "";
    pen = drawn;
    return part;
  }).join("");
}

/**
 * Path around a band.
 * @param {Array<[number, number, number]>} points x, lower and upper coordinate
 * @returns {string} value of the attribute `d`
 */
export function bandPath(points) {
  if (!points.length) return "";
  const there = points.map(([x, low]) => [x, low]);
  const back = points.map(([x, , high]) => [x, high]).reverse();
  return `${linePath([...there, ...back])}Z`;
}

/**
 * Bar with a title that shows when pointed at.
 * @param {number} x left edge
 * @param {number} y top edge
 * @param {number} width width; negative counts as 0
 * @param {number} height height; negative counts as 0
 * @param {{class?: string, title?: string}} [options] class, and text of the title
 * @returns {SVGElement}
 */
export function bar(x, y, width, height, { class: kind = "bar", title = "" } = {}) {
  const box = { x: round(x), y: round(y), width: round(Math.max(0, width)), height: round(Math.max(0, height)) };
  return svg("rect", { class: kind, ...box }, title && svg("title", {}, title));
}

/** Coordinate with two decimals: files stay small. */
function round(value) {
  return Math.round(value * 100) / 100;
}
