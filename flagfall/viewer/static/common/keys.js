// Key bindings, and the sheet that lists them.

import { el } from "./dom.js";

/** Names of keys whose `KeyboardEvent.key` is not what stands on them. */
export const KEY_NAMES = { " ": "Space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };
const TYPED_INTO = new Set(["text", "search", "number", "email", "password", "url", "tel"]);

/** Name of a key on a sheet. */
function nameOf(key) {
  return key.split("+").map((one) => KEY_NAMES[one] ?? one).join(" + ");
}

/** Text of a key event as bindings write it: "n", "N", "Shift+ArrowLeft". */
function keyOf(event) {
  const shifted = event.shiftKey && event.key.length > 1;
  return shifted ? `Shift+${event.key}` : event.key;
}

/** Decide whether keys go into an element. */
function isField(element) {
  if (element.isContentEditable || element instanceof HTMLTextAreaElement) return true;
  if (element instanceof HTMLSelectElement) return true;
  return element instanceof HTMLInputElement && TYPED_INTO.has(element.type);
}

/** Leave a field, so that keys work again; a search is emptied first. */
function leave(field) {
  if (field.type !== "search" || !field.value) return field.blur();
  field.value = "";
  return field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Decide whether an element uses a key itself. */
function usesKey(element, key) {
  if (!(element instanceof HTMLElement)) return false;
  if (isField(element)) return key !== "Escape";
  const pressed = element.closest("button, a, summary, input[type=checkbox], input[type=radio]");
  return pressed !== null && (key === " " || key === "Enter");
}

/**
 * Bind keys of a page. `?` opens a sheet that lists them, and in a field Escape leaves it, whatever else it is bound to;
 * a page has one set of bindings at a time.
 * @param {Array<{keys: string[], does: string, group?: string, run: function(KeyboardEvent): void}>} bindings
 *   keys by `KeyboardEvent.key` ("n", "N", " ", "ArrowLeft", "Shift+ArrowLeft"), and what they do in a few words
 * @param {{target?: EventTarget, title?: string}} [options] where to listen, and the title of the sheet
 * @returns {{close: function(): void, openHelp: function(): void}}
 */
export function bindKeys(bindings, { target = document, title = "Keyboard" } = {}) {
  const leaving = { keys: ["Escape"], does: "Leave a field; empty a search first", group: "Page", run: ({ target }) => leave(target) };
  const help = { keys: ["?"], does: "Show or hide this sheet", group: "Page", run: () => toggle() };
  const table = new Map([...bindings, help].flatMap((binding) => binding.keys.map((key) => [key, binding])));
  const sheet = helpSheet([...bindings, leaving, help], title);
  const toggle = () => (sheet.open ? sheet.close() : sheet.showModal());
  const listen = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const key = keyOf(event);
    const binding = key === "Escape" && isField(event.target) ? leaving : table.get(key);
    if (!binding || usesKey(event.target, key) || (document.querySelector("dialog[open]") && key !== "?")) return;
    event.preventDefault();
    binding.run(event);
  };
  document.body.append(sheet);
  target.addEventListener("keydown", listen);
  return {
    close: () => {
      target.removeEventListener("keydown", listen);
      sheet.remove();
    },
    openHelp: () => sheet.showModal(),
  };
}

/** Dialog with all bindings, by group. */
function helpSheet(bindings, title) {
  const groups = new Map();
  for (const binding of bindings) {
    const group = binding.group ?? "Page";
    groups.set(group, [...(groups.get(group) ?? []), binding]);
  }
  const close = el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => sheet.close() }, "✕");
  const sheet = el("dialog", { class: "key-sheet", "aria-label": title },
    el("header", {}, el("h2", {}, title), close),
    el("div", { class: "key-groups" }, [...groups].map(([group, rows]) => el("section", {},
      el("h3", {}, group),
      el("dl", {}, rows.map(({ keys, does }) => el("div", {},
        el("dt", {}, keys.map((key) => el("kbd", {}, nameOf(key)))),
        el("dd", {}, does))))))));
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
  return sheet;
}
