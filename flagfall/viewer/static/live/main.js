// Live page of a tournament.

import { readBlock } from "../common/blocks.js";
import { el, fill } from "../common/dom.js";
import { bindKeys } from "../common/keys.js";
import { connect, sendCommand } from "./connect.js";
import { newsPanel } from "./news.js";
import { headOfPage } from "./progress.js";
import { runningPanel } from "./running.js";
import { standingsPanel } from "./standings.js";
import { startTicking } from "./ticker.js";

const page = readBlock("live");
const send = page.command ? (command) => sendCommand(page.command, command) : null;
const head = headOfPage(page, send);
const standings = standingsPanel();
const running = runningPanel(page.links.replay, send);
const news = newsPanel(page.links.replay);

fill(document.getElementById("page"), head.element,
  el("div", { class: "live-grid" }, standings.element, running.element, news.element),
  el("p", { class: "small muted hint" }, "Keys: press ", el("kbd", {}, "?"), " for a list."));

const move = (panel) => () => {
  panel.element.scrollIntoView({ block: "start" });
  panel.element.querySelector("[tabindex], input, button")?.focus({ preventScroll: true });
};

bindKeys([
  { keys: ["s"], does: "Go to the standings", group: "Move", run: move(standings) },
  { keys: ["m"], does: "Go to the matches in progress", group: "Move", run: move(running) },
  { keys: ["r"], does: "Go to the results", group: "Move", run: move(news) },
  { keys: ["/"], does: "Filter the results", group: "Results", run: news.focusFilter },
  { keys: ["o"], does: "Show only results with problems, or all", group: "Results", run: news.toggleProblems },
  ...(send ? [{ keys: ["p"], does: "Pause or resume the run", group: "Run", run: head.togglePause }] : []),
], { title: "Keys of the live page" });

startTicking();
connect("events", {
  run: (run) => {
    head.showRun(run);
    running.show(run);
    document.title = run.total ? `${Math.floor((100 * run.played) / run.total)} % - ${run.name} - flagfall` : document.title;
  },
  standings: standings.show,
  news: news.show,
}, head.showConnection);
