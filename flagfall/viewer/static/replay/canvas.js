// Canvases: as sharp as the screen, in the colours of the theme.

/**
 * Context of a canvas that has as many pixels as the screen shows of it, cleared.
 * @param {HTMLCanvasElement} canvas the canvas
 * @param {number} width width in pixels of the page
 * @param {number} height height in pixels of the page
 * @returns {CanvasRenderingContext2D}
 */
export function sizedContext(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Properties of the style sheet, which canvases do not follow. */
const PROPERTIES = {
  ground: "--ground", surface: "--surface", sunken: "--sunken", line: "--line", control: "--control-line",
  text: "--text", muted: "--muted", accent: "--accent", accentSoft: "--accent-soft", good: "--good",
  late: "--late", lateMark: "--late-mark", bad: "--bad", badMark: "--bad-mark", credit: "--credit",
  think: "--think", thinkSoft: "--think-soft", sans: "--sans", mono: "--mono",
};

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const known = new Map();

/**
 * Colours and fonts of the theme as it is now.
 * @param {Element} element an element of the page
 * @returns {Object} values by name
 */
export function themeColours(element) {
  if (!known.has(dark.matches)) {
    const style = getComputedStyle(element);
    const entries = Object.entries(PROPERTIES).map(([name, property]) => [name, style.getPropertyValue(property).trim()]);
    known.set(dark.matches, Object.fromEntries(entries));
  }
  return known.get(dark.matches);
}

/**
 * Call a function when the theme changes.
 * @param {function(): void} changed the function
 * @returns {function(): void} ends it
 */
export function onThemeChange(changed) {
  dark.addEventListener("change", changed);
  return () => dark.removeEventListener("change", changed);
}

/** Sign of the theme that is in force, for keys of what was drawn. */
export function themeName() {
  return dark.matches ? "dark" : "light";
}
