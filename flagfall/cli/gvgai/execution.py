"""How the commands of `flagfall gvgai` run: until they are done, or until somebody wants them to end."""

from __future__ import annotations

__all__ = ["check_players", "run_until_interrupted"]

import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.spec import AgentSpec
from flagfall.cli.console.interrupts import STOPPING, interruptible
from flagfall.cli.console.signals import SIGNALLED
from flagfall.cli.runs.preflight import check_agents
from flagfall.gvgai.play_track import agent_label
from flagfall.gvgai.sample_players import PLAYERS
from flagfall.timing import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable


def check_players(agents: Iterable[str], isolation: Isolation | None = None) -> None:
    """Check that there are such agents: those of the user's own are imported, each in a process.

    Args:
        agents: what names them.
        isolation: how the processes are kept apart; the default isolation if left out.

    Raises:
        UsageError: one is missing or cannot be imported.
    """
    own = []
    for agent in agents:
        agent_label(agent)  # a program's command is looked at for it
        if agent not in PLAYERS and AgentSpec.parse(agent).scheme in {"python", "sample"}:
            own.append(agent)
    if own:
        run_until_interrupted(lambda _stop: check_agents(own, isolation or DEFAULT_ISOLATION))


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal was closed
        print(f"flagfall: {text}", file=sys.stderr, flush=True)


def run_until_interrupted(
    play: Callable[[trio.Event], Awaitable[None]],
    *,
    virtual: bool = False,
    say: Callable[[str], None] = _say,
    stopping: str = STOPPING,
) -> int:
    """Run in an event loop of its own.

    Args:
        play: is given an event that the first Ctrl-C sets; a second one cancels it.
        virtual: on the virtual clock.
        say: tells the user something.
        stopping: what is told after the first Ctrl-C.

    Returns:
        An exit code: 0, or 128 and the number of the signal.
    """
    number = 0

    async def main() -> None:
        nonlocal number
        try:
            async with interruptible(say, stopping) as interrupts:
                try:
                    await play(interrupts.stop)
                finally:
                    number = interrupts.number
        except* KeyboardInterrupt:  # out of an agent that blocked the event loop
            number = number or signal.SIGINT

    try:
        trio.run(main, clock=VirtualClock() if virtual else None)
    except BaseExceptionGroup as group:
        # One error in the groups of the nurseries around it is that error.
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None
    return SIGNALLED + number if number else 0
