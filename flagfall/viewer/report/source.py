"""Source of a report: a results folder, opened to be read, the parts of its journals, and its facts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from flagfall.errors import UsageError
from flagfall.events import Event, MatchStarted, SeatDisqualified, TaskEnded
from flagfall.kernel.channels.codecs import CodecError
from flagfall.recording.journal.format import decode_events
from flagfall.recording.journal.reader import batches, check_schema
from flagfall.texts import counted
from flagfall.tournament.excerpts import MatchCounts, count_matches, latest
from flagfall.tournament.folder import is_held, journal_path
from flagfall.tournament.formats.schedule import most_matches
from flagfall.tournament.model import DEFAULT_SCORING, FORMULA_ONE, TournamentPlan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.standings import Standings, StoredResults, stored_results
from flagfall.tournament.store import Store, StoredPlan

MAX_JOURNAL_BYTES: Final = 64_000_000
"""Bytes of one journal, unpacked, that a report reads: 0.2 s."""

MAX_ALL_BYTES: Final = 1_000_000_000
"""Bytes of all journals, unpacked, that a report reads: some seconds."""

MAX_EPISODES: Final = 100_000
"""Most ends of tasks that are kept of one journal."""

_WANTED: Final = tuple(f'{{"event":"{name}",'.encode() for name in ("match", "end", "disqualified", "fell"))


@attrs.frozen
class Episode:
    """End of one task, which was solved, failed, or neither."""

    result: bool | None
    reward: float
    steps: int


@attrs.define
class JournalDigest:
    """Facts of a journal that a report shows.

    Attributes:
        begun: time at which the match began (ISO 8601); `None` on the virtual clock.
        episodes: ends of tasks, in order; those that were cut by the end of the match are left out.
        whole: the journal was read to its end.
    """

    begun: str | None = None
    episodes: list[Episode] = attrs.Factory(list)
    disqualifications: dict[int, SeatDisqualified] = attrs.Factory(dict)
    whole: bool = False


@attrs.define(eq=False)
class JournalReader:
    """Reader of the parts of journals that a report shows: ends of tasks and disqualifications.

    A journal may have been changed or come from others: a path never leads out of the folder, the number of
    bytes that are unpacked is bounded, and a damaged journal counts up to its damage. `unread` counts the
    journals that are missing, damaged or too large; of the last two the beginning was read.
    """

    _folder: Path
    unread: int = 0
    _left: int = attrs.Factory(lambda: MAX_ALL_BYTES)
    _kept: dict[Path, JournalDigest] = attrs.Factory(dict)

    def read(self, record: MatchRecord) -> JournalDigest | None:
        """Return the digest of a match's journal; `None` if it has none or the bound is reached."""
        path = journal_path(self._folder, record.journal)
        if path is None or (path not in self._kept and self._left <= 0):
            self.unread += 1
            return None
        if path not in self._kept:
            digest = self._kept[path] = JournalDigest()
            self._fill(path, digest)
            self.unread += not digest.whole
        return self._kept[path]

    def _fill(self, path: Path, digest: JournalDigest) -> None:
        """Read a journal up to its end, its damage, or the bound."""
        limit = min(self._left, MAX_JOURNAL_BYTES)
        read = 0
        try:
            with closing(batches(path)) as parts:
                schema = None
                for batch in parts:
                    if batch.state == "damaged" or not batch.lines:
                        return
                    schema = check_schema(path, batch.lines[0]) if schema is None else schema
                    for line in batch.lines:
                        read += len(line)
                        if line.startswith(_WANTED):
                            for event in decode_events(line, schema):
                                _take(event, digest)
                    if batch.state == "last":
                        digest.whole = True
                    if read > limit:
                        return
        except (UsageError, CodecError, OSError):
            return
        finally:
            self._left -= read


def _take(event: Event, digest: JournalDigest) -> None:
    if isinstance(event, TaskEnded):
        if event.ended != "cut" and len(digest.episodes) < MAX_EPISODES:
            digest.episodes.append(Episode(event.result, float(event.reward), event.steps))
    elif isinstance(event, SeatDisqualified):
        digest.disqualifications.setdefault(event.seat, event)
    elif isinstance(event, MatchStarted):
        digest.begun = event.begun


@attrs.frozen(kw_only=True, eq=False)
class ReportSource:
    """Everything that the parts of a report read.

    Attributes:
        plan: the plan for display; nothing that it names is there.
        results: the matches that count.
        state: `interrupted` where matches are left and no run plays them.
    """

    folder: Path
    store: Store
    stored: StoredPlan
    plan: TournamentPlan
    results: StoredResults
    standings: Standings
    counts: MatchCounts
    state: Literal["over", "running", "interrupted"]
    journals: JournalReader

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names of the agents, the best first."""
        return tuple(row.agent for row in self.standings.rows)


@contextmanager
def open_source(folder: Path) -> Iterator[ReportSource]:
    """Open a results folder, whose tournament may be running.

    Raises:
        UsageError: it holds no tournament, it is damaged, or none of its matches has begun.
    """
    with closing(Store(folder)) as store:
        stored = store.plan()
        if stored is None:
            raise UsageError(f"{folder}: the tournament has not begun")
        try:
            plan = stored.for_display()
        except UsageError as error:
            raise UsageError(f"{folder}: {error}") from error
        running = is_held(folder)
        results = stored_results(store, plan)
        yield ReportSource(
            folder=folder,
            store=store,
            stored=stored,
            plan=plan,
            results=results,
            standings=results.standings(plan),
            counts=count_matches(store),
            state="over" if results.over else "running" if running else "interrupted",
            journals=JournalReader(folder),
        )


MAX_FACT_CHARS: Final = 500


def state_line(source: ReportSource) -> str:
    """Return a sentence on a tournament that is not over; empty if it is."""
    if source.state == "over":
        return ""
    played = f"{source.counts.played:,} of {_total(source)} matches are played"
    verb = "is running" if source.state == "running" else "was interrupted"
    return f"This tournament {verb}: {played}. Everything here is the state so far."


def facts_of(source: ReportSource) -> list[list[str]]:
    """Return the facts as pairs of a label and a text."""
    return [[label, text[:MAX_FACT_CHARS]] for label, text in _facts(source) if text]


def _facts(source: ReportSource) -> Iterator[tuple[str, str]]:
    plan, about = source.plan, source.store.about()
    yield "Format", _format(source)
    yield "Agents", f"{len(plan.agents):,}"
    yield "Tasks", f"{len(plan.tasks):,}"
    yield "Matches", f"{source.counts.played:,} of {_total(source)}"
    if source.counts.void:
        yield "Void attempts", f"{source.counts.void:,}, played again"
    yield "Repeats", f"{plan.repeats:,}"
    yield "Seed", str(plan.seed)
    yield "Clock", plan.clock
    controls = dict.fromkeys(str(task.control) for task in plan.tasks)
    yield "Time control", next(iter(controls)) if len(controls) == 1 else f"{len(controls)} different ones"
    openings = (f"{len(task.openings):,} of {task.name}" for task in plan.tasks if task.openings)
    yield "Openings", "; ".join(openings)
    if plan.anchor is not None:
        yield "Anchor (Elo 0)", plan.anchor
    yield from _dates(source, about.get("begun"))
    if former := source.store.former():
        times = counted(len(former), "time", "times")
        yield "Plan changed", f"{times}; the last time at {former[-1].get('until', '')}"
    yield "Machine", about.get("machine", "")
    yield "flagfall", about.get("flagfall", "")
    yield "Folder", source.folder.resolve().name


def _format(source: ReportSource) -> str:
    form = source.plan.format
    settings = [
        f"{field.name} {', '.join(value) if isinstance(value, tuple) else value}"
        for field in attrs.fields(type(form))  # type: ignore[arg-type]  # every format is an attrs class
        if (value := getattr(form, field.name)) is not None
    ]
    stop = source.plan.stop
    if stop.sprt is not None:
        settings.append(f"sequential test of {stop.sprt.agents[0]} against {stop.sprt.agents[1]}")
    if stop.matches is not None:
        settings.append(f"at most {counted(stop.matches, 'match', 'matches')}")
    if stop.falls is not None:
        settings.append(f"withdrawn after {counted(stop.falls, 'disqualification')}")
    if source.plan.scoring == FORMULA_ONE:
        settings.append("Formula One scoring")
    elif source.plan.scoring != DEFAULT_SCORING:
        settings.append(f"ranked by {source.plan.scoring}")
    title = form.kind.replace("-", " ").capitalize()
    return f"{title} ({'; '.join(settings)})" if settings else title


def _total(source: ReportSource) -> str:
    exact = source.plan.format.exact_total and source.plan.stop.falls is None
    if source.state == "over":
        return f"{source.counts.played:,}"
    return f"{'' if exact and source.plan.stop.sprt is None else 'at most '}{most_matches(source.plan):,}"


def _dates(source: ReportSource, begun: str | None) -> Iterator[tuple[str, str]]:
    """Yield begin and end; on the virtual clock, matches have no dates."""
    first, last = latest(source.store, "first"), latest(source.store, "last")
    digest = None if first is None else source.journals.read(first)
    start = _parsed(begun) or _parsed(None if digest is None else digest.begun)
    if start is not None:
        yield "Begun", _date(start)
    digest = None if last is None else source.journals.read(last)
    if last is not None and digest is not None and (end := _parsed(digest.begun)) is not None:
        yield "Last match ended", _date(end + timedelta(microseconds=last.elapsed_ns / 1000))


def _parsed(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _date(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")
