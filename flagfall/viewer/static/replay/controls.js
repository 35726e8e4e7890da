// The controls of a replay: step, scrub, play, go to a turn, and jump.

import { el, fill } from "../common/dom.js";
import { count } from "../common/format.js";
import { JUMPS, totalOf } from "./jumps.js";
import { icon } from "./marks.js";
import { SPEEDS } from "./player.js";

/** Bar of controls. */
export class Controls {
  /**
   * @param {Object} store store of the replay
   * @param {Object} player player of the replay
   * @param {function(Object, 1|-1): void} jump called with a row of `JUMPS` and a direction
   */
  constructor(store, player, jump) {
    this.store = store;
    this.player = player;
    this.slider = el("input", { type: "range", class: "scrub", step: "1", "aria-label": "Turn" });
    this.slider.addEventListener("input", () => this.slide(Number(this.slider.value)));
    const field = { type: "text", inputmode: "numeric", class: "turn-number number", "aria-label": "Go to turn" };
    this.turn = el("input", field);
    this.turn.addEventListener("blur", () => {
      this.shown = null;
      this.draw();
    });
    this.of = el("span", { class: "muted number" });
    this.speed = this.makeSpeed();
    this.play = this.button("play", "Play", () => player.toggle(), "primary");
    this.jumps = JUMPS.map((one) => this.makeJump(one, jump));
    const transport = el("div", { class: "transport", role: "group", "aria-label": "Playing" },
      this.button("first", "First turn", () => player.go(store.span[0])),
      this.button("back", "One turn back", () => player.step(-1)),
      this.play, this.button("next", "Next turn", () => player.step(1)),
      this.button("last", "Last turn", () => player.goToEnd()));
    const form = el("form", { class: "go-to", onsubmit: (event) => this.submit(event) },
      el("span", { class: "muted" }, "Turn"), this.turn, this.of);
    this.element = el("section", { class: "panel controls", "aria-label": "Controls" }, this.slider,
      el("div", { class: "control-row" }, transport, form, this.speed,
        el("div", { class: "jumps", role: "group", "aria-label": "Jumps" }, this.jumps.map((one) => one.element))));
    this.grow();
  }

  button(name, label, run, kind = "") {
    return el("button", { type: "button", class: `icon ${kind}`, "aria-label": label, title: label, onclick: run }, icon(name));
  }

  makeSpeed() {
    const options = SPEEDS.map((speed) => el("option", { value: speed }, `${speed}×`));
    const select = el("select", { "aria-label": "Speed", class: "speed" },
      options, el("option", { value: "real" }, "real pace"));
    select.value = "1";
    const choose = () => this.player.setSpeed(select.value === "real" ? "real" : Number(select.value));
    select.addEventListener("change", choose);
    return select;
  }

  makeJump(row, jump) {
    const total = el("span", { class: "number" });
    const button = (direction, sign, word) => {
      const label = `${word} ${row.label}`;
      return el("button", { type: "button", class: "bare", "aria-label": label, title: label, onclick: () => jump(row, direction) }, sign);
    };
    const element = el("span", { class: "jump" }, button(-1, "‹", "Previous"),
      el("span", { class: "jump-name small" }, row.short, " ", total), button(1, "›", "Next"));
    return { row, total, element };
  }

  /** Go to a place of the slider: a turn, or behind the last one what its action led to. */
  slide(place) {
    if (place > this.store.span[1]) this.player.goToEnd();
    else this.player.go(place);
  }

  submit(event) {
    event.preventDefault();
    const wanted = Number(this.turn.value.replace(/[\s,._]/g, ""));
    if (Number.isFinite(wanted) && this.turn.value.trim()) this.player.go(wanted);
    this.turn.blur();
  }

  /** Take a summary that has grown. */
  grow() {
    const [first, last] = this.store.span;
    this.slider.min = String(first);
    this.slider.max = String(last + this.store.hasEnd(last));
    this.turn.size = String(last).length + 1;
    this.of.textContent = `of ${count(last)}`;
    for (const { row, total, element } of this.jumps) {
      const many = totalOf(this.store.summary, row.kind);
      total.textContent = count(many);
      element.hidden = many === 0;
    }
    this.shown = null;
  }

  /** Show the position and the pace. */
  draw() {
    const { turn, atEnd, playing, realPace, speed } = this.player;
    const place = atEnd && turn === this.store.span[1] ? turn + 1 : turn;
    if (this.shown !== place) {
      this.slider.value = String(place);
      this.slider.setAttribute("aria-valuetext", place > turn ? `after turn ${turn}` : `turn ${turn}`);
      if (document.activeElement !== this.turn) this.turn.value = String(turn);
      this.shown = place;
    }
    const value = realPace ? "real" : String(speed);
    if (this.speed.value !== value) this.speed.value = value;
    if (this.play.dataset.state === String(playing)) return;
    this.play.dataset.state = String(playing);
    this.play.setAttribute("aria-label", playing ? "Pause" : "Play");
    this.play.title = playing ? "Pause" : "Play";
    fill(this.play, icon(playing ? "pause" : "play"));
  }

  /** Write into the field of the turn. */
  askForTurn() {
    this.turn.focus();
    this.turn.select();
  }
}
