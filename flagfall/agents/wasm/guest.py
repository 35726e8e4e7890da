"""The agent's end of the protocol inside WebAssembly: loads a Python agent, and answers message by message.

`flagfall.agents.wasm.building` makes this module the root of a component. It runs there, on the component's
own Python: without files, so the modules of the agent come in the `hello`, and all else is imported when the
component is built; without numpy, so arrays are nested lists; and without an event loop, so agents have plain
methods.
"""

from __future__ import annotations

import base64
import gc
import inspect
import io
import json
import linecache
import random
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec
from math import prod
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, Final

from flagfall.agents.agent import adapt
from flagfall.agents.round1 import LEARNER_MODULES
from flagfall.code_loader import find_member, module_aliases
from flagfall.errors import UsageError
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.spaces import Spaces, TaskDescription
from flagfall.kernel.tracebacks import agent_traceback, hide_frames
from flagfall.timing.durations import NEVER_NS
from flagfall.timing.elapsed_timer import ElapsedTimer

hide_frames(__file__)

LIBRARY: Final = (
    "abc", "array", "ast", "bisect", "calendar", "cmath", "collections.abc", "colorsys", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools",
    "graphlib", "hashlib", "heapq", "io", "itertools", "logging", "math", "numbers", "operator",
    "os.path", "pathlib", "pickle", "pprint", "queue", "random", "re", "secrets", "statistics",
    "string", "struct", "textwrap", "threading", "timeit", "traceback", "types", "typing",
    "unicodedata", "uuid", "warnings", "weakref", "zlib",
)  # fmt: skip
"""Modules of the standard library for agents; a component has no files to import others from."""

_ELEMENTS: Final = {
    "|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I",
    "<i8": "q", "<u8": "Q", "<f2": "e", "<f4": "f", "<f8": "d", "<c8": "f", "<c16": "d",
}  # fmt: skip
"""Formats of the elements of arrays, by the names that the protocol has for them."""

_NO_LOOP: Final = (
    "an agent in WebAssembly has plain methods: there is no event loop for `async` ones, or for run(seat)"
)


class WitWorld:
    """The exports of the component (`agent.wit`), of which each call has an instance of its own."""

    player: ClassVar[_Player]

    def start(self, message: bytes) -> bytes:
        """Load the agent."""
        try:
            player = WitWorld.player = _Player(_decode(message))
            return _encode(player.start())
        except BaseException as error:  # noqa: BLE001 - the agent's
            return _failed("not started", error)

    def act(self, message: bytes) -> bytes:
        """Answer a turn."""
        try:
            return _encode(self.player.answer(_decode(message)))
        except BaseException as error:  # noqa: BLE001 - the agent's
            return _failed("crashed", error)

    result = act


class _Player:
    """A loaded agent, with what it is told of its task."""

    def __init__(self, hello: Mapping[str, Any]) -> None:
        random.seed(hello["seed"])
        self._spaces: Spaces | None = None
        self._task: TaskDescription | None = None
        self._text = ""
        self._noted: Any = None
        self._left: tuple[int | None, int | None] = None, None
        self._note: Any = None
        self._time: tuple[int, int, object] = 0, NEVER_NS, None
        agent = _load(hello["agent"], hello["files"])
        self._has_timer = _takes_timer(agent)
        timer = ElapsedTimer(time.perf_counter_ns, lambda: self._time, lambda: self._left)
        self._agent = adapt(agent, timer)
        if self._agent.run is not None or self._agent.answers_async:
            raise UsageError(_NO_LOOP)
        self._learn(hello)
        transcript: Any = [SimpleNamespace(**turn) for turn in hello.get("transcript", ())]
        self._briefing = Briefing(
            hello["seat"],
            hello["seats"],
            hello["seed"],
            hello["time_control"],
            lambda: self._spaces,
            self._take_note,
            lambda: self._task,
            lambda: self._text,
            transcript,
            lambda: self._noted,
        )

    def _take_note(self, value: Any) -> None:
        self._note = value

    def _learn(self, message: Mapping[str, Any]) -> None:
        if message.get("spaces") is not None:
            self._spaces = Spaces(**message["spaces"])
        if "task" in message:
            task = message["task"]
            self._task = (
                None if task is None else TaskDescription(**{**task, "actions": tuple(task["actions"])})
            )

    def start(self) -> Mapping[str, Any]:
        """Start the agent; return the message that it is ready."""
        _made(self._agent.start(self._briefing))
        return {
            "type": "ready",
            "wants": sorted(self._agent.wants),
            "encoding": "json",
            "texts": self._agent.texts,
        }

    def answer(self, ask: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the message with the answer to one with a turn."""
        self._learn(ask)
        self._text = ask.get("text", "")
        self._noted, self._note = ask.get("noted"), None
        self._left = ask.get("tokens_left"), ask.get("cost_left")
        late = SimpleNamespace(**ask["late"]) if "late" in ask else None
        limit_ns = ask["limit_ns"]
        if self._has_timer:  # a look at the clock is a call of the host, which has its price
            self._time = time.perf_counter_ns(), NEVER_NS if limit_ns is None else limit_ns, late
        turn: Any = SimpleNamespace(
            number=ask["number"],
            observation=ask["observation"],
            reward=ask["reward"],
            phase=ask["phase"],
            late=late,
            noted=self._noted,
        )
        ask_agent = self._agent.answer if turn.phase == "act" else self._agent.phases[turn.phase]
        answer = {"type": "answer", "number": turn.number, "action": _made(ask_agent(turn))}
        return answer if self._note is None else {**answer, "note": self._note}


def _takes_timer(agent: Any) -> bool:
    """Return whether a method of an agent, or the function that it is, has an argument for the timer."""
    methods = (agent, *(getattr(agent, name, None) for name in ("init", "act", "reply", "result")))
    with suppress(TypeError, ValueError):
        return any(
            "timer" in name.lower()
            for one in methods
            if callable(one)
            for name in inspect.signature(one).parameters
        )
    return True


def _made(value: Any) -> Any:
    if inspect.isawaitable(value):
        raise UsageError(_NO_LOOP)
    return value


def _decode(message: bytes) -> Any:
    return _DECODER.decode(message.decode())


def _encode(message: Mapping[str, Any]) -> bytes:
    return _ENCODER.encode(message).encode("utf-8", "replace")


def _failed(reason: str, error: BaseException) -> bytes:
    if isinstance(error, SystemExit):
        raise error
    detail = str(error) if isinstance(error, UsageError) else agent_traceback(error)
    return _encode({"type": "failed", "reason": reason, "detail": detail})


def _with_lists(value: dict[str, Any]) -> Any:
    """Return an array as nested lists, and any other mapping as it is; complex elements are pairs."""
    if "$ndarray" not in value:
        return value
    dtype, shape = value["$ndarray"], value["shape"]
    elements = [one for (one,) in struct.iter_unpack(f"<{_ELEMENTS[dtype]}", base64.b64decode(value["data"]))]
    return _nested(elements, [*shape, 2] if dtype.startswith("<c") else shape)


_DECODER: Final = json.JSONDecoder(object_hook=_with_lists)
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def _nested(elements: list[Any], shape: Sequence[int]) -> Any:
    if not shape:
        return elements[0]
    size = prod(shape[1:])
    return (
        [_nested(elements[at * size : (at + 1) * size], shape[1:]) for at in range(shape[0])]
        if shape[1:]
        else elements
    )


class _OwnModules(MetaPathFinder, Loader):
    """Finder and loader of the agent's own modules, by their names in its folder."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._folders = {name[:at] for name in files for at, sign in enumerate(name) if sign == "/"}

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: Any = None
    ) -> ModuleSpec | None:
        """Return a spec for a module or package of the agent."""
        place = fullname.replace(".", "/")
        for name, is_package in ((f"{place}/__init__.py", True), (f"{place}.py", False)):
            if name in self._files:
                spec = ModuleSpec(fullname, self, origin=name, is_package=is_package)
                spec.has_location = True
                return spec
        return ModuleSpec(fullname, None, is_package=True) if place in self._folders else None

    def exec_module(self, module: ModuleType) -> None:
        """Execute a module."""
        name = module.__spec__.origin  # type: ignore[union-attr]
        assert name is not None
        source = self._files[name]
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), vars(module))  # noqa: S102 - it is the agent, in its component


def _load(text: str, files: Mapping[str, str]) -> Any:
    place, _, member = text.rpartition(":")
    sys.meta_path.append(_OwnModules(files))
    with module_aliases(LEARNER_MODULES, first=False):
        module = import_module(place.rpartition("/")[2].removesuffix(".py"))
    return find_member(module, member, place)


_REHEARSED: Final = """
from flagfall import Briefing, ElapsedTimer
class Bot:
    def start(self, briefing: Briefing):
        pass
    def act(self, observation, timer: ElapsedTimer):
        return observation + timer.elapsed_ms * 0
"""


def _settle() -> None:
    """Import what agents may need, and leave nothing that depends on the folders where this was built.

    A match is rehearsed, so that what Python does once is done, and no agent's time.
    """
    for name in (*LIBRARY, "componentize_py_types"):
        with suppress(ImportError):
            import_module(name)
    sys.path.clear()
    sys.path_importer_cache.clear()
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter]
    hello = {
        "seat": 0,
        "seats": 1,
        "seed": 0,
        "time_control": "",
        "agent": "bot.py:Bot",
        "files": {"bot.py": _REHEARSED},
    }
    ask = {"number": 0, "phase": "act", "observation": 1, "reward": 0, "limit_ns": None}
    world = WitWorld()
    world.start(_encode(hello))
    if b"answer" not in (answer := world.act(_encode(ask))):
        raise RuntimeError(answer)
    del sys.modules["bot"], WitWorld.player
    sys.meta_path.pop()
    linecache.clearcache()
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(line_buffering=True, write_through=False)
    gc.collect()
    gc.freeze()


if sys.platform == "wasi":
    _settle()
