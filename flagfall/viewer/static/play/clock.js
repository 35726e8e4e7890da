// The clock of the person: what is left of the turn and of the bank, by the messages of the server.

import { el, fill } from "../common/dom.js";
import { duration } from "../common/format.js";

const NS_IN_MS = 1e6;

/** Milliseconds between two looks at the clock. */
const REFRESH_MS = 100;

/** Share of the time at which the clock warns. */
const WARNING_SHARE = 0.25;

/** Time in words that do not jump: tenths of a second below ten seconds. */
function timeLeft(ms) {
  if (ms < 10000) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  return ms <= 59000 ? `${Math.ceil(ms / 1000)} s` : duration(Math.ceil(ms / 1000) * 1000 * NS_IN_MS);
}

/** Duration of a limit as people say it. */
function spoken(ms) {
  return ms >= 60000 && ms % 60000 === 0 ? `${ms / 60000} min` : duration(ms * NS_IN_MS);
}

/**
 * Describe a time control in a sentence.
 * @param {{soft_ms: ?number, hard_ms: ?number, bank_ms: ?number, tick_ms: ?number}} limits in milliseconds
 * @returns {string}
 */
export function limitsInWords({ soft_ms: soft, hard_ms: hard, bank_ms: bank, tick_ms: tick }) {
  const parts = [];
  if (tick) parts.push(`The world moves every ${spoken(tick)} and takes your newest action.`);
  else if (soft !== null && bank !== null) parts.push(`Each turn has ${spoken(soft)}, then it draws on a bank of ${spoken(bank)}.`);
  else if (bank !== null) parts.push(`Your clock has ${spoken(bank)} for the whole match.`);
  else if (soft !== null) parts.push(`Each turn has ${spoken(soft)}; a late one is played without you.`);
  else parts.push("There is no time limit.");
  if (hard !== null) parts.push(`After ${spoken(hard)} without an answer you are out.`);
  return parts.join(" ");
}

/**
 * Make a clock.
 * @param {{tick_ms: ?number}} about facts about the match
 * @returns {{element: HTMLElement, start: function(Object): void, wait: function(string): void, stop: function(): void}}
 */
export function turnClock({ tick_ms: tick }) {
  const time = el("span", { class: "time number" }, "–");
  const label = el("span", { class: "muted small" });
  const fullness = el("div", { class: "fullness" });
  const bank = el("p", { class: "bank small number" });
  const element = el("section", { class: "panel clock", "aria-label": "Clock" },
    el("div", { class: "face" }, time, label), el("div", { class: "gauge", "aria-hidden": "true" }, fullness), bank);
  let timer = null;

  const stop = () => {
    clearInterval(timer);
    element.classList.remove("running", "warning", "over");
  };

  const start = (turn) => {
    stop();
    const from = performance.now() - turn.spent_ms;
    const limit = tick ?? turn.soft_ms;
    const whole = tick ?? turn.soft_ms ?? 1;
    const show = () => {
      const spent = performance.now() - from;
      if (limit === null) {
        fill(time, timeLeft(spent));
        fill(label, "for this turn; no limit");
        fullness.style.setProperty("width", "100%");
      } else {
        const left = Math.max(0, limit - spent);
        fill(time, tick ? duration(tick * NS_IN_MS) : timeLeft(left));
        fill(label, tick ? "a tick" : left ? "left for this turn" : "late: the world goes on");
        fullness.style.setProperty("width", tick ? "100%" : `${(100 * left) / whole}%`);
        element.classList.toggle("warning", !tick && left > 0 && left < whole * WARNING_SHARE);
        element.classList.toggle("over", !tick && left === 0);
      }
      const drawn = turn.bank_ms === null ? 0 : Math.max(0, spent - (turn.soft_ms - turn.bank_ms));
      fill(bank, turn.bank_ms === null ? null : `Bank ${timeLeft(turn.bank_ms - drawn)}`,
        turn.total_ms === null ? null : ` Whole match ${timeLeft(turn.total_ms - spent)}`);
    };
    element.classList.add("running");
    show();
    if (!tick) timer = setInterval(show, REFRESH_MS);
  };

  return {
    element,
    start,
    wait: (words) => {
      stop();
      fill(label, words);
    },
    stop,
  };
}
