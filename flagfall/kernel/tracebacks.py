"""Tracebacks for an agent's author: his own code comes first, not the frames that led to it."""

from __future__ import annotations

__all__ = ["agent_traceback"]

import traceback
from asyncio import __file__ as _asyncio
from pathlib import Path
from typing import Final

import outcome
import trio

_PACKAGE: Final = Path(__file__).parents[1]

_PLUMBING: Final = ("agent.py", "hosts/cancellation.py", "hosts/in_loop.py", "loop.py", "wire/worker.py")

_WAY_TO_AGENTS: Final = (
    str(_PACKAGE / "kernel"),
    *(str(_PACKAGE / "agents" / name) for name in _PLUMBING),
    *(str(Path(file).parent) for file in (trio.__file__, outcome.__file__, _asyncio)),
)
"""Files and folders whose frames lead to an agent's code."""


def agent_traceback(error: BaseException) -> str:
    """The error as text, without the frames at the top that are ours or an event loop's.

    What it was raised from, and the errors of a group, are cut alike. Where all frames are ours (an agent
    that could not even be called), none is left out.
    """
    shown = traceback.TracebackException.from_exception(error)
    _cut(shown)
    return "".join(shown.format())


def _cut(shown: traceback.TracebackException) -> None:
    own = [not frame.filename.startswith(_WAY_TO_AGENTS) for frame in shown.stack]
    if any(own):
        shown.stack = traceback.StackSummary.from_list(shown.stack[own.index(True) :])
    for linked in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if linked is not None:
            _cut(linked)
