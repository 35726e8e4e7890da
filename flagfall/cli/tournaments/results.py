"""Results of a tournament: tables of standings, the schedule of `--dry-run`, and the report in a file."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec

from flagfall.cli.console.files import replacing
from flagfall.cli.console.interrupts import say
from flagfall.cli.console.output import (
    MAX_ROWS,
    duration,
    label,
    number,
    print_json,
    print_table,
    print_text,
    table,
)
from flagfall.cli.console.progress import watch_turns
from flagfall.errors import UsageError, suggest
from flagfall.texts import counted, sanitize_terminal
from flagfall.tournament.lock_file import add_made
from flagfall.tournament.standings import (
    FILE_FORMATS,
    agent_rows,
    export,
    match_rows,
    stored_results,
    stored_standings,
)
from flagfall.tournament.stats.differences import Comparisons
from flagfall.tournament.store import Store
from flagfall.tournament.tables import COLUMNS, AgentTable, shown_columns
from flagfall.viewer.report.data import choose, embed_replays, report_data, report_page
from flagfall.viewer.report.source import open_source
from flagfall.viewer.report.two_folders import comparison_data, comparison_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from flagfall.tournament.model import PlannedTask, TournamentPlan
    from flagfall.tournament.records import MatchRecord, MatchSpec
    from flagfall.tournament.standings import ExportRow, Standings
    from flagfall.tournament.stats.differences import Comparison
    from flagfall.tournament.store import StoredPlan
    from flagfall.tournament.tables import AgentRow
    from flagfall.viewer.report.plots import PlotFormat


_TEXTS: Final[dict[str, Callable[[Any, int], str]]] = {
    "interval": lambda value, places: value.text(f"z.{places}f"),
    "number": lambda value, _: number(value),
    "count": lambda value, _: number(value),
    "duration": lambda value, _: duration(value),
    "dollars": lambda value, _: f"${number(value)}",
}
"""Texts of values, by the form of their column."""

_SPARE_OF_TASKS: Final = ("played", "matches", "solved")


def print_standings(shown: Standings, *, wide: bool = False) -> None:
    """Print the standings, also without time losses if there were any, and a table of the tasks."""
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
            row.score.text("z.2f"),
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
    if any(row.duels != row.matches for row in shown.rows):
        note = COLUMNS["duels"].note
        print_text(f"Won, drawn and lost count duels: {note[:1].lower()}{note[1:]}.")
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


START_NS: Final = 400_000_000
"""Time to start and end the process of an agent, on a machine of 2020 with an idle processor."""


def print_schedule(plan: TournamentPlan, folder: Path, jobs: int | None, part: str | None = None) -> None:
    """Print the matches that are known beforehand, and an estimate of the time for those not yet played.

    Matches already played in the folder count. By default as many are played at the same time as the plan
    says, or as there are processors for.
    """
    from flagfall.tournament.formats.schedule import Part, schedule
    from flagfall.tournament.run.engine import jobs_on

    records = _played(plan, folder)
    order = schedule(plan, None if part is None else Part.parse(part, plan))
    known = list(order.walk(records))
    openings = ("opening",) if any(task.openings for task in plan.tasks) else ()
    rows = table("match", "task", "agents", *openings, "seed", "", title=plan.name)
    for spec in known[:MAX_ROWS]:
        texts = [spec.task, ", ".join(spec.entrants), *([str(spec.opening or "")] if openings else [])]
        played = "played" if spec.id in records else ""
        rows.add_row(spec.id, *map(sanitize_terminal, texts), str(spec.seed), played)
    print_table(rows)
    if len(known) > MAX_ROWS:
        print(f"and {number(len(known) - MAX_ROWS)} more")
    summary = counted(len(known), "match", "matches")
    if order.total is None or order.total > len(known):
        most = "" if order.total is None else f", {number(order.total)} at most"
        summary += f" are known so far{most}; the others depend on results"
    print(summary)
    uses = Counter((spec.task, spec.opening) for spec in known)
    for task in (task for task in plan.tasks if task.openings):
        of_task = [uses[task.name, opening] for opening in task.openings]
        least = "" if len({*of_task}) == 1 else f"{number(min(of_task))} to "
        times = f"{least}{counted(max(of_task), 'match', 'matches')}"
        print(f"openings of {sanitize_terminal(task.name)}: {number(len(of_task))}, each for {times}")
    used = jobs or plan.jobs or jobs_on(plan)
    left = [spec for spec in known if spec.id not in records]
    print(f"{used} at the same time; {_estimate(plan, left, known, records, used)}")


def _played(plan: TournamentPlan, folder: Path) -> dict[str, MatchRecord]:
    """Return the records of a tournament that count for this plan; none if there is no such tournament."""
    from flagfall.tournament.store import holds_tournament

    if not holds_tournament(folder):
        return {}
    with closing(Store(folder)) as store:
        growth = store.growth(plan)
        if growth is None:
            return {}
        if growth.changes:
            for line in growth.lines():
                say(f"the plan has changed: {line}")
        records = {record.id: record for record in growth.renamed(store.played().values())}
        store.check(plan, records)
    return records


def _estimate(
    plan: TournamentPlan,
    left: Sequence[MatchSpec],
    known: Iterable[MatchSpec],
    records: Mapping[str, MatchRecord],
    jobs: int,
) -> str:
    if not left:
        return "no match is left to play"
    if plan.clock == "virtual":
        return (
            "on the virtual clock waiting takes no time: some milliseconds a match, and the agents' own time"
        )
    times: dict[str, list[int]] = {}
    for spec in known:
        if spec.id in records:
            times.setdefault(spec.task, []).append(records[spec.id].elapsed_ns)
    if all(spec.task in times for spec in left):
        total = sum(sum(times[spec.task]) / len(times[spec.task]) + START_NS for spec in left)
        return f"about {duration(total / jobs)} for the remaining matches, estimated from those played"
    least = sum(START_NS * len(spec.entrants) for spec in left) / jobs
    longest = [_longest_ns(plan.task(spec.task)) for spec in left]
    if any(one is None for one in longest):
        return f"{duration(least)} at least; the plan does not limit the duration of a match"
    most = sum(one for one in longest if one is not None) / jobs
    return f"from {duration(least)} to {duration(most)}, if every agent takes all of its time"


def _longest_ns(task: PlannedTask) -> int | None:
    """Return the longest time that the turns of a match may take, or `None` if it is not limited."""
    control = task.control
    turn_ns = control.act_hard if control.late == "nil" else control.act
    if task.tick_ns is not None:
        turn_ns = task.tick_ns
    bounds = [task.steps * turn_ns * task.seats] if task.steps is not None and turn_ns is not None else []
    if control.total is not None:
        bounds.append((control.total + (control.grace or 0)) * task.seats)
    return min(bounds, default=None)


def show_comparison(folder: Path, agents: tuple[str, str], *, json: bool, wide: bool) -> None:
    """Print the differences of two agents of a tournament, the first less the second."""
    one, other = agents
    with closing(Store(folder)) as store:
        plan = _begun(folder, store).for_display()
        known = [agent.name for agent in plan.agents]
        for name in agents:
            if name not in known:
                # Names of a folder that somebody sent may hold what a terminal obeys.
                raise UsageError(
                    f"--compare: unknown agent {name!r}{suggest(name, map(sanitize_terminal, known))}"
                )
        if one == other:
            raise UsageError(f"--compare: {one!r} is named twice: name two agents")
        table = AgentTable(plan, stored_results(store, plan).columns)
        found = Comparisons(plan, table.results, table.duels, table.elo).compare(one, other)
    if json:
        print_json(attrs.asdict(found))
    else:
        _print_comparison(found, wide=wide)


def _print_comparison(found: Comparison, *, wide: bool) -> None:
    one, other = map(sanitize_terminal, found.agents)
    rows = table("task", numbers=("meetings", "difference", f"{one} is better"), title=f"{one} less {other}")
    whole = [("all tasks", found.whole)] if len(found.tasks) != 1 else []
    for task, row in [*found.tasks.items(), *whole]:
        score = "" if row.score is None else row.score.text("z.3f")
        rows.add_row(sanitize_terminal(task), number(row.meetings), score, _percent(row.better))
    print_table(rows, wide=wide)
    if (duels := found.duels) is None:
        print("They had no duel.")
        return
    print(f"Duels: {number(duels.won)} won, {number(duels.drawn)} drawn, {number(duels.lost)} lost")
    if any(duels.pairs):
        counts = zip(("0", "1/2", "1", "3/2", "2"), map(number, duels.pairs), strict=True)
        print(f"Pairs of games by points: {', '.join(f'{points}: {count}' for points, count in counts)}")
    print(f"Elo difference: {duels.elo.text('z.0f')} ({100 * duels.elo_level:.0f} % interval)")
    if duels.normalized is not None:
        print(f"Normalized Elo: {duels.normalized.text('z.0f')} (95 % interval)")
    if duels.los is not None:
        print(f"Likelihood of superiority: {_percent(duels.los)}")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _begun(folder: Path, store: Store) -> StoredPlan:
    """Return the plan of a tournament that has begun."""
    stored = store.plan()
    if stored is None:
        raise UsageError(f"{folder}: the tournament has not begun")
    return stored


_SPARE_OF_MATCHES: Final = (
    *("credit_ns", "over_ns", "start_ns", "think_p50_ns", "think_max_ns", "think_p99_ns", "think_ns"),
    *("dropped", "skipped", "absent", "match_turns", "ticks", "game_score", "journal", "elapsed_ns"),
    *("stalls", "tasks", "solved", "attempt", "reward", "illegal", "turns", "late", "seat", "reason"),
)
"""Columns of matches that a narrow terminal does without, the least important first."""


def show_tournament(
    folder: Path, output: Path | None, form: str | None, *, matches: bool, wide: bool = False
) -> None:
    """Print the standings or the matches, or write them to a file.

    Args:
        form: `table`, or one of `flagfall.tournament.standings.FILE_FORMATS`; by default the extension of
            `output`.
        matches: a row for each seat of each match.
    """
    if form == "table" and output is not None:
        raise UsageError(f"{output}: a table can only be printed; for a file use {' or '.join(FILE_FORMATS)}")
    form = form or _format_of(output)
    if form == "parquet" and output is None:
        raise UsageError("Parquet is a binary format: name a file with --output")
    with closing(Store(folder)) as store:
        stored = _begun(folder, store)
        if matches:
            if form == "table":
                _print_matches(store.records(), wide=wide)
            else:
                _write(match_rows(store.records()), output, form)
            return
        stands = stored_standings(store, stored.for_display())
        remarks = store.remarks()
    if form == "table":
        print_standings(stands, wide=wide)
        _print_voids(remarks)
    elif form == "json" and output is None:
        print_json(stands.as_data())
    else:
        _write(agent_rows(stands), output, form)


def _format_of(output: Path | None) -> str:
    if output is None:
        return "table"
    form = output.suffix.removeprefix(".")
    if form not in FILE_FORMATS:
        raise UsageError(
            f"{output}: unknown extension; use one of {', '.join(f'.{name}' for name in FILE_FORMATS)}"
        )
    return form


def _print_matches(records: Iterator[MatchRecord], *, wide: bool) -> None:
    """Print a row for each seat of the first matches."""
    rows = match_rows(islice(records, MAX_ROWS))
    shown = table(*("disqualified" if name == "fell" else name for name in (rows[0] if rows else ())))
    for row in rows:
        shown.add_row(*("" if value is None else sanitize_terminal(str(value)) for value in row.values()))
    print_table(shown, spare=_SPARE_OF_MATCHES, wide=wide)
    if next(records, None) is not None:
        print(f"These are the first {number(MAX_ROWS)} matches; --output FILE.csv writes all of them.")


def _write(rows: Sequence[ExportRow], output: Path | None, form: str) -> None:
    """Write rows to a file or to the standard output."""
    data = export(rows, form)
    if output is None:
        sys.stdout.write(data.decode())
        return
    with replacing(output) as file:
        file.buffer.write(data)


def _print_voids(records: Sequence[MatchRecord]) -> None:
    """Print how faults and stalls of the host affected the matches, of which these have remarks."""
    voids = [record for record in records if record.status == "void"]
    marked = [record for record in records if record.status == "played" and record.why]
    if voids:
        print(f"Void and played again: {len(voids)}; the last: {_reason(voids[-1])}")
    if marked:
        print(f"Counted though the host stalled: {len(marked)}; the last: {_reason(marked[-1])}")


def _reason(record: MatchRecord) -> str:
    return sanitize_terminal(f"{record.id}, {record.why}")


def write_report(
    folder: Path, output: Path, *, embed: int = 0, plots: Path | None = None, form: PlotFormat = "png"
) -> list[Path]:
    """Write the report of a tournament; return the files of the plots, if a folder for them is given.

    Args:
        output: the file of the page; it is replaced when the page is complete.
        embed: number of matches whose replays are embedded.
    """
    with open_source(folder) as source:
        chosen = choose(source, embed)
        with watch_turns("embedding replays") as watch:
            embedded, blocks = embed_replays(chosen, say, watch)
        data = report_data(source, embedded, target=output.parent)
    page = report_page(data, blocks)
    with replacing(output) as writing:
        writing.write(page.decode())
    add_made(folder, output)
    if plots is None:
        return []
    from flagfall.viewer.report.plots import write_plots

    return write_plots(data, plots, form)


def write_comparison(first: Path, second: Path, output: Path) -> None:
    """Write how two tournaments differ: a page, or its data as JSON by the ending of the file."""
    with open_source(first) as one, open_source(second) as other:
        data = comparison_data(one, other)
    text = (
        msgspec.json.format(msgspec.json.encode(data)) if output.suffix == ".json" else comparison_page(data)
    )
    with replacing(output) as writing:
        writing.write(text.decode())
    for folder in (first, second):
        add_made(folder, output)
