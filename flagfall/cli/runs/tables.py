"""Results of a run: tables for people, plain data for `--json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.cli.console.output import duration, label, number, print_table, table
from flagfall.kernel.outcomes import MatchResult, SeatReport, TaskStats
from flagfall.texts import sanitize_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flagfall.cli.runs.plan import PlannedMatch

DETAIL_LINES: Final = 20
"""Lines shown of the details of a disqualification, from the end; the journal has all of them."""


@attrs.frozen
class PlayedMatch:
    """A planned match with its result."""

    planned: PlannedMatch
    result: MatchResult


_SPARE: Final = (
    *("per turn", "dropped", "played", "failed", "max think"),
    *("solved", "mean think", "illegal", "late"),
)
"""Columns of seats that a narrow terminal does without, the least important first."""

_SPARE_OF_TASKS: Final = ("per step", "failed", "played", "steps")


def print_results(played: Sequence[PlayedMatch], *, several: bool, wide: bool = False) -> None:
    """Print a table of the seats and a table of the tasks.

    Args:
        several: whether the run consists of more than one match; then rows name the match or the agent.
        wide: leave out no column, however long the lines are.
    """
    numbers = ("turns", "reward", "per turn", "played", "solved", "failed", "late", "illegal", "dropped")
    words = ("match", "agent", "verdict") if several else ("agent", "verdict")
    seats = table(*words, numbers=(*numbers, "mean think", "max think"))
    for match in played:
        for seat in match.result.seats:
            row = _seat_row(match.result, seat)
            seats.add_row(*([str(match.planned.number)] if several else []), *row)
    print_table(seats, spare=_SPARE, wide=wide)
    print_table(_task_table(played, several=several), spare=_SPARE_OF_TASKS, wide=wide)


def _seat_row(result: MatchResult, seat: SeatReport) -> list[str]:
    stats = seat.stats
    fields = ("played", "solved", "failed")
    outcomes = [sum(getattr(task, field) for task in result.tasks) for field in fields]
    return [
        sanitize_terminal(seat.agent),
        result.reason if seat.disqualified is None else f"disqualified: {seat.disqualified}",
        *map(number, (stats.turns, stats.reward)),
        f"{stats.reward / max(1, stats.turns):z.4f}",
        *map(number, (*outcomes, stats.late, stats.illegal, stats.dropped)),
        duration(_mean_think_ns(seat)),
        duration(stats.think_max_ns),
    ]


def _mean_think_ns(seat: SeatReport) -> float:
    """Return the mean over the turns in which the seat was not absent."""
    return seat.stats.think_ns / max(1, seat.stats.turns - seat.stats.absent)


def _task_table(played: Sequence[PlayedMatch], *, several: bool) -> Any:
    """Return a table with a row for each task, in a series for each task and agent, summed over matches."""
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
            *map(number, (total.played, total.solved, total.failed, total.steps, total.reward)),
            f"{total.reward / max(1, total.steps):z.4f}",
        )
    return rows


def print_notes(played: Sequence[PlayedMatch], *, several: bool, wide: bool = False) -> None:
    """Print the sums of the numbers that agents noted on their turns, if there are any."""
    rows = table(*(("match",) if several else ()), "agent", "noted", numbers=("sum",))
    for match in played:
        for seat in match.result.seats:
            for name, total in seat.stats.noted.items():
                where = [str(match.planned.number)] if several else []
                rows.add_row(*where, sanitize_terminal(seat.agent), label(name), number(total))
    if rows.row_count:
        print_table(rows, wide=wide)


def print_disqualifications(played: Sequence[PlayedMatch], *, several: bool) -> None:
    """Print why agents were disqualified: the reason and the end of its details."""
    for seat, where in _placed_seats(played, several=several):
        if seat.disqualified is None:
            continue
        print(f"{sanitize_terminal(seat.agent)} was disqualified{where}: {seat.disqualified}")
        lines = sanitize_terminal(seat.detail).strip().splitlines()
        if len(lines) > DETAIL_LINES:
            print(f"    ... ({len(lines) - DETAIL_LINES} earlier lines)")
        for line in lines[-DETAIL_LINES:]:
            print(f"    {line}")


def print_illegal_actions(played: Sequence[PlayedMatch], *, several: bool) -> None:
    """Print the first illegal action of each agent that had one, and what it could have played."""
    for seat, where in _placed_seats(played, several=several):
        if seat.stats.illegal_note:
            first = sanitize_terminal(seat.stats.illegal_note)
            print(
                f"{sanitize_terminal(seat.agent)} played {number(seat.stats.illegal)} illegal"
                f" {'action' if seat.stats.illegal == 1 else 'actions'}{where}; the first in {first}"
            )


def _placed_seats(played: Sequence[PlayedMatch], *, several: bool) -> Iterator[tuple[SeatReport, str]]:
    """Yield each seat, and text that names its match if there are several."""
    for match in played:
        where = f" in match {match.planned.number}" if several else ""
        for seat in match.result.seats:
            yield seat, where


def print_journals(played: Sequence[PlayedMatch]) -> None:
    """Print the names of the journals and of the results files."""
    for match in played:
        if match.planned.request.journal is not None:
            print(f"journal: {match.planned.request.journal}")
        if match.planned.results is not None:
            print(f"results: {match.planned.results}")


def as_data(match: PlayedMatch) -> dict[str, Any]:
    """Return a match as an object for JSON; times are in nanoseconds."""
    result, planned = match.result, match.planned
    journal = planned.request.journal
    return {
        "match": planned.number,
        "seed": planned.request.seed,
        "journal": None if journal is None else str(journal),
        "results": None if planned.results is None else str(planned.results),
        "reason": result.reason,
        "turns": result.turns,
        "elapsed_ns": result.elapsed_ns,
        "seats": [
            {
                "agent": seat.agent,
                "disqualified": seat.disqualified,
                "detail": seat.detail,
                "stderr_tail": seat.stderr_tail,
                **attrs.asdict(seat.stats),
                "think_mean_ns": round(_mean_think_ns(seat)),
            }
            for seat in result.seats
        ],
        "tasks": [attrs.asdict(task) for task in result.tasks],
    }
