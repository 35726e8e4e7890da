"""Texts that name agents, and the one parser of them.

The parser reads the text only: whether there is such a sample, file or program is found out where it is used.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from flagfall.agents.admission import LOOPBACK
from flagfall.errors import UsageError
from flagfall.texts import parse_text

_NETWORK: Final = {"tcp": "", "tls": ", secured", "ws": " by WebSocket", "wss": " by WebSocket, secured"}

NETWORK: Final = frozenset(_NETWORK)
"""Schemes of agents that connect, and speak the agent protocol."""

ANSWERS: Final = "answers"
"""Option of a sample: the journal that it takes its answers from, or the results folder with the journals."""

TEMPLATE: Final = "template"
"""Option of a sample: the file with the template of its prompts."""

TOKENIZER: Final = "tokenizer"
"""Option of a sample: the file by which it counts tokens."""

_FILES: Final = frozenset({ANSWERS, TEMPLATE, TOKENIZER})

LEARNER_PORT: Final = 5556
"""The default port of round 1, to which its example learners connect."""


@attrs.frozen
class AgentSpec:
    """A parsed text that names an agent.

    Attributes:
        scheme: the kind of agent, a key of `SCHEMES`.
        target: the name of a sample or human player, the module or file of Python code, the command line of
            a program, or the IP address to listen at.
        member: the dotted name of the agent in a Python module; else empty.
        port: the port to listen at; 0 where there is none.
    """

    text: str
    scheme: str
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
        row = SCHEMES.get(head)
        spec = None if row is None or row.parse is None else row.parse(text, rest)
        if spec is not None:
            return spec
        if rest.startswith("//"):
            known = sorted(row.name for row in SCHEMES.values() if row.connects)
            raise UsageError(f"agent {text!r}: unknown scheme {head!r}; known: {', '.join(known)}")
        if text.endswith(".wasm"):
            return cls(text, "wasm", text)
        if not colon:
            return cls(text, "human" if head.partition("-")[0] == "human" else "sample", text)
        target, _, member = text.rpartition(":")
        if not target or not member:
            raise UsageError(f"unknown agent {text!r}: write module:Name or file.py:Name")
        return cls(text, "python", target, member)

    @property
    def form(self) -> AgentScheme:
        """The row of its scheme."""
        return SCHEMES[self.scheme]

    @property
    def name(self) -> str:
        """A short name for tables.

        Python code has the name of its member, a program that of its file: `cmd:python3 my/bot.py` is
        `bot.py`, so several bots in Python have different names. The name of a GVGAI client is the last word
        of its command, which is the agent: `sampleRandom.Agent`.
        """
        if self.scheme == "python":
            return self.member
        if self.scheme == "wasm":
            return Path(self.target).name
        if not self.form.is_command:
            return self.text
        try:
            words = shlex.split(self.target)
        except ValueError:
            return self.text
        if self.form.plays_tracks:
            return Path((words or [self.text])[-1]).name
        files = [word for word in words[1:2] if Path(word).is_file()]
        return Path((files or words or [self.text])[0]).name

    @property
    def is_file(self) -> bool:
        """True for an agent that is named by its file: Python code, or a program in WebAssembly."""
        return self.scheme == "wasm" or (self.scheme == "python" and self.target.endswith(".py"))

    @property
    def files(self) -> dict[str, str]:
        """The files and folders that the options of a sample name, by option."""
        if self.scheme != "sample":
            return {}
        return {key: str(value) for key, value in parse_text(self.text)[1].items() if key in _FILES}

    def with_files(self, place: Callable[[str, str], str]) -> AgentSpec:
        """Return the same spec with other names of the files in its options.

        Args:
            place: returns the new name, given the option and the old one.
        """
        if not self.files:
            return self
        name, _, rest = self.text.partition("?")
        options = dict(part.split("=", 1) for part in rest.split("&"))
        for option, file in self.files.items():
            options[option] = place(option, file).replace("%", "%25").replace("&", "%26")
        return attrs.evolve(self, text=f"{name}?{'&'.join(map('='.join, options.items()))}")

    def with_answers(self, journal: Path) -> AgentSpec:
        """Return a sample that asks a language model as one that has the answers of a journal instead."""
        mark = "&" if "?" in self.text else "?"
        named = self if ANSWERS in self.files else AgentSpec.parse(f"{self.text}{mark}{ANSWERS}=-")
        return named.with_files(lambda option, name: str(journal) if option == ANSWERS else name)

    def in_folder(self, folder: Path) -> AgentSpec:
        """Return the same spec with absolute paths, where it names files."""
        if self.files:
            return self.with_files(lambda _option, name: str((folder / name).absolute()))
        if not self.is_file:
            return self
        path = str((folder / self.target).absolute())
        return attrs.evolve(self, text=f"{path}:{self.member}" if self.member else path, target=path)


def agent_name(text: str) -> str:
    """Return a short name for tables; for a text that names no agent, the text itself."""
    try:
        return AgentSpec.parse(text).name
    except UsageError:
        return text


def parse_port(text: str) -> int | None:
    """Return the number in a text of decimal digits, `None` for any other text; no range is checked."""
    return int(text) if text.isdecimal() and text.isascii() else None


def _parse_target(text: str, rest: str) -> AgentSpec | None:
    head, colon, _ = text.partition(":")
    return AgentSpec(text, head, rest) if colon else None


def _parse_network(text: str, rest: str) -> AgentSpec | None:
    if not rest.startswith("//"):
        return None
    address, _, port = rest[2:].rpartition(":")
    number = parse_port(port)
    if not address or number is None:
        raise UsageError(f"agent {text!r}: invalid address; write for example tcp://127.0.0.1:7777")
    return AgentSpec(text, text.partition(":")[0], address, port=number)


def _parse_learner(text: str, rest: str) -> AgentSpec:
    address, port = LOOPBACK, rest
    if rest.startswith("//"):
        address, _, port = rest[2:].rpartition(":")
    number = LEARNER_PORT if text == "zmq" else parse_port(port)
    if not address or number is None:
        raise UsageError(f"agent {text!r}: invalid address; write zmq:PORT or zmq://ADDRESS:PORT")
    return AgentSpec(text, "zmq", address, port=number)


@attrs.frozen
class AgentScheme:
    """A form of texts that name agents: everything that the parser, the commands and plans know of it.

    Attributes:
        name: the word before the colon.
        text: an example or pattern of such a text, for lists.
        what: such an agent, as a noun phrase.
        parse: returns the spec, given the whole text and what follows the colon; `None` if the text only
            begins like that. By default what follows the colon is the target. No function: the form has no
            word and colon.
        is_command: the target is the command line of a program that flagfall starts; its words name the files
            that a sandbox shows.
        connects: it connects to a port of this machine, so there is one of it.
        is_person: it is a person at this terminal.
        plays_tracks: it plays GVGAI's learning track, and nothing else.
    """

    name: str
    text: str
    what: str
    parse: Callable[[str, str], AgentSpec | None] | None = _parse_target
    is_command: bool = False
    connects: bool = False
    is_person: bool = False
    plays_tracks: bool = False

    @property
    def is_startable(self) -> bool:
        """Whether flagfall can start such an agent whenever it needs one."""
        return not (self.connects or self.is_person)


_connecting = partial(AgentScheme, connects=True)
_gvgai_client = partial(AgentScheme, is_command=True, plays_tracks=True)

SCHEMES: Final = {
    row.name: row
    for row in (
        AgentScheme("sample", "random", "a sample agent of flagfall", None),
        AgentScheme("human", "human, human-keys", "a person at this terminal", None, is_person=True),
        AgentScheme("python", "module:Name, file.py:Name", "your own Python code", None),
        AgentScheme("wasm", "bot.wasm", "a program in WebAssembly", None),
        AgentScheme("cmd", "cmd:./bot --fast", "a program in any language, over its pipes", is_command=True),
        *(
            _connecting(name, f"{name}://127.0.0.1:7777", f"an agent that connects here{how}", _parse_network)
            for name, how in _NETWORK.items()
        ),
        _connecting("zmq", "zmq:5556, zmq://*:5556", "a learner of round 1 that connects", _parse_learner),
        _gvgai_client("gvgai", "gvgai:COMMAND", "a GVGAI client that connects to a port"),
        _gvgai_client("program", "program:COMMAND", "a GVGAI client over its pipes"),
    )
}
"""All forms, by name. `flagfall.agents.hosts.registry.HOSTS` has the hosts that run them."""


def split_command(command: str) -> list[str]:
    """Return the words of a command.

    Raises:
        UsageError: the command is empty, a quotation mark is missing, or there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"command {command!r}: {error}") from None
    if not words:
        raise UsageError("the command is empty: write a program, with its arguments")
    if shutil.which(words[0]) is None:
        raise UsageError(f"command {command!r}: there is no program {words[0]!r} to run")
    return words
