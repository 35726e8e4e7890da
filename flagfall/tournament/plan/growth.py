"""Growth of a tournament: where its recorded matches stand in the schedule of a changed plan.

A match is what is played, not its place in the schedule: a task, agents in the order of the seats, a seed,
and an opening, if the task has any. None of these changes for the others when a plan gets another agent, task
or repeat, but ids do, since they name the place (`r3-m2-g1`). So each recorded match is looked for in the new
schedule by what was played, and gets the id that it has there. A match has no place if

- the settings of its task or of one of its agents have changed;
- the new schedule does not have it;
- the schedule is known only up to matches that are new in it, whose results decide later pairings or withdraw
  agents.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

import attrs

from flagfall.texts import counted
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.fingerprint import changed_settings, changes, plan_facts
from flagfall.tournament.records import MatchRecord, MatchSpec, Records

_MAX_IDS: Final = 5
"""Matches that a message names for each reason."""

_Key: TypeAlias = tuple[str, tuple[str, ...], int, tuple[str, int] | None]


@attrs.frozen(kw_only=True)
class Growth:
    """What a changed plan makes of the recorded matches of a tournament.

    Attributes:
        plan: the changed plan, whose presets mean what they meant when the tournament began.
        changes: differences to the plan so far, one line each; see `flagfall.tournament.plan.fingerprint`.
        ids: by the present id of a match, its id in the new schedule.
        without_place: by reason, the present ids of the matches that have none.
    """

    plan: TournamentPlan
    changes: tuple[str, ...] = ()
    ids: Mapping[str, str] = attrs.Factory(dict)
    without_place: Mapping[str, tuple[str, ...]] = attrs.Factory(dict)

    def renamed(self, records: Iterable[MatchRecord]) -> Iterator[MatchRecord]:
        """Yield the records of matches that have a place, with their new ids."""
        if not self.changes:
            yield from records
            return
        for record in records:
            if record.id in self.ids:
                yield attrs.evolve(record, id=self.ids[record.id])

    def lines(self) -> Iterator[str]:
        """Yield the changes, and how many matches they concern."""
        yield from self.changes
        yield f"recorded matches found in the new schedule: {len(self.ids)}"
        for reason, ids in self.without_place.items():
            shown = ", ".join(islice(ids, _MAX_IDS))
            more = f" and {len(ids) - _MAX_IDS} more" if len(ids) > _MAX_IDS else ""
            yield f"{counted(len(ids), 'match', 'matches')} {reason}: {shown}{more}"


def grow(
    before: TournamentPlan,
    facts: Mapping[str, str],
    plan: TournamentPlan,
    played: Records,
    ids: Iterable[str],
) -> Growth:
    """Find the recorded matches of a tournament in the schedule of a changed plan.

    Args:
        before: the plan so far, with these facts.
        plan: the changed plan.
        played: the records of the matches that count, which fit the plan so far.
        ids: the ids of all recorded matches, also of those with void attempts only.
    """
    now = plan_facts(plan)
    agents, tasks = changed_settings(facts, now)
    left = dict.fromkeys(ids)
    places: defaultdict[_Key, deque[str]] = defaultdict(deque)
    without_place: defaultdict[str, list[str]] = defaultdict(list)
    for spec in schedule(before).walk(played):
        if not left:
            break
        if spec.id in left:
            del left[spec.id]
            changed = [f"task {spec.task}"] if spec.task in tasks else []
            changed += [f"agent {name}" for name in spec.entrants if name in agents]
            if changed:
                without_place[f"with other settings of {changed[0]}"].append(spec.id)
            else:
                places[_key(spec)].append(spec.id)
    found, reason = _placed(plan, played, places)
    for waiting in places.values():
        without_place[reason].extend(waiting)
    without_place[NOT_IN_SCHEDULE].extend(left)
    return Growth(
        plan=plan,
        changes=tuple(changes(facts, now)),
        ids=found,
        without_place={why: tuple(some) for why, some in without_place.items() if some},
    )


NOT_IN_SCHEDULE: Final = "not in the new schedule"
NOT_KNOWN: Final = (
    "not in the new schedule as far as it is known, because it depends on results that are missing"
)


def _key(spec: MatchSpec) -> _Key:
    begins = None if spec.opening is None else (spec.opening.sha256, spec.opening.turn)
    return spec.task, spec.entrants, spec.seed, begins


def _placed(
    plan: TournamentPlan, played: Records, places: Mapping[_Key, deque[str]]
) -> tuple[dict[str, str], str]:
    """Return the new ids of matches, which are taken out of `places`, and why those left there have none."""
    found: dict[str, str] = {}
    records: dict[str, MatchRecord] = {}
    seen = -1
    count = sum(map(len, places.values()))
    for spec in schedule(plan).live(records):
        if len(found) == count:
            break
        if spec is None:
            if len(records) == seen:
                return found, NOT_KNOWN
            seen = len(records)  # the results that were found since the last time may determine more
        elif waiting := places.get(_key(spec)):
            former = waiting.popleft()
            found[former] = spec.id
            if former in played:
                records[spec.id] = attrs.evolve(played[former], id=spec.id)
    return found, NOT_IN_SCHEDULE
