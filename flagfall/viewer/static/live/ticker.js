// Clocks that go on between two events of the server.

import { duration } from "../common/format.js";

/** Time between two looks at the clocks, in milliseconds. */
const TICK_MS = 200;

const ticking = new Set();

/** Write the present time of one clock. */
function write(clock) {
  const seconds = clock.seconds + (clock.runs ? (performance.now() - clock.at) / 1000 : 0);
  const text = seconds < 60 ? `${seconds.toFixed(1)} s` : duration(seconds * 1e9);
  if (clock.element.textContent !== text) clock.element.textContent = text;
}

/**
 * Let an element show a time that goes on by itself.
 * @param {HTMLElement} element the element; it stops when it has left the page
 * @returns {function(?number, boolean=): void} sets the time in seconds, and whether it goes on; null for no time
 */
export function ticker(element) {
  const clock = { element, seconds: 0, at: 0, runs: false };
  return (seconds, runs = true) => {
    if (seconds === null || seconds === undefined) {
      ticking.delete(clock);
      element.textContent = "–";
      return;
    }
    Object.assign(clock, { seconds, at: performance.now(), runs });
    ticking.add(clock);
    write(clock);
  };
}

/** Start the clocks of the page. */
export function startTicking() {
  setInterval(() => {
    for (const clock of ticking) {
      if (clock.element.isConnected) write(clock);
      else ticking.delete(clock);
    }
  }, TICK_MS);
}
