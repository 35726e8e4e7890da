"""Texts that name agents, and the one parser of them.

| text | scheme | agent |
|---|---|---|
| `random` | `sample` | a sample agent of flagfall |
| `human`, `human-keys` | `human` | a person at this terminal |
| `module:Name`, `file.py:Name` | `python` | Python code, imported by flagfall |
| `cmd:./bot --flag` | `cmd` | a program, started by flagfall; speaks the agent protocol over its pipes |
| `tcp://127.0.0.1:7777`, `tls://...` | `tcp`, `tls` | an agent that connects to this address |
| `ws://127.0.0.1:7777`, `wss://...` | `ws`, `wss` | the same, in WebSocket messages |
| `zmq`, `zmq:5556`, `zmq://*:5556` | `zmq` | a learner of round 1 that connects to this port |
| `gvgai:COMMAND` | `gvgai` | a client of GVGAI's learning track; is started, and connects to a port |
| `program:COMMAND` | `program` | the same, over stdin and stdout |

The parser reads the text only: whether there is such a sample, file or program is found out where it is used.
"""

from __future__ import annotations

__all__ = [
    "LEARNER_PORT",
    "NETWORK",
    "REMOTE",
    "STARTED_PROGRAMS",
    "TRACK_CLIENTS",
    "AgentSpec",
    "Scheme",
    "agent_name",
    "parse_port",
]

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from flagfall.agents.connections.addresses import LOOPBACK
from flagfall.errors import UsageError

Scheme: TypeAlias = Literal[
    "sample", "human", "python", "cmd", "tcp", "tls", "ws", "wss", "zmq", "gvgai", "program"
]

NETWORK: Final[frozenset[Scheme]] = frozenset({"tcp", "tls", "ws", "wss"})
"""Schemes of agents that connect, and speak the agent protocol."""

REMOTE: Final[frozenset[Scheme]] = NETWORK | {"zmq"}
"""Schemes of agents that connect to a port of this machine."""

TRACK_CLIENTS: Final[frozenset[Scheme]] = frozenset({"gvgai", "program"})
"""Schemes of clients of GVGAI's learning track; they play nothing else."""

STARTED_PROGRAMS: Final[frozenset[Scheme]] = TRACK_CLIENTS | {"cmd"}
"""Schemes whose target is the command line of a program that flagfall starts."""

LEARNER_PORT: Final = 5556
"""The default port of round 1, to which its example learners connect."""


@attrs.frozen
class AgentSpec:
    """A parsed text that names an agent.

    Attributes:
        text: the whole text.
        scheme: the kind of agent.
        target: the name of a sample or human player, the module or file of Python code, the command line of
            a program, or the IP address to listen at.
        member: the dotted name of the agent in a Python module; else empty.
        port: the port to listen at; 0 where there is none.
    """

    text: str
    scheme: Scheme
    target: str
    member: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> AgentSpec:
        """Parse a text that names an agent.

        Args:
            text: such as `random`, `bot.py:Bot` or `tcp://127.0.0.1:7777`.

        Raises:
            UsageError: the text has none of the forms above.
        """
        name, options, _ = text.partition("?")
        if options and name.replace("-", "").isalnum() and not name.startswith("human"):
            return cls(text, "sample", name)
        head, colon, rest = text.partition(":")
        if head in _PREFIXES and (colon or text == "zmq"):
            return _PREFIXES[head](text, rest)
        if head in NETWORK and rest.startswith("//"):
            return _parse_network(text, rest)
        if rest.startswith("//"):
            raise UsageError(
                f"agent {text!r}: unknown scheme {head!r}; known: {', '.join(sorted(NETWORK))}, zmq"
            )
        if not colon:
            return cls(text, "human" if head.partition("-")[0] == "human" else "sample", text)
        target, _, member = text.rpartition(":")
        if not target or not member:
            raise UsageError(f"unknown agent {text!r}: write module:Name or file.py:Name")
        return cls(text, "python", target, member)

    @property
    def name(self) -> str:
        """A short name for tables.

        Python code has the name of its member, a program that of its file: `cmd:python3 my/bot.py` is
        `bot.py`, so several bots in Python have different names. The name of a GVGAI client is the last word
        of its command, which is the agent: `sampleRandom.Agent`.
        """
        if self.scheme == "python":
            return self.member
        if self.scheme not in STARTED_PROGRAMS:
            return self.text
        try:
            words = shlex.split(self.target)
        except ValueError:
            return self.text
        if self.scheme in TRACK_CLIENTS:
            return Path((words or [self.text])[-1]).name
        files = [word for word in words[1:2] if Path(word).is_file()]
        return Path((files or words or [self.text])[0]).name

    @property
    def is_file(self) -> bool:
        """True for Python code that is named by its file."""
        return self.scheme == "python" and self.target.endswith(".py")

    def in_folder(self, folder: Path) -> AgentSpec:
        """Return the same spec with an absolute path, where it names a file.

        Args:
            folder: the folder to which relative paths refer.
        """
        if not self.is_file:
            return self
        path = str((folder / self.target).absolute())
        return attrs.evolve(self, text=f"{path}:{self.member}", target=path)


def agent_name(text: str) -> str:
    """Return a short name for tables; for a text that names no agent, the text itself.

    Args:
        text: as for `AgentSpec.parse`.
    """
    try:
        return AgentSpec.parse(text).name
    except UsageError:
        return text


def parse_port(text: str) -> int | None:
    """Return the number in a text of decimal digits, `None` for any other text; no range is checked.

    Args:
        text: the end of an address.
    """
    return int(text) if text.isdecimal() and text.isascii() else None


def _parse_network(text: str, rest: str) -> AgentSpec:
    address, _, port = rest[2:].rpartition(":")
    number = parse_port(port)
    if not address or number is None:
        raise UsageError(f"agent {text!r}: invalid address; write for example tcp://127.0.0.1:7777")
    scheme = next(scheme for scheme in NETWORK if text.startswith(f"{scheme}:"))
    return AgentSpec(text, scheme, address, port=number)


def _parse_learner(text: str, rest: str) -> AgentSpec:
    address, port = LOOPBACK, rest
    if rest.startswith("//"):
        address, _, port = rest[2:].rpartition(":")
    number = LEARNER_PORT if text == "zmq" else parse_port(port)
    if not address or number is None:
        raise UsageError(f"agent {text!r}: invalid address; write zmq:PORT or zmq://ADDRESS:PORT")
    return AgentSpec(text, "zmq", address, port=number)


_PREFIXES: Final[Mapping[str, Callable[[str, str], AgentSpec]]] = {
    "cmd": lambda text, rest: AgentSpec(text, "cmd", rest),
    "gvgai": lambda text, rest: AgentSpec(text, "gvgai", rest),
    "program": lambda text, rest: AgentSpec(text, "program", rest),
    "zmq": _parse_learner,
}
"""Parsers of the texts that begin with a word and a colon: each gets the whole text and what follows the
colon. A scheme that is added here needs a row in `flagfall.agents.hosts.registry`."""
