"""Agents that are no Python code for this program to import: what the texts look like that name them.

| text | who plays |
|---|---|
| `cmd:./bot --flag` | a program that is started, and speaks the wire over its standard input and output |
| `tcp://127.0.0.1:7777`, `tls://...` | whoever connects there, and speaks the wire |
| `ws://127.0.0.1:7777`, `wss://...` | likewise, in messages of WebSocket |
| `zmq:5556` | a learner of round 1 that connects there |
"""

from __future__ import annotations

__all__ = ["COMMAND", "NETWORK", "foreign_name", "is_command", "is_foreign", "is_network"]

import shlex
from pathlib import Path
from typing import Final

from flagfall.agents.zmq_wire import is_remote

COMMAND: Final = "cmd:"
NETWORK: Final = ("tcp", "tls", "ws", "wss")


def is_command(spec: str) -> bool:
    """Whether the text names a program to be started."""
    return spec.startswith(COMMAND)


def is_network(spec: str) -> bool:
    """Whether the text names an address at which an agent may connect."""
    scheme, found, _ = spec.partition("://")
    return bool(found) and scheme in NETWORK


def is_foreign(spec: str) -> bool:
    """Whether the text is any of those above."""
    return is_command(spec) or is_network(spec) or is_remote(spec)


def foreign_name(spec: str) -> str:
    """A short name for tables. A program's is its own, or that of the file that it runs.

    So `cmd:python3 my/bot.py` is `bot.py`: who plays three bots in Python wants to tell them apart.
    """
    if not is_command(spec):
        return spec
    try:
        words = shlex.split(spec.removeprefix(COMMAND))
    except ValueError:
        return spec
    files = [word for word in words[1:2] if Path(word).is_file()]
    return Path((files or words or [spec])[0]).name
