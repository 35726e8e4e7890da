"""Results of matches, played or recorded: tables for people, plain data for `--json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.cli.console.output import MAX_ROWS, duration, label, number, print_table, table
from flagfall.kernel.outcomes import MatchResult, SeatReport, TaskStats
from flagfall.texts import counted, sanitize_terminal
from flagfall.tournament.records import Decision, decide_match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flagfall.cli.runs.plan import PlannedMatch
    from flagfall.testing.simulation.match import SimulatedRun

SHOWN_LINES: Final = 20
"""Lines shown of what an agent printed, and of the details of a disqualification, from the end; `--json` and
the journal have more of them."""

SHOWN_CHARS: Final = 500
"""Characters shown of each of these lines: an agent may print a megabyte without a line break."""


@attrs.frozen
class PlayedMatch:
    """A match with its result.

    Attributes:
        planned: the match as it was planned; `None` for one that was read from a journal.
        has_rewards: see `flagfall.recording.match_result.ResultReader`.
    """

    planned: PlannedMatch | None
    result: MatchResult
    has_rewards: bool = True

    def decision(self) -> Decision:
        """Return who has won."""
        seats = self.result.seats
        rewards, lost = [seat.stats.reward for seat in seats], [seat.lost_by for seat in seats]
        return decide_match(self.result.reason, rewards, lost, has_rewards=self.has_rewards)


_SPARE: Final = (
    *("per turn", "dropped", "played", "failed", "max think", "sd"),
    *("solved", "mean think", "mean return", "turns", "illegal", "late"),
)
"""Columns of seats that a narrow terminal does without, the least important first."""

_SPARE_OF_TASKS: Final = ("per step", "failed", "played", "steps")


def print_results(played: Sequence[PlayedMatch], *, several: bool, wide: bool = False) -> None:
    """Print who won, a table of the seats and a table of the tasks.

    Args:
        several: whether the run consists of more than one match; then rows name the match or the agent.
        wide: leave out no column, however long the lines are.
    """
    numbers = ("turns", "reward", "mean return", "sd", "per turn", "played", "solved", "failed", "late")
    has_seats = any(len(match.result.seats) > 1 for match in played)
    words = (*(["match"] if several else []), "agent", *(["seat"] if has_seats else []), "verdict")
    seats = table(*words, numbers=(*numbers, "illegal", "dropped", "mean think", "max think"))
    for place, match in enumerate(played):
        if len(match.result.seats) > 1:
            print(f"match {place}: {_winner(match)}" if several else _winner(match))
        for index, seat in enumerate(match.result.seats):
            agent, *row = _seat_row(match, seat)
            seats.add_row(
                *([str(place)] if several else []), agent, *([str(index)] if has_seats else []), *row
            )
    print_table(seats, spare=_SPARE, wide=wide)
    print_table(_task_table(played, several=several), spare=_SPARE_OF_TASKS, wide=wide)


def _winner(match: PlayedMatch) -> str:
    """Return a line that says which seat has won, with its agent and the rewards."""
    seats, decision = match.result.seats, match.decision()
    scores, winners = decision.scores, decision.winners
    if not winners:
        return f"no winner: {decision.why}"
    named = ", ".join(f"{sanitize_terminal(seats[place].agent)} (seat {place})" for place in winners)
    order = sorted(range(len(seats)), key=lambda place: -scores[place])
    how = decision.why or f"rewards {' to '.join(number(seats[place].stats.reward) for place in order)}"
    return f"{'winner' if len(winners) == 1 else 'draw'}: {named}; {how}"


def _seat_row(match: PlayedMatch, seat: SeatReport) -> list[str]:
    stats, result = seat.stats, match.result
    fields = ("played", "solved", "failed")
    outcomes = [sum(getattr(task, field) for task in result.tasks) for field in fields]
    is_known = match.has_rewards
    return [
        sanitize_terminal(seat.agent),
        result.reason
        if seat.disqualified is None
        else f"disqualified: {sanitize_terminal(seat.disqualified)}",
        number(stats.turns),
        number(stats.reward) if is_known else "",
        number(stats.return_mean) if stats.episodes and is_known else "",
        "" if stats.return_sd is None else number(stats.return_sd),
        f"{stats.reward / max(1, stats.turns):z.4f}" if is_known else "",
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
    for (task_id, agents), total in sorted(sums.items(), key=lambda item: order[item[0][0]])[:MAX_ROWS]:
        rows.add_row(
            sanitize_terminal(task_id),
            *([sanitize_terminal(agents)] if several else []),
            *map(number, (total.played, total.solved, total.failed, total.steps, total.reward)),
            f"{total.reward / max(1, total.steps):z.4f}",
        )
    return rows


def print_notes(played: Sequence[PlayedMatch], *, several: bool, wide: bool = False) -> None:
    """Print the sums of the numbers that agents noted on their turns, if there are any."""
    rows = table(*(("match",) if several else ()), "agent", "noted", numbers=("sum",))
    for place, match in enumerate(played):
        for seat in match.result.seats:
            for name, total in seat.stats.noted.items():
                where = [str(place)] if several else []
                rows.add_row(*where, sanitize_terminal(seat.agent), label(name), number(total))
    if rows.row_count:
        print_table(rows, wide=wide)


def print_incidents(played: Sequence[PlayedMatch], *, several: bool) -> None:
    """Print for each seat what went wrong, and of a single match what its agent printed.

    That is the first illegal action with what it could have played, and why it was disqualified: the reason
    and the end of its details.
    """
    for seat, who, where in _placed_seats(played, several=several):
        if seat.stats.illegal_note:
            first = sanitize_terminal(seat.stats.illegal_note)
            print(
                f"{who} played {counted(seat.stats.illegal, 'illegal action')}{where}; the first in {first}"
            )
        if seat.disqualified is not None:
            print(f"{who} was disqualified{where}: {sanitize_terminal(seat.disqualified)}")
            _print_end(seat.detail)
    if not several:
        for seat, who, _ in _placed_seats(played, several=several):
            last = seat.stderr_tail.rpartition("\n")[2]
            if last and last not in seat.detail:  # details of agents in processes end with what they printed
                print(f"{who} printed:")
                parts = (
                    f"\n... ({of.left_out:,} bytes left out)\n" * (of.left_out > 0) + of.text
                    for of in seat.printed
                )
                _print_end("".join(parts))


def _print_end(text: str) -> None:
    """Print the last lines of a text, each of bounded length."""
    lines = sanitize_terminal(text).strip().splitlines()
    if len(lines) > SHOWN_LINES:
        print(f"    ... ({len(lines) - SHOWN_LINES} earlier lines)")
    for line in lines[-SHOWN_LINES:]:
        print(f"    {line if len(line) <= SHOWN_CHARS else f'{line[:SHOWN_CHARS]}...'}")


def _placed_seats(played: Sequence[PlayedMatch], *, several: bool) -> Iterator[tuple[SeatReport, str, str]]:
    """Yield each seat, with text that names its agent, and text that names its match if there are several."""
    for place, match in enumerate(played):
        where = f" in match {place}" if several else ""
        for index, seat in enumerate(match.result.seats):
            of_several = f" (seat {index})" if len(match.result.seats) > 1 else ""
            yield seat, f"{sanitize_terminal(seat.agent)}{of_several}", where


def print_journals(played: Sequence[PlayedMatch]) -> None:
    """Print the names of the journals and of the results files."""
    for planned in (match.planned for match in played):
        if planned is not None and planned.request.journal is not None:
            print(f"journal: {planned.request.journal}")
        if planned is not None and planned.results is not None:
            print(f"results: {planned.results}")


_INNER: Final = frozenset({"is_cut", "return_squares"})
"""Statistics of a seat that say nothing to a reader."""

_NOT_RECORDED: Final = frozenset({"skipped"})
"""Statistics of a seat that no journal has."""


def print_faults(simulated: Sequence[SimulatedRun]) -> None:
    """Print which faults have struck in simulated matches, and how many of the schedule have not."""
    for run in simulated:
        struck = ", ".join(f"{kind} {times}" for kind, times in sorted(run.happened.items())) or "none"
        missed = "".join(f"; did not happen: {fault}" for fault in run.missed)
        print(f"faults: {struck}{missed}")


def result_data(match: PlayedMatch) -> dict[str, Any]:
    """Return the result of a match as an object for JSON; times are in nanoseconds."""
    result, decision = match.result, match.decision()
    unknown = _INNER if match.planned is not None else _INNER | _NOT_RECORDED
    return {
        "reason": result.reason,
        "turns": result.turns,
        "elapsed_ns": result.elapsed_ns,
        "winners": decision.winners,
        "seats": [
            {
                "agent": seat.agent,
                "disqualified": seat.disqualified,
                "detail": seat.detail,
                "stderr_tail": seat.stderr_tail,
                "printed": [
                    {"turn": of.turn, "text": of.text, "left_out": of.left_out} for of in seat.printed
                ],
                "score": decision.scores[place] if decision.scores else None,
                **attrs.asdict(seat.stats, filter=lambda field, _: field.name not in unknown),
                "return_sd": seat.stats.return_sd,
                **({} if match.has_rewards else dict.fromkeys(("reward", "return_mean"))),
                "think_mean_ns": round(_mean_think_ns(seat)),
            }
            for place, seat in enumerate(result.seats)
        ],
        "tasks": [attrs.asdict(task) for task in result.tasks],
    }


def as_data(match: PlayedMatch) -> dict[str, Any]:
    """Return a match of a run as an object for JSON."""
    planned = match.planned
    assert planned is not None
    journal = planned.request.journal
    return {
        "match": planned.number,
        "seed": planned.request.seed,
        "journal": None if journal is None else str(journal),
        "results": None if planned.results is None else str(planned.results),
        **result_data(match),
    }
