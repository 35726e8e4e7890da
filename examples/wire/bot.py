"""An agent that speaks the wire in plain Python: flagfall run --task micro1 --agent "cmd:python3 bot.py".

It says bytes back as it hears them, plays the first action that a mask allows, and else goes through all
actions in turn. docs/protocol.md has the wire.
"""

import base64
import json
import sys
from typing import Any


def say(message: dict[str, Any]) -> None:
    """One message is one line; it goes out at once."""
    print(json.dumps(message), flush=True)


def choose(ask: dict[str, Any], spaces: dict[str, Any] | None) -> Any:
    """An action that the task takes."""
    space = spaces["action"] if spaces else {}
    if space.get("type") != "discrete":
        return spaces["nil"] if spaces else None
    shown = ask["observation"]
    if type(shown) is int and 0 <= shown - space["start"] < space["n"]:
        return shown
    if isinstance(shown, dict) and "action_mask" in shown:  # an array of bytes: 1 for what may be played
        return space["start"] + base64.b64decode(shown["action_mask"]["data"]).index(1)
    return space["start"] + ask["number"] % space["n"]


def main() -> None:
    """Read messages until there are no more."""
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
