"""One match with a person in the browser: waits for the person, plays, stores, shows the end."""

from __future__ import annotations

__all__ = ["PlaySession"]

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from flagfall.errors import FlagfallError
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import complete_task
from flagfall.kernel.sinks import Sink
from flagfall.playing import MatchRequest, Player, play_request
from flagfall.recording.journal.format import encode
from flagfall.tasks.building import build_scheduler
from flagfall.tasks.rendering import with_pictures
from flagfall.viewer.play.controls import controls_of
from flagfall.viewer.play.desk import Desk
from flagfall.viewer.play.host import BrowserHost
from flagfall.viewer.play.record import PlayedFolder, play_plan
from flagfall.viewer.play.score import Score

END_SECONDS: Final = 20.0
"""Longest time for a page to show the end of the match, before the program ends."""

REOPEN_SECONDS: Final = 2.0
"""Time in which a page may be opened again to see the end, where none is open when the match ends."""


class PlaySession:
    """A match with a person.

    Args:
        request: the match, with the agents of the other seats.
        seat: the seat of the person.
        name: the name of the person.
        task: the name of what is played.
        folder: the results folder, which the match makes.
        sinks: further sinks of the match.

    Raises:
        UsageError: an agent or a task cannot be made.

    Attributes:
        request: the match, with all agents.
        desk: the place that pages take.
        result: the result of the match; `None` until it is over.
        journal: the journal of the match, after its end.
    """

    def __init__(
        self,
        request: MatchRequest,
        seat: int,
        name: str,
        task: str,
        folder: Path,
        sinks: Sequence[Sink] = (),
    ) -> None:
        others = request.agents
        self.desk: Desk = Desk()
        self.result: MatchResult | None = None
        self.journal: Path | None = None
        labels = [player.label for player in others]
        self._names = [*labels[:seat], name, *labels[seat:]]
        self._score = Score(seat, self._names)
        person = Player(BrowserHost(self.desk, name, self._score))
        self.request: MatchRequest = attrs.evolve(
            request, agents=(*others[:seat], person, *others[seat:]), sinks=(self._score, *sinks)
        )
        self._plan = play_plan(self.request, task)
        self._seat = seat
        self._folder = folder
        self._over: dict[str, Any] | None = None
        self._first_controls = self._look_up_controls()
        self.desk.greeting = self._greeting

    def about(self) -> dict[str, Any]:
        """Return what the page shows before the match, as plain values."""
        request, control = self.request, self.request.time_control
        return {
            "task": self._plan.name,
            "agents": self._names,
            "seat": self._seat,
            "time_control": str(control),
            "soft_ms": _ms(control.act),
            "hard_ms": _ms(control.act_hard),
            "bank_ms": _ms(control.bank),
            "tick_ms": _ms(request.tick_ns),
            "steps": request.steps,
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
        request = attrs.evolve(
            self.request, journal=folder.journal, sinks=(folder.observer, *self.request.sinks)
        )
        try:
            with folder.opened():
                with with_pictures():
                    self.result = await play_request(request, stop)
                folder.put(self.result)
        except FlagfallError as error:
            fault = error
        if folder.kept.exists():
            self.journal = folder.kept
        self._over = self._end(fault)
        await self._show_end()
        if fault is not None:
            raise fault

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
        request = self.request
        with with_pictures():
            scheduler, _ = build_scheduler(request.tasks, request.scheduler, request.steps)
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
