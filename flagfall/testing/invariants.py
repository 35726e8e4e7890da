"""Invariants: what holds in every match, whatever its agents, the connections, the disk and the host do.

Each is a function of a simulated match that raises `AssertionError` where it is broken; the first line of its
docstring is the invariant. They compare what the match recorded with what passed the agents' ends of the
seats, and compute limits and verdicts, observations and rewards anew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final, TypeAlias

import attrs
from msgspec.structs import replace

from flagfall.errors import UNAVAILABLE, HostFault
from flagfall.events import (
    LATE_VERDICTS,
    ON_TIME,
    OUT_VERDICTS,
    SCHEMA,
    Event,
    MatchEnded,
    MatchStarted,
    ReplyDropped,
    SeatDisqualified,
    StallSeen,
    TurnPlayed,
)
from flagfall.playing import Tasks
from flagfall.recording.journal.format import decode_events, encode, kept
from flagfall.recording.journal.reader import split_batches
from flagfall.recording.replay import Different, NotRepeatable, Rerun
from flagfall.recording.turn_limits import are_same
from flagfall.tasks.building import build_scheduler
from flagfall.testing.faults import FaultSchedule
from flagfall.testing.simulation.match import SimulatedRun, Standstill, simulate
from flagfall.testing.simulation.tournament import SimulatedTournament, simulate_tournament
from flagfall.timing import NEVER_NS, Budget, TimeControl
from flagfall.timing.budget import Limits, PhaseLimits, Reading, is_late, verdict_of
from flagfall.timing.stalls import GRACE_NS, HEARING_PASSES, NEXT_PASS_NS
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.records import MatchSpec
from flagfall.tournament.run.match_observer import MatchObserver

REASONS: Final = frozenset(
    {
        "late",
        "crashed",
        "gone",
        "garbage",
        "not started",
        UNAVAILABLE,
        "not connected",
        "silent",
        "unresponsive",
    }
)
"""Reasons for which a seat may be disqualified, see `flagfall.events.SeatDisqualified`."""

Invariant: TypeAlias = Callable[[SimulatedRun], None]


def fails_in_order(run: SimulatedRun) -> None:
    """Check that whatever fails ends its own match alone, void, and is named in its last event."""
    if isinstance(run.error, Standstill) and not _has_all_limits(run.request.time_control):
        return
    assert run.error is None or isinstance(run.error, HostFault), f"the match raised {run.error!r}"
    first, last = run.events[0], run.events[-1]
    assert isinstance(first, MatchStarted), f"the first event is {first!r}"
    assert isinstance(last, MatchEnded), f"the last event is {last!r}"
    for log in run.logs:
        assert log.reply_error is None, f"an agent's answer raised {log.reply_error!r}"
    if run.error is None:
        assert run.result is not None, "the match has neither a result nor an error"
        assert last.reason == run.result.reason, (
            f"{last.reason} in the record, {run.result.reason} in the result"
        )
        assert last.reason != "void", f"it is void without an error: {last.detail}"


def leaves_nothing_behind(run: SimulatedRun) -> None:
    """Check that no task, deadline or connection outlives the match."""
    left = {what: count for what, count in run.left.items() if count}
    assert not left, f"after the match there is still: {left}"


def records_each_turn_once(run: SimulatedRun) -> None:
    """Check that a turn has one record for each seat that was asked, in the order of turns and seats."""
    last = -1, -1
    for turn in _turns(run):
        place = turn.turn, turn.seat
        assert place > last, f"turn {place[0]} of seat {place[1]} follows turn {last[0]} of seat {last[1]}"
        last = place


def keeps_the_disqualified_out(run: SimulatedRun) -> None:
    """Check that a seat that is disqualified stays so: it is asked no more, and NIL is played for it."""
    out_ns: dict[int, int] = {}
    for event in run.events:
        if isinstance(event, SeatDisqualified):
            assert event.seat not in out_ns, f"seat {event.seat} was disqualified twice"
            out_ns[event.seat] = event.at_ns
    judged_out: set[int] = set()
    for turn in _turns(run):
        is_out = turn.seat in judged_out or turn.at_ns > out_ns.get(turn.seat, NEVER_NS)
        assert not is_out or turn.verdict == "absent", (
            f"turn {turn.turn}: seat {turn.seat} is disqualified, and was {turn.verdict}"
        )
        if turn.verdict in OUT_VERDICTS:
            judged_out.add(turn.seat)
    for seat, log in enumerate(run.logs):
        for take in log.takes:
            late = take.at_ns > out_ns.get(seat, NEVER_NS)
            assert not late, f"seat {seat} was asked {take.number} when it was disqualified"


def names_each_fault(run: SimulatedRun) -> None:
    """Check that a disqualification is in the result as it is recorded, for a reason of the list."""
    reasons = {event.seat: event.reason for event in run.events if isinstance(event, SeatDisqualified)}
    for seat, reason in reasons.items():
        assert reason in REASONS, f"seat {seat} was disqualified as {reason!r}"
    for seat, report in enumerate(() if run.result is None else run.result.seats):
        assert report.disqualified == reasons.get(seat), (
            f"seat {seat}: {report.disqualified} in the result, {reasons.get(seat)} in the record"
        )


def plays_no_stale_answer(run: SimulatedRun) -> None:
    """Check that a turn on time is played as its agent has answered that very turn, the first time."""
    is_paced = run.request.tick_ns is not None  # then the newest answer counts, also to an older turn
    for seat, log in enumerate(run.logs):
        given: dict[int | None, list[Any]] = defaultdict(list)
        for answer in log.answers:
            given[answer.number].append(answer.action)
        for turn in _turns(run):
            if turn.seat != seat or turn.verdict != ON_TIME:
                continue
            answers = given[turn.turn if turn.answers is None else turn.answers]
            assert any(are_same(one, turn.action) for one in (answers if is_paced else answers[:1])), (
                f"turn {turn.turn}: {turn.action!r} was played, and seat {seat} answered {answers}"
            )


def judges_by_the_clock(run: SimulatedRun) -> None:
    """Check that a verdict follows from the time that is charged, and comes no later than limit and grace."""
    grace_ns = GRACE_NS + HEARING_PASSES * NEXT_PASS_NS if _has_stalled(run) else 0
    for turn, (soft_ns, _, abort_ns) in _judged(run):
        where = f"turn {turn.turn}: seat {turn.seat} was {turn.verdict} after {turn.spent_ns} of {soft_ns} ns"
        if turn.verdict in LATE_VERDICTS:
            limits = Limits(soft_ns, abort_ns=abort_ns)
            verdict = verdict_of(Reading(turn.spent_ns), limits, abortable=True)
            assert turn.verdict == verdict, f"{where}, and by the clock it is {verdict}"
            last_ns = max(soft_ns, abort_ns if abort_ns < NEVER_NS else 0) + grace_ns
            assert turn.spent_ns <= last_ns, f"{where}: too late a verdict"
        else:
            assert not is_late(turn.spent_ns, soft_ns + grace_ns), where


def ends_at_the_hard_limit(run: SimulatedRun) -> None:
    """Check that a seat that is busy with one turn until its hard limit is disqualified."""
    control = run.request.time_control
    if control.total is not None or control.act_hard is None or _has_stalled(run):
        return
    out = {event.seat for event in run.events if isinstance(event, SeatDisqualified)}
    for seat, log in enumerate(run.logs):
        if seat in out:
            continue
        ends = {answer.number: answer.at_ns for answer in reversed(log.answers)}
        for take in log.takes:
            busy_ns = ends.get(take.number, take.at_ns) - take.at_ns
            assert take.number < 0 or not is_late(busy_ns, control.act_hard), (
                f"turn {take.number}: seat {seat} was busy for {busy_ns} ns, and plays on"
            )


def charges_each_turn_once(run: SimulatedRun) -> None:
    """Check that a seat has the time for its next turn that the recorded ones leave of its bank."""
    limits = {(turn.turn, turn.seat): soft_ns for turn, (soft_ns, *_) in _judged(run)}
    for seat, log in enumerate(run.logs):
        for take in log.takes:
            limit_ns = limits.get((take.number, seat), take.limit_ns)
            assert take.limit_ns in {None, limit_ns}, (
                f"turn {take.number}: seat {seat} has {take.limit_ns} ns, and the turns leave {limit_ns} ns"
            )


def spares_the_others(run: SimulatedRun) -> None:
    """Check that no seat is disqualified or late for a fault of another, or of the host."""
    struck = {fault.seat for fault in run.schedule}
    for seat, log in enumerate(run.logs):
        if seat in struck:
            continue
        for event in run.events:
            if isinstance(event, SeatDisqualified) and event.seat == seat and event.reason != "late":
                own = None if log.fault is None else log.fault.reason
                assert event.reason == own, f"seat {seat} was {event.reason}: {event.detail}"
        ends = {answer.number: answer.at_ns for answer in reversed(log.answers)}
        takes = {take.number: take.since_ns for take in log.takes}
        was_late = False
        for turn in _turns(run):
            if turn.seat != seat:
                continue
            if turn.verdict in LATE_VERDICTS and not was_late and turn.turn in takes and turn.turn in ends:
                used_ns = ends[turn.turn] - takes[turn.turn]
                assert used_ns >= turn.spent_ns, (
                    f"turn {turn.turn}: seat {seat} was {turn.verdict}, and has used {used_ns} ns"
                )
            was_late = turn.verdict in LATE_VERDICTS


def counts_what_it_records(run: SimulatedRun) -> None:
    """Check that the result counts the turns, verdicts and times that the events have."""
    if run.result is None or run.result.reason not in {"finished", "steps"}:
        return  # a turn that was withdrawn is counted for the seats that had answered
    verdicts: Counter[tuple[int, str]] = Counter()
    spent_ns: Counter[int] = Counter()
    dropped: Counter[int] = Counter()
    for event in run.events:
        if isinstance(event, TurnPlayed):
            verdicts[event.seat, event.verdict] += 1
            spent_ns[event.seat] += event.spent_ns
        elif isinstance(event, ReplyDropped):
            dropped[event.seat] += 1
    for seat, report in enumerate(run.result.seats):
        stats = report.stats
        late = sum(verdicts[seat, verdict] for verdict in LATE_VERDICTS) + (report.disqualified == "late")
        turns = sum(count for (number, _), count in verdicts.items() if number == seat)
        recorded = turns, late, verdicts[seat, "illegal"], verdicts[seat, "absent"], spent_ns[seat]
        counted = stats.turns, stats.late, stats.illegal, stats.absent, stats.think_ns
        assert counted == recorded, f"seat {seat}: {counted} in the result, {recorded} in the record"
        assert stats.dropped >= dropped[seat], (
            f"seat {seat}: {stats.dropped} of {dropped[seat]} dropped replies"
        )


def records_what_happened(run: SimulatedRun) -> None:
    """Check that the journal is sealed and has every event; on a disk that failed, whole batches of them."""
    events: list[Event] = []
    state = "torn"
    for batch in split_batches(iter(run.journal.splitlines(keepends=True))):
        state = batch.state
        events += [event for line in batch.lines for event in decode_events(line, SCHEMA)]
    is_broken = any(kind.startswith("disk") for kind in run.happened)
    assert state == "last" or is_broken, f"the journal is {state}"
    assert len(events) == len(run.events) or is_broken, (
        f"{len(events)} of {len(run.events)} events are recorded"
    )
    for event, recorded in zip(run.events, events, strict=False):
        if isinstance(event, TurnPlayed) and isinstance(recorded, TurnPlayed):
            event = replace(event, observation=kept(encode(event.observation)))  # noqa: PLW2901 - as in journals
        assert encode(event) == encode(recorded), f"{recorded} is recorded for {event}"


def verifies(run: SimulatedRun) -> None:
    """Check that executing the match again results in its record."""
    request = run.request
    scheduler, _header = build_scheduler(request.tasks, request.scheduler, request.steps)
    header = run.events[0]
    assert isinstance(header, MatchStarted)
    with closing(scheduler), closing(Rerun(header, scheduler)) as rerun:
        for event in run.events[1:]:
            try:
                rerun.take(event)
            except NotRepeatable:
                return
            except Different as different:
                raise AssertionError(
                    f"{type(event).__name__} at {event.at_ns} ns: {different}"
                ) from different


def is_excused_for_what_a_stall_explains(run: SimulatedRun) -> None:
    """Check that a tournament plays a match again only if an agent was late by no more than stalls lost."""
    if run.result is None or run.request.tick_ns is not None:
        return
    agents = tuple(report.agent for report in run.result.seats)
    observer = MatchObserver(len(agents), run.request.time_control)
    for event in run.events:
        observer(event)
    observer.record(
        MatchSpec("match", agents, "task", run.request.seed), 1, run.result, measure="reward", last=None
    )
    if not observer.stalled:
        return
    lost_ns = sum(event.lost_ns for event in run.events if isinstance(event, StallSeen))
    # An agent that was late is heard when it answers that turn, or when it gets one that it answers in time.
    heard_ns: dict[int, int] = defaultdict(lambda: run.events[-1].at_ns)
    dropped = {
        (event.seat, event.turn): event.at_ns for event in run.events if isinstance(event, ReplyDropped)
    }
    late_ns = []
    for turn, (soft_ns, *_) in reversed([*_judged(run)]):
        if turn.verdict in LATE_VERDICTS:
            until_ns = dropped.get((turn.seat, turn.turn), heard_ns[turn.seat])
            late_ns.append(turn.spent_ns - soft_ns + max(0, until_ns - turn.at_ns))
        elif turn.verdict == ON_TIME:
            heard_ns[turn.seat] = turn.at_ns - turn.spent_ns - turn.credit_ns
    is_out = any(isinstance(event, SeatDisqualified) and event.reason == "late" for event in run.events)
    assert is_out or min(late_ns, default=0) <= lost_ns, (
        f"{observer.stalled}: late by at least {min(late_ns)} ns, and {lost_ns} ns were lost"
    )


def repeats_and_leaves_others_alone(run: SimulatedRun) -> None:
    """Check that seed and faults decide on the journal, and leave a match in the same loop as it is alone."""
    is_apart = _are_made_anew(run.request.tasks)
    again = simulate(run.request, run.schedule, beside=int(is_apart))
    _compare(run, again, "at first, and then")
    if is_apart and "stall host" not in run.happened:
        alone, (beside,) = simulate(run.request), again.others
        assert repr(beside.error) == repr(alone.error), f"a match beside it raised {beside.error!r}"
        _compare(alone, beside, "in a match without faults alone, and beside it")


INVARIANTS: Final[Sequence[Invariant]] = (
    fails_in_order,
    leaves_nothing_behind,
    records_each_turn_once,
    keeps_the_disqualified_out,
    names_each_fault,
    plays_no_stale_answer,
    judges_by_the_clock,
    ends_at_the_hard_limit,
    charges_each_turn_once,
    spares_the_others,
    counts_what_it_records,
    is_excused_for_what_a_stall_explains,
    records_what_happened,
    verifies,
)
"""The invariants of one match, in the order in which they are checked."""

INVARIANTS_OF_SEVERAL: Final[Sequence[Invariant]] = (repeats_and_leaves_others_alone,)
"""Invariants that take further matches to check."""


def _are_made_anew(tasks: Tasks) -> bool:
    """Return whether each match has tasks of its own: they are not given as objects."""
    if isinstance(tasks, Iterable) and not isinstance(tasks, str):
        return all(isinstance(task, str | type) for task in tasks)
    return isinstance(tasks, str | type) or hasattr(tasks, "build")


def _has_all_limits(control: TimeControl) -> bool:
    """Return whether no request to an agent may last for good."""
    limits = control.start, control.init, control.result, control.act_hard or control.bank or control.act
    return control.total is not None or None not in limits


def plays_each_match_once(run: SimulatedTournament) -> None:
    """Check that a tournament comes to its end, and each match is stored once as played."""
    assert not run.ended[-1], f"the last run ended: {run.ended[-1]}"
    played = Counter(attempt.id for attempt in run.attempts if attempt.status == "played")
    assert set(played.values()) == {1}, f"stored more than once: {played.most_common(3)}"
    planned = {spec.id for spec in schedule(run.plan).walk(run.records)}
    assert played.keys() == planned, f"played {sorted(played)}, planned {sorted(planned)}"


def resumes_to_the_same_result(run: SimulatedTournament) -> None:
    """Check that results and journals are those of a tournament whose runner, workers and store are sound."""
    sound = FaultSchedule(tuple(fault for fault in run.schedule if not fault.row.is_of_tournament))
    if len(sound) == len(run.schedule):
        return
    other = simulate_tournament(run.plan, sound)
    for name, record in run.records.items():
        same = other.records.get(name, record)
        again = attrs.evolve(record, attempt=same.attempt)
        assert again == same, f"match {name} is {record}, and without the faults {same}"
    journals, others = (
        {name: data for name, data in one.journals.items() if ".void" not in name} for one in (run, other)
    )
    assert journals == others, "the journals are not those of a tournament without the faults"


TOURNAMENT_INVARIANTS: Final = (
    plays_each_match_once,
    resumes_to_the_same_result,
)
"""The invariants of a tournament."""


def _compare(run: SimulatedRun, other: SimulatedRun, how: str) -> None:
    for one, another in zip(run.events, other.events, strict=False):
        assert encode(one) == encode(another), f"{one} {how} {another}"
    assert len(run.events) == len(other.events), f"{len(run.events)} events {how} {len(other.events)}"
    assert run.journal == other.journal, f"two journals of the same events {how}"


def _turns(run: SimulatedRun) -> Iterator[TurnPlayed]:
    return (event for event in run.events if isinstance(event, TurnPlayed))


def _has_stalled(run: SimulatedRun) -> bool:
    """Return whether the host lost time, so that a late verdict may wait for an answer."""
    return "stall host" in run.happened or any(isinstance(event, StallSeen) for event in run.events)


def _judged(run: SimulatedRun) -> Iterator[tuple[TurnPlayed, PhaseLimits]]:
    """Yield the turns that the clock judged, with their limits, which are computed from the times charged.

    There are none at real-time pace, where the tick is the limit, and under a total, which counts phases of
    which a record has no times.
    """
    control = run.request.time_control
    if control.total is not None or run.request.tick_ns is not None:
        return
    budgets: dict[int, Budget] = defaultdict(lambda: Budget(control))
    for turn in _turns(run):
        if turn.verdict not in OUT_VERDICTS:
            budget = budgets[turn.seat]
            yield turn, budget.limits("act")
            budget.charge("act", turn.spent_ns)
