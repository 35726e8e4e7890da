// Matches in progress, with their clocks.

import { el, fill, plain, shortName, visible } from "../common/dom.js";
import { count, countOf, duration } from "../common/format.js";
import { ticker } from "./ticker.js";

/** Time in which a second press confirms that a match is to be cancelled, in milliseconds. */
const CONFIRM_MS = 4000;

/**
 * Panel of the matches in progress.
 * @param {string} replay address of a replay, with `{match}` for the match
 * @param {?function(Object): Promise<string>} send sends a command; null where they are not allowed
 * @returns {{element: HTMLElement, show: function(Object): void}}
 */
export function runningPanel(replay, send) {
  const info = el("span", { class: "small muted" });
  const empty = el("p", { class: "muted" }, "No match is being played.");
  const list = el("ul", { class: "bare-list matches" });
  const more = el("p", { class: "small muted", hidden: true });
  const element = el("section", { class: "panel running", id: "running", "aria-labelledby": "running-title" },
    el("header", {}, el("h2", { id: "running-title" }, "In progress"), info), empty, list, more);
  const cards = new Map();

  function show(run) {
    const wanted = new Map(run.running.map((one) => [`${one.match} ${one.attempt}`, one]));
    for (const [key, card] of cards) {
      if (wanted.has(key)) continue;
      card.element.remove();
      cards.delete(key);
    }
    for (const [key, one] of wanted) {
      if (!cards.has(key)) {
        cards.set(key, matchCard(one, replay, send));
        list.append(cards.get(key).element);
      }
      cards.get(key).show(one, run.controllable);
    }
    empty.hidden = wanted.size > 0;
    list.hidden = !wanted.size;
    const left = run.running_count - run.running.length;
    more.hidden = left <= 0;
    fill(more, `${countOf(left, "more match", "more matches")} in progress.`);
    fill(info, run.running_count ? countOf(run.running_count, "match", "matches") : "");
  }

  return { element, show };
}

/** One match. */
function matchCard(match, replay, send) {
  const time = el("span", { class: "number clock" });
  const turn = el("span", { class: "small muted number" });
  const problem = el("p", { class: "small", role: "alert", hidden: true });
  const setTime = ticker(time);
  const seats = match.agents.map((agent) => seatRow(agent));
  const cancel = send ? cancelButton(match, send, problem) : null;
  const watch = el("a", { href: replay.replace("{match}", encodeURIComponent(match.match)), hidden: true,
    "aria-label": `Watch ${plain(match.match)}` }, "Watch");
  const element = el("li", { class: "match", dataset: { match: match.match } },
    el("header", {},
      el("strong", {}, visible(match.match, 60)),
      el("span", { class: "small muted task" }, shortName(match.short, 60, match.task)),
      match.attempt > 1 ? el("span", { class: "tag late" }, `attempt ${match.attempt}`) : null,
      el("span", { class: "tail" }, turn, time, watch, cancel)),
    el("ul", { class: "bare-list seats" }, seats.map((seat) => seat.element)), problem);

  function show(now, controllable) {
    setTime(now.seconds);
    fill(turn, now.turn === null || now.turn === undefined ? "" : `turn ${count(now.turn)}`);
    seats.forEach((seat, place) => seat.show(now.seats?.[place] ?? null));
    watch.hidden = !now.journal;
    if (cancel) cancel.hidden = !controllable;
  }

  return { element, show };
}

/** One seat of a match: its agent, its last turn against the limit, and what is left of its time. */
function seatRow(agent) {
  const used = el("span", { class: "used" });
  const meter = el("span", { class: "meter", "aria-hidden": "true", hidden: true }, used);
  const facts = el("span", { class: "small muted number facts-line" });
  const out = el("span", { class: "tag bad", hidden: true });
  const element = el("li", {}, el("span", { class: "agent" }, visible(agent, 60)), out, meter, facts);

  function show(clock) {
    meter.hidden = clock?.last_limit_ns == null;
    out.hidden = clock?.out == null;
    if (!clock) {
      fill(facts);
      return;
    }
    fill(out, visible(clock.out ?? "", 40));
    if (!meter.hidden) {
      const share = clock.last_limit_ns ? Math.min(1, clock.last_ns / clock.last_limit_ns) : 1;
      used.style.width = `${(100 * share).toFixed(1)}%`;
      used.classList.toggle("late", share >= 1);
    }
    fill(facts, [
      clock.last_ns === null ? "" : `last turn ${duration(clock.last_ns)}`,
      clock.limit_ns === null ? "" : `limit ${duration(clock.limit_ns)}`,
      clock.bank_ns === null ? "" : `bank ${duration(clock.bank_ns)}`,
      clock.total_ns === null ? "" : `${duration(clock.total_ns)} left`,
      clock.late ? `${count(clock.late)} late` : "",
    ].filter(Boolean).join(" · "));
  }

  return { element, show };
}

/** Button that cancels a match when it is pressed twice. */
function cancelButton(match, send, problem) {
  let timer = 0;
  const button = el("button", { type: "button", class: "cancel", onclick: press }, "Cancel");

  function calm() {
    clearTimeout(timer);
    timer = 0;
    fill(button, "Cancel");
  }

  async function press() {
    if (!timer) {
      fill(button, "Really cancel");
      timer = setTimeout(calm, CONFIRM_MS);
      return;
    }
    calm();
    button.disabled = true;
    const refused = await send({ do: "cancel", match: match.match });
    button.disabled = false;
    problem.hidden = !refused;
    problem.textContent = refused;
  }

  return button;
}
