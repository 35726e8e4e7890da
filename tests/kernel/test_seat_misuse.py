"""Agents that use their seat in ways that are not meant lose their own match, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import trio

from flagfall.events import MatchEnded
from flagfall.timing import NEVER_NS
from tests.fakes import NIL, CountTask, Sleeper, TogetherTask, play


class Actor:
    def __init__(self, body: Callable[[Any], Awaitable[None]]) -> None:
        self.run = body


async def closes_unanswered(seat: Any) -> None:
    await seat.turn()
    seat.close()
    seat.reply(1)
    await trio.sleep(5)


async def closes_and_returns(seat: Any) -> None:
    await seat.turn()
    seat.close()


async def closes_answered(seat: Any) -> None:
    await seat.turn()
    seat.reply(1)
    seat.close()
    await trio.sleep(5)


@pytest.mark.parametrize("body", [closes_unanswered, closes_and_returns, closes_answered])
def test_an_agent_that_closes_its_seat_has_left(body: Any):
    alone = play(CountTask(), Actor(body), control="untimed")
    assert (alone.reason, [event.reason for event in alone.disqualified]) == ("seats", ["gone"])
    together = play(TogetherTask(2), Actor(body), Sleeper(0.01), control="untimed")
    assert (together.reason, [event.seat for event in together.disqualified]) == ("finished", [0])
    assert together.verdicts(1) == ["on time"] * 3


def test_a_seat_that_is_closed_after_the_match_changes_nothing():
    seats: list[Any] = []

    async def body(seat: Any) -> None:
        seats.append(seat)
        async for _turn in seat:
            seat.reply(1)
        seat.close()

    played = play(CountTask(), Actor(body))
    seats[0].close()
    assert (played.reason, played.disqualified) == ("finished", [])


@pytest.mark.parametrize("wants", [None, 7])
def test_an_agent_that_wants_no_phases_at_all_crashes_alone(wants: Any):
    async def body(seat: Any) -> None:
        seat.wants = wants

    played = play(TogetherTask(2), Actor(body), Sleeper(0.01))
    assert played.reason == "finished"
    assert [(event.seat, event.reason) for event in played.disqualified] == [(0, "crashed")]


def test_replies_after_the_match_are_not_recorded():
    seats: list[Any] = []

    async def body(seat: Any) -> None:
        seats.append(seat)
        async for _turn in seat:
            seat.reply(1)

    for task, others in ((CountTask(), []), (TogetherTask(2), [Sleeper(0.01)])):
        played = play(task, Actor(body), *others)
        for number in (None, 0, 1, 2, 99):
            seats[-1].reply(5, number)
        assert isinstance(played.events[-1], MatchEnded)


def test_two_tasks_of_an_agent_never_wait_at_once():
    """A task that was woken for a turn which another one took keeps its place."""
    seen: list[Any] = []

    async def body(seat: Any) -> None:
        async def waits() -> None:
            with trio.move_on_after(1.5):
                seen.append((await seat.turn()).number)
            seat.reply(2)

        await seat.turn()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(waits)
            await trio.sleep(0.001)
            seat.reply(1)  # posts turn 1, which wakes the other task
            seen.append((await seat.turn()).number)
            with pytest.raises(trio.BusyResourceError):
                await seat.turn()
            await trio.sleep(0.001)
            seat.reply(1)
        async for _turn in seat:
            seat.reply(3)

    played = play(CountTask(4), Actor(body))
    assert seen == [1, 2]
    assert played.actions() == [1, 1, 2, 3]


def sets_its_clock(seat: Any) -> None:
    seat.clock.fast_path_until_ns = seat.clock.due_ns = NEVER_NS


def sets_its_timer(seat: Any) -> None:
    seat.timer.limit_ns = seat.timer.started_ns = NEVER_NS


@pytest.mark.parametrize("cheat", [sets_its_clock, sets_its_timer])
def test_an_agent_in_the_loop_has_no_more_time_than_its_limit(cheat: Any):
    async def body(seat: Any) -> None:
        async for turn in seat:
            with suppress(AttributeError):
                cheat(seat)
            await trio.sleep(0.05)
            seat.reply(5, turn.number)

    played = play(CountTask(3), Actor(body), control="act=10ms/1s")
    assert played.verdicts() == ["late"] * 3


def test_an_agent_cannot_make_an_illegal_action_the_answer_to_another_phase():
    async def body(seat: Any) -> None:
        async for turn in seat:
            with suppress(AttributeError):
                turn.phase = "result"
            seat.reply("no action")

    task = CountTask(3)
    played = play(task, Actor(body))
    assert (played.verdicts(), task.taken) == (["illegal"] * 3, [NIL] * 3)


def test_no_attribute_of_what_an_agent_holds_leads_to_its_clock():
    """Private names included; `__self__` and the like are for those who mean to cheat (`docs/hosts.md`)."""
    seen: dict[int, Any] = {}

    def follow(held: Any) -> None:
        if id(held) in seen or not type(held).__module__.startswith(("flagfall", "builtins")):
            return
        seen[id(held)] = held
        for name in dir(held):
            if not name.startswith("__"):
                with suppress(AttributeError):
                    follow(getattr(held, name))

    class Curious:
        def start(self, briefing: Any) -> None:
            follow(briefing)

        async def run(self, seat: Any) -> None:
            async for turn in seat:
                follow(seat)
                follow(turn)
                seat.reply(1)

    play(CountTask(), Curious())
    kinds = {type(held).__name__ for held in seen.values() if type(held).__module__.startswith("flagfall")}
    assert kinds == {"Briefing", "Spaces", "TaskDescription", "Seat", "ElapsedTimer", "Envelope"}
