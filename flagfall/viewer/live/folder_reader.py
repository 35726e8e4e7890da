"""Reader of a tournament's folder for the live page; all its methods block, for at most some seconds.

It only reads, in short transactions, and holds no lock: a run is not delayed by it. Every problem of the
folder becomes a state with a line of text, and the next reading starts anew.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from flagfall.errors import UsageError
from flagfall.texts import one_line, short_names
from flagfall.tournament.database import DamagedStore
from flagfall.tournament.excerpts import count_matches
from flagfall.tournament.folder import DATABASE, RUNNING, is_held
from flagfall.tournament.formats.schedule import most_matches, schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.fingerprint import plan_of_facts
from flagfall.tournament.run.control import RunningState, RunState, send_command
from flagfall.tournament.standings import stored_standings
from flagfall.tournament.store import Store, StoredPlan, holds_tournament
from flagfall.viewer.live.views import (
    ENDINGS,
    MAX_LINE_CHARS,
    MAX_RUNNING,
    ClockReader,
    NewsItem,
    RunningView,
    RunView,
    State,
    cut,
    news_item,
    standings_view,
)

FIRST_NEWS: Final = 100
"""Matches that had ended before and are shown at the beginning."""

MAX_NEWS: Final = 50
"""Matches that are read and shown at a time; of more that ended since, the newest ones."""

MAX_KNOWN_TASKS: Final = 20_000
"""Matches whose tasks are known from the schedule, if it has no more; else from the matches in progress."""

RATE_SECONDS: Final = 60.0
"""Time over which the rate of matches is measured."""

LEAST_RATE_SECONDS: Final = 10.0
"""Shortest time over which it is measured; the average since the run began is taken until then."""


@attrs.frozen
class News:
    """Matches that have ended since the last reading: the newest in order, and how many are left out."""

    items: list[NewsItem]
    left_out: int


@attrs.define
class _Counts:
    last: int = 0
    played: int = 0
    void: int = 0


class FolderReader:
    """Reads the state of the tournament in a folder, which may be empty, or come later."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._name = one_line(folder.absolute().name)
        self._store: Store | None = None
        self._identity: tuple[int, int] | None = None
        self._plan: TournamentPlan | None = None
        self._stored: StoredPlan | None = None
        self._total: int | None = None
        self._counts: _Counts | None = None
        self._tasks: dict[str, str] = {}
        self._short: dict[str, str] = {}
        self._clocks = ClockReader(folder / RUNNING)
        self._rates: deque[tuple[float, int]] = deque()
        self._over = False

    def close(self) -> None:
        """Close all files."""
        self._clocks.close()
        self._forget()

    def read(self) -> tuple[RunView, News]:
        """Return the state of the tournament, and the matches that have ended since the last call."""
        try:
            if not self.folder.is_dir():
                self._forget()
                return RunView("missing", f"there is no folder {self._name} any more"), News([], 0)
            if not holds_tournament(self.folder):
                self._forget()
                return RunView("waiting", "no tournament has begun in this folder"), News([], 0)
            self._open()
            news = self._read_news()
            return self._view(), news
        except DamagedStore as error:
            state: State = "damaged"
            detail = str(error)
        except (UsageError, OSError) as error:
            state, detail = "missing", str(error)
        except Exception as error:  # noqa: BLE001 - a damaged folder must not end the server
            state, detail = "damaged", f"the folder cannot be read: {error!r}"
        self._forget()
        return RunView(state, _line(detail)), News([], 0)

    def _open(self) -> None:
        if self._store is not None and self._store.is_current():
            return
        found = (self.folder / DATABASE).stat()
        if (identity := (found.st_dev, found.st_ino)) != self._identity:
            self._forget()
        elif self._store is not None:
            self._store.close()
        self._store = Store(self.folder)
        self._identity = identity

    def _forget(self) -> None:
        if self._store is not None:
            with suppress(Exception):  # the files may be gone
                self._store.close()
        self._store = self._identity = None
        self._forget_plan()

    def _forget_plan(self) -> None:
        self._stored = self._plan = self._counts = self._total = None
        self._tasks.clear()
        self._short = {}
        self._rates.clear()
        self._over = False

    def _read_plan(self) -> None:
        assert self._store is not None
        stored = self._store.plan()
        if stored == self._stored:
            return
        self._forget_plan()  # matches have other ids since the plan changed
        self._stored = stored
        if stored is None:
            return
        with suppress(UsageError):  # the standings say why
            self._plan = plan_of_facts(stored.name, stored.seed, stored.facts)
            self._short = _short_tasks(self._plan)
            self._total = schedule(self._plan).total
            if most_matches(self._plan) <= MAX_KNOWN_TASKS and self._total is not None:
                self._tasks = {spec.id: spec.task for spec in schedule(self._plan).walk({})}

    def _read_news(self) -> News:
        assert self._store is not None
        self._read_plan()
        if self._counts is None:
            self._counts = self._count()
            after = max(0, self._counts.last - FIRST_NEWS)
            records = self._store.records_after(after, FIRST_NEWS)
            return News(self._items([one for one in records if one[0] <= self._counts.last]), 0)
        records = self._store.records_after(self._counts.last, MAX_NEWS)
        if len(records) == MAX_NEWS:
            before = self._counts.played + self._counts.void
            self._counts = self._count()
            records = self._store.records_after(max(0, self._counts.last - MAX_NEWS), MAX_NEWS)
            total = self._counts.played + self._counts.void
            return News(self._items(records), max(0, total - before - MAX_NEWS))
        for number, record in records:
            self._counts.last = number
            self._counts.played += record.status == "played"
            self._counts.void += record.status == "void"
        return News(self._items(records), 0)

    def _count(self) -> _Counts:
        assert self._store is not None
        counts = count_matches(self._store)
        return _Counts(counts.largest, counts.played, counts.void)

    def _items(self, records: Sequence[tuple[int, Any]]) -> list[NewsItem]:
        items = []
        for number, record in records:
            task = self._tasks.get(record.id)
            items.append(news_item(number, record, task, task and self._short.get(task, task)))
        return items

    def _view(self) -> RunView:
        assert self._store is not None
        assert self._counts is not None
        played, total = self._counts.played, self._total
        view = RunView("running", played=played, total=total, void=self._counts.void)
        view.name = cut(self._plan.name if self._plan is not None else self._name)
        try:
            state = msgspec.convert(send_command(self.folder, {"do": "status"}), RunState)
        except (UsageError, msgspec.ValidationError) as error:
            self._without_run(view, str(error))
            return view
        view.state = "stopping" if state.stopping else "paused" if state.paused else "running"
        view.controllable = True
        view.total = state.total if total is None else total
        view.jobs = state.jobs
        view.running_count = len(state.running)
        view.running = self._running(state.running)
        average = state.run_played / state.run_seconds if state.run_seconds and state.run_played else None
        self._estimate(view, average)
        return view

    def _without_run(self, view: RunView, problem: str) -> None:
        """Complete the state of a tournament whose run does not answer."""
        self._clocks.read([])
        if is_held(self.folder):
            view.detail = _line(f"the run cannot be asked for its matches: {problem}")
            self._estimate(view, None)
        elif self._over or (view.total is not None and view.played >= view.total):
            view.state = "ended"
        else:
            view.state = "interrupted"
            view.detail = "no run is going on; flagfall tournament with --resume continues it"

    def _estimate(self, view: RunView, average: float | None) -> None:
        """Set the rate of matches, at first the average since the run began, and the time that is left."""
        if view.state != "running":
            self._rates.clear()
            return
        now = time.monotonic()
        self._rates.append((now, view.played))
        while now - self._rates[0][0] > RATE_SECONDS:
            self._rates.popleft()
        then, before = self._rates[0]
        measured = (view.played - before) / (now - then) if now - then >= LEAST_RATE_SECONDS else None
        view.rate = average if measured is None else measured
        if view.rate and view.total is not None:
            view.left_seconds = max(0, view.total - view.played) / view.rate

    def _running(self, states: Sequence[RunningState]) -> list[RunningView]:
        controls = {} if self._plan is None else {task.name: task.control for task in self._plan.tasks}
        shown: list[tuple[RunningView, str]] = []
        wanted = []
        for state in states[:MAX_RUNNING]:
            self._tasks[state.match] = state.task
            agents = [cut(name) for name in state.agents]
            task, short = cut(state.task), cut(self._short.get(state.task, state.task))
            running = RunningView(cut(state.match), task, short, agents, state.attempt, state.seconds)
            name = f"{state.match}-{state.attempt}"
            shown.append((running, name))
            if "/" not in name:
                running.journal = any(map(self._is_written, (f"{name}{ending}" for ending in ENDINGS)))
                wanted.append((name, len(state.agents), controls.get(state.task)))
        journals = self._clocks.read(wanted)
        for running, name in shown:
            if (journal := journals.get(name)) is not None:
                running.turn = journal.turn
                running.turn_seconds = round(time.monotonic() - journal.since, 3)
                running.seats = journal.seats
        while len(self._tasks) > 2 * MAX_KNOWN_TASKS:
            del self._tasks[next(iter(self._tasks))]
        return [running for running, _ in shown]

    def _is_written(self, name: str) -> bool:
        try:
            return (self.folder / RUNNING / name).stat().st_size > 0
        except (OSError, ValueError):
            return False

    def read_standings(self) -> dict[str, Any]:
        """Return the standings, or `{"why": ...}` where there are none; this takes 40 µs a match at most.

        It uses a connection of its own, so it may run at the same time as `read`.
        """
        try:
            if not holds_tournament(self.folder):
                return {"why": "no tournament has begun in this folder"}
            with closing(Store(self.folder)) as store:
                stored = store.plan()
                if stored is None:
                    return {"why": "no match has ended yet"}
                plan = plan_of_facts(stored.name, stored.seed, stored.facts)
                stands = stored_standings(store, plan)
                self._over = stands.over
                return standings_view(stands, count_matches(store).played, _short_tasks(plan))
        except (UsageError, OSError) as error:
            return {"why": _line(str(error))}
        except Exception as error:  # noqa: BLE001 - as above
            return {"why": _line(f"the standings cannot be computed: {error!r}")}


def _short_tasks(plan: TournamentPlan) -> dict[str, str]:
    return short_names(task.name for task in plan.tasks)


def _line(text: str) -> str:
    return one_line(text, MAX_LINE_CHARS - 10)  # and the mark of what is left out
