"""Every way of being late, on a clock where it is exact to the nanosecond."""

from __future__ import annotations

import time
from typing import Any

import pytest
import trio

from flagfall.kernel.channels.turn_channel import BURST_ENVELOPES, LateNotice
from flagfall.timing import MS, S
from tests.fakes import NIL, CountTask, Sleeper, TogetherTask, play, play_here


def test_soft_limit_plays_nil_and_tells_the_agent():
    agent = Sleeper(0.05, 0.01)
    played = play(CountTask(3), agent)
    assert played.verdicts() == ["late", "on time", "on time"]
    assert played.actions() == [NIL, 7, 7]
    assert agent.lates == [None, LateNotice(0, "late", NIL, 0), None]
    assert played.turns[0].spent_ns == 40 * MS
    assert played.turns[0].at_ns == 40 * MS
    assert played.stats().late == 1
    assert [d.why for d in played.dropped] == ["stale"]
    assert played.dropped[0].at_ns == 50 * MS


def test_first_turn_at_moment_zero_is_judged_like_any_other():
    played = play(CountTask(1), Sleeper(0.0400001))
    assert played.verdicts() == ["late"]
    assert played.turns[0].at_ns == 40 * MS


def test_late_turn_at_any_offset_is_judged_alike():
    """The answer that takes 100 ms spans turns 3 and 4; when it comes, 20 ms of turn 5 are used."""
    played = play(CountTask(6), Sleeper(0.013, 0.04, 0.0399, 0.1, 0.01, 0.039999999))
    assert played.verdicts() == ["on time", "late", "on time", "late", "late", "on time"]
    spent_us = [turn.spent_ns // 1000 for turn in played.turns]
    assert spent_us == [13_000, 40_000, 39_900, 40_000, 40_000, 30_000]


def test_exactly_on_the_deadline_is_late_and_a_nanosecond_before_is_not():
    played = play(CountTask(4), Sleeper(0.039999999, 0.04, 0.039999999, 0.04))
    assert played.verdicts() == ["on time", "late", "on time", "late"]
    assert [t.spent_ns for t in played.turns] == [40 * MS - 1, 40 * MS, 40 * MS - 1, 40 * MS]


def test_hard_limit_puts_the_seat_out():
    played = play(CountTask(100), Sleeper(5.0))
    assert played.reason == "seats"
    assert played.verdicts()[-1] == "disqualified"
    assert played.disqualified[0].reason == "late"
    assert played.disqualified[0].at_ns == 1 * S
    assert set(played.verdicts()[:-1]) == {"late"}
    assert len(played.turns) == 25  # 24 soft limits of 40 ms fit into the second, and the one that it fell in


class Listener(Sleeper):
    """Sleeps in its turns as told, and wants to be asked in the other phases, too."""

    async def init(self, _observation: Any) -> None:
        """Answer at once."""

    async def result(self, _observation: Any, _reward: Any) -> None:
        """Answer at once."""


@pytest.mark.parametrize("result", ["", " result=9s"], ids=["no limit", "longer"])
@pytest.mark.parametrize("steps", [1, 3])
def test_hard_limit_holds_when_the_task_ends_meanwhile(steps: int, result: str):
    """The agent never returns from a turn; the limit of the phase that follows is not that of this turn."""
    played = play(CountTask(steps), Listener(1e9), control=f"act=40ms/1s start=1s{result}")
    assert played.verdicts() == ["late"] * steps
    assert [(seat.at_ns, seat.reason) for seat in played.disqualified] == [(1 * S, "late")]


@pytest.mark.parametrize("clock", ["act=40ms/1s start=1s", "act=40ms/1s start=1s result=100ms"])
def test_agent_that_returns_before_the_hard_limit_has_the_whole_time_for_the_result(clock: str):
    played = play([CountTask(1), CountTask(1)], Listener(0.9, 0.01), control=clock)
    in_time = "result" not in clock  # 900 ms after the task had ended
    assert (played.disqualified == []) is in_time
    assert played.verdicts() == (["late", "on time"] if in_time else ["late"])


def test_one_turn_may_use_up_the_whole_total():
    """Each turn that is late meanwhile is booked with its 40 ms; the agent is not charged for them twice."""
    played = play(CountTask(1000), Sleeper(1e9), control="act=40ms total=1s grace=500ms start=1s")
    assert [(seat.at_ns, seat.reason) for seat in played.disqualified] == [(1500 * MS, "late")]


def test_overrun_puts_the_seat_out_where_the_task_cannot_be_aborted():
    played = play(CountTask(3), Sleeper(0.045, 0.06), control="act=40ms/1s act_abort=50ms")
    assert played.verdicts() == ["late", "disqualified"]
    assert [turn.at_ns for turn in played.turns] == [45 * MS, 95 * MS], "up to 50 ms the task waits"
    assert played.disqualified[0].reason == "late"


def test_overrun_plays_the_action_that_aborts_for_that_seat_alone():
    task = TogetherTask(steps=2)
    task.abort_action = 99
    played = play(task, Sleeper(0.07, 0.01), Sleeper(0.01), control="act=40ms/1s act_abort=50ms")
    assert task.taken[0] == {"player_0": 99, "player_1": 7}
    assert [turn.verdict for turn in played.turns if turn.seat == 0] == ["overrun", "on time"]
    assert played.disqualified == []
    second = next(turn for turn in played.turns if (turn.turn, turn.seat) == (1, 0))
    assert (second.at_ns, second.spent_ns) == (80 * MS, 10 * MS), "its clock starts when it is taken"


def test_overrun_does_not_count_at_real_time_pace():
    task = CountTask(4)
    task.abort_action = 99
    played = play(task, Sleeper(0.035), tick_ns=10 * MS, control="act_abort=30ms")
    assert "overrun" not in played.verdicts()


def test_hard_limit_alone_is_enough():
    played = play(CountTask(3), Sleeper(0.1, 0.3), control="act_hard=300ms")
    assert played.verdicts() == ["on time", "disqualified"]
    assert played.disqualified[0].at_ns == 400 * MS


def test_late_out_falls_at_the_soft_limit():
    played = play(CountTask(3), Sleeper(0.04), control="act=40ms late=out")
    assert played.verdicts() == ["disqualified"]
    assert played.reason == "seats"
    assert played.stats().late == 1


@pytest.mark.parametrize("phase", ["start", "init", "result"])
def test_being_late_outside_the_turns_is_being_out(phase: str):
    class Slow:
        async def start(self, _briefing: Any) -> None:
            await trio.sleep(0.1 if phase == "start" else 0)

        async def init(self, _observation: Any) -> None:
            await trio.sleep(0.1 if phase == "init" else 0)

        async def act(self, _observation: Any) -> int:
            return 1

        async def result(self, _observation: Any, _reward: Any) -> None:
            await trio.sleep(0.1 if phase == "result" else 0)

    played = play(CountTask(1), Slow(), control="start=100ms init=100ms result=100ms act=1s")
    assert played.reason == ("finished" if phase == "result" else "seats")
    assert played.result is not None
    assert played.result.seats[0].lost_by == "late"
    assert [(f.reason, f.at_ns) for f in played.disqualified] == [("late", 100 * MS)]
    assert played.stats().late == 1


def test_just_in_time_outside_the_turns_is_fine():
    class Quick:
        async def start(self, _briefing: Any) -> None:
            await trio.sleep(0.0999)

        async def init(self, _observation: Any) -> None:
            await trio.sleep(0.0999)

        async def act(self, _observation: Any) -> int:
            return 1

    played = play(CountTask(1), Quick(), control="start=100ms init=100ms act=1s")
    assert played.reason == "finished"


def test_bank_runs_out_to_the_nanosecond():
    # Each turn of 30 ms draws 20 ms on the bank of 50 ms: two leave 10 ms, so the third may take 10 + 10 ms.
    played = play(CountTask(9), Sleeper(0.03), control="act=10ms bank=50ms late=out")
    assert played.verdicts() == ["on time", "on time", "disqualified"]
    assert played.disqualified[0].at_ns == 80 * MS  # 30 + 30 + 20


def test_increment_is_added_after_each_turn():
    played = play(CountTask(4), Sleeper(0.03), control="bank=31ms+30ms")
    assert played.verdicts() == ["on time"] * 4
    played = play(CountTask(4), Sleeper(0.031), control="bank=32ms+30ms")
    assert played.verdicts() == ["on time", "disqualified"]


def test_bank_with_nil_runs_dry_and_the_agent_goes_on():
    played = play(CountTask(4), Sleeper(0.03), control="act=10ms/1s bank=25ms late=nil")
    assert played.verdicts()[:2] == ["on time", "late"]
    assert played.turns[1].spent_ns == 15 * MS


@pytest.mark.parametrize(
    ("control", "late_at_ms", "last"),
    [
        ("bank=50ms late=nil", [50] * 5, "late"),  # no time is left, not even for an answer at once
        ("act=10ms bank=40ms late=nil", [50, 60], "on time"),
        ("bank=50ms+10ms late=nil", [50, 60], "on time"),
    ],
)
def test_with_nil_an_empty_bank_leaves_a_turn_its_free_time_and_the_increment(
    control: str, late_at_ms: list[int], last: str
):
    played = play(CountTask(5), Sleeper(0.065, 0.0), control=control)
    assert played.disqualified == []
    lates = [turn for turn in played.turns if turn.verdict == "late"]
    assert [turn.at_ns // MS for turn in lates] == late_at_ms
    assert played.verdicts()[-1] == last


@pytest.mark.parametrize("seats", [1, 2])
@pytest.mark.parametrize("reply", [True, False], ids=["replies", "asks"])
def test_what_comes_at_the_very_moment_of_a_deadline_is_late(seats: int, reply: bool):
    """The agent is late with turn 0 at 40 ms, and comes back at 80 ms, when the time of turn 1 is over."""

    async def returns(seat: Any) -> None:
        await seat.turn()
        await trio.sleep_until(0.08)
        if reply:
            seat.reply(5)
        async for _turn in seat:
            seat.reply(5)

    task = CountTask(3) if seats == 1 else TogetherTask(2, 3)
    played = play(task, returns, *[Sleeper(0.0)] * (seats - 1))
    mine = [(turn.verdict, turn.at_ns // MS) for turn in played.turns if turn.seat == 0]
    assert mine == [("late", 40), ("late", 80), ("on time", 80)]
    assert played.actions() == [NIL, NIL, 5]


def test_total_and_grace():
    played = play(CountTask(9), Sleeper(0.03), control="total=100ms+5ms act=1s")
    assert played.verdicts() == ["on time"] * 3 + ["disqualified"]
    assert played.disqualified[0].at_ns == 105 * MS


def test_an_agent_that_never_takes_a_turn_falls():
    class Never:
        async def run(self, _seat: Any) -> None:
            await trio.sleep(1000)

    played = play(CountTask(100), Never(), control="act=40ms/1s start=1s")
    assert played.reason == "seats"
    assert played.disqualified[0].at_ns == 1 * S


def test_an_agent_that_asks_for_the_next_turn_without_answering_is_late_for_each():
    class Mute:
        def __init__(self) -> None:
            self.numbers: list[int] = []

        async def run(self, seat: Any) -> None:
            async for turn in seat:
                self.numbers.append(turn.number)

    agent = Mute()
    played = play(CountTask(100), agent)
    assert played.reason == "finished"
    assert played.verdicts() == ["late"] * 100
    assert agent.numbers == list(range(100))
    assert played.turns[-1].at_ns == 100 * 40 * MS


def test_asking_without_answering_never_puts_out_one_among_several():
    async def mute(seat: Any) -> None:
        async for _turn in seat:
            pass

    played = play(TogetherTask(2, 3), mute, Sleeper(0.9), control="act=40ms/100ms late=nil")
    assert played.disqualified[0].seat == 1  # the one that sleeps
    assert played.verdicts(0) == ["late"] * 3


def test_an_agent_that_returns_early_is_gone():
    async def brief(seat: Any) -> None:
        await seat.turn()
        seat.reply(1)

    played = play(CountTask(5), brief)
    assert played.reason == "seats"
    assert played.disqualified[0].reason == "gone"
    assert played.actions() == [1]  # it was gone before it took the second turn


def test_an_agent_that_never_starts_falls():
    class Stuck:
        async def start(self, _briefing: Any) -> None:
            await trio.sleep_forever()

        def act(self, observation: Any) -> Any:
            return observation

    played = play(CountTask(5), Stuck())
    assert (played.reason, played.disqualified[0].at_ns, played.turns) == ("seats", 1 * S, [])


def test_judged_turns_are_not_shown():
    agent = Sleeper(0.11, 0.0)
    played = play(TogetherTask(2, 4), agent, Sleeper(0.0, 0.2, 0.0), control="act=50ms/10s")
    # Turn 1 was over for seat 0 before it came back: it must not be shown.
    assert played.verdicts(0)[:2] == ["late", "late"]
    assert 1 not in agent.seen
    assert played.stats(0).skipped == 1


def test_an_agent_with_time_limits_of_its_own_is_left_alone():
    async def act(_observation: Any) -> int:
        with trio.move_on_after(0.005):
            await trio.sleep_forever()
        return 3

    played = play(CountTask(300), act)
    assert played.reason == "finished"
    assert played.actions() == [3] * 300


@pytest.mark.parametrize(("took_ns", "reason"), [(24_999_999, None), (25_000_000, "late")])
def test_an_answer_at_the_very_hard_limit_is_too_late(took_ns: int, reason: str | None):
    played = play(CountTask(3), Sleeper(took_ns / 1e9, 0), control="act=10ms/25ms")
    assert played.verdicts()[0] == "late"
    assert [e.reason for e in played.disqualified] == ([reason] if reason else [])


async def test_an_agent_that_blocks_the_loop_past_its_hard_limit_is_out_whatever_it_answers():
    async def blocks(observation: int) -> int:
        if observation == 0:
            await trio.sleep(0.03)
            time.sleep(1)  # noqa: ASYNC251 - so no deadline comes before its answer
        return 1

    played = await play_here(CountTask(3), blocks, control="start=20s act=20ms/200ms")
    assert [e.reason for e in played.disqualified] == ["late"]


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("busy_in", range(2 * BURST_ENVELOPES))
def test_a_turn_that_follows_a_late_one_at_once_has_its_whole_time(busy_in: int, answers: bool):
    """An agent is busy until the very moment at which the turn that waits for it is late, too.

    It asks for the next turn then, before or after the loop has had to run, and is not shown the late one.
    """
    taken: list[int] = []

    async def body(seat: Any) -> None:
        async for turn in seat:
            taken.append(turn.number)
            if turn.number == busy_in:
                await trio.sleep(0.08)
            if turn.number != busy_in or answers:
                seat.reply(1)

    played = play(CountTask(20), body, control="act=40ms/1s")
    late = [turn.turn for turn in played.turns if turn.verdict == "late"]
    assert late == [busy_in, busy_in + 1]
    assert taken == [turn for turn in range(20) if turn != busy_in + 1]
    assert [turn.spent_ns for turn in played.turns if turn.turn > busy_in + 1] == [0] * (18 - busy_in)
