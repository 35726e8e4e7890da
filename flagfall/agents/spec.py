"""Agents that are no Python code for this program to import: what the texts look like that name them.

| text | who plays |
|---|---|
| `cmd:./bot --flag` | a program that is started, and speaks the wire over its standard input and output |
| `tcp://127.0.0.1:7777`, `tls://...` | whoever connects there, and speaks the wire |
| `ws://127.0.0.1:7777`, `wss://...` | likewise, in messages of WebSocket |
| `zmq:5556` | a learner of round 1 that connects there |
| `gvgai:COMMAND` | a client of GVGAI's learning track that is started, and connects to a port |
| `program:COMMAND` | the same, over its standard input and output |
"""

from __future__ import annotations

__all__ = [
    "COMMAND",
    "GVGAI",
    "NETWORK",
    "PROGRAM",
    "foreign_name",
    "is_command",
    "is_foreign",
    "is_network",
    "is_track_client",
    "track_client_command",
]

import shlex
from pathlib import Path
from typing import Final

from flagfall.agents.zmq.messages import is_remote

COMMAND: Final = "cmd:"
NETWORK: Final = ("tcp", "tls", "ws", "wss")

GVGAI: Final = "gvgai:"
"""Prefix of the command of a GVGAI client that connects to a port."""

PROGRAM: Final = "program:"
"""Prefix of the command of a GVGAI client that uses its standard input and output."""


def is_command(spec: str) -> bool:
    """Whether the text names a program to be started."""
    return spec.startswith(COMMAND)


def is_network(spec: str) -> bool:
    """Whether the text names an address at which an agent may connect."""
    scheme, found, _ = spec.partition("://")
    return bool(found) and scheme in NETWORK


def is_track_client(spec: str) -> bool:
    """Return whether the text names a client of GVGAI's learning track; it plays nothing but tracks."""
    return spec.startswith((GVGAI, PROGRAM))


def track_client_command(spec: str) -> str:
    """Return the command in the text of a client of the learning track."""
    return spec.partition(":")[2]


def is_foreign(spec: str) -> bool:
    """Whether the text is any of those above."""
    return is_command(spec) or is_network(spec) or is_remote(spec) or is_track_client(spec)


def foreign_name(spec: str) -> str:
    """Return a short name for tables: a program's own, or that of the file that it runs.

    So `cmd:python3 my/bot.py` is `bot.py`: several bots in Python have different names. The name of a GVGAI
    client is the last word of its command, which is the agent: `sampleRandom.Agent`.
    """
    if not is_command(spec) and not is_track_client(spec):
        return spec
    try:
        words = shlex.split(spec.partition(":")[2])
    except ValueError:
        return spec
    if is_track_client(spec):
        return Path((words or [spec])[-1]).name
    files = [word for word in words[1:2] if Path(word).is_file()]
    return Path((files or words or [spec])[0]).name
