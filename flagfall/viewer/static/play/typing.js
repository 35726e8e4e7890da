// Text that is typed to a byte task, a byte a step; or one action as JSON.

import { el } from "../common/dom.js";
import { TICK_SHARE } from "./player.js";

const SILENCE = 32;
const DOT = ".".charCodeAt(0);
const BYTES = 256;

/** Steps a second without a prompt. */
const SPEEDS = [2, 5, 10, 20, 50];
const DEFAULT_SPEED = 10;

/** Most bytes that wait to be sent: a long line, typed or pasted. */
const MAX_QUEUED = 4000;

/**
 * Make the line to type in for a byte task. It asks for a line when the teacher has sent a dot or two spaces;
 * until then, and while text is queued, the steps go on by themselves.
 * @param {{tick: ?number, player: function(): Object}} options length of a tick in milliseconds; the answers
 * @returns {Object} as `actionButtons`, without `press`
 */
export function typedBytes({ tick, player }) {
  let queue = [];
  let heard = [];
  let resting = false;
  let speed = DEFAULT_SPEED;

  const input = el("input", {
    type: "text", id: "line", autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: "1000",
    "aria-describedby": "line-help",
  });
  const sending = el("output", { class: "queue mono small muted", for: "line" });
  const pause = el("input", { type: "checkbox", id: "every-step", onchange: () => player().again() });
  const speeds = el("select", { id: "speed", onchange: () => {
    speed = Number(speeds.value);
    player().again();
  } }, SPEEDS.map((one) => el("option", { value: one, selected: one === DEFAULT_SPEED }, `${one} steps a second`)));
  const submit = (event) => {
    event.preventDefault();
    const bytes = Array.from(input.value, (character) => character.codePointAt(0)).filter((code) => code < BYTES);
    input.value = "";
    queue = [...queue, ...(bytes.length ? bytes : [SILENCE])].slice(0, MAX_QUEUED);
    resting = true;
    form.classList.remove("asked");
    if (!player().isOpen()) player().answer(null);
    show();
    player().again();
  };
  const form = el("form", { class: "line", onsubmit: submit },
    el("label", { for: "line" }, "Say"), input, el("button", { type: "submit" }, "Send"));
  const element = el("div", { class: "controls typing" }, form, sending,
    el("p", { id: "line-help", class: "small muted" },
      "Enter sends the line, a character a step; an empty line is a step of silence. You are asked after a dot, or after two spaces."),
    el("div", { class: "options" }, tick ? null : [el("label", { for: "speed" }, "Otherwise"), speeds,
      el("label", { class: "check" }, pause, " Wait for me at every step")]));

  const show = () => {
    sending.textContent = queue.length ? `still to be sent: ${String.fromCharCode(...queue.slice(0, 60))}` : "";
  };
  const asks = () => pause.checked || heard.at(-1) === DOT || (heard.length === 2 && heard.every((one) => one === SILENCE));
  const next = () => {
    const byte = queue.length ? queue.shift() : SILENCE;
    show();
    return byte;
  };

  return {
    element,
    bindings: [],
    canPace: false,
    setPace: () => {},
    turn: ({ heard: byte, reward, phase }) => {
      if (phase !== "act") return;
      if (reward) {
        heard = [];
        queue = [];
        show();
      }
      heard = [...heard, byte].slice(-2);
    },
    choose: () => {
      if (tick) return { after: queue.length ? 0 : tick * TICK_SHARE, action: next };
      const step = 1000 / speed;
      if (queue.length) return { after: step, action: next };
      const asked = asks() && !(resting && !pause.checked);
      resting = false;
      form.classList.toggle("asked", asked);
      if (!asked) return { after: step, action: next };
      input.focus();
      return null;
    },
    close: () => {},
  };
}

/**
 * Make the line to type an action as JSON, for tasks without numbered actions.
 * @param {{player: function(): Object}} options the answers
 * @returns {Object} as `actionButtons`
 */
export function typedJson({ player }) {
  const input = el("input", { type: "text", id: "line", autocomplete: "off", spellcheck: "false", maxlength: "4000" });
  const wrong = el("p", { class: "small", role: "status" });
  const form = el("form", {
    class: "line json",
    onsubmit: (event) => {
      event.preventDefault();
      try {
        if (player().answer(JSON.parse(input.value))) wrong.textContent = "";
      } catch {
        wrong.textContent = "This is not JSON: write for example 0.5, [0.5, 1] or {\"move\": 1}.";
      }
    },
  }, el("label", { for: "line" }, "Action as JSON"), input, el("button", { type: "submit" }, "Play"));
  return {
    element: el("div", { class: "controls typing" }, form, wrong),
    bindings: [],
    press: (action) => player().answer(action),
    canPace: false,
    setPace: () => {},
    turn: () => {},
    choose: () => null,
    close: () => {},
  };
}
