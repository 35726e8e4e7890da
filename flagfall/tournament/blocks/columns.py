"""Columns of results from blocks, checked against a plan whose whole schedule is known beforehand."""

from __future__ import annotations

__all__ = ["columns_of_blocks", "has_fixed_schedule"]

from collections.abc import Sequence

import numpy as np

from flagfall.tournament.blocks.encoding import Block
from flagfall.tournament.columns import MATCH_COUNTERS, NOT_DISQUALIFIED, SEAT_COUNTERS, Array, ResultColumns
from flagfall.tournament.formats.fixed_rounds import FixedRounds
from flagfall.tournament.model import TournamentPlan


def has_fixed_schedule(plan: TournamentPlan) -> bool:
    """Return whether no match of a plan depends on results, nor its end.

    Args:
        plan: the plan of the tournament.
    """
    return isinstance(plan.format, FixedRounds) and plan.stop.falls is None and plan.stop.sprt is None


def columns_of_blocks(plan: TournamentPlan, blocks: Sequence[Block]) -> ResultColumns | None:
    """Return the results in blocks as columns, or `None` if one of them is no result of the plan's matches.

    Args:
        plan: a plan with a fixed schedule.
        blocks: at least one.
    """
    agents = _codes([agent.name for agent in plan.agents], [block.agents for block in blocks])
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
    falls = _codes([], [block.falls for block in blocks])
    maps = [[agents[name] for name in block.agents] for block in blocks]
    reasons = [[*(falls[name] for name in block.falls), NOT_DISQUALIFIED] for block in blocks]
    first_seat = np.concatenate([[0], np.cumsum(matches["seats"])])
    seat_order = _ranges(first_seat[order], matches["seats"][order])

    def column(name: str) -> Array:
        """Return a column of all seats, without a copy of the other columns."""
        values: Array = np.concatenate([some[name] for some in seats])[seat_order]
        return values

    return ResultColumns(
        agents=tuple(agents),
        falls=tuple(falls),
        task=task,
        meeting=np.cumsum(np.diff(meeting, prepend=meeting[:1]) != 0),
        first_seat=np.concatenate([[0], np.cumsum(matches["seats"][order])]),
        counters={name: matches[name][order] for name in MATCH_COUNTERS},
        agent=_mapped(seats, "agent", maps)[seat_order],
        score=column("score"),
        reward=column("reward"),
        fell=_mapped(seats, "fell", reasons)[seat_order],
        seat_counters={name: column(name) for name in SEAT_COUNTERS},
        thinking=_thinking(blocks, maps),
    )


def _codes(first: Sequence[str], others: Sequence[Sequence[str]]) -> dict[str, int]:
    names = dict.fromkeys([*first, *(name for some in others for name in some)])
    return {name: code for code, name in enumerate(names)}


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

    Args:
        plan: a plan with a fixed schedule.
        agents: codes of agents by name.

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
        self._games = np.array([len(names) for _, names in rows], dtype=np.int64)
        self._first_game = np.cumsum(self._games) - self._games
        self._alone = np.array([plan.tasks[task].seats == 1 for task, _ in rows], dtype=bool)
        self._agents = np.array([agents[name] for _, names in rows for name in names], dtype=np.int64)

    def places(self, matches: Array) -> tuple[Array, Array, Array] | None:
        """Return the order of matches in the schedule, and the meeting and the row of each in that order.

        `None` if one of them is not in the schedule, or counts twice.

        Args:
            matches: an array of `flagfall.tournament.blocks.encoding.MATCH_ROW`.
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
            results: the matches.
            game: game of each match within its meeting.
            row: row of each match.
        """
        if (results.seats != np.where(self._alone[row], 1, self._games[row])).any():
            return False
        match = results.match_of_seat
        place = np.arange(len(match)) - results.first_seat[match] + game[match]
        first, games = self._first_game[row[match]], self._games[row[match]]
        return bool((results.agent == self._agents[first + place % games]).all())


def _scores_follow(plan: TournamentPlan, results: ResultColumns) -> bool:
    """Return whether all scores follow from rewards and results; see `seat_scores`."""
    fell = results.fell != NOT_DISQUALIFIED
    for number in np.unique(results.seats):
        place = np.flatnonzero(results.seats == number)
        seats = results.first_seat[place][:, None] + np.arange(number)
        if number == 1:
            wanted = _scores_alone(plan, results, place, seats[:, 0])[:, None]
        else:
            wanted = _scores_together(results.reward[seats], fell[seats])
        if (results.score[seats] != wanted).any():
            return False
    return True


def _scores_alone(plan: TournamentPlan, results: ResultColumns, matches: Array, seats: Array) -> Array:
    by_reward = np.array([task.score == "reward" for task in plan.tasks])[results.task[matches]]
    solved, tasks = results.counters["solved"][matches], results.counters["tasks"][matches]
    counted = (tasks > 0) & (results.fell[seats] == NOT_DISQUALIFIED)
    share = np.divide(solved, tasks, out=np.zeros(len(matches)), where=counted)
    return np.where(by_reward, results.reward[seats], share)


def _scores_together(rewards: Array, fell: Array) -> Array:
    number = rewards.shape[1]
    wanted = np.zeros(rewards.shape)
    for me in range(number):
        for other in range(number):
            if me != other:
                equal = np.where(rewards[:, me] == rewards[:, other], 0.5, rewards[:, me] > rewards[:, other])
                wanted[:, me] += np.where(fell[:, me] != fell[:, other], ~fell[:, me], equal)
    return np.where(fell, 0.0, wanted / (number - 1))
