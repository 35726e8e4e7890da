"""flagfall: matches of agents and tasks, as concurrent actors under deadlines that the kernel enforces.

General layout, lower before upper; nothing imports upwards (`tests/test_architecture.py` holds it):

    errors, events            the words
    timing, kernel.channels   what time it is; what travels between actors
    kernel                    the loop of a match: it knows roles, never a concrete task or agent
    tasks, agents, recording  they do not know each other
    playing                   wires them together
    cli                       one command a file

This module is for users; nobody inside imports it. Its names are imported when they are first used, so
that a command which needs little of it starts in half the time.
"""

# `from __future__ import annotations` is a real import too, so it may not stand before these lines.
import sys

if (
    sys.argv[:1] == ["-m"]  # Python looks for the program that it is to run
    and any(word == "flagfall" or word.endswith("mflagfall") for word in sys.orig_argv)
    and not sys.flags.safe_path
):
    # `python -m` has put the working directory before everything that is installed: a file `json.py` beside a
    # journal would run in place of the real one. Modules that a command line names are still found.
    del sys.path[0]

TYPE_CHECKING = False  # `typing` takes longer to import than this file, and a signal may come meanwhile
if TYPE_CHECKING:
    from typing import Any

    from flagfall.agents import Agent as Agent
    from flagfall.agents import Briefing as Briefing
    from flagfall.agents import Seat as Seat
    from flagfall.errors import AgentFault as AgentFault
    from flagfall.errors import FlagfallError as FlagfallError
    from flagfall.errors import HostFault as HostFault
    from flagfall.errors import UsageError as UsageError
    from flagfall.kernel.outcomes import MatchResult as MatchResult
    from flagfall.playing import play as play
    from flagfall.playing import run as run
    from flagfall.tasks import Outcome as Outcome
    from flagfall.tasks import StepResult as StepResult
    from flagfall.tasks import Task as Task
    from flagfall.tasks import TaskSampler as TaskSampler
    from flagfall.timing import ElapsedTimer as ElapsedTimer
    from flagfall.timing import TimeControl as TimeControl
    from flagfall.timing import VirtualClock as VirtualClock

_HOMES = {
    "Agent": "flagfall.agents",
    "Briefing": "flagfall.agents",
    "Seat": "flagfall.agents",
    "AgentFault": "flagfall.errors",
    "FlagfallError": "flagfall.errors",
    "HostFault": "flagfall.errors",
    "UsageError": "flagfall.errors",
    "MatchResult": "flagfall.kernel.match",
    "play": "flagfall.playing",
    "run": "flagfall.playing",
    "Outcome": "flagfall.tasks",
    "StepResult": "flagfall.tasks",
    "Task": "flagfall.tasks",
    "TaskSampler": "flagfall.tasks",
    "ElapsedTimer": "flagfall.timing",
    "TimeControl": "flagfall.timing",
    "VirtualClock": "flagfall.timing",
}
"""Where each name is defined."""


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - see above

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
