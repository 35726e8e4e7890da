// Actions as buttons and keys: pressed once for a step, or held down.

import { el, fill } from "../common/dom.js";
import { KEY_NAMES } from "../common/keys.js";
import { SKIP, TICK_SHARE } from "./player.js";

/** Keys kept while no turn is open, so that quick ones are not lost. */
const KEPT = 3;

const SIGNS = { left: "←", right: "→", up: "↑", down: "↓" };

/**
 * Name of a key as it is printed on it.
 * @param {string} key `KeyboardEvent.key`
 * @returns {string}
 */
export function keyName(key) {
  return KEY_NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/**
 * Make buttons for the actions of a task.
 * @param {{groups: Array, idle: *}} controls as the server describes them
 * @param {{tick: ?number, player: function(): Object}} options length of a tick in milliseconds; the answers
 * @returns {{element: HTMLElement, bindings: Array, choose: function(Object): ?Object, turn: function(Object): void,
 *   press: function(*): void, setPace: function(number): void, canPace: boolean, close: function(): void}}
 */
export function actionButtons(controls, { tick, player }) {
  const idle = controls.idle ?? null;
  let stepMs = 0;
  let waiting = [];
  let held = null;
  let heldWasPlayed = false;

  const timed = () => Boolean(tick) || (stepMs > 0 && idle !== null);
  const newest = () => {
    const action = waiting.length ? waiting.at(-1) : held;
    heldWasPlayed = heldWasPlayed || (!waiting.length && held !== null);
    waiting = [];
    return action;
  };

  const press = (action, { repeat = false } = {}) => {
    const open = player().isOpen();
    if (open && (tick || !timed())) player().answer(action);
    else if (!repeat) waiting = [...waiting, action].slice(timed() ? -1 : -KEPT);
    if (!open && !repeat) player().answer(action); // the end of a task, which any key leaves
  };

  const release = () => {
    held = null;
  };

  const buttonOf = ({ action, name, keys, place }) => {
    const button = el("button", {
      type: "button",
      class: place ? `action place-${place}` : "action",
      dataset: { action: JSON.stringify(action) },
      "aria-label": name,
      onpointerdown: () => {
        held = action;
        heldWasPlayed = false;
      },
      onclick: (event) => {
        if (event.detail) event.currentTarget.blur(); // so that the space bar stays a key of the game
        if (!event.detail || !heldWasPlayed) press(action);
      },
    }, el("span", { class: "sign" }, SIGNS[place] ?? name), keys.length ? el("kbd", {}, keyName(keys[0])) : null);
    return button;
  };

  const groupOf = ({ name, buttons }) => {
    const cross = buttons.filter((one) => one.place);
    const rest = buttons.filter((one) => !one.place);
    return el("section", { class: "actions", "aria-label": name },
      controls.groups.length > 1 ? el("h3", {}, name) : null,
      el("div", { class: "action-rows" },
        cross.length ? el("div", { class: "cross" }, cross.map(buttonOf)) : null,
        rest.length ? el("div", { class: "row" }, rest.map(buttonOf)) : null));
  };
  const element = el("div", { class: "controls" }, controls.groups.map(groupOf));

  const all = controls.groups.flatMap(({ name, buttons }) => buttons.map((one) => ({ group: name, ...one })));
  const bindings = all.filter((one) => one.keys.length).map(({ action, name, keys, group }) => ({
    keys,
    does: name,
    group,
    run: (event) => {
      held = action;
      press(action, { repeat: event.repeat });
    },
  }));
  const events = [["keyup", release], ["pointerup", release], ["pointercancel", release], ["blur", release]];
  events.forEach(([kind, run]) => window.addEventListener(kind, run));

  return {
    element,
    bindings,
    press,
    canPace: idle !== null && !tick,
    setPace: (ms) => { stepMs = ms; },
    turn: ({ mask, choices }) => {
      if (choices) fill(element, groupOf({ name: "Action", buttons: choices }));
      for (const button of element.querySelectorAll("button.action")) {
        const action = JSON.parse(button.dataset.action);
        button.disabled = Boolean(mask) && Number.isInteger(action) && mask[action] === 0;
      }
    },
    choose: () => {
      if (tick) {
        const action = newest();
        if (action !== null) return { after: 0, action: () => action };
        return { after: tick * TICK_SHARE, action: () => idle ?? SKIP };
      }
      if (timed()) return { after: stepMs, action: () => newest() ?? idle };
      if (!waiting.length) return null;
      const action = waiting.shift();
      return { after: 0, action: () => action };
    },
    close: () => events.forEach(([kind, run]) => window.removeEventListener(kind, run)),
  };
}
