// Texts under headings, folded where they are long, to be copied.

import { announce, el, fill, plain, visible } from "./dom.js";
import { searchable } from "./format.js";

/** Most lines of a text before it is unfolded. */
const FOLDED_LINES = 8;

const COPIED_MS = 1500;

/**
 * Text under a heading, with a button that copies it.
 * @param {string} heading what it is
 * @param {string} text any text
 * @param {{most?: number, wanted?: string, isBad?: boolean, code?: boolean}} [options] `most`: longest beginning that is
 *   shown before the text is unfolded, without it the text is not folded; `wanted`: searched text, for which a text is
 *   unfolded that has it in its rest; `isBad`: it tells of a problem; `code`: as for `visible`
 * @returns {HTMLElement}
 */
export function textBlock(heading, text, { most = Infinity, wanted = "", isBad = false, code = false } = {}) {
  const folded = most === Infinity ? text : text.split("\n", FOLDED_LINES).join("\n").slice(0, most);
  const isLong = folded.length < text.length;
  const body = el("div", { class: "text-body mono" });
  const show = (isWhole) => {
    fill(body, visible(isWhole ? text : folded, Infinity, { lines: true, code }), !isWhole && "…");
    unfold.setAttribute("aria-expanded", String(isWhole));
    unfold.textContent = isWhole ? "Show less" : "Show all";
  };
  const unfold = el("button", {
    type: "button", class: "more", hidden: !isLong, onclick: () => show(unfold.getAttribute("aria-expanded") !== "true"),
  });
  const has = (one) => searchable(one).includes(wanted);
  show(!isLong || (has(text) && !has(folded)));
  const copy = el("button", { type: "button", class: "more", onclick: () => copyText(text, copy, () => show(true), body) }, "Copy");
  return el("div", { class: `text-block ${isBad ? "bad" : ""}` },
    el("div", { class: "text-head" }, el("strong", { class: "small" }, plain(heading, 40)), unfold, copy), body);
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
