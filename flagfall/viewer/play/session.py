"""One match with a person in the browser: waits for the person, plays, stores, shows the end."""

from __future__ import annotations

__all__ = ["PlaySession"]

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import trio

from flagfall.errors import FlagfallError
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import complete_task
from flagfall.kernel.sinks import Sink
from flagfall.playing import play
from flagfall.recording.journal.format import encode
from flagfall.tasks.building import build_scheduler
from flagfall.tasks.rendering import with_pictures
from flagfall.tournament.model import TournamentPlan
from flagfall.viewer.play.controls import controls_of
from flagfall.viewer.play.desk import Desk
from flagfall.viewer.play.host import BrowserHost
from flagfall.viewer.play.record import PlayedFolder
from flagfall.viewer.play.score import Score

END_SECONDS: Final = 20.0
"""Longest time for a page to show the end of the match, before the program ends."""

REOPEN_SECONDS: Final = 2.0
"""Time in which a page may be opened again to see the end, where none is open when the match ends."""


class PlaySession:
    """A match with a person.

    Args:
        plan: the plan of the match, see `flagfall.viewer.play.record.play_plan`.
        hosts: the hosts of the other agents; `None` in the place of the person.
        folder: the results folder, which the match makes.
        sinks: further sinks of the match.

    Attributes:
        desk: the place that pages take.
        result: the result of the match; `None` until it is over.
        journal: the journal of the match, after its end.
    """

    def __init__(
        self,
        plan: TournamentPlan,
        hosts: Sequence[AgentHost | None],
        folder: Path,
        sinks: Sequence[Sink] = (),
    ) -> None:
        self._sinks = sinks
        self.desk: Desk = Desk()
        self.result: MatchResult | None = None
        self.journal: Path | None = None
        self._plan = plan
        self._task = plan.tasks[0]
        self._seat = list(hosts).index(None)
        self._names = [agent.name for agent in plan.agents]
        self._score = Score(self._seat, self._names)
        person = BrowserHost(self.desk, self._names[self._seat], self._score)
        self._hosts: list[AgentHost] = [person if host is None else host for host in hosts]
        self._folder = folder
        self._over: dict[str, Any] | None = None
        self._first_controls = self._look_up_controls()
        self.desk.greeting = self._greeting

    def about(self) -> dict[str, Any]:
        """Return what the page shows before the match, as plain values."""
        task = self._task
        return {
            "task": task.name,
            "agents": self._names,
            "seat": self._seat,
            "time_control": str(task.control),
            "soft_ms": _ms(task.control.act),
            "hard_ms": _ms(task.control.act_hard),
            "bank_ms": _ms(task.control.bank),
            "tick_ms": _ms(task.tick_ns),
            "steps": task.steps,
            **self._first_controls,
        }

    async def run(self, stop: trio.Event, say: Callable[[str], None]) -> None:
        """Wait for the person to begin, play the match, and show its end.

        Args:
            stop: set to end the match, or the waiting, before its end.
            say: prints a line for the user of this program.

        Raises:
            FlagfallError: the match could not be played or stored; what was recorded stays.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_set_after, self.desk.stopped, stop)
            self._score.on_out = lambda reason: nursery.start_soon(self._tell_out, reason)
            await _first_of(self.desk.started, stop)
            if self.desk.started.is_set() and not stop.is_set():
                say("the match has begun")
                await self._play(stop)
            nursery.cancel_scope.cancel()

    async def _play(self, stop: trio.Event) -> None:
        fault: FlagfallError | None = None
        folder = PlayedFolder(self._plan, self._folder)
        try:
            with folder.opened():
                with with_pictures():
                    self.result = await self._play_match(folder, stop)
                folder.put(self.result)
        except FlagfallError as error:
            fault = error
        if folder.kept.exists():
            self.journal = folder.kept
        self._over = self._end(fault)
        await self._show_end()
        if fault is not None:
            raise fault

    async def _play_match(self, folder: PlayedFolder, stop: trio.Event) -> MatchResult:
        task = self._task
        return await play(
            task.tasks,
            self._hosts,
            scheduler=task.scheduler,
            time_control=task.control,
            seed=self._plan.seeds[0],  # the match of the plan may have one derived from it
            steps=task.steps,
            tick_ns=task.tick_ns,
            journal=folder.journal,
            sinks=[folder.observer, self._score, *self._sinks],
            stop=stop,
        )

    async def _tell_out(self, reason: str) -> None:
        """Tell the page that its seat is disqualified; the match may go on without the person."""
        await self.desk.push(_text({"type": "out", "reason": reason}))

    async def _show_end(self) -> None:
        """Send the end to the page, and wait until it has shown it."""
        desk = self.desk
        await desk.push(_text(self._over))
        with trio.move_on_after(END_SECONDS):
            while not desk.seen.is_set():
                seconds = END_SECONDS if desk.page is not None else REOPEN_SECONDS
                with trio.move_on_after(seconds) as patience:
                    await desk.changed()
                if patience.cancelled_caught:
                    return

    # Messages.

    def _greeting(self) -> list[str]:
        """Return the messages for a page that has just got the place."""
        stage = "over" if self._over is not None else "playing" if self.desk.started.is_set() else "waiting"
        messages = [_text({"type": "stage", "stage": stage})]
        return messages if self._over is None else [*messages, _text(self._over)]

    def _end(self, fault: FlagfallError | None) -> dict[str, Any]:
        """Return the message about the end of the match."""
        result = self.result
        seats = [] if result is None else result.seats
        return {
            "type": "over",
            "reason": "void" if result is None else result.reason,
            "fault": "" if fault is None else str(fault)[:MAX_FAULT_CHARS],
            "seats": [
                {
                    "agent": seat.agent,
                    "reward": seat.stats.reward,
                    "turns": seat.stats.turns,
                    "late": seat.stats.late,
                    "illegal": seat.stats.illegal,
                    "disqualified": seat.disqualified,
                    "think_ns": seat.stats.think_ns,
                    "think_max_ns": seat.stats.think_max_ns,
                }
                for seat in seats
            ],
            "tasks": [
                {"task": task.task, "played": task.played, "solved": task.solved, "failed": task.failed}
                for task in ([] if result is None else result.tasks)
            ],
            "tape": self._score.tape_since(0)[1],
            "journal": "" if self.journal is None else str(self.journal),
            "folder": str(self._folder),
        }

    def _look_up_controls(self) -> dict[str, Any]:
        """Return the controls of the first task, from tasks that are made for this and closed again."""
        task = self._task
        with with_pictures():
            scheduler, _ = build_scheduler(task.tasks, task.scheduler, task.steps)
        try:
            first = scheduler.next_task()
            return {"controls": None if first is None else controls_of(complete_task(first), self._seat)}
        finally:
            scheduler.close()


MAX_FAULT_CHARS: Final = 2_000
"""Longest description of a fault that is sent to the page."""


def _text(message: Any) -> str:
    return encode(message).decode()


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1_000_000


async def _set_after(event: trio.Event, then: trio.Event) -> None:
    await event.wait()
    then.set()


async def _first_of(*events: trio.Event) -> None:
    async with trio.open_nursery() as nursery:

        async def wait(event: trio.Event) -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        for event in events:
            nursery.start_soon(wait, event)
