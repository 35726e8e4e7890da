"""Turns of a journal as columns: arrays of numpy, and tables of pandas, polars and Arrow.

A row is a turn of a seat. Where all values of a column are whole numbers or all are real numbers, it is an
array of these; otherwise an array of objects. A journal is read batch by batch into `BLOCK_ROWS` rows at a
time, so besides the columns themselves little memory is needed.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from flagfall.errors import UsageError
from flagfall.events import Event, MatchStarted, TaskStarted, TurnPlayed
from flagfall.recording.journal.format import encode
from flagfall.recording.journal.reader import JournalError, read_journal

BLOCK_ROWS: Final = 65_536
"""Rows that are collected as Python objects before they become arrays: some 20 MB of plain turns."""

_NO_TURN: Final = -1

_Column: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_WHOLE: Final = ("turn", "seat", "at_ns", "spent_ns", "credit_ns", "index", "answers")
"""Columns that are always whole numbers."""

_NAMES: Final = ("agent", "task", "verdict")
"""Columns of texts that recur; an array has one object for all that are equal."""

COLUMNS: Final = (
    *("turn", "seat", "agent", "task", "index", "at_ns", "spent_ns", "credit_ns", "verdict"),
    *("observation", "reward", "action", "answers", "refused", "note"),
)
"""All columns, in their order; `docs/analysis.md` describes them."""


@attrs.frozen(eq=False, repr=False)
class Turns(Mapping[str, _Column]):
    """Turns of a match as a mapping from the names in `COLUMNS` to arrays of one length.

    Attributes:
        header: the first event of the journal: tasks, agents, seed, time control.
        problem: the damage or the cut before which the turns end, as one line; empty for a complete journal.
    """

    header: MatchStarted
    problem: str = ""
    _columns: dict[str, _Column] = attrs.field(factory=dict)

    def __getitem__(self, name: str) -> _Column:
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

        Agents, tasks and verdicts are categories. Values that are no numbers are JSON text, as in the
        journal.

        Raises:
            UsageError: pandas is not installed.
        """
        pandas = _library("pandas", "to_pandas")
        columns = {name: _plain(name, column) for name, column in self.items()}
        frame = pandas.DataFrame(columns)
        return frame.astype(dict.fromkeys(_NAMES, "category"))

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`; the columns are as in `to_pandas`.

        Raises:
            UsageError: polars is not installed.
        """
        polars = _library("polars", "to_polars")
        return polars.DataFrame(
            {name: _series(polars, name, _plain(name, column)) for name, column in self.items()}
        )

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`; the columns are as in `to_pandas`.

        Raises:
            UsageError: pyarrow is not installed.
        """
        arrow = _library("pyarrow", "to_arrow")
        columns = {}
        for name, column in self.items():
            plain = _plain(name, column)
            kind = arrow.string() if plain.dtype == object else None
            made = arrow.array(plain, kind)
            columns[name] = made.dictionary_encode() if name in _NAMES else made
        return arrow.table(columns)


def read_turns(path: str | os.PathLike[str], *, partial: bool = False) -> Turns:
    """Read all turns of a journal.

    A turn takes 120 bytes if observation and action are whole numbers; other values take what their objects
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
    columns = {name: _joined([block[name] for block in blocks]) for name in COLUMNS}
    return Turns(blocks[0].header, problem, columns)


def iter_turns(path: str | os.PathLike[str], rows: int = BLOCK_ROWS) -> Iterator[Turns]:
    """Yield the turns of a journal in blocks, in constant memory.

    A column that is whole numbers in one block may be objects in the next one.

    Args:
        rows: number of rows of each block but the last; at least one block is yielded.

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
        if len(block) == rows:
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
        self._task: tuple[str, int] = ("", _NO_TURN)
        self._turns: list[TurnPlayed] = []
        self._tasks: list[tuple[str, int]] = []

    def __len__(self) -> int:
        return len(self._turns)

    def take(self, event: Event) -> None:
        """Take the next event of the journal."""
        if type(event) is TurnPlayed:
            self._turns.append(event)
            self._tasks.append(self._task)
        elif isinstance(event, TaskStarted):
            self._task = (event.task, event.index)
        elif isinstance(event, MatchStarted):
            self.header = event

    def flush(self) -> Turns:
        """Return the rows so far as columns, and begin the next block."""
        assert self.header is not None
        turns, agents = self._turns, self.header.agents
        columns = {
            "agent": _objects([agents[t.seat] if 0 <= t.seat < len(agents) else None for t in turns]),
            "task": _objects([task for task, _ in self._tasks]),
            "index": np.array([index for _, index in self._tasks], np.int64),
            "answers": np.array([_NO_TURN if t.answers is None else t.answers for t in turns], np.int64),
        }
        for name in COLUMNS:
            if name not in columns:
                values = [getattr(turn, name) for turn in turns]
                columns[name] = np.array(values, np.int64) if name in _WHOLE else _any(values)
        self._turns, self._tasks = [], []
        return Turns(self.header, "", {name: columns[name] for name in COLUMNS})


def _any(values: Sequence[Any]) -> _Column:
    """Return an array of whole numbers, truth values or real numbers if all values are; else of objects."""
    kinds = set(map(type, values))
    for dtype, fitting in ((np.int64, {int}), (np.bool_, {bool}), (np.float64, {int, float})):
        if kinds <= fitting:
            try:
                return np.array(values, dtype)
            except OverflowError:  # more than 64 bits
                break
    return _objects(values)


def _objects(values: Sequence[Any]) -> _Column:
    # `np.array` would make a table of lists of one length.
    return np.fromiter(values, object, len(values))


def _joined(parts: Sequence[_Column]) -> _Column:
    if len(parts) == 1:
        return parts[0]
    kinds = {part.dtype.kind for part in parts}
    if "b" in kinds and len(kinds) > 1:  # numpy would make numbers of truth values
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _plain(name: str, column: _Column) -> _Column:
    """Return a column of numbers as it is, and one of objects as texts."""
    if column.dtype != object or name in _NAMES or name == "refused":
        return column
    return _objects([None if value is None else encode(value).decode() for value in column])


def _series(polars: Any, name: str, column: _Column) -> Any:
    if column.dtype != object:
        return polars.Series(name, column)
    kind = polars.Categorical if name in _NAMES else polars.String
    return polars.Series(name, column.tolist(), dtype=kind)


def _library(name: str, method: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(f"Turns.{method} needs {name}: pip install {name}") from None
