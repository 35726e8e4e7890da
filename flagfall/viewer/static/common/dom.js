// Elements of a page, and untrusted text, shown so that it cannot do anything.

/** Longest text that is shown at first, in UTF-16 units: about a screen. */
export const MAX_VISIBLE = 2000;

/** Longest text that is shown at all: what a browser lays out without delay. */
const MAX_UNFOLDED = 100000;

/** Control, formatting (bidirectional marks, zero width), private and unassigned characters, and halves of pairs. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/u;
const INVISIBLE_ALL = new RegExp(INVISIBLE.source, "gu");
const CODE = /`([^`\n]+)`/;
const COMBINING_RUN = /(\p{M}{4})\p{M}+/gu;

/**
 * Make an element. Text goes in as text; a value that begins with "on" must be a function.
 * @param {string} tag name of the element
 * @param {Object} [attributes] attributes; `style` and `dataset` are objects; null, undefined and false are left out
 * @param {...(Node|string|number|null|Array)} children nodes, or text
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...nodes(children));
  return element;
}

/**
 * Set attributes of an element as `el` does.
 * @param {Element} element the element
 * @param {Object} attributes attributes by name
 */
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (/^on|^srcdoc$/i.test(name)) throw new TypeError(`${name} takes a function`);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "href" && /^\s*(?:javascript|data|vbscript):/i.test(value)) throw new TypeError("no such link");
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * Replace what an element holds.
 * @param {Element} element the element
 * @param {...(Node|string|number|null|Array)} children nodes, or text
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Replace the children of an element by others of which some are there already, in the same order: these stay
 * untouched, and keep the focus.
 * @param {Element} element the element
 * @param {Element[]} children its new children
 */
export function refill(element, children) {
  const wanted = new Set(children);
  for (const child of [...element.children]) if (!wanted.has(child)) child.remove();
  let next = element.firstElementChild;
  for (const child of children) {
    if (child === next) next = next.nextElementSibling;
    else element.insertBefore(child, next);
  }
}

/** Nodes and texts without the empty ones. */
function nodes(children) {
  return children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false)
    .map((one) => (one instanceof Node ? one : String(one)));
}

/** The escape of one invisible character, as programs write it. */
function escapeOf(character) {
  const code = character.codePointAt(0);
  const named = { 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 13: "\\r", 27: "\\e" }[code];
  if (named) return named;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}

/**
 * Text in one line in which every invisible character is an escape; for titles and canvases.
 * @param {string} text any text
 * @param {number} [max] longest result before the sign of omission
 * @returns {string}
 */
export function plain(text, max = 200) {
  const short = cut(String(text), max);
  const shown = short.replace(COMBINING_RUN, "$1").replace(INVISIBLE_ALL, escapeOf);
  return short.length < String(text).length ? `${shown}…` : shown;
}

/** The beginning of a text, without half of a surrogate pair at its end. */
function cut(text, max) {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}

/** Nodes for a text: invisible characters become marked escapes; line breaks stay, and code is marked, if asked for. */
function pieces(text, { lines = false, code = false } = {}) {
  if (code) return text.split(CODE).map((part, place) => (place % 2 ? el("code", {}, pieces(part)) : pieces(part, { lines })));
  const found = [];
  let from = 0;
  for (const match of text.matchAll(INVISIBLE_ALL)) {
    if (lines && (match[0] === "\n" || match[0] === "\t")) continue;
    if (match.index > from) found.push(text.slice(from, match.index).replace(COMBINING_RUN, "$1"));
    found.push(el("span", { class: "escape" }, escapeOf(match[0])));
    from = match.index + match[0].length;
  }
  found.push(text.slice(from).replace(COMBINING_RUN, "$1"));
  return found;
}

/**
 * Show untrusted text: bounded, isolated from the direction of its neighbours, with every control
 * and bidirectional character as a marked escape such as `\u202e`.
 * @param {string} text any text, of any length
 * @param {number} [max] length up to which it is shown at once; a button shows more
 * @param {{lines?: boolean, code?: boolean}} [options] `lines`: keep line breaks and tabs; `code`: what stands between
 *   backticks is code, as in messages of flagfall
 * @returns {HTMLElement}
 */
export function visible(text, max = MAX_VISIBLE, options = {}) {
  const whole = String(text ?? "");
  const short = cut(whole, max);
  const shown = el("bdi", { class: options.lines ? "untrusted lines" : "untrusted" }, pieces(short, options));
  if (short.length === whole.length) return shown;
  const rest = whole.length - short.length;
  const more = el("button", {
    type: "button",
    class: "more",
    onclick: () => {
      const long = cut(whole, MAX_UNFOLDED);
      const left = whole.length - long.length;
      fill(shown, pieces(long, options), left ? ` … ${left.toLocaleString("en")} more characters` : null);
    },
  }, `… ${rest.toLocaleString("en")} more characters`);
  shown.append(" ", more);
  return shown;
}

/**
 * Untrusted name in one short line; pointing at it shows more.
 * @param {string} name any text
 * @param {number} [max] longest text
 * @param {string} [whole] the whole name, where `name` is a short form
 * @returns {HTMLElement}
 */
export function shortName(name, max = 40, whole = name) {
  return el("bdi", { class: "untrusted", title: name.length > max || whole !== name ? plain(whole) : null }, plain(name, max));
}

/**
 * Untrusted name of a task in its short form.
 * @param {string} name the whole name, which shows when pointed at
 * @param {Object<string, string>} short short forms by name, of those that have one
 * @param {number} [max] longest text
 * @returns {HTMLElement}
 */
export function briefName(name, short, max = 80) {
  return shortName(Object.hasOwn(short, name) ? short[name] : name, max, name);
}

/**
 * Announce a change to screen readers; the newest text wins.
 * @param {string} text one sentence
 */
export function announce(text) {
  let region = document.getElementById("announcements");
  if (!region) {
    region = el("div", { id: "announcements", class: "visually-hidden", role: "status" });
    document.body.append(region);
  }
  region.textContent = plain(text);
}
