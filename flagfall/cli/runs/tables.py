"""What a run ended with: tables for people, plain data for programs."""

from __future__ import annotations

__all__ = ["PlayedMatch", "as_data", "print_falls", "print_journals", "print_results"]

from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.cli.console.output import duration, number, print_table, table
from flagfall.kernel.outcomes import MatchResult, SeatReport, TaskStats
from flagfall.terminal_text import sanitize_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.cli.runs.plan import PlannedMatch

DETAIL_LINES: Final = 20
"""How much is shown of what an agent fell over: the end of a traceback says most; the journal has it all."""


@attrs.frozen
class PlayedMatch:
    """A match and its result."""

    planned: PlannedMatch
    result: MatchResult


def print_results(played: Sequence[PlayedMatch], *, several: bool) -> None:
    """Print how every seat did, and every task.

    Args:
        played: the matches.
        several: whether there was more than one to be played.
    """
    numbers = ("turns", "reward", "per turn", "played", "solved", "failed", "late", "illegal", "dropped")
    words = ("match", "agent", "verdict") if several else ("agent", "verdict")
    seats = table(*words, numbers=(*numbers, "mean think", "max think"))
    for match in played:
        for seat in match.result.seats:
            row = _seat_row(match.result, seat)
            seats.add_row(*([str(match.planned.number)] if several else []), *row)
    print_table(seats)
    print_table(_task_table(played, several=several))


def _seat_row(result: MatchResult, seat: SeatReport) -> list[str]:
    tally = seat.stats
    return [
        sanitize_terminal(seat.agent),
        result.reason if seat.disqualified is None else f"fell: {seat.disqualified}",
        number(tally.turns),
        number(tally.reward),
        f"{tally.reward / max(1, tally.turns):.4f}",
        number(sum(task.played for task in result.tasks)),
        number(sum(task.solved for task in result.tasks)),
        number(sum(task.failed for task in result.tasks)),
        number(tally.late),
        number(tally.illegal),
        number(tally.dropped),
        duration(_mean_think_ns(seat)),
        duration(tally.think_max_ns),
    ]


def _mean_think_ns(seat: SeatReport) -> float:
    """Over the turns that it was there for."""
    return seat.stats.think_ns / max(1, seat.stats.turns - seat.stats.absent)


def _task_table(played: Sequence[PlayedMatch], *, several: bool) -> Any:
    """By task, and in a series by agent; matches of one agent together."""
    words = ("task", "agent") if several else ("task",)
    rows = table(*words, numbers=("played", "solved", "failed", "steps", "reward", "per step"))
    sums: dict[tuple[str, str], TaskStats] = {}
    for match in played:
        agents = ", ".join(seat.agent for seat in match.result.seats)
        for task in match.result.tasks:
            total = sums.setdefault((task.task, agents), TaskStats(task.task))
            for field in ("played", "solved", "failed", "steps", "reward"):
                setattr(total, field, getattr(total, field) + getattr(task, field))
    order = {task: place for place, task in enumerate(dict.fromkeys(task for task, _ in sums))}
    for (task_id, agents), total in sorted(sums.items(), key=lambda item: order[item[0][0]]):
        rows.add_row(
            task_id,
            *([sanitize_terminal(agents)] if several else []),
            number(total.played),
            number(total.solved),
            number(total.failed),
            number(total.steps),
            number(total.reward),
            f"{total.reward / max(1, total.steps):.4f}",
        )
    return rows


def print_falls(played: Sequence[PlayedMatch], *, several: bool) -> None:
    """Print what every agent that is out fell over, the end of it."""
    for match in played:
        for seat in match.result.seats:
            if seat.disqualified is None:
                continue
            where = f" in match {match.planned.number}" if several else ""
            print(f"{sanitize_terminal(seat.agent)} fell{where}: {seat.disqualified}")
            lines = sanitize_terminal(seat.detail).strip().splitlines()
            if len(lines) > DETAIL_LINES:
                print(f"    ... ({len(lines) - DETAIL_LINES} lines before)")
            for line in lines[-DETAIL_LINES:]:
                print(f"    {line}")


def print_journals(played: Sequence[PlayedMatch]) -> None:
    """Print where the records and the figures are."""
    for match in played:
        if match.planned.journal is not None:
            print(f"journal: {match.planned.journal}")
        if match.planned.results is not None:
            print(f"results: {match.planned.results}")


def as_data(match: PlayedMatch) -> dict[str, Any]:
    """A match in plain numbers and words; times in nanoseconds."""
    result = match.result
    return {
        "match": match.planned.number,
        "seed": match.planned.seed,
        "journal": None if match.planned.journal is None else str(match.planned.journal),
        "results": None if match.planned.results is None else str(match.planned.results),
        "reason": result.reason,
        "turns": result.turns,
        "elapsed_ns": result.elapsed_ns,
        "seats": [
            {
                "agent": seat.agent,
                "fell": seat.disqualified,
                "detail": seat.detail,
                "said": seat.stderr_tail,
                **attrs.asdict(seat.stats),
                "think_mean_ns": round(_mean_think_ns(seat)),
            }
            for seat in result.seats
        ],
        "tasks": [attrs.asdict(task) for task in result.tasks],
    }
