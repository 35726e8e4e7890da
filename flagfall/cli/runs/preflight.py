"""Agents that run in processes are imported in one before anything is played, all at the same time."""

from __future__ import annotations

__all__ = ["CHECK_SECONDS", "check_agents", "check_now"]

import os
import subprocess
from typing import TYPE_CHECKING, Final

import trio

from flagfall.agents.hosts.process import WORKER
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.process.supervised import open_supervised
from flagfall.agents.process.visible import code_of_spec
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

CHECK_SECONDS: Final = 60.0
"""What importing an agent may take here; what it may take in a match, its time control says."""


async def check_agents(
    specs: Iterable[str], isolation: Isolation = DEFAULT_ISOLATION, seconds: float = CHECK_SECONDS
) -> None:
    """Import each agent in a process of its own, as many at a time as there are processors.

    Args:
        specs: what names the agents.
        isolation: how they are kept apart; as in the match.
        seconds: what each may take.

    Raises:
        UsageError: some agents cannot be imported; has what each of them said.
    """
    faults: dict[str, str] = {}
    limiter = trio.CapacityLimiter(os.cpu_count() or 1)

    async def check(spec: str) -> None:
        async with limiter:
            if fault := await _check(spec, isolation, seconds):
                faults[spec] = fault

    distinct = list(dict.fromkeys(specs))
    async with trio.open_nursery() as nursery:
        for spec in distinct:
            nursery.start_soon(check, spec)
    if faults:
        raise UsageError("\n".join(faults[spec] for spec in distinct if spec in faults))


def check_now(specs: Iterable[str], isolation: Isolation) -> None:
    """The same for programs without an event loop; Ctrl-C comes out of it as itself, not in a group."""
    try:
        trio.run(check_agents, specs, isolation)
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is None:
            raise
        raise KeyboardInterrupt from None


async def _check(spec: str, isolation: Isolation, seconds: float) -> str:
    """What is wrong with an agent; empty where nothing is."""
    null = subprocess.DEVNULL
    supervised = await open_supervised(
        [*WORKER, "--check", spec], isolation, shown=code_of_spec(spec), stdin=null, stdout=null
    )
    code: int | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervised.read_stderr)
            await supervised.wait_for_exit(seconds)
            code = supervised.process.returncode
            nursery.cancel_scope.cancel()
    finally:
        await supervised.end()
    return _fault(spec, seconds, code, "\n".join(filter(None, (supervised.stderr_tail, supervised.hint()))))


def _fault(spec: str, seconds: float, code: int | None, said: str) -> str:
    if code == 0:
        return ""
    if code == _REFUSED and said:
        return said
    what = f"was not imported within {seconds:g} s" if code is None else f"ended its process ({code})"
    return f"agent {spec} {what} while it was checked" + (f":\n{said}" if said else "")


_REFUSED: Final = 2
"""With this exit code the worker says why it refuses an agent."""
