"""Facts of a tournament for the head of its report: its plan, machine, dates, and numbers of matches."""

from __future__ import annotations

__all__ = ["facts_of", "state_line"]

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs

from flagfall.terminal_text import counted
from flagfall.tournament.excerpts import latest
from flagfall.tournament.formats.schedule import most_matches
from flagfall.tournament.model import DEFAULT_SCORING, FORMULA_ONE
from flagfall.viewer.report.source import ReportSource

MAX_FACT_CHARS: Final = 500


def state_line(source: ReportSource) -> str:
    """Return a sentence on a tournament that is not over; empty if it is.

    Args:
        source: the tournament.
    """
    if source.state == "over":
        return ""
    played = f"{source.counts.played:,} of {_total(source)} matches are played"
    if source.state == "running":
        return f"This tournament is running: {played}. Everything here is the state so far."
    return f"This tournament was interrupted: {played}. Everything here is the state so far."


def facts_of(source: ReportSource) -> list[list[str]]:
    """Return the facts as pairs of a label and a text.

    Args:
        source: the tournament.
    """
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
    if plan.anchor is not None:
        yield "Anchor (Elo 0)", plan.anchor
    yield from _dates(source, about.get("begun"))
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
