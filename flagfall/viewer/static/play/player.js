// The answers of the person: one for each turn, in time, whatever way they are given.

/** Stands for an action: give the turn up, to see the newest one. */
export const SKIP = Symbol("skip");

/** Share of a tick after which the page answers for a person who does nothing. */
export const TICK_SHARE = 0.6;

/** Margin after a limit before the page gives a turn up, in milliseconds: the server's clock decides, not this one. */
const MARGIN_MS = 60;

/** Time for which the end of a task is shown before the match goes on, in milliseconds. */
const TASK_END_MS = 1500;

/**
 * Answer turns.
 * @param {{send: function(Object): boolean, choose: function(Object): ?{after: number, action: function(): *},
 *   answered: function(*): void, paced: boolean}} options `send` sends a message; `choose` returns what to answer
 *   without the person, and after how many milliseconds, or null to wait; `answered` is called with each answer;
 *   `paced`: the world moves at ticks
 * @returns {{turn: function(Object): void, answer: function(*): boolean, again: function(): void,
 *   stop: function(): void, isOpen: function(): boolean}}
 */
export function answerTurns({ send, choose, answered, paced }) {
  let open = null;
  let receivedMs = 0;
  let timers = [];

  const later = (ms, run) => timers.push(setTimeout(run, Math.max(0, ms)));
  const clear = () => {
    timers.forEach(clearTimeout);
    timers = [];
  };

  const reply = (action) => {
    if (open === null) return false;
    const number = open.number;
    open = null;
    clear();
    send(action === SKIP ? { type: "skip", number } : { type: "answer", number, action });
    answered(action);
    return true;
  };

  const plan = () => {
    clear();
    if (open.phase !== "act") {
      later(open.soft_ms === null ? TASK_END_MS : Math.min(TASK_END_MS, open.soft_ms / 4), () => reply(null));
      return;
    }
    const choice = choose(open);
    if (choice !== null) later(choice.after, () => reply(choice.action()));
    const spent = open.spent_ms + performance.now() - receivedMs;
    if (open.soft_ms !== null && !paced) later(open.soft_ms - spent + MARGIN_MS, () => reply(SKIP));
  };

  return {
    turn: (turn) => {
      open = turn;
      receivedMs = performance.now();
      plan();
    },
    answer: (action) => reply(open !== null && open.phase !== "act" ? null : action),
    again: () => open !== null && plan(),
    stop: () => {
      open = null;
      clear();
    },
    isOpen: () => open !== null && open.phase === "act",
  };
}
