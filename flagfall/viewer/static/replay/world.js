// The world: pictures, text, a tape of bytes, or a table of turns, as the match has them.

import { el, fill, plain, visible } from "../common/dom.js";
import { PictureView } from "./pictures.js";
import { TableView } from "./table.js";
import { TapeView } from "./tape.js";

/** Longest text of a world: a screen of a terminal has about 20,000 characters. */
const MAX_WORLD_CHARS = 40000;

/** Panel with the world. */
export class WorldPanel {
  /**
   * @param {Object} store store of the replay
   * @param {function(number, boolean=): void} go called with the turn that was pressed, and whether its end was
   */
  constructor(store, go) {
    this.store = store;
    this.pictures = new PictureView();
    this.table = new TableView(store, go);
    this.tape = new TapeView();
    this.text = el("pre", { class: "box world-text", tabindex: "0", "aria-label": "The world as text" });
    this.caption = el("p", { class: "caption small muted" });
    this.notice = el("p", { class: "notice small", hidden: true });
    this.stage = el("div", { class: "stage" });
    this.element = el("section", { class: "panel world", "aria-label": "World" }, this.stage, this.caption, this.notice);
    this.current = null;
    this.tape.canvas.addEventListener("click", (event) => {
      const box = this.tape.canvas.getBoundingClientRect();
      const turn = this.tape.turnAt(event.clientX - box.left, event.clientY - box.top);
      if (turn !== null) go(turn);
    });
  }

  /** Why there are no pictures, or an empty text. */
  get why() {
    const { pictures } = this.store.summary;
    return pictures && !pictures.available ? pictures.why ?? "" : "";
  }

  /**
   * Draw the world of a turn.
   * @param {number} turn number of the turn
   * @param {boolean} atEnd the end of its task
   * @param {string} version changes when the data or the colours have changed
   * @returns {boolean} true if everything that belongs to the turn is drawn
   */
  draw(turn, atEnd, version) {
    if (this.store.isTape) return this.drawTape(turn, version);
    const frames = this.store.frames(this.store.chunkOf(turn));
    const isAwaited = !frames && Boolean(this.store.summary.pictures?.available);
    if (frames && frames.kind !== "none") return this.drawFrames(frames, turn, atEnd ? "end" : "before");
    if (isAwaited && this.store.summary.view === "pictures") return false;
    this.put(this.table.element);
    this.table.draw(turn, atEnd, `${version} ${isAwaited}`);
    this.say(frames?.why || this.why);
    this.caption.textContent = "";
    this.stage.classList.remove("absent");
    return !isAwaited && this.store.at(turn) !== undefined;
  }

  drawTape(turn, version) {
    this.put(this.tape.element);
    this.tape.draw(this.store, turn, version);
    this.say("");
    return this.store.at(turn) !== undefined;
  }

  drawFrames(frames, turn, which) {
    const text = frames.has(turn, which) ? frames.text(turn, which) : null;
    const isPicture = text === null && (this.pictures.shown !== null || frames.size(turn, which) !== null);
    this.put(text !== null ? this.text : isPicture ? this.pictures.element : null);
    const found = text === null ? this.pictures.draw(frames, turn, which) : this.drawText(text);
    this.stage.classList.toggle("absent", !found);
    this.say(found ? "" : `There is no picture of turn ${turn}. ${frames.why || this.why}`);
    const caption = which === "end" ? "After the last action" : "";
    if (this.caption.textContent !== caption) this.caption.textContent = caption;
    return true;
  }

  drawText(text) {
    if (text !== this.shownText) fill(this.text, visible(text, MAX_WORLD_CHARS, { lines: true }));
    this.shownText = text;
    return true;
  }

  /** Show one of the views. */
  put(element) {
    if (this.current === element) return;
    this.current = element;
    fill(this.stage, element);
  }

  say(text) {
    const shown = plain(text, 500);
    if (this.notice.textContent === shown && this.notice.hidden === !shown) return;
    this.notice.textContent = shown;
    this.notice.hidden = !shown;
  }
}
