"""Compact blocks of the results of many matches, from which standings of large tournaments are read."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

import msgspec
import numpy as np

from flagfall.tournament.columns import (
    MATCH_COUNTERS,
    NOT_DISQUALIFIED,
    SEAT_COUNTERS,
    Array,
    ResultColumns,
    codes,
)
from flagfall.tournament.formats.encounters import task_orders
from flagfall.tournament.formats.fixed_rounds import FixedRounds
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import PlannedTask, TournamentPlan
from flagfall.tournament.records import (
    MAX_BUCKET,
    MAX_TURNS,
    TIME_LOSSES,
    MatchRecord,
    MatchSpec,
    Records,
    seat_scores,
)


def misfit(plan: TournamentPlan, records: Records) -> str:
    """Describe the first record that cannot be a result of one of the plan's matches; empty if all fit."""
    # The schedule computes a round from the records of earlier rounds, so each record is checked before the
    # schedule reads it.
    tasks = {task.name: task for task in plan.tasks}
    known = set()
    for spec, record in schedule(plan).played(records):
        if problem := _misfit(tasks[spec.task], spec, record):
            return f"match {record.id}: {problem}"
        known.add(record.id)
    unknown = records.keys() - known
    return f"match {min(unknown)} is not in the plan's schedule" if unknown else ""


def _misfit(task: PlannedTask, spec: MatchSpec, record: MatchRecord) -> str:
    agents = tuple(seat.agent for seat in record.seats)
    if agents != spec.entrants:
        return f"its seats are those of {agents}, not of {spec.entrants}"
    scores = seat_scores(
        task.score,
        [seat.reward for seat in record.seats],
        [seat.fell for seat in record.seats],
        solved=record.solved,
        tasks=record.tasks,
    )
    if any(seat.score != score for seat, score in zip(record.seats, scores, strict=True)):
        return "its scores do not follow from its rewards and results"
    return ""


# A block has everything that standings need of its matches. The rows of the database remain the record: a
# change of a stored row drops all blocks (triggers in `flagfall.tournament.database`), and then the rows are
# read. Only matches of formats whose whole schedule is known beforehand are put into blocks: their place in
# the schedule follows from their ids.

BLOCK_MATCHES: Final = 4096
"""Matches of a block: few enough that those not yet in one are read quickly."""

MATCH_ROW: Final = np.dtype(
    [("round", "<i4"), ("place", "<i4"), ("game", "<i4"), ("seats", "<i4")]
    + [(name, "<f8" if name == "game_score" else "<i8") for name in MATCH_COUNTERS]
)
SEAT_ROW: Final = np.dtype(
    [("agent", "<i4"), ("fell", "<i4"), ("score", "<f8"), ("reward", "<f8")]
    + [(name, "<i8") for name in SEAT_COUNTERS]
)
_ID: Final = re.compile(r"r(0|[1-9][0-9]{0,8})-m(0|[1-9][0-9]{0,8})-g(0|[1-9][0-9]{0,8})", re.ASCII)


class BlockError(Exception):
    """A block is damaged, or matches have no place in one."""


class Block(msgspec.Struct, frozen=True, array_like=True):
    """Results of stored matches.

    Attributes:
        match_data: an array of `MATCH_ROW`, in the order in which they were stored.
        seat_data: an array of `SEAT_ROW`; `agent` and `fell` are places in `agents` and
            `disqualifications`.
        thinking_data: see `flagfall.tournament.columns.ResultColumns.thinking`.
    """

    agents: tuple[str, ...]
    disqualifications: tuple[str, ...]
    match_data: bytes
    seat_data: bytes
    thinking_data: bytes

    def matches(self) -> Array:
        """Return the matches."""
        return np.frombuffer(self.match_data, MATCH_ROW)

    def seats(self) -> Array:
        """Return the seats of all matches."""
        return np.frombuffer(self.seat_data, SEAT_ROW)

    def thinking(self) -> Array:
        """Return the distribution of turn times."""
        return np.frombuffer(self.thinking_data, "<i8").reshape(-1, 4)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Block)


def encode_block(records: Sequence[MatchRecord]) -> bytes:
    """Return a block of matches; raise `BlockError` if one of them has no place in it."""
    agents: dict[str, int] = {}
    disqualifications: dict[str, int] = {}
    thinking: dict[tuple[int, int, int], int] = {}
    matches, seats = [], []
    for record in records:
        found = _ID.fullmatch(record.id)
        if found is None:
            raise BlockError(f"{record.id} has no place in a fixed schedule")
        counters = (getattr(record, name) for name in MATCH_COUNTERS)
        matches.append((*map(int, found.groups()), len(record.seats), *counters))
        lost = int(any(seat.fell in TIME_LOSSES for seat in record.seats))
        for seat in record.seats:
            agent = agents.setdefault(seat.agent, len(agents))
            disqualified = (
                NOT_DISQUALIFIED
                if seat.fell is None
                else disqualifications.setdefault(seat.fell, len(disqualifications))
            )
            seats.append(
                (
                    agent,
                    disqualified,
                    seat.score,
                    seat.reward,
                    *(getattr(seat, name) for name in SEAT_COUNTERS),
                )
            )
            for bucket, count in seat.thinking:
                key = agent, lost, bucket
                thinking[key] = thinking.get(key, 0) + count
    try:
        rows = np.array([(*key, count) for key, count in thinking.items()], dtype="<i8")
        return _ENCODER.encode(
            Block(
                tuple(agents),
                tuple(disqualifications),
                np.array(matches, dtype=MATCH_ROW).tobytes(),
                np.array(seats, dtype=SEAT_ROW).tobytes(),
                rows.tobytes(),
            )
        )
    except OverflowError as error:
        raise BlockError(f"a number is too large: {error}") from error


def decode_block(data: object) -> Block:
    """Return a stored block; raise `BlockError` if it is damaged."""
    try:
        block = _DECODER.decode(data)  # type: ignore[arg-type]  # anything may be in a damaged database
        is_possible = _is_possible(block)
    except (TypeError, ValueError, RecursionError, msgspec.DecodeError) as error:
        raise BlockError(str(error)) from error
    if not is_possible:
        raise BlockError("its rows are impossible")
    return block


def _is_possible(block: Block) -> bool:
    """Return whether all codes, counts and numbers of the rows are within their bounds."""
    matches, seats, thinking = block.matches(), block.seats(), block.thinking()
    counts = [matches[name] for name in MATCH_ROW.names or () if name != "game_score"]
    counts += [seats[name] for name in SEAT_COUNTERS]
    return (
        all((values >= 0).all() for values in counts)
        and bool(matches["seats"].sum() == len(seats))
        and _within(seats["agent"], 0, len(block.agents))
        and _within(seats["fell"], NOT_DISQUALIFIED, len(block.disqualifications))
        and _within(thinking[:, 0], 0, len(block.agents))
        and _within(thinking[:, 1], 0, 2)
        and _within(thinking[:, 2], 0, MAX_BUCKET + 1)
        and _within(thinking[:, 3], 0, BLOCK_MATCHES * MAX_TURNS + 1)
        and not any(
            np.isnan(values).any() for values in (matches["game_score"], seats["score"], seats["reward"])
        )
    )


def _within(values: Array, low: int, end: int) -> bool:
    return bool(((values >= low) & (values < end)).all())


Numbered = Iterable[tuple[int, MatchRecord]]
"""Stored records with their numbers in the database."""


class BlockWriter:
    """Puts stored matches into blocks, as soon as enough of them are in none.

    If a match has no place in a block, no further blocks are written: the schedule of this tournament depends
    on its results.

    Args:
        stored: returns the records after a number, in order.
    """

    def __init__(self, database: sqlite3.Connection, stored: Callable[[int], Numbered]) -> None:
        self._database = database
        self._stored = stored
        self._waiting: list[tuple[int, MatchRecord]] | None = None
        self._off = False

    def add(self, records: Numbered) -> Callable[[], None]:
        """Add records inside of a transaction; return a function to call when it is committed."""
        if self._off:
            return lambda: None
        if self._waiting is None:  # the first records of a run
            (last,) = self._database.execute("SELECT coalesce(max(last), 0) FROM blocks").fetchone()
            waiting: list[tuple[int, MatchRecord]] = []
            records = self._stored(last)
        else:
            waiting = list(self._waiting)
        try:
            for number, record in records:
                if record.status == "played":
                    waiting.append((number, record))
                if len(waiting) == BLOCK_MATCHES:
                    data = encode_block([one for _, one in waiting])
                    self._database.execute("INSERT INTO blocks VALUES (?, ?)", (number, data))
                    waiting = []
        except BlockError:
            self._off = True
            waiting = []

        def committed() -> None:
            self._waiting = waiting

        return committed


def read_blocks(database: sqlite3.Connection, stored: Callable[[int], Numbered]) -> list[Block] | None:
    """Return all matches that count in blocks; `None` if there are no blocks, or some are damaged."""
    rows = database.execute("SELECT last, data FROM blocks ORDER BY last").fetchall()
    if not rows:
        return None
    try:
        blocks = [decode_block(data) for _, data in rows]
        rest = [record for _, record in stored(rows[-1][0]) if record.status == "played"]
        blocks.append(decode_block(encode_block(rest)))
    except BlockError:
        return None
    (count,) = database.execute("SELECT count(*) FROM matches WHERE status = 'played'").fetchone()
    return blocks if sum(len(block.matches()) for block in blocks) == count else None


def has_fixed_schedule(plan: TournamentPlan) -> bool:
    """Return whether no match of a plan depends on results, nor its end."""
    return isinstance(plan.format, FixedRounds) and plan.stop.falls is None and plan.stop.sprt is None


def columns_of_blocks(plan: TournamentPlan, blocks: Sequence[Block]) -> ResultColumns | None:
    """Return the results in blocks as columns, or `None` if one of them is no result of the plan's matches.

    Args:
        plan: a plan with a fixed schedule.
        blocks: at least one.
    """
    names = [[agent.name for agent in plan.agents], *(block.agents for block in blocks)]
    agents = codes(chain.from_iterable(names))
    if len(agents) > len(plan.agents):
        return None
    calendar = _Calendar(plan, agents)
    matches = np.concatenate([block.matches() for block in blocks])
    places = calendar.places(matches)
    if places is None:
        return None
    order, meeting, row = places
    results = _gathered(blocks, matches, order, meeting, calendar.task[row], agents)
    fits = calendar.seats_fit(results, matches["game"][order], row) and _scores_follow(plan, results)
    return results if fits else None


def _gathered(
    blocks: Sequence[Block], matches: Array, order: Array, meeting: Array, task: Array, agents: dict[str, int]
) -> ResultColumns:
    """Return the rows of all blocks as columns, in the order of the schedule."""
    seats = [block.seats() for block in blocks]
    disqualifications = codes(name for block in blocks for name in block.disqualifications)
    maps = [[agents[name] for name in block.agents] for block in blocks]
    reasons = [
        [*(disqualifications[name] for name in block.disqualifications), NOT_DISQUALIFIED] for block in blocks
    ]
    first_seat = np.concatenate([[0], np.cumsum(matches["seats"])])
    seat_order = _ranges(first_seat[order], matches["seats"][order])

    def column(name: str) -> Array:
        """Return a column of all seats, without a copy of the other columns."""
        values: Array = np.concatenate([some[name] for some in seats])[seat_order]
        return values

    return ResultColumns(
        agents=tuple(agents),
        disqualifications=tuple(disqualifications),
        task=task,
        meeting=np.cumsum(np.diff(meeting, prepend=meeting[:1]) != 0),
        first_seat=np.concatenate([[0], np.cumsum(matches["seats"][order])]),
        counters={name: matches[name][order] for name in MATCH_COUNTERS},
        agent=_mapped(seats, "agent", maps)[seat_order],
        score=column("score"),
        reward=column("reward"),
        disqualified=_mapped(seats, "fell", reasons)[seat_order],
        seat_counters={name: column(name) for name in SEAT_COUNTERS},
        thinking=_thinking(blocks, maps),
    )


def _mapped(seats: Sequence[Array], name: str, maps: Sequence[Sequence[int]]) -> Array:
    """Return the codes of blocks as codes of all; -1 is the last entry of a map."""
    return np.concatenate(
        [np.array(table, dtype=np.int64)[some[name]] for table, some in zip(maps, seats, strict=True)]
    )


def _ranges(starts: Array, lengths: Array) -> Array:
    """Return the numbers of all ranges, one range after another."""
    ends = np.cumsum(lengths)
    numbers: Array = np.arange(lengths.sum()) + np.repeat(starts - (ends - lengths), lengths)
    return numbers


def _thinking(blocks: Sequence[Block], maps: Sequence[Sequence[int]]) -> Array:
    parts = []
    for block, table in zip(blocks, maps, strict=True):
        rows = block.thinking().copy()
        rows[:, 0] = np.array([*table, 0], dtype=np.int64)[rows[:, 0]]
        parts.append(rows)
    rows = np.concatenate(parts)
    if not len(rows):
        return rows
    order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
    rows = rows[order]
    new = np.flatnonzero((np.diff(rows[:, :3], axis=0, prepend=rows[:1, :3] - 1) != 0).any(axis=1))
    return np.column_stack([rows[new, :3], np.add.reduceat(rows[:, 3], new)])


class _Calendar:
    """Matches of a fixed schedule, by round, place of the meeting in its round, and game.

    All repeats have the same rounds. A row of the calendar is one meeting of one repeat.

    Attributes:
        task: of each row, the place of its task in the plan.
    """

    def __init__(self, plan: TournamentPlan, agents: dict[str, int]) -> None:
        assert isinstance(plan.format, FixedRounds)
        rounds = plan.format.meetings_of_a_repeat(plan)
        rows = [row for meetings in rounds for row in meetings]
        self._in_round = np.array([len(meetings) for meetings in rounds], dtype=np.int64)
        self._first_row = np.cumsum(self._in_round) - self._in_round
        self._repeats = plan.repeats
        self._limit = plan.stop.matches
        self.task = np.array([task for task, _ in rows], dtype=np.int64)
        self._agents = np.array([agents[name] for _, names in rows for name in names], dtype=np.int64)
        self._size = np.array([len(names) for _, names in rows], dtype=np.int64)
        self._first_agent = np.cumsum(self._size) - self._size
        orders = [task_orders(task) for task in plan.tasks]
        self._games = self._size * np.array([len(one) for one in orders], dtype=np.int64)[self.task]
        self._first_game = np.cumsum(self._games) - self._games
        self._seats = np.array([task.seats for task in plan.tasks], dtype=np.int64)[self.task]
        self._orders = np.array([place for one in orders for order in one for place in order], dtype=np.int64)
        lengths = np.array([len(one) * len(one[0]) for one in orders], dtype=np.int64)
        self._first_order = (np.cumsum(lengths) - lengths)[self.task]

    def places(self, matches: Array) -> tuple[Array, Array, Array] | None:
        """Return the order of matches in the schedule, and the meeting and the row of each in that order.

        `None` if one of them is not in the schedule, or counts twice.
        """
        if not self.task.size:
            return None
        rounds, place, game = (matches[name].astype(np.int64) for name in ("round", "place", "game"))
        repeat, index = np.divmod(rounds, max(1, len(self._in_round)))
        known = (repeat < self._repeats) & (place < self._in_round[index])
        row = np.where(known, self._first_row[index] + place, 0)
        known &= game < self._games[row]
        position = repeat * int(self._games.sum()) + self._first_game[row] + game
        if self._limit is not None:
            known &= position < self._limit
        order = np.argsort(position, kind="stable")  # quick where most are in order
        if not known.all() or (np.diff(position[order]) == 0).any():
            return None
        return order, (repeat * len(self.task) + row)[order], row[order]

    def seats_fit(self, results: ResultColumns, game: Array, row: Array) -> bool:
        """Return whether the seats of all matches are those of their entrants.

        Args:
            game: game of each match within its meeting.
        """
        if (results.seats != self._seats[row]).any():
            return False
        match = results.match_of_seat
        seat, row = np.arange(len(match)) - results.first_seat[match], row[match]
        order, turn = np.divmod(game[match], self._size[row])
        place = self._orders[self._first_order[row] + order * self._seats[row] + seat] + turn
        return bool((results.agent == self._agents[self._first_agent[row] + place % self._size[row]]).all())


def _scores_follow(plan: TournamentPlan, results: ResultColumns) -> bool:
    """Return whether all scores follow from rewards and results; see `seat_scores`."""
    disqualified = results.disqualified != NOT_DISQUALIFIED
    for number in np.unique(results.seats):
        place = np.flatnonzero(results.seats == number)
        seats = results.first_seat[place][:, None] + np.arange(number)
        if number == 1:
            wanted = _scores_alone(plan, results, place, seats[:, 0])[:, None]
        else:
            wanted = _scores_together(results.reward[seats], disqualified[seats])
        if (results.score[seats] != wanted).any():
            return False
    return True


def _scores_alone(plan: TournamentPlan, results: ResultColumns, matches: Array, seats: Array) -> Array:
    by_reward = np.array([task.score == "reward" for task in plan.tasks])[results.task[matches]]
    solved, tasks = results.counters["solved"][matches], results.counters["tasks"][matches]
    counted = (tasks > 0) & (results.disqualified[seats] == NOT_DISQUALIFIED)
    share = np.divide(solved, tasks, out=np.zeros(len(matches)), where=counted)
    return np.where(by_reward, results.reward[seats], share)


def _scores_together(rewards: Array, disqualified: Array) -> Array:
    number = rewards.shape[1]
    wanted = np.zeros(rewards.shape)
    for me in range(number):
        for other in range(number):
            if me != other:
                equal = np.where(rewards[:, me] == rewards[:, other], 0.5, rewards[:, me] > rewards[:, other])
                wanted[:, me] += np.where(
                    disqualified[:, me] != disqualified[:, other], ~disqualified[:, me], equal
                )
    return np.where(disqualified, 0.0, wanted / (number - 1))
