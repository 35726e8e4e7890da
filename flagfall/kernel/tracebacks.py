"""Tracebacks for an agent's author: they begin with the author's own code."""

from __future__ import annotations

import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_HIDDEN_FOLDERS: Final = (
    str(Path(__file__).parent),
    *(str(Path(spec.origin).parent) for spec in map(find_spec, ("trio", "outcome")) if spec and spec.origin),
    str(Path(traceback.__file__).parent / "asyncio"),
)
"""Folders whose frames lead to an agent's code: the kernel and the event loops. The one of asyncio
is named by its place: an import would take as long as those of ten modules of the kernel."""

_ASYNCIO_HINT: Final = (
    'The agent uses asyncio: set its attribute loop = "asyncio" (docs/agents.md), and run it in a process'
    " or a thread.\n"
)

_hidden_files: Final[set[str]] = set()


def hide_frames(file: str) -> None:
    """Register a module whose frames lead to an agent's code: tracebacks for agents begin below them.

    Args:
        file: the `__file__` of the module that registers itself.
    """
    _hidden_files.add(file)


def agent_traceback(error: BaseException) -> str:
    """Return the error as text, without the frames at the top that are ours or an event loop's.

    What it was raised from, and the errors of a group, are cut alike. Where all frames are ours (an agent
    that could not even be called), none is left out. A cancellation during which it was raised is left out:
    it is not the agent's doing, and trio writes an address into its text, which differs from match to match.
    An agent that needs asyncio's event loop gets a hint.
    """
    shown = traceback.TracebackException.from_exception(error)
    _cut(shown, error)
    return "".join(shown.format()) + (_ASYNCIO_HINT if _needs_asyncio(error) else "")


def _needs_asyncio(error: BaseException) -> bool:
    """Return whether code for asyncio's event loop ran in trio's."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_needs_asyncio, error.exceptions))
    text = str(error.args[0]) if error.args and isinstance(error.args[0], str) else ""
    return (type(error) is RuntimeError and text == "no running event loop") or (
        type(error) is TypeError and text.startswith("trio") and "asyncio" in text
    )


def _cut(shown: traceback.TracebackException, error: BaseException) -> None:
    own = [not _is_hidden(frame.filename) for frame in shown.stack]
    if any(own):
        shown.stack = traceback.StackSummary.from_list(shown.stack[own.index(True) :])
    if isinstance(error.__context__, getattr(sys.modules.get("trio"), "Cancelled", ())):
        shown.__context__ = None
    raised = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    pairs = [(shown.__cause__, error.__cause__), (shown.__context__, error.__context__)]
    for linked, cause in (*pairs, *zip(shown.exceptions or (), raised, strict=False)):
        if linked is not None and cause is not None:
            _cut(linked, cause)


def _is_hidden(file: str) -> bool:
    return file in _hidden_files or file.startswith(_HIDDEN_FOLDERS)
