// What the person sees: the picture, the text, or the tape of a byte task.

import { el, fill, INVISIBLE, visible } from "../common/dom.js";

/** Longest text that is shown at once. */
const MAX_WORLD_TEXT = 8000;

/** Columns of the tape in the page; older ones are left out. */
const MAX_COLUMNS = 600;

/**
 * Make the view of the world.
 * @param {{over: HTMLElement, below: HTMLElement}} board what lies over and below the picture
 * @returns {{element: HTMLElement, show: function(Object, ?Blob): Promise<void>, talk: function(Array): void}}
 */
export function worldView({ over, below }) {
  const canvas = el("canvas", { class: "picture", role: "img", "aria-label": "The world" });
  const frame = el("div", { class: "frame", hidden: true }, canvas, over);
  const words = el("div", { class: "words mono", hidden: true });
  const tape = tapeView();
  const element = el("section", { class: "panel world", "aria-label": "World" }, frame, below, words, tape.element);
  return {
    element,
    show: async (turn, picture) => {
      words.hidden = !turn.text;
      if (turn.text) fill(words, visible(turn.text, MAX_WORLD_TEXT, { lines: true }));
      tape.show(turn);
      frame.hidden = picture === null;
      if (picture === null) return;
      const bitmap = await createImageBitmap(picture);
      if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
        canvas.width = bitmap.width;
        canvas.height = bitmap.height;
        frame.style.setProperty("--aspect", String(bitmap.width / bitmap.height));
      }
      canvas.getContext("2d").drawImage(bitmap, 0, 0);
      canvas.setAttribute("aria-label", `The world at turn ${turn.number}`);
      bitmap.close();
    },
    talk: (steps) => tape.add(steps),
  };
}

/** Text of what was heard or spoken: a word, a bit, or the character of a byte. */
function spokenText(byte, bits) {
  if (typeof byte === "string") return byte || "·";
  if (bits) return String(byte);
  const character = String.fromCharCode(byte);
  return INVISIBLE.test(character) ? "·" : character;
}

/** Sign of a reward. */
function signOf(reward) {
  if (!reward) return "\u00a0";
  return reward > 0 ? "+" : "−";
}

/** The dialogue of a task: a column for each step, the teacher or the room above the person above the reward. */
function tapeView() {
  const columns = el("div", { class: "tape-columns" });
  const other = el("span", {}, "teacher");
  const legend = el("div", { class: "tape-legend small muted", "aria-hidden": "true" },
    other, el("span", {}, "you"), el("span", {}, "reward"));
  const element = el("div", { class: "tape", role: "log", "aria-label": "Dialogue", hidden: true }, legend, columns);
  let newest = null;
  let bits = false;

  const column = (heard, spoken, reward, late) => {
    const kind = reward > 0 ? " good" : reward < 0 ? " bad" : "";
    return el("span", { class: `step${late ? " late" : ""}` },
      el("span", { class: "heard" }, heard),
      el("span", { class: "spoken" }, spoken),
      el("span", { class: `mark${kind}` }, signOf(reward)));
  };

  return {
    element,
    add: (steps) => {
      if (!steps.length) return;
      element.hidden = false;
      newest?.remove();
      newest = null;
      columns.append(...steps.map(([heard, spoken, reward, late]) =>
        column(spokenText(heard, bits), spokenText(spoken, bits), reward, late)));
      while (columns.childElementCount > MAX_COLUMNS) columns.firstElementChild.remove();
      columns.scrollTop = columns.scrollHeight;
    },
    show: (turn) => {
      if (turn.heard === null) return;
      if (turn.facts) bits = turn.facts.controls.kind === "buttons";
      const words = typeof turn.heard === "string";
      element.classList.toggle("in-words", words);
      other.textContent = words ? "room" : "teacher";
      element.hidden = false;
      newest?.remove();
      newest = column(spokenText(turn.heard, bits), "_", turn.reward, false);
      newest.classList.add("newest");
      columns.append(newest);
      columns.scrollTop = columns.scrollHeight;
    },
  };
}
