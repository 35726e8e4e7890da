"""Agents by name: `random`, `package.module:Name`, `path/file.py:Name`, `human`, and those of `foreign`."""

from __future__ import annotations

__all__ = ["agent_name", "is_human", "is_sample", "load_agent", "load_module", "make_human"]

import importlib
import importlib.util
import inspect
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from flagfall.agents.agent import adapt
from flagfall.agents.round1.learner import LEARNER_MODULES
from flagfall.agents.samples.basic import SAMPLES
from flagfall.agents.spec import foreign_name, is_foreign, is_track_client
from flagfall.errors import UsageError, suggest
from flagfall.module_aliases import module_aliases
from flagfall.timing import ElapsedTimer

if TYPE_CHECKING:
    from flagfall.agents.human.player import Human


_OTHERS: Final = ("human", "human-line", "human-dot", "human-immediate", "human-keys", "human-room", "zmq")
"""Who else has a name; `flagfall.agents.human.player` and `foreign` have them."""


def is_sample(spec: str) -> bool:
    """Whether the text names an agent that comes with flagfall."""
    return spec in SAMPLES


def is_human(spec: str) -> bool:
    """Whether the text means a human player; `make_human` may still not know it."""
    return spec.partition("-")[0] == "human" and ":" not in spec


def make_human(spec: str) -> Human:
    """The human player of that name.

    Raises:
        UsageError: there is none.
    """
    from flagfall.agents.human.player import HUMANS  # noqa: PLC0415 - programs without a human need no terminal

    if spec not in HUMANS:
        raise UsageError(f"unknown human player {spec!r}{suggest(spec, HUMANS)}")
    return HUMANS[spec]()


def agent_name(spec: str) -> str:
    """A short name for tables: what stands after the colon, or the sample's name."""
    if is_foreign(spec):
        return foreign_name(spec)
    return spec.rpartition(":")[2] if ":" in spec else spec


def load_agent(spec: str) -> Any:
    """The agent that a text names; a module or file is imported for it.

    Raises:
        UsageError: there is none, or it is none that can be asked; where the agent's own code failed, with
            its traceback.
    """
    if spec in SAMPLES:
        return SAMPLES[spec]
    if is_track_client(spec):
        raise UsageError(
            f"{spec}: a GVGAI client is a program of its own, and cannot be loaded into this one"
        )
    place, colon, name = spec.rpartition(":")
    if not colon or not place or not name:
        hint = suggest(spec, [*SAMPLES, *_OTHERS])
        raise UsageError(f"unknown agent {spec!r}{hint}; or write module:Name or file.py:Name")
    with module_aliases(LEARNER_MODULES, first=False):
        agent: Any = load_module(place, "agent")
    for part in name.split("."):
        if not hasattr(agent, part):
            public = [n for n in vars(agent) if not n.startswith("_")]
            raise UsageError(f"{place} has no {name!r}{suggest(part, public)}")
        agent = getattr(agent, part)
    if not inspect.isclass(agent):  # what an instance has, only an instance tells
        try:
            adapt(agent, ElapsedTimer(time.perf_counter_ns))
        except UsageError as error:
            raise UsageError(f"agent {spec}: {error}") from None
    return agent


def load_module(place: str, what: str) -> ModuleType:
    """A module by its name or its file.

    Args:
        place: `package.module`, or a path that ends in `.py`.
        what: what is looked for in it, for messages.

    Raises:
        UsageError: there is none; where its own code failed, with its traceback.
    """
    return _from_file(Path(place), what) if place.endswith(".py") else _from_module(place, what)


def _from_file(path: Path, what: str) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"no such {what} file: {path}{suggest(path.name, _neighbours(path))}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # an agent's helpers stand beside it, as for a program of its own
    spec = importlib.util.spec_from_file_location(f"flagfall_{what}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[spec.name]
        raise _failed(f"{what} {path}", error) from error
    return module


def _from_module(name: str, what: str) -> ModuleType:
    if "" not in sys.path and "." not in sys.path:
        sys.path.insert(0, "")  # as with python -m: modules of the working directory
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and error.name is not None and name.startswith(error.name):
            raise UsageError(f"no module named {error.name!r} for {what} {name}") from None
        raise _failed(f"{what} {name}", error) from error


def _neighbours(path: Path) -> list[str]:
    return [p.name for p in path.parent.glob("*.py")] if path.parent.is_dir() else []


def _failed(place: str, error: BaseException) -> UsageError:
    """The error with the agent's own traceback, without the frames that led to its file."""
    stack = traceback.TracebackException.from_exception(error)
    own = [f for f in stack.stack if "importlib" not in f.filename and f.filename != __file__]
    stack.stack = traceback.StackSummary.from_list(own)
    return UsageError(f"{place} failed to import:\n{''.join(stack.format()).rstrip()}")
