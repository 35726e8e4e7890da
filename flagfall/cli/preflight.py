"""Agents that run in processes are imported in one before anything is played, all at the same time."""

from __future__ import annotations

__all__ = ["CHECK_SECONDS", "check_agents"]

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

CHECK_SECONDS: Final = 60.0
"""What importing an agent may take here; what it may take in a match, its time control says."""

STDERR_BYTES: Final = 8 * 1024
"""How much is shown of what an agent wrote while it was imported, the newest; as in a match."""

_TAIL_SECONDS: Final = 0.2
"""How long to wait for the end of its output, which a child of its own may keep open."""


async def check_agents(specs: Iterable[str], seconds: float = CHECK_SECONDS) -> None:
    """Import each agent in a process of its own, as many at a time as there are processors.

    Raises:
        UsageError: some agents cannot be imported; has what each of them said.
    """
    faults: dict[str, str] = {}
    limiter = trio.CapacityLimiter(os.cpu_count() or 1)

    async def check(spec: str) -> None:
        async with limiter:
            if fault := await _check(spec, seconds):
                faults[spec] = fault

    distinct = list(dict.fromkeys(specs))
    async with trio.open_nursery() as nursery:
        for spec in distinct:
            nursery.start_soon(check, spec)
    if faults:
        raise UsageError("\n".join(faults[spec] for spec in distinct if spec in faults))


async def _check(spec: str, seconds: float) -> str:
    """What is wrong with an agent; empty where nothing is."""
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", "flagfall.agents", "--check", spec],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    tail = bytearray()
    told = trio.Event()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_keep_tail, process, tail, told)
            with trio.move_on_after(seconds):
                await process.wait()
            with trio.move_on_after(_TAIL_SECONDS):
                await told.wait()
            nursery.cancel_scope.cancel()
    finally:
        code = process.returncode
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with trio.CancelScope(shield=True):
            await process.wait()
            if process.stderr is not None:
                await process.stderr.aclose()
    return _fault(spec, seconds, code, tail.decode(errors="replace").strip())


def _fault(spec: str, seconds: float, code: int | None, said: str) -> str:
    if code == 0:
        return ""
    if code == _REFUSED and said:
        return said
    what = f"was not imported within {seconds:g} s" if code is None else f"ended its process ({code})"
    return f"agent {spec} {what} while it was checked" + (f":\n{said}" if said else "")


_REFUSED: Final = 2
"""With this exit code the worker says why it refuses an agent."""


async def _keep_tail(process: trio.Process, tail: bytearray, told: trio.Event) -> None:
    assert process.stderr is not None
    async for chunk in process.stderr:
        tail += chunk
        del tail[:-STDERR_BYTES]
    told.set()
