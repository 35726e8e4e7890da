// Notes of agents on their turns: texts as a conversation with a model has them, facts in a line; any JSON is shown.

import { el, plain, visible } from "../common/dom.js";
import { number } from "../common/format.js";
import { textBlock } from "../common/texts.js";

/** Texts of a note in the order in which they are read, with their headings. */
const TEXTS = {
  system: "System", prompt: "Prompt", reasoning: "Reasoning", tool_calls: "Tool calls", answer: "Answer",
  problem: "Problem", retry: "Retry",
};

/** Names of a note that are shown one by one; the rest is shown as JSON. */
const MAX_NAMES = 40;

/** Longest text that stands among the facts. */
const MAX_FACT_CHARS = 60;

/** Longest beginning of a text that is shown before it is unfolded. */
const FOLDED_CHARS = 700;

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
    ...texts.map(([heading, text]) => textBlock(heading, text, { most, wanted, isBad: heading === TEXTS.problem })),
    facts.length > 0 && el("ul", { class: "bare-list note-facts small" },
      facts.map(([name, value]) => el("li", {}, el("span", { class: "muted" }, `${plain(name, 40)} `), visible(value)))),
  ].filter(Boolean);
}
