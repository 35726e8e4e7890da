// Head of the page: name and state of the tournament, its progress, and commands where they are allowed.

import { announce, el, fill, visible } from "../common/dom.js";
import { count, countOf, duration, number, percent } from "../common/format.js";

const STATES = {
  missing: ["Not found", "bad"],
  waiting: ["Not begun", ""],
  running: ["Running", "good"],
  paused: ["Paused", "late"],
  stopping: ["Ending", "late"],
  ended: ["Finished", ""],
  interrupted: ["Interrupted", "late"],
  damaged: ["Damaged", "bad"],
};

/**
 * Head of the page.
 * @param {{folder: string, links: Object}} page what the page shows
 * @param {?function(Object): Promise<string>} send sends a command; null where they are not allowed
 * @returns {{element: HTMLElement, showRun: function(Object): void, showConnection: function(boolean): void,
 *   togglePause: function(): void}}
 */
export function headOfPage(page, send) {
  const title = el("h1", {}, visible(page.folder));
  const state = el("span", { class: "tag", id: "state" }, "Connecting");
  const connection = el("span", { class: "connection small muted", role: "status" });
  const pause = el("button", { type: "button", hidden: true, id: "pause", onclick: () => togglePause() }, "Pause");
  const detail = el("p", { class: "notice", hidden: true });
  const refused = el("p", { class: "notice bad", role: "alert", hidden: true });
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Matches played" });
  const done = el("strong", { class: "number", id: "played" }, "–");
  const share = el("span", { class: "muted number" });
  const facts = el("dl", { class: "facts" });
  const left = el("dd", { class: "number", id: "left" });
  const setLeft = countdown(left);
  const report = page.links.report ? el("a", { href: page.links.report }, "Report") : null;
  let shown = "";

  async function togglePause() {
    if (!send || pause.hidden || pause.disabled) return;
    pause.disabled = true;
    const problem = await send({ do: shown === "paused" ? "resume" : "pause" });
    pause.disabled = false;
    refused.hidden = !problem;
    refused.textContent = problem;
  }

  function showRun(run) {
    const [word, kind] = STATES[run.state];
    if (run.name) fill(title, visible(run.name));
    fill(state, word);
    state.className = `tag ${kind}`;
    state.dataset.state = run.state;
    if (shown && shown !== run.state) announce(`The tournament is ${word.toLowerCase()}.`);
    shown = run.state;
    fill(detail, visible(run.detail, undefined, { code: true }));
    detail.hidden = !run.detail;
    detail.classList.toggle("bad", kind === "bad");
    pause.hidden = !send || !run.controllable || run.state === "stopping";
    fill(pause, run.state === "paused" ? "Resume" : "Pause");
    bar.hidden = run.total === null;
    bar.value = run.total ? run.played / run.total : 1;
    fill(done, run.total === null ? countOf(run.played, "match", "matches")
      : `${count(run.played)} of ${countOf(run.total, "match", "matches")}`);
    fill(share, run.total ? percent(Math.floor((1000 * run.played) / run.total) / 1000, 1) : "");
    setLeft(run.left_seconds);
    fill(facts, fact("Time left", left, run.left_seconds === null),
      fact("Matches per second", number(run.rate, 3), run.rate === null),
      fact("At the same time", count(run.jobs), run.jobs === null),
      fact("Void attempts", count(run.void), !run.void));
  }

  function showConnection(connected) {
    fill(connection, connected ? "Live" : "Connection lost, trying again");
    connection.dataset.connected = String(connected);
  }

  const element = el("header", { class: "live-head" },
    el("div", { class: "title-row" }, title, state, connection, el("span", { class: "spacer" }), report, pause),
    refused, detail,
    el("div", { class: "progress-row" }, bar, el("p", {}, done, " ", share)),
    facts);
  return { element, showRun, showConnection, togglePause };
}

/** One fact of the run; nothing where it is not known. */
function fact(name, value, unknown) {
  return unknown ? null : el("div", {}, el("dt", {}, name), value instanceof HTMLElement ? value : el("dd", { class: "number" }, value));
}

/** Let an element show the time that is left, in steps that fit an estimate. */
function countdown(element) {
  return (seconds) => {
    const step = seconds > 600 ? 60 : seconds > 60 ? 10 : 1;
    fill(element, seconds === null ? "" : `about ${duration(Math.ceil(seconds / step) * step * 1e9)}`);
  };
}
