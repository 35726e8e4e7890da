// Parts that all sections of a report use: sections, names, drawings that fit their column.

import { el, fill, plain, shortName, visible } from "../common/dom.js";
import { percent } from "../common/format.js";
import { swatch } from "../common/palette.js";

const REPORT_MAX_NAME = 40;
const REPORT_MAX_LABEL = 28;

/**
 * Section of the report.
 * @param {string} id fragment that leads to it
 * @param {string} title its heading
 * @param {?(string|Array<Node|string>)} lead a sentence that says how to read it
 * @param {...*} children what it holds
 * @returns {HTMLElement}
 */
export function reportSection(id, title, lead, ...children) {
  return el("section", { id, class: "panel part", "aria-labelledby": `${id}-title` },
    el("header", {}, el("h2", { id: `${id}-title` }, title), lead && el("p", { class: "muted small lead" }, lead)),
    children);
}

/**
 * Name that may hold any text.
 * @param {string} name any text
 * @param {number} [max] characters that are shown at first
 * @returns {HTMLElement}
 */
export function reportName(name, max = REPORT_MAX_NAME) {
  return visible(name, max);
}

/**
 * Short name of a task; its whole name shows when pointed at.
 * @param {Object} data the report
 * @param {?number} task place of the task in the plan; null for one that is not there
 * @returns {?HTMLElement}
 */
export function taskName(data, task) {
  const found = data.tasks[task];
  return found ? shortName(found.short, REPORT_MAX_NAME, found.name) : null;
}

/**
 * Level of the intervals of a column, in percent.
 * @param {Object} data the report
 * @param {string} key key of the column
 * @returns {string}
 */
export function levelOf(data, key) {
  return percent(key === "elo" ? data.elo_level : 0.95);
}

/**
 * Name of an agent with the mark of its colour.
 * @param {Object} data the report
 * @param {?number} agent place of the agent; null for one that is not in the plan
 * @returns {HTMLElement}
 */
export function agentName(data, agent) {
  if (agent === null || agent === undefined) return el("span", { class: "muted" }, "–");
  return el("span", { class: "agent" }, swatch(agent), reportName(data.agents[agent]));
}

/**
 * Name of an agent inside of a control, where no control of its own may stand.
 * @param {Object} data the report
 * @param {number} agent place of the agent
 * @returns {HTMLElement}
 */
export function agentLabel(data, agent) {
  return el("span", { class: "agent" }, swatch(agent), el("bdi", { class: "untrusted" }, reportLabel(data.agents[agent])));
}

/**
 * Id of a match, which leads to its replay where that stands in the page.
 * @param {Object} data the report
 * @param {string} match id of the match
 * @returns {HTMLElement}
 */
export function matchName(data, match) {
  const shown = reportName(match);
  return data.embedded.some((one) => one.match === match) ? el("a", { href: `#match=${encodeURIComponent(match)}` }, shown) : shown;
}

/**
 * Name for a place in a drawing, where only plain text fits.
 * @param {string} name any text
 * @param {number} [max] most characters
 * @returns {string}
 */
export function reportLabel(name, max = REPORT_MAX_LABEL) {
  return plain(name, max);
}

/**
 * Drawing that is made for the width it has, so that its text keeps its size, and made again when that changes.
 * @param {function(number): SVGElement} draw makes the drawing for a width in pixels
 * @returns {HTMLElement & {redraw: function(): void}}
 */
export function fittedDrawing(draw) {
  const box = el("div", { class: "fitted" });
  let width = 0;
  const redraw = () => { if (width) fill(box, draw(width)); };
  new ResizeObserver(([entry]) => {
    const found = Math.floor(entry.contentRect.width);
    if (!found || found === width) return;
    width = found;
    redraw();
  }).observe(box);
  return Object.assign(box, { redraw });
}
