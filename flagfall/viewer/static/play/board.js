// A board: areas of the picture that are clicked to play, and the last moves of others.

import { announce, el, fill, plain } from "../common/dom.js";

/** Names of actions that are shown for one area. */
const MAX_NAMES = 4;

/** Longest name of an action. */
const MAX_ACTION_NAME = 60;

const REFUSED = "not allowed now";

/** Style of an element in the place of an area, which is given as shares of the picture. */
function placeOf([left, top, right, bottom]) {
  const percent = (share) => `${100 * share}%`;
  return { left: percent(left), top: percent(top), width: percent(right - left), height: percent(bottom - top) };
}

/**
 * Make the areas over a picture. An action with one area is played by one click, one with several by a click on
 * each: the first chooses a piece, and the same again or Escape takes it back.
 * @param {{press: function(number): void, agents: Array<string>}} options `press` plays an action; names by seat
 * @returns {{over: HTMLElement, below: HTMLElement, bindings: function(): Array, use: function(Object): void,
 *   turn: function(?Object): void}} elements over and below the picture; `use` takes the facts of a task, `turn`
 *   a turn, or null while none is open
 */
export function clickedBoard({ press, agents }) {
  const areas = el("div", { class: "areas" });
  const marks = el("div", { class: "marks" });
  const moves = el("p", { role: "status" });
  const pointed = el("p", { class: "pointed muted", "aria-hidden": "true" });
  const choice = el("div", { class: "row choice", role: "group", "aria-label": "Which one" });
  let board = null;
  let names = new Map();
  let mask = null;
  let isOpen = false;
  let path = [];

  const isAllowed = ([action]) => !mask || mask[action] !== 0;
  const nameOf = ([action]) => plain(names.get(action) ?? action, MAX_ACTION_NAME);

  /** The actions that begin with some areas, by the area that follows. */
  const actionsAfter = (chosen) => {
    const found = new Map();
    for (const action of board.actions) {
      if (!chosen.every((area, i) => action[1][i] === area)) continue;
      const next = action[1][chosen.length];
      if (!found.has(next)) found.set(next, []);
      found.get(next).push(action);
    }
    return found;
  };

  const show = () => {
    fill(pointed);
    const [first, next] = [actionsAfter([]), actionsAfter(path)];
    const complete = path.length ? (next.get(undefined) ?? []).filter(isAllowed) : [];
    fill(choice, complete.map((action) => el("button", { type: "button", onclick: () => play(action) }, nameOf(action))));
    fill(areas, isOpen ? board.areas.map((area, i) => areaOf(area, i, first.get(i) ?? [], next.get(i) ?? [])) : null);
    document.body.dataset.chosen = path.join(" ");
  };

  const areaOf = (area, i, asFirst, asNext) => {
    const isChosen = path.includes(i);
    if (!isChosen && !asFirst.length && !asNext.length) return null;
    const goals = asNext.filter(isAllowed);
    const others = asFirst.filter(isAllowed);
    const actions = goals.length ? goals : others;
    const listed = actions.slice(0, MAX_NAMES).map(nameOf).join(", ");
    const words = isChosen ? "take back" : actions.length ? `${listed}${actions.length > MAX_NAMES ? ", …" : ""}` : REFUSED;
    const click = () => {
      if (isChosen) path = path.slice(0, path.indexOf(i));
      else if (goals.length === 1 && goals[0][1].length === path.length + 1) return play(goals[0]);
      else if (goals.length) path = [...path, i];
      else if (others.length === 1 && others[0][1].length === 1) return play(others[0]);
      else if (others.length) path = [i];
      else return announce(REFUSED);
      show();
      areas.querySelector(`[data-area="${i}"]`)?.focus();
      return undefined;
    };
    return el("button", {
      type: "button",
      class: `bare area${isChosen ? " chosen" : path.length && goals.length ? " goal" : ""}`,
      style: placeOf(area),
      dataset: { area: i },
      tabindex: "-1", // the buttons beside the picture are for the keyboard
      "aria-label": words,
      "aria-disabled": String(words === REFUSED),
      onclick: click,
      onpointerenter: () => fill(pointed, words),
      onpointerleave: () => fill(pointed),
    });
  };

  const play = ([action]) => {
    path = [];
    press(action);
  };

  const back = () => {
    path = path.slice(0, -1);
    if (board) show();
  };

  return {
    over: el("div", { class: "over" }, marks, areas),
    below: el("div", { class: "below small" }, moves, choice, pointed),
    bindings: () => (board?.actions.some(([, of]) => of.length > 1)
      ? [{ keys: ["Escape"], does: "Take the chosen piece back", group: "Board", run: back }] : []),
    use: (facts) => {
      board = facts.board;
      const buttons = (facts.controls.groups ?? []).flatMap((group) => group.buttons);
      names = new Map(buttons.map(({ action, name }) => [action, name]));
    },
    turn: (turn) => {
      isOpen = turn?.phase === "act" && turn.picture;
      path = [];
      if (turn) {
        mask = turn.mask;
        for (const { action, name } of turn.choices ?? []) names.set(action, name);
        const made = turn.moves ?? [];
        fill(marks, made.flatMap((move) => move.areas).map((area) => el("div", { class: "mark", style: placeOf(area) })));
        fill(moves, made.map(({ seat, name }) => `${plain(agents[seat], MAX_ACTION_NAME)} played ${plain(name, MAX_ACTION_NAME)}`).join(", "));
      }
      if (board) show();
    },
  };
}
