// Icons of the controls, as paths in a box of 16 by 16.

import { svg } from "../common/svg.js";

const PATHS = {
  first: "M3 2.5h2v11H3zM13.5 2.5v11L6 8z",
  back: "M11.5 2.5v11L4 8z",
  play: "M4 2.5v11L13.5 8z",
  pause: "M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z",
  next: "M4.5 2.5v11L12 8z",
  last: "M11 2.5h2v11h-2zM2.5 2.5v11L10 8z",
};

/**
 * Icon for a button; the button's label says what it does.
 * @param {string} name name of the icon
 * @returns {SVGElement}
 */
export function icon(name) {
  const path = svg("path", { d: PATHS[name], fill: "currentColor" });
  return svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, path);
}
