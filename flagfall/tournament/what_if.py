"""The matches of a results folder under other time controls or rates: turns, matches and scores lost.

A match whose verdicts all stay is as it was. One in which the first verdict that changes disqualifies a seat
is lost for that seat; what becomes of the others is unknown, and so is every other match with a change.
Scores are therefore given with what is possible: unknown matches all lost, or all won.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import numpy as np

from flagfall.errors import UsageError
from flagfall.recording.other_rates import is_measured, judge_rate, think_times_at
from flagfall.recording.seat_times import MatchTimes, read_times
from flagfall.recording.think_times import ThinkTimes, think_times
from flagfall.recording.what_if import MatchVerdicts, SeatVerdicts, judge_match
from flagfall.timing import TimeControl
from flagfall.timing.rates import Rate
from flagfall.tournament.columns import NOT_DISQUALIFIED, Array, ResultColumns, columns_of
from flagfall.tournament.folder import journal_path
from flagfall.tournament.formats.schedule import has_fixed_schedule, schedule
from flagfall.tournament.limits import LOST, LimitCurve, Loss, RateCurve, curve_of, limits_for, rate_curve
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.stats.intervals import Interval
from flagfall.tournament.store import Store
from flagfall.tournament.tables import AgentTable

MAX_JOURNAL_BYTES: Final = 256_000_000
"""Bytes of one journal, unpacked, that are read: some million turns."""

MAX_ALL_TURNS: Final = 20_000_000
"""Turns of all journals whose think times are kept, in 400 MB; what comes after is not read."""

_Parts: TypeAlias = dict[tuple[str, TimeControl], list[tuple[int, ThinkTimes]]]
"""Think times by agent and time control, each part with the number of its match."""

_LOST, _OPEN, _AS_IT_WAS = 0, 1, 2


@attrs.frozen(kw_only=True)
class AgentEffect:
    """One agent under another time control.

    Attributes:
        matches: its matches whose journals could be read.
        same: of these, matches in which no verdict changes.
        out: matches in which the clock disqualifies it, as far as is known.
        unknown: matches that change, and are not lost for it by that alone.
        was_out: matches in which the clock disqualified it as they were played.
        lost: share of turns that it loses if it thinks as it did, with its interval; `None` without think
            times.
        score: its score in the standings; `None` if nothing is compared.
        least: the lowest score that is possible.
        most: the highest.
    """

    agent: str
    matches: int
    same: int
    out: int
    unknown: int
    was_out: int
    lost: Interval | None
    score: float | None
    least: float | None
    most: float | None


@attrs.frozen(kw_only=True)
class ControlEffect:
    """All agents of a tournament under another time control, or another rate of their work."""

    control: str
    agents: tuple[AgentEffect, ...]


@attrs.frozen(kw_only=True)
class FolderWhatIf:
    """What the journals of a tournament say about time limits.

    Attributes:
        matches: matches that count.
        unread: reasons for which journals were not read, with the number of matches of each.
        curves: for each agent and each time control that it played under, in the order of the plan; without
            agents that have no think times. With several agents, those of all of them together as well.
        effects: for each time control and each rate that was asked for.
        rate_curves: for each agent whose work is recorded, and each time control that it played under, if
            rates were asked for.
        remarks: what has to be known to read them.
    """

    matches: int
    unread: Mapping[str, int]
    curves: tuple[LimitCurve, ...]
    effects: tuple[ControlEffect, ...]
    rate_curves: tuple[RateCurve, ...]
    remarks: tuple[str, ...]


@attrs.define(eq=False)
class _Study:
    """Collects what the journals say, match by match."""

    cases: Sequence[TimeControl | Rate]
    parts: _Parts = attrs.Factory(dict)
    rated: dict[Rate, _Parts] = attrs.Factory(dict)
    verdicts: list[list[MatchVerdicts | None]] = attrs.Factory(list)
    out: dict[str, int] = attrs.Factory(dict)
    unread: dict[str, int] = attrs.Factory(dict)
    paced: int = 0
    turns: int = 0

    def take(self, number: int, record: MatchRecord, times: MatchTimes | str) -> None:
        """Take a match, with the times of its journal or why it has none."""
        if not isinstance(times, str) and [seat.agent for seat in record.seats] != list(times.header.agents):
            times = "the journal is of other agents"
        if isinstance(times, str):
            self.unread[times] = self.unread.get(times, 0) + 1
            self.verdicts.append([None] * len(self.cases))
            return
        self.paced += times.header.tick_ns is not None
        for place, seat in enumerate(times.seats):
            self.turns += len(seat)
            thinking = think_times(times, place)
            if len(thinking):
                self.parts.setdefault((seat.agent, times.control), []).append((number, thinking))
            self.out[seat.agent] = self.out.get(seat.agent, 0) + seat.is_out_by_clock
        self.verdicts.append([self._judged(number, times, case) for case in self.cases])

    def _judged(self, number: int, times: MatchTimes, case: TimeControl | Rate) -> MatchVerdicts | None:
        """Return the verdicts of a match; `None` where its record does not have the work of any agent."""
        if isinstance(case, TimeControl):
            return judge_match(times, case)
        try:
            verdicts = judge_rate(times, case)
        except UsageError as error:
            self.unread[str(error)] = self.unread.get(str(error), 0) + 1
            return None
        for place, seat in enumerate(times.seats):
            if is_measured(times, place, case):
                parts = self.rated.setdefault(case, {}).setdefault((seat.agent, times.control), [])
                parts.append((number, think_times_at(times, place, case)))
        return verdicts

    def lost(self, case: TimeControl | Rate, agent: str) -> Interval | None:
        """Return the share of turns that an agent loses if it thinks as it did."""
        parts = self.parts if isinstance(case, TimeControl) else self.rated.get(case, {})
        groups = [
            (ThinkTimes.joined(found), case if isinstance(case, TimeControl) else control)
            for (name, control), found in parts.items()
            if name == agent
        ]
        return lost_share(groups)

    def rate_curves(self) -> Iterator[RateCurve]:
        """Yield the curve of each agent and time control over the rates."""
        for agent, control in dict.fromkeys(key for parts in self.rated.values() for key in parts):
            found = {
                rate: ThinkTimes.joined(parts[agent, control])
                for rate, parts in self.rated.items()
                if (agent, control) in parts
            }
            yield rate_curve(agent, control, found)


def study_folder(
    folder: Path,
    store: Store,
    plan: TournamentPlan,
    controls: Sequence[TimeControl] = (),
    rates: Sequence[Rate] = (),
    *,
    lost: float = LOST,
) -> FolderWhatIf:
    """Read the think times of a tournament, and judge its matches under other time controls.

    Args:
        folder: the results folder, which may come from others: nothing that its files name is executed.
        store: its store.
        plan: its plan, which may be one for display.
        controls: time controls to judge the matches under.
        rates: rates of the agents' work to judge them under, each with the time control of the match.
        lost: share of turns that an advised limit may cost.

    Raises:
        UsageError: a time control counts another kind of time than the matches did.
        DamagedStore: a record cannot be read, or is not a match of the plan.
    """
    records = store.played(plan)
    played = list(schedule(plan).played(records))
    study = _Study((*controls, *rates))
    for number, (_, record) in enumerate(played):
        study.take(number, record, _times_of(folder, record, full=study.turns > MAX_ALL_TURNS))
    thinking = {key: ThinkTimes.joined(parts) for key, parts in study.parts.items()}
    everyone = {
        control: ThinkTimes.joined(
            sorted(
                chain(*(parts for (_, of), parts in study.parts.items() if of == control)), key=itemgetter(0)
            )
        )
        for control in dict.fromkeys(control for _, control in study.parts)
    }
    asked = sorted({control.act for control in controls if control.act})
    columns = columns_of(plan, played)
    return FolderWhatIf(
        matches=len(played),
        unread=study.unread,
        curves=tuple(_curves(plan, thinking, everyone, asked, lost)),
        effects=tuple(_effect(plan, played, columns, study, number) for number in range(len(study.cases))),
        rate_curves=tuple(study.rate_curves()),
        remarks=tuple(_remarks(plan, study, len(played))),
    )


def _times_of(folder: Path, record: MatchRecord, *, full: bool) -> MatchTimes | str:
    """Return the times of a match, or why they are not known."""
    if record.journal is None:
        return "no journal was written"
    if full:
        return f"more than {MAX_ALL_TURNS:,} turns"
    path = journal_path(folder, record.journal)
    if path is None:
        return "the journal is missing"
    try:
        times = read_times(path, max_bytes=MAX_JOURNAL_BYTES)
    except (UsageError, OSError):
        return "the journal cannot be read"
    return "the journal is damaged or too long" if times.problem else times


def _curves(
    plan: TournamentPlan,
    thinking: Mapping[tuple[str, TimeControl], ThinkTimes],
    everyone: Mapping[TimeControl, ThinkTimes],
    asked: Sequence[int],
    lost: float,
) -> Iterator[LimitCurve]:
    for control, together in everyone.items():
        limits = limits_for(together, control, asked)
        groups = {agent.name: thinking.get((agent.name, control)) for agent in plan.agents}
        found = [
            curve_of(name, control, one, limits, lost=lost) for name, one in groups.items() if one is not None
        ]
        curves = [curve for curve in found if curve is not None]
        if len(curves) > 1 and (whole := curve_of("", control, together, limits, lost=lost)) is not None:
            yield whole
        yield from curves


def _effect(
    plan: TournamentPlan,
    played: Sequence[tuple[MatchSpec, MatchRecord]],
    columns: ResultColumns,
    study: _Study,
    number: int,
) -> ControlEffect:
    case = study.cases[number]
    fates = np.array(
        [
            fate
            for (_, record), of in zip(played, study.verdicts, strict=True)
            for fate in _fates(of[number], record)
        ],
        np.int64,
    )
    judged = np.repeat([of[number] is not None for of in study.verdicts], columns.seats)
    scores = _scores(plan, columns)
    effects = []
    for me, agent in enumerate(columns.agents):
        mine = (columns.agent == me) & judged
        least, most = (_scores(plan, _possible(columns, fates, me, best=best))[me] for best in (False, True))
        effects.append(
            AgentEffect(
                agent=agent,
                matches=int(mine.sum()),
                same=int((fates[mine] == _AS_IT_WAS).sum()),
                out=int((fates[mine] == _LOST).sum()) + _still_out(study, number, agent),
                unknown=int((fates[mine] == _OPEN).sum()),
                was_out=study.out.get(agent, 0),
                lost=study.lost(case, agent),
                score=scores[me],
                least=least,
                most=most,
            )
        )
    return ControlEffect(control=str(case), agents=tuple(effects))


def _fates(verdicts: MatchVerdicts | None, record: MatchRecord) -> list[int]:
    """Return of each seat what becomes of its result."""
    if verdicts is None:
        return [_OPEN] * len(record.seats)
    if verdicts.changed is None:
        return [_AS_IT_WAS] * len(record.seats)
    return [_LOST if _is_lost(seat, verdicts) else _OPEN for seat in verdicts.seats]


def _is_lost(seat: SeatVerdicts, verdicts: MatchVerdicts) -> bool:
    """Return whether the first change of a match disqualifies a seat."""
    return seat.changed == verdicts.changed and seat.after == "disqualified"


def _still_out(study: _Study, number: int, agent: str) -> int:
    """Return in how many matches without a change the clock disqualifies an agent, as it did."""
    return sum(
        bool(seat.out)
        for of in study.verdicts
        if (verdicts := of[number]) is not None and verdicts.changed is None
        for seat in verdicts.seats
        if seat.agent == agent
    )


def _possible(columns: ResultColumns, fates: Array, me: int, *, best: bool) -> ResultColumns:
    """Return results in which all that is unknown is best or worst for one agent."""
    score, disqualified = columns.score.copy(), columns.disqualified.copy()
    alone = np.repeat(columns.seats == 1, columns.seats)
    late = len(columns.disqualifications)  # a code of its own
    out = fates == _LOST
    score[out & ~alone], disqualified[out] = 0.0, late
    unknown = fates == _OPEN
    for group, good in ((unknown & (columns.agent == me), best), (unknown & (columns.agent != me), not best)):
        score[group] = 1.0 if good else 0.0
        score[group & alone] = np.inf if good else -np.inf
        disqualified[group] = NOT_DISQUALIFIED if good else late
    return attrs.evolve(
        columns,
        score=score,
        disqualified=disqualified,
        disqualifications=(*columns.disqualifications, "late"),
    )


def _scores(plan: TournamentPlan, columns: ResultColumns) -> list[float | None]:
    """Return the score of each agent in the standings."""
    return [
        float(np.mean([points.mean() for points in tasks])) if tasks else None
        for tasks in AgentTable(plan, columns).task_points
    ]


def lost_share(groups: Sequence[tuple[ThinkTimes, TimeControl]]) -> Interval | None:
    """Return the share of turns that an agent loses, with think times under time controls."""
    known = [group for group in groups if len(group[0])]
    if not known:
        return None
    loss = Loss.of(known)
    if loss.unknown:  # think times that are not known that far
        return Interval(loss.share, low=loss.share)
    trials = loss.trials()
    low, high = trials.share(loss.share) if trials.worth else (None, None)
    return Interval(loss.share, low, high, lack="" if trials.worth else "too few")


def _remarks(plan: TournamentPlan, study: _Study, matches: int) -> Iterator[str]:
    if study.paced:
        yield (
            f"{study.paced:,} of {matches:,} matches were played at real-time pace, where the tick ends a"
            " turn: they have no curve, and only the hard limit and a total are judged"
        )
    if not has_fixed_schedule(plan):
        yield "the schedule depends on results: under another time control other matches might be played"
