// The page on which a person plays: connects, shows turns, sends answers.

import { readBlock } from "../common/blocks.js";
import { announce, el, fill, visible } from "../common/dom.js";
import { bindKeys } from "../common/keys.js";
import { clickedBoard } from "./board.js";
import { actionButtons } from "./buttons.js";
import { turnClock } from "./clock.js";
import { connect } from "./connection.js";
import { MAX_GOAL, agentName, endScreen, reasonText, scorePanel, startScreen } from "./panels.js";
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
const board = clickedBoard({ press: (action) => inputs.press(action), agents: about.agents });
const world = worldView(board);
const goal = el("details", { class: "panel goal" }, el("summary", {}, "Goal"));
const score = scorePanel();
const notice = el("div", { class: "notice", role: "status", hidden: true });
const banner = el("p", { class: "banner", role: "status", hidden: true });
const place = el("div", { class: "place" });
const stage = el("div", { class: "stage" });
const seats = el("p", { class: "muted" });
let players = [];
let inputs = null;
let keys = null;
let link = null;

const player = answerTurns({
  send: (message) => link.send(message),
  choose: (turn) => inputs.choose(turn),
  answered: (action) => {
    document.body.dataset.answered = document.body.dataset.turn;
    banner.hidden = true;
    board.turn(null);
    if (action !== SKIP) clock.wait(about.agents.length > 1 ? "waiting for the others" : "answered");
  },
  paced: Boolean(tick),
});

/** Show one of the stages: "waiting", "playing", "over" and others. */
function setStage(name) {
  document.body.dataset.stage = name;
}

/** Show what a task is about, and make its controls. */
function useTask(facts) {
  const { controls } = facts;
  showPlayers(facts.players);
  goal.hidden = !facts.goal;
  goal.open = facts.goal.length <= MAX_GOAL / 2;
  fill(goal, goal.firstElementChild, visible(facts.goal, MAX_GOAL * 4, { lines: true }));
  board.use(facts);
  inputs?.close();
  keys?.close();
  const options = { tick, player: () => player };
  const make = { buttons: () => actionButtons(controls, options), bytes: () => typedBytes(options), json: () => typedJson(options) };
  inputs = make[controls.kind]();
  const bindings = [...inputs.bindings, ...board.bindings()];
  keys = bindKeys(bindings, { title: "Keys" });
  helpButton.hidden = !bindings.length;
  fill(place, facts.board ? el("details", { class: "all-actions" }, el("summary", {}, "Actions as buttons"), inputs.element) : inputs.element,
    inputs.canPace ? paceSelect(inputs) : null);
}

/** Show the agents, with the names that the task has for its players. */
function showPlayers(names) {
  players = names;
  if (about.agents.length > 1) fill(seats, about.agents.map((_, seat) => [seat ? " · " : "", agentName(about, seat, players)]));
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
  if (turn.facts) useTask(turn.facts);
  score.show(turn.score);
  world.talk(turn.tape);
  const drawn = world.show(turn, picture);
  inputs.turn(turn);
  board.turn(turn);
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
    el("div", { class: "right" }, clock.element, place, goal, score.element)));
  if (!tick) announce("The match has begun.");
}

/** Show the end. */
function showEnd(over) {
  if (document.body.dataset.stage === "over") return; // it is connected again
  player.stop();
  clock.stop();
  keys?.close();
  setStage("over");
  stopButton.hidden = true;
  helpButton.hidden = true;
  notice.hidden = true;
  world.talk(over.tape.slice(-1));
  board.turn(null);
  const end = endScreen(over, about, players);
  fill(stage, end, world.element);
  end.focus();
  link.send({ type: "seen" });
}

/** Show that the server has ended: the replay is in the file alone. */
function showClosed() {
  link.close();
  document.getElementById("replay")?.replaceWith(el("p", {}, "flagfall has ended; the commands below show the match."));
}

/** Take a message of the server. */
function take(message, picture) {
  if (message.type === "turn") takeTurn(message, picture);
  else if (message.type === "over") showEnd(message);
  else if (message.type === "out") showOut(message.reason);
  else if (message.type === "closed") showClosed();
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
  if (document.body.dataset.stage === "over") return;
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
    seats,
    el("div", { class: "tools" }, helpButton, stopButton)),
  notice, stage, sure);
setStage("connecting");
showPlayers(about.facts?.players ?? []);
link = connect({ message: take, state: showState });
