// Numbers as people read them.

const MS = 1e6;
const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Number with three digits, without zeros at its end. */
function threeDigits(value) {
  return String(Number(value.toPrecision(3)));
}

/**
 * Duration in the unit that fits: "840 ns", "12.3 ms", "1.24 s", "2:03", "1:02:03".
 * @param {?number} ns nanoseconds; null shows as a dash
 * @returns {string}
 */
export function duration(ns) {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return "–";
  if (!Number.isFinite(ns)) return "∞";
  if (ns < 0) return `−${duration(-ns)}`;
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < MS) return `${threeDigits(ns / 1000)} µs`;
  if (ns < SECOND) return `${threeDigits(ns / MS)} ms`;
  if (ns < MINUTE) return `${threeDigits(ns / SECOND)} s`;
  const seconds = Math.floor(ns / SECOND);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return ns < HOUR ? `${m}:${two(s)}` : `${h}:${two(m)}:${two(s)}`;
}

/**
 * Time on a clock: "0:00.000" to "1:02:03.004".
 * @param {number} ns nanoseconds since the start
 * @returns {string}
 */
export function clockTime(ns) {
  const ms = Math.floor(ns / MS);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(ms / 3600000), Math.floor(ms / 60000) % 60, Math.floor(ms / 1000) % 60];
  const tail = `${two(s)}.${String(ms % 1000).padStart(3, "0")}`;
  return h ? `${h}:${two(m)}:${tail}` : `${m}:${tail}`;
}

/**
 * Whole number with separators of thousands.
 * @param {?number} n the number; null shows as a dash
 * @returns {string}
 */
export function count(n) {
  return n === null || n === undefined ? "–" : n.toLocaleString("en");
}

/**
 * Number of things, with the noun in the right form: "1 turn", "2,000 turns".
 * @param {number} n the number
 * @param {string} one the noun in singular
 * @param {string} [many] its plural, where an "s" does not make it
 * @returns {string}
 */
export function countOf(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/**
 * Real number in at most `digits` digits.
 * @param {?number} value the number; null shows as a dash
 * @param {number} [digits] significant digits
 * @returns {string}
 */
export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number" || !Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return minus((value + 0).toLocaleString("en")); // -0 + 0 is 0
  return minus(String(Number(value.toPrecision(digits))));
}

/**
 * Number for a narrow place: whole from 1,000 on, else three digits.
 * @param {?number} value the number
 * @returns {string}
 */
export function shortNumber(value) {
  if (value === null || value === undefined || Math.abs(value) < 1000) return number(value, 3);
  return number(Math.round(value));
}

/**
 * Share as a percentage: 0.256 is "26 %".
 * @param {?number} share the share; null shows as a dash
 * @param {number} [digits] digits after the point
 * @returns {string}
 */
export function percent(share, digits = 0) {
  return share === null || share === undefined ? "–" : `${minus((100 * share).toFixed(digits))} %`;
}

/**
 * Size in bytes: "512 bytes", "34.2 kB", "1.2 MB".
 * @param {number} n bytes
 * @returns {string}
 */
export function byteSize(n) {
  if (n < 1000) return countOf(n, "byte");
  return n < 1e6 ? `${threeDigits(n / 1e3)} kB` : `${threeDigits(n / 1e6)} MB`;
}

/**
 * Value of a column of the standings: of an estimate with an interval, the estimate.
 * @param {{form: string, decimals: number}} column its row in the data of the page
 * @param {*} value the value; null shows as a dash
 * @returns {string}
 */
export function columnText({ form, decimals }, value) {
  if (value === null || value === undefined) return "–";
  if (form === "interval") return intervalText(value, (one) => fixed(one, decimals), { ends: false });
  if (form === "duration") return value ? duration(value) : "–";
  if (form === "dollars") return `$${number(value)}`;
  return form === "count" ? count(value) : number(value);
}

/**
 * Interval as text: "1,202 [604, 1,800]", "≥ 604", or "1,202 (too few)".
 * @param {{value: number, low: ?number, high: ?number, lack: string}} interval the interval
 * @param {function(number): string} format text of a number
 * @param {{ends?: boolean}} [options] without `ends`, of an interval that has both only the estimate
 * @returns {string}
 */
export function intervalText({ value, low, high, lack }, format, { ends = true } = {}) {
  if (low === null && high === null) return lack ? `${format(value)}${ends ? ` (${lack})` : ""}` : "not bounded";
  if (high === null) return `≥ ${format(low)}`;
  if (low === null) return `≤ ${format(high)}`;
  return ends ? `${format(value)} [${format(low)}, ${format(high)}]` : format(value);
}

/**
 * Columns of the standings in which an agent has a value.
 * @param {Array<Object>} columns all columns
 * @param {Array<Object>} rows the standings
 * @returns {Array<Object>}
 */
export function filledColumns(columns, rows) {
  return columns.filter(({ key, form }) => rows.some((row) => (form === "duration" ? row[key] : row[key] !== null)));
}

/**
 * Number with some decimals.
 * @param {number} value the number
 * @param {number} decimals digits after the point
 * @returns {string}
 */
export function fixed(value, decimals) {
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals, signDisplay: "negative" };
  return minus(value.toLocaleString("en", options));
}

/**
 * Text for a search: however its minus signs, spaces and letters are written, equal texts become the same.
 * @param {string} text any text
 * @returns {string}
 */
export function searchable(text) {
  return text.replace(/[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g, "-").replace(/\s+/g, " ").toLowerCase();
}

/** The sign of a number as a minus, which is as wide as a plus. */
function minus(text) {
  return text.replace(/^-/, "−");
}
