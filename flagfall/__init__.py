"""flagfall: matches of agents and tasks, as concurrent actors under deadlines that the kernel enforces.

General layout, lower layers first; no import points upwards (`tests/test_architecture.py` checks it):

    errors, events            exceptions by responsible party; the events of a match
    timing, kernel.channels   clocks and time controls; messages between actors
    kernel                    the loop of a match: knows the roles, never a concrete task or agent
    tasks, agents, recording  independent of each other
    playing                   connects them
    cli                       one command per file

This module is the interface for users; the package itself does not import it. Its names are imported on first
use, so a command that needs few of them starts in half the time.
"""

# `from __future__ import annotations` is a real import too, so it may not stand before these lines.
import sys

if (
    sys.argv[:1] == ["-m"]  # Python is looking for the program to run
    and any(word == "flagfall" or word.endswith("mflagfall") for word in sys.orig_argv)
    and not sys.flags.safe_path
):
    # `python -m` puts the working directory before all installed modules: a file `json.py` beside a journal
    # would be executed instead of the standard one. Modules named on the command line are still found.
    del sys.path[0]

TYPE_CHECKING = False  # importing `typing` takes longer than this file, and a signal may arrive meanwhile
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
    "MatchResult": "flagfall.kernel.outcomes",
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
"""The module that defines each name."""


from flagfall.gymnasium_hook import register_with_gymnasium  # noqa: E402 - see above

register_with_gymnasium()


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - see above

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
