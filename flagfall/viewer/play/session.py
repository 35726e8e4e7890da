"""One match with a person in the browser: waits for the person, plays, stores, shows the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from flagfall.agents.hosts.registry import Player
from flagfall.errors import FlagfallError, UsageError
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import complete_task
from flagfall.playing import MatchRequest, play_request
from flagfall.recording.journal.format import encode
from flagfall.tasks.building import TaskSetup, build_scheduler
from flagfall.tasks.task import with_pictures
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.formats.fixed_rounds import Benchmark
from flagfall.tournament.model import Output, PlannedAgent, PlannedTask, Stop, TournamentPlan
from flagfall.tournament.records import Decision, MatchSpec, decide_match
from flagfall.tournament.run.api import open_tournament
from flagfall.tournament.run.match_observer import MatchObserver
from flagfall.tournament.store import holds_tournament
from flagfall.viewer.play.controls import Score, facts_of_task
from flagfall.viewer.play.host import BrowserHost, Desk

PERSON: Final = "human-browser"
"""The text that names a person in the browser in a stored plan."""


def play_plan(request: MatchRequest, name: str) -> TournamentPlan:
    """Return the plan of one match, in which an agent that is no text is the person."""
    agents = tuple(
        PlannedAgent(name=player.label, spec=player.agent if isinstance(player.agent, str) else PERSON)
        for player in request.agents
    )
    assert isinstance(request.tasks, tuple | TaskSetup)
    task = PlannedTask(
        name=name,
        tasks=request.tasks,
        scheduler=request.scheduler,
        seats=len(agents),
        agents=tuple(agent.name for agent in agents),
        control=request.time_control,
        steps=request.steps,
        tick_ns=request.tick_ns,
        score="reward",
    )
    return TournamentPlan(
        name=name,
        agents=agents,
        tasks=(task,),
        format=Benchmark(),
        seeds=(request.seed,),
        stop=Stop(matches=1),
        output=Output(folder=Path()),
    )


def check_folder(folder: Path) -> None:
    """Check that results can be written to a folder that need not exist, and holds no results yet."""
    if folder.is_dir() and holds_tournament(folder):
        raise UsageError(f"--output {folder}: it holds results already; choose another folder")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--output {folder}: this is a file; name a folder")
    above = folder.absolute()
    while not above.exists():
        above = above.parent
    if not os.access(above, os.W_OK | os.X_OK):
        raise UsageError(f"--output {folder}: no permission to write to {above}")


class PlayedFolder:
    """A results folder while its match is played; its observer is a sink that must see every event."""

    def __init__(self, plan: TournamentPlan, folder: Path) -> None:
        first = next(iter(plan.format.schedule(plan, {})))
        assert first is not None
        self.spec: MatchSpec = first
        self.journal: Path = folder / RUNNING / f"{first.id}.jsonl"
        self.observer: MatchObserver = MatchObserver(len(plan.agents), plan.tasks[0].control)
        self._plan = plan
        self._folder = folder
        self._store = open_tournament(plan, folder, resume=False)

    @contextmanager
    def opened(self) -> Iterator[PlayedFolder]:
        """Make the folder and its database; what was recorded stays, however the match ends.

        Raises:
            UsageError: the folder is in use, or holds another match.
            HostFault: it cannot be written.
        """
        with self._store as self._open:
            try:
                yield self
            finally:
                if self.journal.exists():
                    self.journal.replace(self.kept)

    @property
    def kept(self) -> Path:
        """The place of the journal after the match."""
        return self._folder / JOURNALS / self.journal.name

    def put(self, result: MatchResult) -> None:
        """Store the result."""
        relative = str(self.kept.relative_to(self._folder))
        record = self.observer.record(self.spec, 1, result, measure=self._plan.tasks[0].score, last=None)
        self._open.put(attrs.evolve(record, journal=relative))


END_SECONDS: Final = 20.0
"""Longest time for a page to show the end of the match, before the program ends."""

REOPEN_SECONDS: Final = 2.0
"""Time in which a page may be opened again to see the end, where none is open when the match ends."""

LEFT_SECONDS: Final = 300.0
"""After the match the program ends when the page has been closed, and no replay asked for, for this long."""

LOOK_SECONDS: Final = 1.0
"""Time between looks whether the person has left."""

REPLAY: Final = "replay/match/"
"""Address of the replay after the match."""


class PlaySession:
    """A match with a person at a seat; `result` and `journal` are there after its end.

    The request given has the agents of the other seats, and that of the session all; `task` names what is
    played, and the match makes the folder.

    Raises:
        UsageError: an agent or a task cannot be made.
    """

    def __init__(
        self, request: MatchRequest, seat: int, name: str, task: str, folder: Path, sinks: Sequence[Sink] = ()
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
        self._first_task = self._look_up_task()
        self._is_asked = False
        self.desk.greeting = self._greeting

    @property
    def is_over(self) -> bool:
        """True once the match has come to its own end, or to that which the person asked for."""
        return self.result is not None and (self.result.reason != "stopped" or self.desk.stopped.is_set())

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
            "facts": self._first_task,
        }

    async def run(self, stop: trio.Event, say: Callable[[str], None]) -> None:
        """Wait for the person to begin, play the match, and show its end.

        Args:
            stop: set to end the match, or the waiting, before its end, as the person may do, too.

        Raises:
            FlagfallError: the match could not be played or stored; what was recorded stays.
        """
        ending = trio.Event()
        async with trio.open_nursery() as nursery:
            for event in (self.desk.stopped, stop):
                nursery.start_soon(_set_after, event, ending)
            self._score.on_out = lambda reason: nursery.start_soon(self._tell_out, reason)
            await _first_of(self.desk.started, ending)
            if self.desk.started.is_set() and not ending.is_set():
                say("the match has begun")
                await self._play(ending)
            nursery.cancel_scope.cancel()

    async def stay(self, stop: trio.Event, say: Callable[[str], None]) -> None:
        """Wait after the match until the person has left the pages, if one has shown the end.

        Args:
            stop: set to end the waiting.
        """
        if self.desk.seen.is_set() and not stop.is_set():
            say(f"the page leads to the replay; Ctrl-C ends, or closing the page for {LEFT_SECONDS:g} s")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._wait_until_left, nursery.cancel_scope)
            await stop.wait()
            nursery.cancel_scope.cancel()
        await self.desk.push(_text({"type": "closed"}))

    async def _wait_until_left(self, then: trio.CancelScope) -> None:
        last_seen = trio.current_time()
        while self.desk.seen.is_set() and trio.current_time() - last_seen < LEFT_SECONDS:
            await trio.sleep(LOOK_SECONDS)
            if self.desk.page is not None or self._is_asked:
                last_seen, self._is_asked = trio.current_time(), False
        then.cancel()

    def find_journal(self, _name: str) -> Path:
        """Return the journal, whatever its name in the address.

        Raises:
            UsageError: the match is not over.
        """
        if self.journal is None or self._over is None:
            raise UsageError("the replay can be seen when the match is over")
        self._is_asked = True
        return self.journal

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

    def _greeting(self) -> list[str]:
        """Return the messages for a page that has just got the place."""
        stage = "over" if self._over is not None else "playing" if self.desk.started.is_set() else "waiting"
        messages = [_text({"type": "stage", "stage": stage})]
        return messages if self._over is None else [*messages, _text(self._over)]

    def _end(self, fault: FlagfallError | None) -> dict[str, Any]:
        """Return the message about the end of the match."""
        result, decision = self.result, Decision()
        if result is not None:
            rewards, lost = [one.stats.reward for one in result.seats], [one.lost_by for one in result.seats]
            decision = decide_match(result.reason, rewards, lost, has_rewards=True)
        return {
            "type": "over",
            "reason": "void" if result is None else result.reason,
            "replay": None if self.journal is None else REPLAY,
            "winners": decision.winners,
            "why": decision.why,
            "fault": "" if fault is None else str(fault)[:MAX_FAULT_CHARS],
            "seats": [
                {
                    "agent": seat.agent,
                    "disqualified": seat.disqualified,
                    **{name: getattr(seat.stats, name) for name in _SHOWN_STATS},
                }
                for seat in ([] if result is None else result.seats)
            ],
            "tasks": [
                {"task": task.task, "played": task.played, "solved": task.solved, "failed": task.failed}
                for task in ([] if result is None else result.tasks)
            ],
            "tape": self._score.tape_since(0)[1],
            "journal": "" if self.journal is None else str(self.journal),
            "folder": str(self._folder),
        }

    def _look_up_task(self) -> dict[str, Any] | None:
        """Return the facts of the first task, from tasks that are made for this and closed again."""
        request = self.request
        with with_pictures():
            scheduler, _ = build_scheduler(request.tasks, request.scheduler, request.steps)
        try:
            first = scheduler.next_task()
            return None if first is None else facts_of_task(complete_task(first), self._seat)
        finally:
            scheduler.close()


_SHOWN_STATS: Final = ("reward", "turns", "late", "illegal", "think_ns", "think_max_ns")

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
