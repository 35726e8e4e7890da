"""Check of agents before a run: each is imported in a process of its own, several at the same time."""

from __future__ import annotations

__all__ = ["CHECK_SECONDS", "check_agents", "check_players"]

import os
import subprocess
from typing import TYPE_CHECKING, Final

import trio

from flagfall.agents.process.forking import WORKER
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.process.supervised import open_supervised
from flagfall.agents.process.visible import code_of_spec
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flagfall.agents.hosts.registry import Player

CHECK_SECONDS: Final = 60.0
"""Time limit of an import in this check; in a match the time control limits it."""


async def check_agents(
    specs: Iterable[str], isolation: Isolation = DEFAULT_ISOLATION, seconds: float = CHECK_SECONDS
) -> None:
    """Import each agent in a process of its own, as many at a time as there are processors.

    Args:
        specs: the texts that name the agents.
        isolation: isolation of the processes, as in the match.
        seconds: time limit for each agent.

    Raises:
        UsageError: some agents cannot be imported; the message has the standard error of each.
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


def check_players(players: Iterable[Player]) -> None:
    """Check agents before any match: the user's own code is imported, isolated as in the match.

    Ctrl-C is raised as KeyboardInterrupt, not in a group.

    Args:
        players: agents that are texts; others than samples and Python code are left alone.

    Raises:
        UsageError: as `check_agents`, or a sample lacks something here.
    """
    own: dict[str, tuple[Isolation, list[str]]] = {}
    for player in players:
        spec = player.spec
        if spec is not None and spec.scheme == "sample":
            player.seated()
        elif spec is not None and spec.scheme == "python":
            own.setdefault(repr(player.isolation), (player.isolation, []))[1].append(spec.text)
    for isolation, specs in own.values():
        try:
            trio.run(check_agents, specs, isolation)
        except BaseExceptionGroup as group:
            if group.subgroup(KeyboardInterrupt) is None:
                raise
            raise KeyboardInterrupt from None


async def _check(spec: str, isolation: Isolation, seconds: float) -> str:
    """Return the fault of an agent, or an empty text."""
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


def _fault(spec: str, seconds: float, code: int | None, stderr_tail: str) -> str:
    if code == 0:
        return ""
    if code == _REFUSED and stderr_tail:
        return stderr_tail
    what = f"was not imported within {seconds:g} s" if code is None else f"ended its process ({code})"
    return f"agent {spec} {what} while it was checked" + (f":\n{stderr_tail}" if stderr_tail else "")


_REFUSED: Final = 2
"""Exit code of a worker that has printed why it refuses the agent."""
