"""Meetings and encounters: agents, a task and a seed, and the matches that they take.

Agents that share a game play one match for each rotation of the seats, so that with two seats both sides are
played, all with one seed. On a task with one seat each agent plays alone with the same seed, and the scores
are compared.
"""

from __future__ import annotations

__all__ = ["Encounter", "meeting_matches", "until_played"]

from collections.abc import Iterable, Iterator, Sequence

import attrs

from flagfall.tournament.model import PlannedTask, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records, compare_solo


def meeting_matches(
    name: str, task: PlannedTask, agents: Sequence[str], seed: int, round_number: int
) -> Iterator[MatchSpec]:
    """Yield the matches of one meeting.

    Args:
        name: prefix of their ids.
        task: task that is played.
        agents: as many as the task has seats, or any number if it has one.
        seed: root seed of all of them.
        round_number: zero-based round.
    """
    for game, agent in enumerate(agents):
        entrants = (agent,) if task.seats == 1 else (*agents[game:], *agents[:game])
        yield MatchSpec(f"{name}-g{game}", entrants, task.name, seed, round_number)


def until_played(specs: Iterable[MatchSpec], records: Records) -> Iterator[None]:
    """Yield `None` while one of some matches has no result; see `Format.schedule`.

    Each match is looked up until it is found, and not again.

    Args:
        specs: the matches.
        records: results so far.
    """
    for spec in specs:
        while spec.id not in records:
            yield None


@attrs.frozen
class Encounter:
    """Two agents that meet on every task, in every repeat.

    Attributes:
        plan: the plan of the tournament.
        round: zero-based round.
        number: zero-based position within the round.
        agents: names of the two agents.
        part: 0, or the number of the replay of a drawn encounter.
    """

    plan: TournamentPlan
    round: int
    number: int
    agents: tuple[str, str]
    part: int = 0

    def _meetings(self) -> Iterator[list[MatchSpec]]:
        count = 0
        for repeat in range(self.plan.repeats):
            for task in self.plan.tasks:
                name = f"r{self.round}-p{self.number}-m{self.part}.{count}"
                seed = self.plan.match_seed(repeat, task, self.round, self.part, *sorted(self.agents))
                yield list(meeting_matches(name, task, self.agents, seed, self.round))
                count += 1

    def matches(self) -> Iterator[MatchSpec]:
        """Yield all matches of the encounter."""
        for specs in self._meetings():
            yield from specs

    def points(self, records: Records) -> tuple[float, float] | None:
        """Return the points of the two agents, or `None` while a match has no result.

        Args:
            records: results so far.
        """
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
            yield compare_solo(*played)
            return
        for spec, record in zip(specs, played, strict=True):
            scores = {agent: seat.score for agent, seat in zip(spec.entrants, record.seats, strict=True)}
            yield scores[self.agents[0]], scores[self.agents[1]]
