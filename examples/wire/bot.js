// Agent of the wire protocol in JavaScript: flagfall run --task micro1 --agent "cmd:node bot.js"
//
// It repeats bytes, plays the first action that a mask allows, and otherwise plays all actions in turn.
// docs/protocol.md describes the protocol.

const readline = require("node:readline");

const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

function choose(ask, spaces) {
  const space = spaces ? spaces.action : {};
  if (space.type !== "discrete") return spaces ? spaces.nil : null;
  const shown = ask.observation;
  if (Number.isInteger(shown) && shown >= space.start && shown < space.start + space.n) return shown;
  if (shown && shown.action_mask)  // an array of bytes: 1 for each legal action
    return space.start + Buffer.from(shown.action_mask.data, "base64").indexOf(1);
  return space.start + (Math.abs(ask.number) % space.n);
}

let spaces = null;
const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const message = JSON.parse(line);
  spaces = message.spaces || spaces;
  if (message.type === "hello") {
    say({ type: "ready", wants: ["act"], version: 1 });
  } else if (message.type === "ask") {
    if (message.late) console.error("too late for turn", message.late.turn);
    say({ type: "answer", number: message.number, action: choose(message, spaces) });
  } else if (message.type === "bye") {
    lines.close();
  }
});
