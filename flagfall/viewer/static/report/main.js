// Entry of a report: shows the report, or one of the replays that stand in the page with it.

import { readBlock } from "../common/blocks.js";
import { el, fill, plain } from "../common/dom.js";
import { countOf } from "../common/format.js";
import { mountReplay } from "../replay/view.js";
import { openSource } from "../replay/source.js";
import { agentChoice } from "./choice.js";
import { crossSection } from "./cross.js";
import { curvesSection, ratingSection } from "./courses.js";
import { limitsSection } from "./limits.js";
import { matchesSection, replaysSection } from "./matches.js";
import { reportName, reportSection } from "./parts.js";
import { leadLine, standingsSection } from "./standings.js";
import { tasksSection } from "./tasks.js";
import { faultsSection, thinkSection } from "./times.js";

const REPORT_MAX_TITLE = 120;
const REPORT_MAX_FACT = 200;
const PART_NAMES = { standings: "Standings", replays: "Replays", cross: "Cross table", tasks: "Tasks", curves: "Learning",
  rating: "Rating", times: "Think time", limits: "Limits", faults: "Faults", matches: "Matches", facts: "Tournament" };

/** Head of the report: title, who leads, state; all facts stand at the end. */
function reportHead(data) {
  const { Format: format, Matches: matches } = Object.fromEntries(data.facts);
  const line = [format.split(" (")[0], countOf(data.agents.length, "agent"), countOf(data.tasks.length, "task"), `${matches} matches`];
  return el("header", { class: "report-head" },
    el("h1", {}, reportName(data.title, REPORT_MAX_TITLE)),
    el("p", { class: "muted small kind" }, line.join(" · ")),
    data.state_line ? el("p", { class: "notice", role: "status" }, data.state_line) : null,
    leadLine(data));
}

/** All facts of the tournament. */
function factsSection(data) {
  return reportSection("facts", "Tournament", null,
    el("dl", { class: "report-facts" }, data.facts.map(([label, text]) => el("div", {}, el("dt", {}, label), el("dd", {}, reportName(text, REPORT_MAX_FACT))))));
}

/** The whole report. */
function reportView(data) {
  const choice = agentChoice(data.agents.length);
  const parts = [standingsSection(data), replaysSection(data), crossSection(data), tasksSection(data), curvesSection(data, choice),
    ratingSection(data, choice), thinkSection(data), limitsSection(data, choice), faultsSection(data), matchesSection(data), factsSection(data)].filter(Boolean);
  const links = parts.map((part) => el("a", { href: `#${part.id}` }, PART_NAMES[part.id]));
  return el("div", { class: "report" }, reportHead(data), el("nav", { class: "contents scrolls", "aria-label": "Parts of the report" }, links), parts,
    el("footer", { class: "muted small" }, "Made by flagfall. This file needs no network."));
}

/** Change the address without loading anything; a frame without an address of its own refuses. */
function reportAddress(fragment) {
  try {
    history.pushState(null, "", fragment);
  } catch {
    // The page works without.
  }
}

/** Shows the report, or the replay that the fragment names as `#match=ID`. */
class ReportPage {
  constructor(root, data) {
    this.data = data;
    this.report = reportView(data);
    this.place = el("div", { class: "replay-place", hidden: true });
    this.shown = null;
    this.view = null;
    this.scrolled = 0;
    fill(root, this.report, this.place);
    for (const kind of ["hashchange", "popstate"]) window.addEventListener(kind, () => this.follow(location.hash));
    root.addEventListener("click", (event) => this.click(event));
    this.follow(location.hash);
  }

  /** Follow links within the page here: in a frame of a notebook, the browser would take them for links to elsewhere. */
  click(event) {
    const fragment = event.target.closest?.("a[href^='#']")?.getAttribute("href");
    if (!fragment || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    reportAddress(fragment);
    this.follow(fragment);
    if (!this.shown) document.getElementById(fragment.slice(1))?.scrollIntoView();
  }

  /** Show what a fragment names. */
  async follow(fragment) {
    const name = new URLSearchParams(fragment.slice(1)).get("match");
    const match = this.data.embedded.find((one) => one.match === name) ?? null;
    if (match === this.shown) return;
    const before = this.shown;
    this.shown = match;
    this.view?.close();
    this.view = null;
    if (match) await this.showReplay(match);
    else this.showReport(before);
  }

  showReport(before) {
    document.title = this.title ?? document.title;
    fill(this.place);
    this.place.hidden = true;
    this.report.hidden = false;
    window.scrollTo(0, this.scrolled);
    this.report.querySelector(`a[href="#match=${CSS.escape(encodeURIComponent(before?.match ?? ""))}"]`)?.focus();
  }

  async showReplay(match) {
    if (!this.report.hidden) this.scrolled = window.scrollY;
    this.title ??= document.title;
    document.title = `${plain(match.match)} - ${this.title}`;
    this.report.hidden = true;
    this.place.hidden = false;
    const room = el("div");
    fill(this.place, el("p", { class: "back" }, el("a", { href: "#replays" }, "← Back to the report"), el("span", { class: "muted" }, ` Chosen for: ${match.why}`)), room);
    window.scrollTo(0, 0);
    try {
      const view = await mountReplay(room, await openSource(match.prefix));
      if (this.shown === match) this.view = view;
      else view.close();
    } catch (error) {
      fill(room, el("p", { class: "notice bad", role: "alert" }, `This replay cannot be shown: ${error.message}`));
    }
  }
}

new ReportPage(document.getElementById("page"), readBlock("report"));
document.body.dataset.ready = "true";
