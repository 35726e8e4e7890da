// Drawing of lines with bands, one for each agent.

import { axisBottom, axisLeft, bandPath, drawing, linear, linePath, robustRange, svg, ticks } from "../common/svg.js";
import { agentLook } from "../common/palette.js";

const REPORT_MARGIN = { top: 24, right: 14, bottom: 40, left: 48 };
const REPORT_LABEL_SPACE = 13;
const REPORT_CHAR_WIDTH = 6.2;

/**
 * Draw lines with bands.
 * @param {number} width width in pixels
 * @param {Array<{agent: number, name: string, value: Array<?number>, low: Array<?number>, high: Array<?number>}>} series
 *   the lines; null where there is no value
 * @param {{x: number[], xLabel: string, yLabel: string, label: string, height?: number, named?: boolean,
 *   format: function(number): string, zero?: boolean}} options places of the values; texts; `named`: write the
 *   names at the ends of the lines; `zero`: a line at zero
 * @returns {SVGElement}
 */
export function lineDrawing(width, series, { x, xLabel, yLabel, label, height = 260, named = false, format, zero = false }) {
  const longest = named ? Math.max(0, ...series.map(({ name }) => name.length)) : 0;
  const right = named ? Math.min(0.3 * width, longest * REPORT_CHAR_WIDTH + 12) : REPORT_MARGIN.right;
  const across = linear([Math.min(...x), Math.max(...x)], [REPORT_MARGIN.left, width - right]);
  const up = linear(reportExtent(series, zero), [height - REPORT_MARGIN.bottom, REPORT_MARGIN.top]);
  const steps = Math.max(2, Math.floor((width - REPORT_MARGIN.left - right) / 48));
  const [inner, tall] = [width - right - REPORT_MARGIN.left, height - REPORT_MARGIN.bottom - REPORT_MARGIN.top];
  const marks = ticks(...across.domain, steps).filter(Number.isInteger);
  return drawing(width, height, label,
    axisLeft(up, REPORT_MARGIN.left, { format, values: ticks(...up.domain, 5), label: yLabel, across: inner }),
    axisBottom(across, height - REPORT_MARGIN.bottom, { format: (value) => value.toLocaleString("en"), values: marks.length ? marks : [x[0]], label: xLabel }),
    zero && up.domain[0] < 0 && up.domain[1] > 0
      ? svg("line", { class: "zero", x1: REPORT_MARGIN.left, x2: width - right, y1: up(0), y2: up(0) }) : null,
    svg("svg", { x: REPORT_MARGIN.left, y: REPORT_MARGIN.top, width: inner, height: tall, viewBox: `${REPORT_MARGIN.left} ${REPORT_MARGIN.top} ${inner} ${tall}` },
    series.map(({ agent, low, high, value }) => svg("path", { class: "band", d: reportBandOf(x, low, high, value, across, up), style: { fill: agentLook(agent).colour } })),
    series.map(({ agent, value }) => svg("path", {
      class: "line", "stroke-dasharray": agentLook(agent).dash || null, style: { stroke: agentLook(agent).colour },
      d: linePath(value.map((one, place) => [across(x[place]), one === null ? NaN : up(one)])),
    })),
    series.filter(({ value }) => value.filter((one) => one !== null).length === 1).map(({ agent, value }) => {
      const place = value.findIndex((one) => one !== null);
      return svg("circle", { cx: across(x[place]), cy: up(value[place]), r: 3, style: { fill: agentLook(agent).colour } });
    })),
    reportBeyond(series, x, across, up, format),
    named ? reportEndLabels(series, x, across, up) : null);
}

/** Arrows where lines are farthest beyond the scale, with the value of the farthest one. */
function reportBeyond(series, x, across, up, format) {
  const [bottom, top] = up.domain;
  const side = (far, arrow, y) => series.map(({ agent, value }) => {
    const place = value.reduce((best, one, at) => (one !== null && far(one) > 0 && (best < 0 || far(one) > far(value[best])) ? at : best), -1);
    return { agent, value, place };
  }).filter(({ place }) => place >= 0).sort((one, other) => far(other.value[other.place]) - far(one.value[one.place])).map(({ agent, value, place }, rank) => {
    const at = across(x[place]);
    const isRight = at > (across.range[0] + across.range[1]) / 2;
    return svg("text", { class: "beyond", x: at, y, "text-anchor": isRight ? "end" : "start", style: { fill: agentLook(agent).colour } },
      rank ? arrow : isRight ? `${format(value[place])} ${arrow}` : `${arrow} ${format(value[place])}`);
  });
  return [side((one) => bottom - one, "▾", up.range[0] - 3), side((one) => one - top, "▴", up.range[1] + 9)];
}

/** Ends of the scale: those of the lines, without lines far from all others, and of their bands up to as much again. */
function reportExtent(series, zero) {
  const spans = series.map(({ value }) => reportSpan(value.filter((one) => one !== null))).filter(Boolean);
  if (!spans.length) return [0, 1];
  const low = robustRange(spans.map((one) => one[0]))[0];
  const high = robustRange(spans.map((one) => one[1]))[1];
  const span = high - low || Math.abs(high) || 1;
  const edges = series.flatMap((one) => [...one.low, ...one.high]).filter((one) => one !== null);
  const from = edges.reduce((a, b) => Math.min(a, b), low);
  const to = edges.reduce((a, b) => Math.max(a, b), high);
  const ends = [Math.max(from, low - span / 2), Math.min(to, high + span / 2)];
  return zero ? [Math.min(0, ends[0]), Math.max(0, ends[1])] : ends[0] === ends[1] ? [ends[0] - span / 10, ends[1] + span / 10] : ends;
}

/** Lowest and highest value of a line, of a long one without the farthest twentieth on either side; a point has none. */
function reportSpan(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const cut = Math.floor(sorted.length / 20);
  return sorted.length > 1 ? [sorted[cut], sorted[sorted.length - 1 - cut]] : null;
}

/** Path around the part of a band that has both edges, cut at the ends of the drawing. */
function reportBandOf(x, low, high, value, across, up) {
  const [bottom, top] = up.domain;
  const inside = (one) => up(Math.max(bottom, Math.min(top, one)));
  const points = x.map((at, place) => [at, low[place], high[place], value[place]])
    .filter(([, from, to, one]) => from !== null && to !== null && one !== null)
    .map(([at, from, to]) => [across(at), inside(from), inside(to)]);
  return points.length > 1 ? bandPath(points) : "";
}

/** Names at the ends of the lines, moved apart. */
function reportEndLabels(series, x, across, up) {
  const ends = series.map(({ agent, name, value }) => {
    const place = value.findLastIndex((one) => one !== null);
    return place < 0 ? null : { agent, name, y: Math.max(up.range[1], Math.min(up.range[0], up(value[place]))), at: across(x[place]) };
  }).filter(Boolean).sort((one, other) => one.y - other.y);
  for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + REPORT_LABEL_SPACE);
  const over = ends.length ? ends[ends.length - 1].y - (up.range[0] + REPORT_LABEL_SPACE / 2) : 0;
  if (over > 0) {
    ends[ends.length - 1].y -= over;
    for (let i = ends.length - 2; i >= 0; i--) ends[i].y = Math.min(ends[i].y, ends[i + 1].y - REPORT_LABEL_SPACE);
  }
  return ends.map(({ agent, name, y }) => svg("text", {
    class: "end-label", x: across.range[1] + 6, y, dy: "0.32em", style: { fill: agentLook(agent).colour },
  }, name));
}
