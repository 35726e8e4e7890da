"""Real-time pace: the world moves at ticks, and takes the newest that each agent has said."""

from __future__ import annotations

from typing import Any

import trio

from flagfall.timing import MS, S
from tests.fakes import NIL, CountTask, InTurnTask, ListScheduler, Sleeper, TogetherTask, play


def at(played: Any, seat: int = 0) -> list[int]:
    return [t.at_ns // MS for t in played.turns if t.seat == seat]


def test_ticks_come_at_exact_times_whatever_agents_do():
    played = play(CountTask(5), Sleeper(0.003, 0.009), tick_ns=10 * MS)
    assert [t.at_ns for t in played.turns] == [10 * MS, 20 * MS, 30 * MS, 40 * MS, 50 * MS]
    assert played.verdicts() == ["on time"] * 5
    assert [t.spent_ns for t in played.turns] == [3 * MS, *[9 * MS] * 4]


def test_without_an_answer_nil_is_played_and_the_old_answer_counts_later():
    agent = Sleeper(0.025, 0.001)
    played = play(CountTask(5), agent, tick_ns=10 * MS)
    assert played.verdicts() == ["late", "late", "on time", "on time", "on time"]
    assert played.actions() == [NIL, NIL, 7, 7, 7]
    assert [t.answers for t in played.turns][:2] == [None, None]
    # At 25 ms it says what it thought of turn 0, and at 26 ms of turn 2: the newest is played.
    assert played.turns[2].answers is None
    assert played.stats().skipped == 1
    assert agent.seen == [0, 2, 3, 4]


def test_an_older_answer_is_recorded_as_such():
    played = play(CountTask(4), Sleeper(0.025, 1.0), tick_ns=10 * MS)
    assert played.actions() == [NIL, NIL, 7, NIL]
    assert played.turns[2].answers == 0


def test_exactly_on_the_tick_goes_to_the_next():
    played = play(CountTask(3), Sleeper(0.01, 1.0), tick_ns=10 * MS)
    assert played.actions() == [NIL, 7, NIL]
    assert played.turns[1].answers == 0


def test_the_hard_limit_still_applies():
    played = play(CountTask(50), Sleeper(5.0), tick_ns=10 * MS, control="act_hard=35ms")
    assert played.reason == "seats"
    assert played.disqualified[0].at_ns == 35 * MS
    assert at(played) == [10, 20, 30, 35]
    assert played.verdicts() == ["late", "late", "late", "disqualified"]


def test_the_world_keeps_its_rate_when_those_who_act_are_out():
    played = play(
        InTurnTask([0, 1, 1, 1, 0]), Sleeper(0.001), Sleeper(9.0), tick_ns=10 * MS, control="act_hard=5ms"
    )
    assert played.verdicts(1) == ["disqualified", "absent", "absent"]
    assert sorted(at(played, 0)) == [10, 50]
    assert played.result is not None
    assert played.result.elapsed_ns == 50 * MS


def test_illegal_actions_at_the_tick():
    agent = Sleeper(0.001, say="x")
    played = play(CountTask(2), agent, tick_ns=10 * MS)
    assert played.verdicts() == ["illegal"] * 2
    assert agent.lates[1].verdict == "illegal"


def test_several_agents_share_the_tick():
    played = play(TogetherTask(2, 4), Sleeper(0.001), Sleeper(0.015, 0.001), tick_ns=10 * MS)
    assert played.verdicts(0) == ["on time"] * 4
    assert played.actions(1) == [NIL, 7, 7, 7]
    assert at(played, 0) == [10, 20, 30, 40]


def test_what_was_thought_of_one_task_is_never_played_in_the_next():
    class Slow:
        async def act(self, observation: int) -> int:
            await trio.sleep(0.012 if observation == 2 else 0.001)
            return 10 + observation

    # Turn 2 is the last of the first task; its answer comes in the first turn of the second.
    played = play(
        ListScheduler([CountTask(3, continuous=True), CountTask(2, continuous=True)]), Slow(), tick_ns=10 * MS
    )
    assert played.actions() == [10, 11, NIL, 10, 11]
    assert [(d.turn, d.why) for d in played.dropped] == [(2, "stale")]


def test_no_tick_is_made_up_for():
    """After a pause in which the world stood still, the next tick is the next of the rate."""
    scheduler = ListScheduler([CountTask(2, continuous=True)] * 2, asynchronous=True)
    played = play(scheduler, Sleeper(0.001), tick_ns=300 * MS)
    assert [t.at_ns - S for t in played.turns[:2]] == [300 * MS, 600 * MS]
    assert len(played.turns) == 4
    assert played.turns[3].at_ns - played.turns[2].at_ns == 300 * MS


class Skipping:
    """An actor that takes its first turn, and asks for another without an answer."""

    async def run(self, seat: Any) -> None:
        await seat.turn()
        async for _turn in seat:
            seat.reply(5)


def test_who_waits_for_the_next_turn_is_busy_with_nothing():
    played = play(
        InTurnTask([0, 1, 1, 1, 1, 0], 2),
        Skipping(),
        Sleeper(0.001),
        tick_ns=10 * MS,
        control="act_hard=35ms",
    )
    assert played.disqualified == []
    assert played.verdicts(0) == ["late", "on time"]


def test_an_illegal_answer_to_an_older_turn_is_recorded_as_such():
    played = play(CountTask(4), Sleeper(0.025, 1.0, say="wrong"), tick_ns=10 * MS)
    assert played.verdicts() == ["late", "late", "illegal", "late"]
    assert played.turns[2].answers == 0
