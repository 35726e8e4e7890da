"""Tables of a tournament's standings."""

from __future__ import annotations

__all__ = ["print_standings"]

from typing import TYPE_CHECKING, Any, Final

from flagfall.cli.console.output import duration, label, number, print_table, table
from flagfall.terminal_text import sanitize_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagfall.tournament.standings import Standings
    from flagfall.tournament.stats.intervals import Interval
    from flagfall.tournament.tables.agents import AgentRow


def _interval(value: Interval | None, places: int) -> str:
    if value is None:
        return ""
    if value.low is None or value.high is None:
        return f"{value.value:z.{places}f}"
    return f"{value.value:z.{places}f} [{value.low:z.{places}f}, {value.high:z.{places}f}]"


def _skill(row: AgentRow) -> str:
    return "" if row.skill is None else f"{row.skill.mu:z.1f} ± {row.skill.sigma:.1f}"


_COLUMNS: Final[dict[str, Callable[[AgentRow], str]]] = {
    "points": lambda row: "" if row.points is None else number(row.points),
    "Buchholz": lambda row: "" if row.buchholz is None else number(row.buchholz),
    "score": lambda row: _interval(row.score, 2),
    "Elo": lambda row: _interval(row.elo, 0),
    "skill": _skill,
    "matches": lambda row: number(row.matches),
    "won": lambda row: number(row.wins),
    "drawn": lambda row: number(row.draws),
    "lost": lambda row: number(row.losses),
    "late": lambda row: number(row.late),
    "disq. late": lambda row: number(row.time_losses),
    "disq. other": lambda row: number(row.crashes),
    "illegal": lambda row: number(row.illegal),
    "p50": lambda row: duration(row.think_p50_ns),
    "p99": lambda row: duration(row.think_p99_ns),
}


_SPARE: Final = (
    "p50",
    "Buchholz",
    "illegal",
    "drawn",
    "lost",
    "won",
    "disq. other",
    "p99",
    "matches",
    "disq. late",
    "late",
    "skill",
)
"""Columns that a narrow terminal does without, the least important first."""

_SPARE_OF_TASKS: Final = ("disq.", "played", "solved", "matches")


def print_standings(shown: Standings, *, wide: bool = False) -> None:
    """Print the standings, also without time losses if there were any, and a table of the tasks.

    Args:
        shown: standings of a tournament.
        wide: leave out no column, however long the lines are.
    """
    title = "Standings" if shown.over else "Standings so far"
    print_table(_agents(title, shown.rows), spare=_SPARE, wide=wide)
    if shown.timeless:
        timeless = _agents("Without matches in which the clock disqualified an agent", shown.timeless)
        print_table(timeless, spare=_SPARE, wide=wide)
    rows = table(
        "task", "agent", numbers=("matches", "score", "reward", "solved", "played", "disq."), title="Tasks"
    )
    for row in shown.tasks:
        counts = map(number, (row.solved, row.tasks, row.fell))
        rows.add_row(
            sanitize_terminal(row.task),
            sanitize_terminal(row.agent),
            number(row.matches),
            _interval(row.score, 2),
            number(row.reward),
            *counts,
        )
    print_table(rows, spare=_SPARE_OF_TASKS, wide=wide)
    if shown.noted:
        rows = table("agent", "noted", numbers=("sum", "a match"), title="Notes of agents")
        for noted in shown.noted:
            sums = map(number, (noted.total, noted.total / noted.matches))
            rows.add_row(sanitize_terminal(noted.agent), label(noted.name), *sums)
        print_table(rows, wide=wide)
    if shown.sprt is not None:
        test = shown.sprt
        decision = f"{test.decision} accepted" if test.decision else "undecided"
        print(f"SPRT: LLR {test.llr:.2f} in [{test.lower:.2f}, {test.upper:.2f}], {decision}")
    for note in shown.notes:
        print(f"Note: {sanitize_terminal(note)}")


def _agents(title: str, agents: Sequence[AgentRow]) -> Any:
    """Return a table without columns that are empty for all agents."""
    columns = {name: [text(row) for row in agents] for name, text in _COLUMNS.items()}
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    rows = table("place", "agent", numbers=tuple(kept), title=title)
    for place, row in enumerate(agents):
        rows.add_row(str(row.place), sanitize_terminal(row.agent), *(cells[place] for cells in kept.values()))
    return rows
