"""Agent of the wire protocol in plain Python: flagfall run --task micro1 --agent "cmd:python3 bot.py".

It repeats bytes, plays the first action that a mask allows, and otherwise plays all actions in turn.
docs/protocol.md describes the protocol.
"""

import base64
import json
import sys
from typing import Any


def say(message: dict[str, Any]) -> None:
    """Send a message, which is one line, at once.

    Args:
        message: its fields.
    """
    print(json.dumps(message), flush=True)


def choose(ask: dict[str, Any], spaces: dict[str, Any] | None) -> Any:
    """Return an action of the task.

    Args:
        ask: the message that asks for it.
        spaces: the spaces of the task; `None` if they are unknown.
    """
    space = spaces["action"] if spaces else {}
    if space.get("type") != "discrete":
        return spaces["nil"] if spaces else None
    shown = ask["observation"]
    if type(shown) is int and 0 <= shown - space["start"] < space["n"]:
        return shown
    if isinstance(shown, dict) and "action_mask" in shown:  # an array of bytes: 1 for each legal action
        return space["start"] + base64.b64decode(shown["action_mask"]["data"]).index(1)
    return space["start"] + ask["number"] % space["n"]


def main() -> None:
    """Handle messages until the end of the input."""
    spaces = None
    for line in sys.stdin:
        message = json.loads(line)
        spaces = message.get("spaces") or spaces
        if message["type"] == "hello":
            say({"type": "ready", "wants": ["act"], "version": 1})
        elif message["type"] == "ask":
            if "late" in message:
                print("too late for turn", message["late"]["turn"], file=sys.stderr)
            say({"type": "answer", "number": message["number"], "action": choose(message, spaces)})
        elif message["type"] == "bye":
            break


main()
