"""Meetings: agents, a task and a seed, and the matches that this takes.

Agents who share a game sit down once in every rotation, so that with two seats the sides are swapped, and all
of it with one seed. Where a task has one seat, each agent plays it alone, with the same seed, and the scores
are compared.
"""

from __future__ import annotations

__all__ = ["Encounter", "better_of", "meeting"]

from collections.abc import Iterator, Mapping, Sequence

import attrs

from flagfall.tournament.plan.model import Plan, TaskEntry
from flagfall.tournament.records import MatchRecord, MatchSpec


def meeting(
    name: str, task: TaskEntry, agents: Sequence[str], seed: int, round_number: int
) -> Iterator[MatchSpec]:
    """The matches of a meeting.

    Args:
        name: what their ids begin with.
        task: what is played.
        agents: who meets: as many as there are seats, or any number where there is one.
        seed: of all of them.
        round_number: of all of them.
    """
    for game, agent in enumerate(agents):
        entrants = (agent,) if task.seats == 1 else (*agents[game:], *agents[:game])
        yield MatchSpec(f"{name}-g{game}", entrants, task.name, seed, round_number)


def better_of(first: MatchRecord, second: MatchRecord) -> tuple[float, float]:
    """The points of two who played the same alone: 1, 0.5 or 0; who fell loses, and both may have."""
    (mine,), (theirs,) = first.seats, second.seats
    if mine.fell is not None or theirs.fell is not None:
        return float(mine.fell is None), float(theirs.fell is None)
    if mine.score == theirs.score:
        return 0.5, 0.5
    return float(mine.score > theirs.score), float(theirs.score > mine.score)


@attrs.frozen
class Encounter:
    """Two agents who meet on every task, with every repeat.

    Attributes:
        plan: of the tournament.
        round: its number.
        number: of the encounter in the round.
        agents: who meet.
        part: 0, or which replay of a drawn encounter it is.
    """

    plan: Plan
    round: int
    number: int
    agents: tuple[str, str]
    part: int = 0

    def _meetings(self) -> Iterator[list[MatchSpec]]:
        count = 0
        for repeat in range(self.plan.repeats):
            for task in self.plan.tasks:
                name = f"r{self.round}-p{self.number}-m{self.part}.{count}"
                seed = self.plan.match_seed(repeat, task.name, self.round, self.part, *sorted(self.agents))
                yield list(meeting(name, task, self.agents, seed, self.round))
                count += 1

    def matches(self) -> Iterator[MatchSpec]:
        """All of them."""
        for specs in self._meetings():
            yield from specs

    def points(self, records: Mapping[str, MatchRecord]) -> tuple[float, float] | None:
        """What each of the two has of it; `None` while a match of it is missing."""
        totals = [0.0, 0.0]
        for specs in self._meetings():
            played = [records.get(spec.id) for spec in specs]
            if any(record is None for record in played):
                return None
            for points in self._scores(specs, [record for record in played if record is not None]):
                totals[0] += points[0]
                totals[1] += points[1]
        return totals[0], totals[1]

    def _scores(self, specs: list[MatchSpec], played: list[MatchRecord]) -> Iterator[tuple[float, float]]:
        if len(specs[0].entrants) == 1:
            yield better_of(*played)
            return
        for spec, record in zip(specs, played, strict=True):
            scores = {agent: seat.score for agent, seat in zip(spec.entrants, record.seats, strict=True)}
            yield scores[self.agents[0]], scores[self.agents[1]]
