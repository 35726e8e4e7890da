// Colours of the theme for canvases, which do not follow style sheets.

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
