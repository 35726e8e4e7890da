// Notes of agents on their turns: texts as a conversation with a model has them, facts in a line; any JSON is shown.

import { announce, el, fill, plain, visible } from "../common/dom.js";
import { number, searchable } from "../common/format.js";

/** Texts of a note in the order in which they are read, with their headings. */
const TEXTS = {
  system: "System", prompt: "Prompt", reasoning: "Reasoning", tool_calls: "Tool calls", answer: "Answer",
  problem: "Problem", retry: "Retry",
};

/** Names of a note that are shown one by one; the rest is shown as JSON. */
const MAX_NAMES = 40;

/** Longest text that stands among the facts. */
const MAX_FACT_CHARS = 60;

/** Beginning of a text that is shown before it is unfolded. */
const FOLDED_CHARS = 700;
const FOLDED_LINES = 8;

const COPIED_MS = 1500;

/** Call of a tool as a line of a program; anything else as JSON. */
function callText(call) {
  const { name, arguments: given } = call?.function ?? call ?? {};
  if (typeof name !== "string") return jsonText(call);
  return `${name}(${given === undefined ? "" : jsonText(given)})`;
}

function jsonText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** Text of a fact, or null for a value that needs a block of its own. */
function factText(value) {
  if (typeof value === "number") return number(value, 6);
  if (typeof value === "boolean" || value === null) return String(value);
  const isShort = typeof value === "string" && value.length <= MAX_FACT_CHARS && !value.includes("\n");
  return isShort ? value : null;
}

/**
 * Parts of a note.
 * @param {*} note any JSON
 * @returns {{texts: Array<[string, string]>, facts: Array<[string, string]>}} headings with texts; names with values
 */
function partsOf(note) {
  if (typeof note !== "object" || note === null || Array.isArray(note)) {
    return { texts: [["Note", jsonText(note)]], facts: [] };
  }
  const texts = [];
  for (const [name, heading] of Object.entries(TEXTS)) {
    const value = Object.hasOwn(note, name) ? note[name] : null;
    if (value === null || value.length === 0) continue;
    const calls = name === "tool_calls" && Array.isArray(value);
    texts.push([heading, calls ? value.map(callText).join("\n") : jsonText(value)]);
  }
  const others = Object.entries(note).filter(([name]) => !Object.hasOwn(TEXTS, name));
  const facts = [];
  for (const [name, value] of others.slice(0, MAX_NAMES)) {
    const fact = factText(value);
    if (fact !== null) facts.push([name.replaceAll("_", " "), fact]);
    else texts.push([name, jsonText(value)]);
  }
  if (others.length > MAX_NAMES) texts.push(["More", jsonText(Object.fromEntries(others.slice(MAX_NAMES)))]);
  return { texts, facts };
}

/**
 * All text of a note, for a search.
 * @param {*} note any JSON
 * @returns {string}
 */
export function noteText(note) {
  const { texts, facts } = partsOf(note);
  return [...facts, ...texts].flat().join(" ");
}

/**
 * Show a note.
 * @param {*} note any JSON
 * @param {{most?: number, wanted?: string}} [options] `most`: longest beginning of a text that is folded; `wanted`:
 *   searched text, for which a text is unfolded that has it in its rest
 * @returns {HTMLElement[]} a block for each text, and a line of facts
 */
export function noteBlocks(note, { most = FOLDED_CHARS, wanted = "" } = {}) {
  const { texts, facts } = partsOf(note);
  return [
    ...texts.map(([heading, text]) => textBlock(heading, text, most, wanted)),
    facts.length > 0 && el("ul", { class: "note-facts small" },
      facts.map(([name, value]) => el("li", {}, el("span", { class: "muted" }, `${plain(name, 40)} `), visible(value)))),
  ].filter(Boolean);
}

/** Text under a heading; a long one is folded, and all of them can be copied. */
function textBlock(heading, text, most, wanted) {
  const folded = text.split("\n", FOLDED_LINES).join("\n").slice(0, most);
  const body = el("div", { class: "note-text mono" });
  const show = (isWhole) => {
    fill(body, visible(isWhole ? text : folded, Infinity, { lines: true }), isWhole ? null : "…");
    unfold.setAttribute("aria-expanded", String(isWhole));
    unfold.textContent = isWhole ? "Show less" : "Show all";
  };
  const unfold = el("button", {
    type: "button", class: "more", onclick: () => show(unfold.getAttribute("aria-expanded") !== "true"),
  });
  const isLong = folded.length < text.length;
  const has = (one) => searchable(one).includes(wanted);
  if (isLong) show(has(text) && !has(folded));
  else fill(body, visible(text, Infinity, { lines: true }));
  const copy = el("button", { type: "button", class: "more", onclick: () => copyText(text, copy, () => show(true), body) }, "Copy");
  return el("div", { class: `note-block ${heading === TEXTS.problem ? "bad" : ""}` },
    el("div", { class: "note-head" }, el("strong", { class: "small" }, plain(heading, 40)), isLong && unfold, copy), body);
}

/** Copy a text as it is shown, so without control characters, which a terminal would obey when it is pasted there. */
async function copyText(text, button, unfold, body) {
  try {
    await navigator.clipboard.writeText(visible(text, Infinity, { lines: true }).textContent);
    button.textContent = "Copied";
    announce("copied");
    setTimeout(() => { button.textContent = "Copy"; }, COPIED_MS);
  } catch { // the page has no right to, such as one from another machine without TLS
    unfold();
    getSelection().selectAllChildren(body);
    announce("selected; copy it with Ctrl+C");
  }
}
