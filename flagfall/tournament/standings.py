"""Standings of a tournament: ranks with their uncertainty, and use of time. Pure, from records.

*Score*: of the games at a task, the share of the other agents that an agent beat, 0.5 if it equals all of
them; games of one meeting count together, tasks count alike. *Elo* comes from duels, and *skill* in the same
way from games for more than two seats; see `flagfall.tournament.stats.elo`. An agent is ranked by its Elo or
the rating that the plan names, or by its score if it has none; in a Swiss tournament by points, in a knockout
by the rounds that it survived, and under Formula One scoring by points for its place on each task.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from flagfall.errors import UsageError
from flagfall.texts import one_line
from flagfall.timing.latency import NONE
from flagfall.tournament.columns import NOT_DISQUALIFIED, ResultColumns, columns_of
from flagfall.tournament.database import Disqualified, NotedSum, disqualified_in, noted_sums
from flagfall.tournament.formats.schedule import most_matches, schedule
from flagfall.tournament.model import FORMULA_ONE, Points, TournamentPlan
from flagfall.tournament.records import MATCH_FIELDS, SEAT_FIELDS, MatchRecord, Records
from flagfall.tournament.scoring import rank_key, rank_totals
from flagfall.tournament.stats.duels import SprtState
from flagfall.tournament.store import Store
from flagfall.tournament.tables import COLUMNS, AgentRow, AgentTable, RankKeys, drawn_column
from flagfall.tournament.task_tables import TaskRow, task_rows, task_totals

_MAX_REMARKS: Final = 20
"""Most remarks on disqualifications; `Standings.disqualified` has all."""


@attrs.frozen(kw_only=True)
class Standings:
    """Standings of a tournament.

    Attributes:
        timeless: the same without matches in which an agent was disqualified by the clock; empty if there are
            none.
        over: no match is left to play.
        disqualified: for what agents were disqualified, and how often.
        drawn: key of the column whose intervals pages draw; no part of `as_data`.
        table: what the rows come from; no part of `as_data`.
    """

    rows: tuple[AgentRow, ...]
    timeless: tuple[AgentRow, ...]
    tasks: tuple[TaskRow, ...]
    sprt: SprtState | None
    over: bool
    noted: tuple[NotedSum, ...]
    disqualified: tuple[Disqualified, ...]
    notes: tuple[str, ...]
    drawn: str
    table: AgentTable = attrs.field(eq=False, repr=False)

    def as_data(self) -> dict[str, Any]:
        """Return the standings as plain data for JSON."""
        data = attrs.asdict(self, filter=lambda field, _: field.name not in {"drawn", "table"})
        data |= {name: [row.as_data() for row in getattr(self, name)] for name in ("rows", "timeless")}
        if self.sprt is not None:
            data["sprt"]["decision"] = self.sprt.decision
            data["sprt"]["counts"] = {str(outcome): n for outcome, n in self.sprt.counts.items()}
        return data


@attrs.frozen(kw_only=True, eq=False)
class StoredResults:
    """Results of a tournament, from which its standings are computed.

    Attributes:
        columns: the matches that count.
        records: their records by id; `None` where the columns were read without them.
        sprt: state of the sequential test; `None` if the plan has none.
        over: no match is left to play.
        noted: sums of the numbers that agents noted on their turns.
        disqualified: for what agents were disqualified, and how often.
        remarks: what the format has to say.
    """

    columns: ResultColumns
    records: Mapping[str, MatchRecord] | None
    points: Points
    sprt: SprtState | None
    over: bool
    noted: tuple[NotedSum, ...]
    disqualified: tuple[Disqualified, ...]
    remarks: tuple[str, ...] = ()

    def standings(self, plan: TournamentPlan) -> Standings:
        """Return the standings."""
        results, points = self.columns, self.points
        keys: RankKeys = {agent: (own, buchholz or 0.0) for agent, (own, buchholz) in points.items()}
        if plan.scoring == FORMULA_ONE:
            names = [agent.name for agent in plan.agents]
            keys = rank_key(names, rank_totals(plan, task_totals(plan, results)))
            points = {agent: (float(key[0]), None) for agent, key in keys.items()}
        table = AgentTable(plan, results, points, self.noted)
        timeless = results.without_time_losses()
        rows = table.rows(keys)
        why = [one.remark() for one in self.disqualified if one.detail][:_MAX_REMARKS]
        return Standings(
            rows=rows,
            timeless=() if timeless is results else AgentTable(plan, timeless).rows({}),
            tasks=tuple(task_rows(plan, results)),
            sprt=self.sprt,
            over=self.over,
            noted=self.noted,
            disqualified=self.disqualified,
            notes=(*table.remarks, *self.remarks, *_think_notes(plan), *why),
            drawn=drawn_column(plan.scoring, rows).key,
            table=table,
        )


def _think_notes(plan: TournamentPlan) -> Iterator[str]:
    """Yield a note on the clock and the models of latency of the agents, if they have any."""
    names: dict[str, list[str]] = {}
    for agent in plan.agents:
        names.setdefault(str(agent.think or NONE), []).append(agent.name)
    models = [text if len(names) == 1 else f"{text} ({', '.join(of)})" for text, of in names.items()]
    if [*names] != [NONE]:
        yield one_line(f"think time, on the virtual clock: {'; '.join(models)}")


def _results_of(plan: TournamentPlan, records: Records) -> StoredResults:
    order = schedule(plan)
    return StoredResults(
        columns=columns_of(plan, order.played(records)),
        records=records,
        points=plan.format.ranks(plan, records),
        sprt=order.sprt(records),
        over=order.over(records),
        noted=noted_sums(records.values()),
        disqualified=disqualified_in(records.values()),
        remarks=tuple(plan.format.remarks(plan, records)),
    )


def compute_standings(plan: TournamentPlan, records: Records) -> Standings:
    """Return the standings of a tournament.

    Args:
        records: the records of the matches that count.
    """
    return _results_of(plan, records).standings(plan)


def stored_results(store: Store, plan: TournamentPlan) -> StoredResults:
    """Return the results of a stored tournament, whose records are checked against the plan.

    Raises:
        DamagedStore: a record cannot be read, or is not a match of the plan.
    """
    columns = store.columns(plan)
    if columns is None:
        return _results_of(plan, store.played(plan))
    has_disqualified = (columns.disqualified != NOT_DISQUALIFIED).any()
    over = len(columns) >= most_matches(plan)
    return StoredResults(
        columns=columns,
        records=None,
        points={},
        sprt=None,
        over=over,
        noted=store.noted(),
        disqualified=store.disqualified() if has_disqualified else (),
    )


def stored_standings(store: Store, plan: TournamentPlan) -> Standings:
    """Return the standings of a stored tournament; see `stored_results`."""
    return stored_results(store, plan).standings(plan)


ExportRow: TypeAlias = dict[str, Any]
"""Numbers and texts by column; all rows of a table have the same columns."""

_SEAT: Final = SEAT_FIELDS[:-1]
"""Without the distribution of turn times."""


def agent_rows(standings: Standings) -> list[ExportRow]:
    """Return a row for each agent: the columns of `COLUMNS`, and those of the ends of intervals."""
    return [_flat(row) for row in standings.rows]


def _flat(row: AgentRow) -> ExportRow:
    flat: ExportRow = {"place": row.place, "agent": row.agent}
    for name, value in row.values.items():
        if COLUMNS[name].form != "interval":
            flat[name] = value
            continue
        for part, column in (("value", name), ("low", f"{name}_low"), ("high", f"{name}_high")):
            flat[column] = None if value is None else getattr(value, part)
    return flat


def match_rows(records: Iterable[MatchRecord]) -> list[ExportRow]:
    """Return a row for each seat of each match, and a single one for a void match without seats."""
    rows = []
    for record in records:
        match = {name: getattr(record, name) for name in MATCH_FIELDS}
        match["match_turns"] = match.pop("turns")
        if not record.seats:
            rows.append({**match, "seat": None, **dict.fromkeys(_SEAT)})
        for number, seat in enumerate(record.seats):
            rows.append({**match, "seat": number, **{name: getattr(seat, name) for name in _SEAT}})
    return rows


def _csv(rows: Sequence[ExportRow]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(rows: Sequence[ExportRow]) -> bytes:
    return json.dumps(rows, indent=2).encode() + b"\n"


def _parquet(rows: Sequence[ExportRow]) -> bytes:
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        what = "Parquet needs pyarrow: pip install 'flagfall[parquet]'; or use csv or json"
        raise UsageError(what) from None
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(list(rows)), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


FILE_FORMATS: Final[Mapping[str, Callable[[Sequence[ExportRow]], bytes]]] = MappingProxyType(
    {"csv": _csv, "json": _json, "parquet": _parquet}
)
"""Writers of rows, by the name of the file format."""


def check_format(form: str) -> None:
    """Check beforehand that rows can be written in a file format.

    Args:
        form: a key of `FILE_FORMATS`.

    Raises:
        UsageError: a library that it needs is not installed.
    """
    FILE_FORMATS[form]([])


def export(rows: Sequence[ExportRow], form: str) -> bytes:
    """Return rows as the content of a file.

    Args:
        rows: all with the same columns.
    """
    return FILE_FORMATS[form](rows)
