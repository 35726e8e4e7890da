// Entry of a report: reads the data in the page and mounts its sections.

import { readBlock } from "../common/blocks.js";
import { el, fill } from "../common/dom.js";
import { agentChoice } from "./choice.js";
import { crossSection } from "./cross.js";
import { curvesSection, ratingSection } from "./courses.js";
import { matchesSection, replaysSection } from "./matches.js";
import { nameOf } from "./parts.js";
import { standingsSection } from "./standings.js";
import { tasksSection } from "./tasks.js";
import { faultsSection, thinkSection } from "./times.js";

const NAMES = { standings: "Standings", replays: "Replays", cross: "Cross table", tasks: "Tasks", curves: "Learning", rating: "Rating", times: "Think time", faults: "Faults", matches: "Matches" };

/** Head of the report: title, state, facts. */
function head(data) {
  const [format, ...rest] = data.facts;
  return el("header", { class: "report-head" },
    el("p", { class: "muted small kind" }, "Report of a tournament"),
    el("h1", {}, nameOf(data.title)),
    data.state_line ? el("p", { class: "notice", role: "status" }, data.state_line) : null,
    el("dl", { class: "facts" }, [format, ...rest].map(([label, text]) => el("div", {}, el("dt", {}, label), el("dd", {}, nameOf(text))))));
}

/** Show the report. */
function showReport(root, data) {
  const choice = agentChoice(data.agents.length);
  const parts = [standingsSection(data), replaysSection(data), crossSection(data), tasksSection(data), curvesSection(data, choice),
    ratingSection(data, choice), thinkSection(data), faultsSection(data), matchesSection(data)].filter(Boolean);
  const links = parts.map((part) => el("a", { href: `#${part.id}` }, NAMES[part.id]));
  fill(root, head(data), el("nav", { class: "contents", "aria-label": "Parts of the report" }, links), parts,
    el("footer", { class: "muted small" }, "Made by flagfall. This file needs no network."));
}

showReport(document.getElementById("page"), readBlock("report"));
document.body.dataset.ready = "true";
