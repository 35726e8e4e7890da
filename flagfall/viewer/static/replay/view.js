// The view of a replay: builds the panels, and draws what has changed once a frame.

import { announce, el, fill } from "../common/dom.js";
import { bindKeys } from "../common/keys.js";
import { Heading, PrintsPanel, settingsPanel, TasksPanel } from "./about.js";
import { onThemeChange, themeName } from "./canvas.js";
import { Controls } from "./controls.js";
import { ConversationPanel } from "./conversation.js";
import { EventsPanel } from "./events.js";
import { findTurn, JUMPS } from "./jumps.js";
import { LanesPanel } from "./lanes.js";
import { Player, SPEEDS } from "./player.js";
import { isPlayedAgain } from "./source.js";
import { Store } from "./store.js";
import { TurnPanel } from "./turnpanel.js";
import { WorldPanel } from "./world.js";

/** Turns of a long step. */
const LONG_STEP = 10;

/** Rest of the position before the address follows; browsers refuse more than a few changes a second. */
const ADDRESS_DELAY_MS = 300;

/** Turns that follow each other faster than this pass by; what is shown of them in part is completed after a rest. */
const PASSING_MS = 50;
const REST_MS = 120;

/**
 * Show a replay.
 * @param {HTMLElement} root element to fill
 * @param {Object} source where summary, chunks and pictures come from
 * @param {{keys?: boolean, address?: boolean}} [options] `keys`: bind the keyboard of the page; `address`: keep the
 *   position in the fragment, as `#turn=123`
 * @returns {Promise<{showTurn: function(number): void, close: function(): void}>}
 */
export async function mountReplay(root, source, { keys = true, address = true } = {}) {
  const view = new ReplayView(root, source, await source.summary(), { keys, address });
  return { showTurn: (turn) => view.player.go(turn), close: () => view.close() };
}

const PLAYED_AGAIN = "This match is played again from its beginning: what was shown before is of an attempt that does not count.";

/** Panels of a replay and the frame that draws them. */
class ReplayView {
  constructor(root, source, summary, { keys, address }) {
    Object.assign(this, { root, source, keys, address });
    this.start(summary);
  }

  start(summary, isAgain = false) {
    this.version = 0;
    this.store = new Store(this.source, summary);
    this.player = new Player(this.store, () => this.later());
    this.closing = [];
    this.build(summary);
    if (isAgain) this.heading.element.after(el("p", { class: "notice", role: "status" }, PLAYED_AGAIN));
    this.listen(this.source, this.keys);
    this.readAddress();
    this.draw(performance.now());
  }

  build(summary) {
    const go = (turn, atEnd) => {
      this.player.stop();
      this.player.go(turn, atEnd);
    };
    this.heading = new Heading(this.store, () => this.bound?.openHelp());
    this.world = new WorldPanel(this.store, go);
    this.turnPanel = new TurnPanel(this.store);
    this.controls = new Controls(this.store, this.player, (row, direction) => this.jump(row, direction));
    this.lanes = new LanesPanel(this.store, go);
    this.events = new EventsPanel(this.store, go);
    this.conversation = new ConversationPanel(this.store, go);
    this.tasks = new TasksPanel(this.store, go);
    this.prints = new PrintsPanel(summary);
    this.failure = el("p", { class: "notice bad", role: "alert", hidden: true });
    const seats = summary.seats.length > 1 ? "many-seats" : "one-seat";
    this.page = el("div", { class: `replay ${seats}` }, this.heading.element, this.failure,
      el("div", { class: "replay-top" }, this.world.element, this.controls.element, this.turnPanel.element),
      this.lanes.element, this.conversation.element,
      el("div", { class: "replay-bottom" }, this.events.element, this.tasks.element),
      this.prints.element, settingsPanel(summary));
    fill(this.root, this.page);
  }

  listen(source, keys) {
    const on = (target, name, run) => {
      target.addEventListener(name, run);
      this.closing.push(() => target.removeEventListener(name, run));
    };
    this.store.listeners.add(() => {
      this.version += 1;
      this.later();
    });
    if (this.address) on(window, "hashchange", () => this.readAddress());
    const sizes = new ResizeObserver(() => this.later());
    sizes.observe(this.root);
    this.closing.push(() => sizes.disconnect(), () => this.lanes.close(), () => this.events.close(),
      () => this.conversation.close(), onThemeChange(() => this.later()));
    const end = source.subscribe?.((summary) => this.grow(summary));
    if (typeof end === "function") this.closing.push(end);
    if (!keys) return;
    this.bound = bindKeys(this.bindings(), { title: "Keyboard" });
    this.closing.push(() => this.bound.close());
  }

  /** Take a summary that has grown; at the end of the match, go on with it. Begin anew with another attempt. */
  grow(summary) {
    if (isPlayedAgain(summary, this.store.summary)) {
      this.close();
      this.start(summary, true);
      return;
    }
    const follows = this.player.turn === this.store.span[1] && !this.player.playing; // at the newest turn
    this.store.grow(summary);
    this.heading.grow();
    this.controls.grow();
    this.tasks.grow();
    this.prints.grow(summary);
    if (follows) this.player.goToEnd();
  }

  bindings() {
    const { player } = this;
    const move = (keys, does, run) => ({ keys, does, group: "Move", run });
    const speed = (step) => () => {
      const next = SPEEDS.indexOf(player.speed) + (player.realPace ? 0 : step);
      player.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, next))]);
      announce(`speed ${player.speed}`);
    };
    return [
      move(["ArrowRight"], "Next turn", () => player.step(1)),
      move(["ArrowLeft"], "One turn back", () => player.step(-1)),
      move(["Shift+ArrowRight"], "Ten turns on", () => player.go(player.turn + LONG_STEP)),
      move(["Shift+ArrowLeft"], "Ten turns back", () => player.go(player.turn - LONG_STEP)),
      move(["Home"], "First turn", () => player.go(this.store.span[0])),
      move(["End"], "After the last turn", () => player.goToEnd()),
      move(["g"], "Go to a turn by its number", () => this.controls.askForTurn()),
      { keys: [" ", "k"], does: "Play or pause", group: "Play", run: () => player.toggle() },
      { keys: ["]"], does: "Faster", group: "Play", run: speed(1) },
      { keys: ["["], does: "Slower", group: "Play", run: speed(-1) },
      {
        keys: ["p"], does: "Real pace, by the recorded times, or a fixed speed", group: "Play",
        run: () => player.setSpeed(player.realPace ? player.speed : "real"),
      },
      ...JUMPS.map((row) => ({
        keys: [row.key, row.key.toUpperCase()], does: `Next or previous ${row.label}`, group: "Jump",
        run: (event) => this.jump(row, event.key === row.key ? 1 : -1),
      })),
      { keys: ["+", "="], does: "Think time: fewer turns", group: "Look", run: () => this.lanes.zoom(0.5) },
      { keys: ["-"], does: "Think time: more turns", group: "Look", run: () => this.lanes.zoom(2) },
      { keys: ["0"], does: "Think time: the whole match", group: "Look", run: () => this.lanes.zoom(Infinity) },
      { keys: ["u"], does: "Think time: under another clock", group: "Look", run: () => this.lanes.clock.toggle() },
      { keys: ["f"], does: "Filter the events", group: "Look", run: () => this.events.rows.search.focus() },
      { keys: ["e"], does: "Show this turn in the list of events", group: "Look", run: () => this.events.reveal() },
    ];
  }

  async jump(row, direction) {
    this.player.stop();
    const turn = await findTurn(this.store, row, this.player.turn, direction).catch(() => undefined);
    if (turn === undefined) return; // a notice says what cannot be read
    if (turn === null) announce(`no ${direction > 0 ? "later" : "earlier"} ${row.label}`);
    else this.player.go(turn);
  }

  readAddress() {
    const fragment = new URLSearchParams(location.hash.slice(1));
    const turn = Number(fragment.get("turn") ?? NaN);
    if (this.address && Number.isFinite(turn)) this.player.go(turn, fragment.has("end"));
  }

  /** Write the position into the address, once it rests. */
  writeAddress() {
    if (!this.address) return;
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => {
      const fragment = new URLSearchParams(location.hash.slice(1));
      fragment.set("turn", String(this.player.turn));
      if (this.player.atEnd) fragment.set("end", "");
      else fragment.delete("end");
      try {
        history.replaceState(history.state, "", `#${fragment.toString().replace(/=(?=&|$)/g, "")}`);
      } catch {
        this.address = false; // a frame without an address of its own
      }
    }, ADDRESS_DELAY_MS);
  }

  /** Draw with the next frame of the page. */
  later() {
    this.frame ??= requestAnimationFrame((now) => {
      this.frame = undefined;
      this.draw(now);
    });
  }

  draw(now) {
    if (this.player.playing) this.player.advance(now);
    const { turn, atEnd } = this.player;
    const version = `${this.version} ${themeName()}`;
    this.page.classList.toggle("view-tape", this.store.isTape);
    const isRead = this.turnPanel.draw(turn, atEnd, this.isPassing(turn, now));
    const isDrawn = this.world.draw(turn, atEnd, version);
    this.heading.draw(turn);
    this.controls.draw();
    this.lanes.draw(turn, version);
    this.events.draw(turn, version);
    this.conversation.draw(turn, version);
    this.tasks.draw(turn);
    this.showFailure();
    if (isRead && isDrawn) this.markShown(turn, atEnd);
    if (this.player.playing) this.later();
  }

  /** True if turns follow each other too fast to read them. */
  isPassing(turn, now) {
    const isPassing = turn !== this.lastTurn && now - this.lastMove < PASSING_MS;
    if (turn !== this.lastTurn) this.lastMove = now;
    this.lastTurn = turn;
    clearTimeout(this.restTimer);
    if (isPassing) this.restTimer = setTimeout(() => this.later(), REST_MS);
    return isPassing;
  }

  showFailure() {
    const { failure } = this.store;
    if (this.failure.textContent === (failure ?? "")) return;
    this.failure.textContent = failure ?? "";
    this.failure.hidden = !failure;
  }

  /** Note on the page which turn is drawn. */
  markShown(turn, atEnd) {
    const { dataset } = document.body;
    if (dataset.turn === String(turn) && dataset.end === String(atEnd)) return;
    dataset.turn = String(turn);
    dataset.end = String(atEnd);
    this.writeAddress();
  }

  /** End everything that runs, and empty the root. */
  close() {
    for (const end of this.closing) end();
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    clearTimeout(this.addressTimer);
    clearTimeout(this.restTimer);
    delete document.body.dataset.turn;
    delete document.body.dataset.end;
    fill(this.root);
  }
}
