// The page on which a person plays: connects, shows turns, sends answers.

import { readBlock } from "../common/blocks.js";
import { announce, el, fill, visible } from "../common/dom.js";
import { bindKeys } from "../common/keys.js";
import { actionButtons } from "./buttons.js";
import { turnClock } from "./clock.js";
import { connect } from "./connection.js";
import { endScreen, reasonText, scorePanel, startScreen } from "./panels.js";
import { SKIP, answerTurns } from "./player.js";
import { typedBytes, typedJson } from "./typing.js";
import { worldView } from "./world.js";

/** Steps a second that a game may go on by itself; 0 waits for the person. */
const PACES = [0, 2, 5, 10, 20];

const NOTICES = {
  lost: "The connection is lost; the page tries again. Your clock goes on.",
  gone: "flagfall does not answer any more. If the match still runs, reload the page.",
  taken: "This seat is taken: the match is open in another tab. Close that one, then reload this page.",
  moved: "The match goes on in another window of this tab.",
};

const about = readBlock("play");
const tick = about.tick_ms;
const clock = turnClock(about);
const world = worldView();
const score = scorePanel();
const notice = el("div", { class: "notice", role: "status", hidden: true });
const banner = el("p", { class: "banner", role: "status", hidden: true });
const place = el("div", { class: "place" });
const stage = el("div", { class: "stage" });
let inputs = null;
let keys = null;
let link = null;

const player = answerTurns({
  send: (message) => link.send(message),
  choose: (turn) => inputs.choose(turn),
  answered: (action) => {
    document.body.dataset.answered = document.body.dataset.turn;
    banner.hidden = true;
    if (action !== SKIP) clock.wait(about.agents.length > 1 ? "waiting for the others" : "answered");
  },
  paced: Boolean(tick),
});

/** Show one of the stages: "waiting", "playing", "over" and others. */
function setStage(name) {
  document.body.dataset.stage = name;
}

/** Make the controls of a task. */
function useControls(controls) {
  inputs?.close();
  keys?.close();
  const options = { tick, player: () => player };
  const make = { buttons: () => actionButtons(controls, options), bytes: () => typedBytes(options), json: () => typedJson(options) };
  inputs = make[controls.kind]();
  keys = bindKeys(inputs.bindings, { title: "Keys" });
  helpButton.hidden = !inputs.bindings.length;
  fill(place, inputs.element, inputs.canPace ? paceSelect(inputs) : null);
}

/** The choice between a game that waits and one that goes on by itself. */
function paceSelect(of) {
  const choose = el("select", { id: "pace", onchange: () => {
    of.setPace(Number(choose.value) ? 1000 / Number(choose.value) : 0);
    choose.blur();
    player.again();
  } }, PACES.map((pace) => el("option", { value: pace }, pace ? `${pace} steps a second` : "the game waits for me")));
  return el("p", { class: "options" }, el("label", { for: "pace" }, "Pace"), choose);
}

/** Show a turn and open it for an answer. */
async function takeTurn(turn, picture) {
  if (document.body.dataset.stage !== "playing") showGame();
  if (turn.controls) useControls(turn.controls);
  score.show(turn.score);
  world.talk(turn.tape);
  const drawn = world.show(turn, picture);
  inputs.turn(turn);
  if (turn.phase === "act") clock.start(turn);
  else showTaskEnd(turn);
  player.turn(turn);
  await drawn;
  document.body.dataset.turn = String(turn.number);
}

/** Show for a moment how a task has ended. */
function showTaskEnd(turn) {
  clock.wait("the task is over");
  banner.hidden = false;
  fill(banner, turn.reward ? `The task is over. Last reward: ${turn.reward}.` : "The task is over.");
}

/** Lay the game out. */
function showGame() {
  setStage("playing");
  fill(stage, el("div", { class: "game" },
    el("div", { class: "left" }, world.element, banner),
    el("div", { class: "right" }, clock.element, place, score.element)));
  if (!tick) announce("The match has begun.");
}

/** Show the end. */
function showEnd(over) {
  player.stop();
  clock.stop();
  keys?.close();
  setStage("over");
  stopButton.hidden = true;
  helpButton.hidden = true;
  notice.hidden = true;
  world.talk(over.tape.slice(-1));
  const end = endScreen(over, about);
  fill(stage, end, world.element);
  end.focus();
  link.send({ type: "seen" });
  link.close();
}

/** Take a message of the server. */
function take(message, picture) {
  if (message.type === "turn") takeTurn(message, picture);
  else if (message.type === "over") showEnd(message);
  else if (message.type === "out") showOut(message.reason);
  else if (message.stage === "waiting") showStart();
  else if (message.stage === "playing") showWaiting();
}

/** Show that the match goes on without the person. */
function showOut(reason) {
  player.stop();
  clock.wait("disqualified");
  notice.hidden = false;
  fill(notice, "You are disqualified: ", reasonText(reason), ". The match may go on without you.");
}

/** Show the start screen. */
function showStart() {
  setStage("waiting");
  stopButton.hidden = true;
  const begin = () => {
    link.send({ type: "start" });
    showWaiting();
  };
  fill(stage, startScreen(about, begin));
  document.getElementById("begin").focus();
}

/** Show that the match runs and no turn has come yet. */
function showWaiting() {
  stopButton.hidden = false;
  if (document.body.dataset.stage === "playing") return;
  setStage("begun");
  fill(stage, el("section", { class: "panel start" }, el("p", {}, "Waiting for your turn …")));
}

/** Show the state of the connection. */
function showState(state) {
  notice.hidden = state === "open";
  if (state === "open") return;
  player.stop();
  clock.wait("not connected");
  if (state !== "lost") setStage(state);
  fill(notice, NOTICES[state]);
}

const sure = el("dialog", { "aria-label": "End the match" },
  el("p", {}, "End the match now? What was played is stored."),
  el("div", { class: "row" },
    el("button", { type: "button", class: "primary", onclick: () => {
      sure.close();
      link.send({ type: "stop" });
    } }, "End it"),
    el("button", { type: "button", onclick: () => sure.close() }, "Play on")));
const helpButton = el("button", { type: "button", "aria-label": "Keys", hidden: true, onclick: () => keys?.openHelp() }, "?");
const stopButton = el("button", { type: "button", id: "stop", hidden: true, onclick: () => sure.showModal() }, "End the match");

fill(document.getElementById("page"),
  el("header", { class: "bar" },
    el("h1", {}, visible(about.task, 80)),
    about.agents.length > 1 ? el("p", { class: "muted" }, about.agents.map((name, seat) => [seat ? " · " : "", visible(name, 80), seat === about.seat && name !== "you" ? " (you)" : ""])) : null,
    el("div", { class: "tools" }, helpButton, stopButton)),
  notice, stage, sure);
setStage("connecting");
link = connect({ message: take, state: showState });
