"""Limits of recorded turns are those of the match."""

import trio
from msgspec.structs import replace

import flagfall
from flagfall.events import MatchStarted, SeatReady, TurnPlayed
from flagfall.recording.turn_limits import LimitsOfTurns, TurnLimits
from flagfall.timing import MS, S

HEADER = MatchStarted(0, schema=3, flagfall="", tasks=["micro1"], scheduler="sequential", agents=["a", "b"],
                      seed=0, time_control="untimed", clock="wall")  # fmt: skip


def turn(number, *, seat=0, spent_ns=0, verdict="on time"):
    return TurnPlayed(number, number, 0, 0, 0, spent_ns, seat, verdict)


def limits_of(text, **changes):
    return LimitsOfTurns(replace(HEADER, time_control=text, **changes))


def test_limits_without_a_bank_never_change():
    limits = limits_of("act=40ms/1s")
    assert limits.flat == TurnLimits(40 * MS, 1 * S, None)
    assert limits.take_turn(turn(0, spent_ns=39 * MS)) is limits.flat
    assert limits.take_turn(turn(1, verdict="absent")) == TurnLimits()
    assert limits_of("untimed").take_turn(turn(0)) == TurnLimits()


def test_a_bank_is_drawn_on_by_each_seat_for_itself():
    limits = limits_of("act=1s bank=5s+0.5s late=nil")
    assert limits.flat is None
    assert limits.take_turn(turn(0, spent_ns=3 * S)) == TurnLimits(6 * S, None, 3500 * MS)
    assert limits.take_turn(turn(0, seat=1)) == TurnLimits(6 * S, None, 5500 * MS)
    assert limits.take_turn(turn(1)) == TurnLimits(4500 * MS, None, 4000 * MS)


def test_a_total_counts_the_start():
    limits = limits_of("act=40ms total=1s")
    limits.take_start(SeatReady(0, 0, 970 * MS, "task"))
    assert limits.take_turn(turn(0)) == TurnLimits(30 * MS, 30 * MS, None)


def test_the_tick_is_the_limit_at_real_time_pace():
    limits = limits_of("act=40ms/1s", tick_ns=100 * MS)
    assert limits.take_turn(turn(0)) == TurnLimits(100 * MS, 1 * S, None)


def test_records_that_make_no_sense_have_no_limits():
    limits = limits_of("bank=5s")
    assert limits.take_turn(turn(0, seat=7)) == TurnLimits()
    limits.take_start(SeatReady(0, -1, 5, "task"))
    assert limits.take_turn(turn(0, spent_ns=-5)) == TurnLimits(5 * S, 5 * S, 5 * S)
    unread = limits_of("soon")
    assert unread.problem.startswith("time control, column 1:")
    assert unread.take_turn(turn(0)) == TurnLimits()


class _Slow:
    """Thinks longer in each turn, and keeps the limits that it was given."""

    def __init__(self):
        self.limits = []

    async def run(self, seat):
        async for turn in seat:
            self.limits.append(seat.timer.limit_ns)
            await trio.sleep(0.1 * len(self.limits))
            seat.reply(turn.observation)


def test_limits_are_those_of_a_match(tmp_path):
    agent, path = _Slow(), tmp_path / "match.jsonl"
    flagfall.run(["micro1"], agent, steps=5, clock="virtual", journal=path, time_control="1s+0.2s")
    header, *events = flagfall.read_journal(path)
    assert isinstance(header, MatchStarted)
    limits = LimitsOfTurns(header)
    turns = [limits.take_turn(event) for event in events if type(event) is TurnPlayed]
    assert [of.soft_ns for of in turns] == agent.limits
    assert len(set(agent.limits)) > 2
