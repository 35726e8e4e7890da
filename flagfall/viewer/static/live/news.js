// Matches that have ended, the newest first, with what went wrong in them.

import { el, fill, plain, shortName, visible } from "../common/dom.js";
import { countOf, duration, number } from "../common/format.js";

/** Matches that the page keeps. */
const MAX_ITEMS = 300;

/**
 * Panel of the results.
 * @param {string} replay address of a replay, with `{match}` for the match
 * @returns {{element: HTMLElement, show: function(Object): void, focusFilter: function(): void,
 *   toggleProblems: function(): void}}
 */
export function newsPanel(replay) {
  const text = el("input", { type: "search", "aria-label": "Filter results", placeholder: "Filter", oninput: () => sift() });
  const problems = el("button", { type: "button", "aria-pressed": "false", onclick: () => toggleProblems() }, "Problems only");
  const list = el("ol", { class: "bare-list news", reversed: true });
  const empty = el("p", { class: "muted" }, "No match has ended yet.");
  const left = el("p", { class: "small muted", hidden: true });
  const element = el("section", { class: "panel results", id: "results", "aria-labelledby": "results-title" },
    el("header", {}, el("h2", { id: "results-title" }, "Results"), el("span", { class: "spacer" }),
      el("div", { class: "tools" }, text, problems)),
    empty, el("div", { class: "scrolls news-scroll", tabindex: "0", role: "region", "aria-label": "Results" }, list), left);

  function toggleProblems() {
    problems.setAttribute("aria-pressed", String(problems.getAttribute("aria-pressed") !== "true"));
    sift();
  }

  /** Show the results that fit the filter. */
  function sift() {
    const wanted = text.value.trim().toLowerCase();
    const only = problems.getAttribute("aria-pressed") === "true";
    let shown = 0;
    for (const item of list.children) {
      const fits = (!only || item.dataset.problem === "true") && (!wanted || item.dataset.words.includes(wanted));
      item.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    empty.hidden = shown > 0;
    fill(empty, list.children.length ? "No result fits the filter." : "No match has ended yet.");
  }

  function show(news) {
    if (news.all) list.replaceChildren();
    const known = new Set([...list.children].map((item) => item.dataset.number));
    for (const item of news.items) {
      if (!known.has(String(item.number))) list.prepend(newsItem(item, replay));
    }
    while (list.children.length > MAX_ITEMS) list.lastElementChild.remove();
    left.hidden = !news.left_out;
    fill(left, `${countOf(news.left_out, "more result")} came at the same time; the standings count them.`);
    element.dataset.newest = list.firstElementChild?.dataset.number ?? "";
    sift();
  }

  return { element, show, focusFilter: () => text.focus(), toggleProblems };
}

/** One match that has ended. */
function newsItem(item, replay) {
  const late = item.seats.reduce((sum, seat) => sum + seat.late, 0);
  const out = item.seats.filter((seat) => seat.out !== null);
  const problem = item.void || item.why !== "" || late > 0 || out.length > 0;
  const words = [item.match, item.task ?? "", item.why, item.reason, item.void ? "void" : "", late ? "late" : "", item.stalls ? "stall" : "",
    ...item.seats.flatMap((seat) => [seat.agent, seat.out ?? ""]), out.length ? "disqualified" : ""];
  const link = item.journal && !item.void
    ? el("a", { href: replay.replace("{match}", encodeURIComponent(item.match)), "aria-label": `Replay of ${plain(item.match)}` }, "Replay") : null;
  return el("li", {
    class: item.void ? "void" : "",
    dataset: { number: item.number, problem: String(problem), words: words.join(" ").toLowerCase() },
  },
    el("header", {},
      el("strong", {}, visible(item.match, 60)),
      item.task ? el("span", { class: "small muted" }, shortName(item.short, 60, item.task)) : null,
      item.void ? el("span", { class: "tag bad" }, `void, attempt ${item.attempt}`) : null,
      late ? el("span", { class: "tag late" }, countOf(late, "late turn")) : null,
      el("span", { class: "spacer" }),
      el("span", { class: "small muted number" }, [countOf(item.turns, "turn"), duration(item.elapsed_ns),
        item.stalls ? countOf(item.stalls, "host stall") : ""].filter(Boolean).join(", ")), link),
    el("ul", { class: "bare-list scores" }, item.seats.map((seat) => el("li", {},
      el("span", { class: "agent" }, visible(seat.agent, 60)), " ",
      item.void ? null : el("span", { class: "number score" }, number(seat.score, 3)), " ",
      seat.out === null ? null : el("span", { class: "tag bad" }, "disqualified: ", visible(seat.out, 40))))),
    item.why ? el("p", { class: "small why" }, visible(item.why, 300, { code: true })) : null);
}
