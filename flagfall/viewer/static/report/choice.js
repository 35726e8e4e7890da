// Agents that the line drawings show: one choice for the whole report.

import { el, fill } from "../common/dom.js";
import { count } from "../common/format.js";
import { agentLabel, reportLabel } from "./parts.js";
import { AGENTS_SHOWN_AT_FIRST } from "../common/palette.js";

/** Agents that have a button of their own; the others are added from a list. */
const REPORT_MOST_BUTTONS = 16;

/**
 * Choice of agents.
 * @param {number} agents number of agents
 * @returns {{has: function(number): boolean, toggle: function(number): void, onChange: function(function(): void): void}}
 */
export function agentChoice(agents) {
  const shown = new Set([...Array(Math.min(agents, AGENTS_SHOWN_AT_FIRST)).keys()]);
  const listeners = [];
  return {
    has: (agent) => shown.has(agent),
    toggle: (agent) => {
      if (!shown.delete(agent)) shown.add(agent);
      listeners.forEach((listener) => listener());
    },
    onChange: (listener) => listeners.push(listener),
  };
}

/**
 * Buttons that show and hide agents; they are the legend of the drawings below.
 * @param {Object} data the report
 * @param {ReturnType<agentChoice>} choice the choice
 * @param {number[]} agents agents that the drawings have
 * @returns {HTMLElement}
 */
export function agentLegend(data, choice, agents) {
  const box = el("div", { class: "agent-legend", role: "group", "aria-label": "Agents shown in the drawings" });
  let focused = null;
  const show = () => {
    const listed = agents.filter((agent, place) => place < REPORT_MOST_BUTTONS || choice.has(agent));
    const rest = agents.filter((agent) => !listed.includes(agent));
    const buttons = listed.map((agent) => el("button", {
      type: "button", class: "chip", "aria-pressed": String(choice.has(agent)), dataset: { agent },
      onclick: () => { focused = agent; choice.toggle(agent); },
    }, agentLabel(data, agent)));
    const more = rest.length ? el("select", { "aria-label": "Show another agent", onchange: (event) => choice.toggle(Number(event.target.value)) },
      el("option", { value: "" }, `${count(rest.length)} more`),
      rest.map((agent) => el("option", { value: agent }, reportLabel(data.agents[agent])))) : null;
    fill(box, buttons, more);
    if (focused !== null) box.querySelector(`[data-agent="${focused}"]`)?.focus();
    focused = null;
  };
  choice.onChange(show);
  show();
  return box;
}
