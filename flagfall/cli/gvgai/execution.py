"""Execution of the commands of `flagfall gvgai`, to their end or until they are interrupted."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from flagfall.cli.console.interrupts import STOPPING, interruptible
from flagfall.cli.console.signals import SIGNALLED
from flagfall.timing import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from flagfall.agents.process.isolation import Isolation
    from flagfall.cli.gvgai.options import PlayOptions
    from flagfall.gvgai.play_track import TrackTimes
    from flagfall.tasks.vgdl.learning_track import TrackRules


def check_players(
    agents: Iterable[str], options: PlayOptions, times: TrackTimes, rules: TrackRules
) -> Isolation | None:
    """Check that agents can play tracks: those of the user's own code are imported, each in a process.

    Returns:
        The isolation that the options set, or `None`.
    """
    from flagfall.cli.runs import task_options
    from flagfall.cli.runs.plan import option_of
    from flagfall.gvgai.play_track import track_player
    from flagfall.gvgai.sample_players import PLAYERS

    isolation, virtual = options.read_isolation(), options.clock == "virtual"
    players = {
        agent: track_player(agent, rules, times, options.host, isolation, virtual=virtual) for agent in agents
    }
    for player in players.values():
        player.check(option_of, virtual=virtual)
    task_options.check_players(player for agent, player in players.items() if agent not in PLAYERS)
    return isolation


def say(text: str) -> None:
    """Print a line for the user to the standard error."""
    with suppress(OSError):  # the terminal was closed
        print(f"flagfall: {text}", file=sys.stderr, flush=True)


def run_until_interrupted(
    play: Callable[[trio.Event], Awaitable[None]],
    *,
    virtual: bool = False,
    say: Callable[[str], None] = say,
    stopping: str = STOPPING,
) -> int:
    """Run a function in an event loop of its own; return 0, or 128 plus the number of the signal.

    Args:
        play: takes an event that the first Ctrl-C sets; a second one cancels it.
        stopping: message after the first Ctrl-C.
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
        except* KeyboardInterrupt:  # raised in an agent that blocked the event loop
            number = number or signal.SIGINT

    try:
        trio.run(main, clock=VirtualClock() if virtual else None)
    except BaseExceptionGroup as group:
        # A single error within the groups of the nurseries is raised by itself.
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None
    return SIGNALLED + number if number else 0
