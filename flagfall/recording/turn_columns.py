"""Turns of a journal as columns: arrays of numpy, and tables of pandas, polars and Arrow.

A row is a turn of a seat. Where all values of a column are whole numbers or all are real numbers, it is an
array of these; where all are arrays of one shape and dtype, these are its rows; otherwise it is an array of
objects. A journal is read batch by batch into blocks of `BLOCK_ROWS` rows or `BLOCK_BYTES`, so besides the
columns themselves little memory is needed.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import attrs
import numpy as np

from flagfall.errors import UsageError
from flagfall.events import MAX_WHOLE, Event, MatchStarted, SeatReady, TaskStarted, TurnPlayed
from flagfall.recording.journal.reader import JournalError, read_journal
from flagfall.recording.turn_limits import LimitsOfTurns
from flagfall.recording.turn_values import Cells, Column, Form, column_of, joined, objects, size_of

BLOCK_ROWS: Final = 65_536
"""Rows that are collected as Python objects before they become arrays: some 20 MB of plain turns."""

BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Size of observations, actions and notes with which a block ends earlier: 1,500 pictures of 84 x 84."""

_NONE: Final = -1

_WHOLE: Final = ("turn", "seat", "index", "at_ns", "spent_ns", "credit_ns")
"""Columns of whole numbers."""

_WHOLE_OR_NONE: Final = ("soft_limit_ns", "hard_limit_ns", "bank_ns", "answers")
"""Columns of whole numbers, with `_NONE` where a turn has none."""

_NAMES: Final = ("agent", "task", "verdict")
"""Columns of texts that recur; an array has one object for all that are equal."""

COLUMNS: Final = (
    *("turn", "seat", "agent", "task", "index", "at_ns", "spent_ns", "credit_ns", "verdict"),
    *("soft_limit_ns", "hard_limit_ns", "bank_ns"),
    *("observation", "reward", "action", "answers", "refused", "note"),
)
"""All columns, in their order; `docs/analysis.md` describes them."""

_VALUES: Final = ("observation", "reward", "action", "note")
"""Columns of values of any kind."""


@attrs.frozen(eq=False, repr=False)
class Turns(Mapping[str, Column]):
    """Turns of a match as a mapping from the names in `COLUMNS` to arrays of one length.

    Attributes:
        header: the first event of the journal: tasks, agents, seed, time control.
        problem: the damage or the cut before which the turns end, as one line; empty for a complete journal.
    """

    header: MatchStarted
    problem: str = ""
    _columns: dict[str, Column] = attrs.field(factory=dict)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Return the number of columns, as of every mapping; `rows` is the number of turns."""
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<Turns: {self.rows} rows, {len(self)} columns>"

    @property
    def rows(self) -> int:
        """Return the number of turns; with several seats, of turns of each of them."""
        return len(self._columns["turn"])

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`.

        Agents, tasks and verdicts are categories. An array is the list of its numbers in C order, with its
        shape and dtype in further columns. Where the values of a column have no common type, and where they
        are neither numbers nor arrays, they are JSON text.

        Raises:
            UsageError: pandas is not installed.
        """
        pandas = _library("pandas", "to_pandas")
        return pandas.DataFrame({of.name: _pandas_column(pandas, of) for of in table_cells(self)})

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`; the columns are as in `to_pandas`.

        Raises:
            UsageError: polars is not installed.
        """
        polars = _library("polars", "to_polars")
        return polars.DataFrame([_polars_column(polars, of) for of in table_cells(self)])

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`; the columns are as in `to_pandas`.

        Raises:
            UsageError: pyarrow is not installed.
        """
        arrow = _library("pyarrow", "to_arrow")
        return arrow.table({of.name: arrow_column(arrow, of) for of in table_cells(self)})


def read_turns(path: str | os.PathLike[str], *, partial: bool = False) -> Turns:
    """Read all turns of a journal.

    A turn takes 144 bytes if observation and action are whole numbers; other values take what their objects
    take. `iter_turns` needs memory for one block only.

    Args:
        path: the journal; compressed if its name ends in `.zst`.
        partial: return the turns before the damage or the cut of a journal, which is described in
            `Turns.problem`, instead of raising an exception.

    Raises:
        JournalTruncated: the journal has no end, and `partial` is false.
        JournalError: it cannot be read or was changed, and `partial` is false; or it has no beginning.
    """
    blocks: list[Turns] = []
    problem = ""
    try:
        for block in iter_turns(path):
            blocks.append(block)  # noqa: PERF402 - those before an exception are kept
    except JournalError as error:
        if not partial or not blocks:
            raise
        problem = str(error)
    columns = {name: joined([block[name] for block in blocks]) for name in COLUMNS}
    return Turns(blocks[0].header, problem, columns)


def iter_turns(path: str | os.PathLike[str], rows: int = BLOCK_ROWS) -> Iterator[Turns]:
    """Yield the turns of a journal in blocks, in constant memory.

    A column that is whole numbers in one block may be objects in the next one.

    Args:
        rows: number of rows of each block but the last, or of fewer that have `BLOCK_BYTES`; at least one
            block is yielded.

    Raises:
        JournalTruncated: the journal has no end; all blocks that can be read were yielded before.
        JournalError: it cannot be read, or was changed.
        UsageError: `rows` is less than 1.
    """
    if rows < 1:
        raise UsageError(f"a block of turns has at least 1 row, not {rows}")
    block = _Block()
    yielded = False
    problem: JournalError | None = None
    events = read_journal(path)
    while True:
        try:
            event = next(events, None)
        except JournalError as error:
            event, problem = None, error
        if event is None:
            break
        block.take(event)
        if block.is_full(rows):
            yield block.flush()
            yielded = True
    if block.header is not None and (len(block) or not yielded):
        yield block.flush()
    if problem is not None:
        raise problem


class _Block:
    """Collects the rows of one block."""

    def __init__(self) -> None:
        self.header: MatchStarted | None = None
        self._limits: LimitsOfTurns | None = None
        self._task: tuple[str, int] = ("", _NONE)
        self._turns: list[TurnPlayed] = []
        self._more: list[tuple[Any, ...]] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._turns)

    def is_full(self, rows: int) -> bool:
        """Return whether the block has this many rows, or `BLOCK_BYTES`."""
        return len(self._turns) >= rows or self._bytes >= BLOCK_BYTES

    def take(self, event: Event) -> None:
        """Take the next event of the journal."""
        if type(event) is TurnPlayed:
            assert self._limits is not None
            self._turns.append(event)
            self._more.append((*self._task, *self._limits.take_turn(event)))
            self._bytes += size_of(event.observation) + size_of(event.action) + size_of(event.note)
        elif isinstance(event, TaskStarted):
            self._task = (event.task, event.index)
        elif isinstance(event, SeatReady) and self._limits is not None:
            self._limits.take_start(event)
        elif isinstance(event, MatchStarted):
            self.header, self._limits = event, LimitsOfTurns(event)

    def flush(self) -> Turns:
        """Return the rows so far as columns, and begin the next block."""
        assert self.header is not None
        turns = self._turns
        agents = [self.header.settings_at(turn.turn).agents for turn in turns]
        more = zip(*self._more, strict=True) if turns else ((),) * 5
        given: dict[str, Any] = dict(
            zip(("task", "index", "soft_limit_ns", "hard_limit_ns", "bank_ns"), more, strict=True)
        )
        given["agent"] = [
            names[turn.seat] if 0 <= turn.seat < len(names) else None
            for turn, names in zip(turns, agents, strict=True)
        ]
        columns: dict[str, Column] = {}
        for name in COLUMNS:
            values = given[name] if name in given else [getattr(turn, name) for turn in turns]
            if name in _WHOLE_OR_NONE:
                # The bank of a forged time control can grow beyond all whole numbers.
                values = [_NONE if value is None else min(value, MAX_WHOLE) for value in values]
            if name in _VALUES:
                columns[name] = column_of(values)
            else:
                is_whole = name in _WHOLE or name in _WHOLE_OR_NONE
                columns[name] = np.array(values, np.int64) if is_whole else objects(values)
        self._turns, self._more, self._bytes = [], [], 0
        return Turns(self.header, "", columns)


def forms_of(blocks: Iterable[Turns]) -> dict[str, Form]:
    """Return what the columns of a table are that has these blocks, for `table_cells`."""
    forms = {name: Form() for name in _VALUES}
    for turns in blocks:
        for name, form in forms.items():
            form.take(turns[name])
    return forms


def table_cells(turns: Turns, forms: Mapping[str, Form] | None = None) -> Iterator[Cells]:
    """Yield the columns of a table.

    Args:
        forms: what the columns of the whole table are, if these turns are a part of it.
    """
    forms = forms_of([turns]) if forms is None else forms
    for name, column in turns.items():
        if name in forms:
            yield from forms[name].cells(name, column)
        elif name in _WHOLE_OR_NONE:
            yield Cells.counts(name, column)
        elif name in _WHOLE:
            yield Cells(name, "numbers", column)
        else:
            yield Cells(name, "names" if name in _NAMES else "texts", column)


def _pandas_column(pandas: Any, cells: Cells) -> Any:
    if cells.kind == "names":
        return pandas.Categorical(cells.values)
    if cells.absent is None:
        return objects(cells.values) if cells.kind == "lists" else cells.values
    column = pandas.array(
        cells.values, {"i": "Int64", "f": "Float64", "b": "boolean"}[cells.values.dtype.kind]
    )
    column[cells.absent] = pandas.NA
    return column


def _polars_column(polars: Any, cells: Cells) -> Any:
    if cells.values.ndim > 1:
        return polars.Series(cells.name, cells.values).arr.to_list()
    if cells.kind == "numbers":
        column = polars.Series(cells.name, cells.values)
        return column if cells.absent is None else column.set(polars.Series(cells.absent), None)
    if cells.kind == "lists":
        lists = [None if of is None else polars.Series(of) for of in cells.values]
        kind = polars.List(polars.Series(np.empty(0, cells.dtype)).dtype)
        return polars.Series(cells.name, lists, kind)
    kind = polars.Categorical if cells.kind == "names" else polars.String
    return polars.Series(cells.name, cells.values.tolist(), kind)


def arrow_column(arrow: Any, cells: Cells) -> Any:
    """Return a column as an array of Arrow, of a type that follows from its form alone."""
    if cells.kind == "numbers":
        return arrow.array(cells.values, mask=cells.absent)
    if cells.values.ndim > 1:
        rows, length = cells.values.shape
        offsets = np.arange(rows + 1) * length
        return arrow.LargeListArray.from_arrays(offsets, arrow.array(cells.values.reshape(-1)))
    if cells.kind == "lists":
        return arrow.array(cells.values, arrow.large_list(arrow.from_numpy_dtype(cells.dtype)))
    texts = arrow.array(cells.values, arrow.string())
    return texts.dictionary_encode() if cells.kind == "names" else texts


def _library(name: str, method: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(f"Turns.{method} needs {name}: pip install {name}") from None
