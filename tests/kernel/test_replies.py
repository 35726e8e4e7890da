"""Stale, double, unasked and illegal replies: never played for another turn."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from flagfall.kernel.dispatcher import MAX_DROPPED_RECORDS
from tests.fakes import NIL, CountTask, Sleeper, TogetherTask, play


def test_a_late_answer_is_never_played_for_a_later_turn():
    """What `AsyncVectorEnv` does after a timeout: every later step gets the answer of the one before."""

    class Numbered:
        async def act(self, observation: int) -> int:
            await trio.sleep(0.06 if observation == 1 else 0.01)
            return 10 + observation

    played = play(CountTask(5), Numbered())
    assert played.actions() == [10, NIL, 12, 13, 14]
    assert [(d.turn, d.why) for d in played.dropped] == [(1, "stale")]
    assert played.stats().dropped == 1


def test_replies_after_the_match_change_nothing():
    seats: list[Any] = []

    async def run(seat: Any) -> None:
        seats.append(seat)
        async for turn in seat:
            seat.reply(turn.observation)

    played = play(CountTask(2), run)
    recorded = len(played.events)
    (seat,) = seats
    for number in (None, 1, 10_000):
        seat.reply(1, number)
    seat.close()
    assert seat.closed
    assert len(played.events) == recorded
    assert played.stats().dropped == 0


def test_double_and_unasked_replies_are_told_apart():
    async def run(seat: Any) -> None:
        seat.reply(1)  # before anything was asked, but for `start`, which the host answered
        async for turn in seat:
            seat.reply(5)
            seat.reply(6)
            seat.reply(6, turn.number)
            seat.reply(6, 10_000)
            seat.reply(6, -10_000)
            seat.reply(6, "no number")

    played = play(CountTask(1), run)
    assert played.actions() == [5]
    assert [d.why for d in played.dropped] == ["double", "double", "double", "unasked", "unasked", "unasked"]
    assert all(type(d.turn) is int for d in played.dropped)


def test_a_flood_of_replies_is_bounded_in_the_records():
    async def run(seat: Any) -> None:
        async for _turn in seat:
            seat.reply(5)
            for _ in range(1000):
                seat.reply(6)

    played = play(CountTask(3), run)
    assert played.actions() == [5, 5, 5]
    assert len(played.dropped) == MAX_DROPPED_RECORDS
    assert played.stats().dropped == 3000


def test_an_answer_by_number_to_a_turn_not_taken_is_not_played():
    async def run(seat: Any) -> None:
        turn = await seat.turn()
        seat.reply(4, turn.number + 1)
        seat.reply(5)
        seat.reply(6, turn.number + 1)
        turn = await seat.turn()
        seat.reply(7)
        await trio.sleep_forever()

    played = play(CountTask(2), run)
    assert played.actions() == [5, 7]


class _Hostile:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __le__(self, other: object) -> bool:
        raise SystemExit(3)

    __ge__ = __lt__ = __gt__ = __le__


@pytest.mark.parametrize(
    "action", ["text", 100, -1, None, [1], 3j, _Hostile(), float("nan")], ids=lambda a: type(a).__name__
)
def test_illegal_actions_are_nil_and_told(action: Any):
    agent = Sleeper(0.01, say=action)
    played = play(CountTask(2), agent)
    assert played.verdicts() == ["illegal"] * 2
    assert played.actions() == [NIL, NIL]
    assert agent.lates[1].verdict == "illegal"
    assert agent.lates[1].turn == 0
    assert agent.lates[1].played == NIL
    assert played.stats().illegal == 2
    assert played.disqualified == []


def test_an_illegal_action_among_several_changes_only_its_own():
    played = play(TogetherTask(2, 2), Sleeper(0, say=1), Sleeper(0, say="x"))
    assert played.actions(0) == [1, 1]
    assert played.actions(1) == [NIL, NIL]
    assert played.stats(0).reward == 2
    assert played.stats(1).reward == -2
