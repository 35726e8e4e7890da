"""Tables of a tournament's standings."""

from __future__ import annotations

__all__ = ["print_standings"]

from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from flagfall.cli.console.output import duration, label, number, print_table, table
from flagfall.terminal_text import sanitize_terminal
from flagfall.tournament.tables.agents import shown_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from flagfall.tournament.standings import Standings
    from flagfall.tournament.stats.intervals import Interval
    from flagfall.tournament.tables.agents import AgentRow


def _interval(value: Interval, places: int) -> str:
    if value.low is None or value.high is None:
        return f"{value.value:z.{places}f}"
    return f"{value.value:z.{places}f} [{value.low:z.{places}f}, {value.high:z.{places}f}]"


_TEXTS: Final[Mapping[str, Callable[[Any, int], str]]] = MappingProxyType(
    {
        "interval": _interval,
        "spread": lambda value, places: f"{value.mu:z.{places}f} ± {value.sigma:.{places}f}",
        "number": lambda value, _: number(value),
        "count": lambda value, _: number(value),
        "duration": lambda value, _: duration(value),
    }
)
"""Texts of values, by the form of their column."""

_SPARE_OF_TASKS: Final = ("disq.", "played", "solved", "matches")


def print_standings(shown: Standings, *, wide: bool = False) -> None:
    """Print the standings, also without time losses if there were any, and a table of the tasks.

    Args:
        shown: standings of a tournament.
        wide: leave out no column, however long the lines are.
    """
    title = "Standings" if shown.over else "Standings so far"
    columns = [column for column in shown_columns("terminal") if column.spare is not None]
    spare = [column.heading for column in sorted(columns, key=attrgetter("spare"))]
    print_table(_agents(title, shown.rows), spare=spare, wide=wide)
    if shown.timeless:
        timeless = _agents("Without matches in which the clock disqualified an agent", shown.timeless)
        print_table(timeless, spare=spare, wide=wide)
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
    columns = {
        column.heading: [
            "" if (value := row.values[column.key]) is None else _TEXTS[column.form](value, column.decimals)
            for row in agents
        ]
        for column in shown_columns("terminal")
    }
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    rows = table("place", "agent", numbers=tuple(kept), title=title)
    for place, row in enumerate(agents):
        rows.add_row(str(row.place), sanitize_terminal(row.agent), *(cells[place] for cells in kept.values()))
    return rows
