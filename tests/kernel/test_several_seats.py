"""Several seats at once, and in turn: each is judged by itself, and records come in seat order."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from flagfall.timing import MS
from tests.fakes import NIL, InTurnTask, ListScheduler, Sleeper, TogetherTask, play


def test_actions_and_rewards_are_kept_apart():
    task = TogetherTask(3, 2)
    played = play(task, Sleeper(0.03, say=1), Sleeper(0.01, say=2), Sleeper(0.02, say=3))
    assert task.taken == [{"player_0": 1, "player_1": 2, "player_2": 3}] * 2
    assert [t.seat for t in played.turns] == [0, 1, 2, 0, 1, 2]
    assert [t.at_ns for t in played.turns[:3]] == [30 * MS, 10 * MS, 20 * MS]
    assert [played.stats(seat).reward for seat in range(3)] == [2, 4, 6]
    assert [t.reward for t in played.turns] == [0, 0, 0, 1, 2, 3]


def test_one_late_among_several_does_not_touch_the_others():
    agents = [Sleeper(0.05, 0.01), Sleeper(0.01)]
    played = play(TogetherTask(2, 3), *agents)
    assert played.verdicts(0) == ["late", "on time", "on time"]
    assert played.verdicts(1) == ["on time"] * 3
    assert [late and late.turn for late in agents[0].lates] == [None, 0, None]
    assert agents[1].lates == [None] * 3


def test_one_fallen_is_absent_and_the_others_go_on():
    played = play(TogetherTask(2, 4), Sleeper(0.01, 9.0), Sleeper(0.01), control="act=40ms/60ms")
    assert played.verdicts(0) == ["on time", "late", "disqualified", "absent"]
    assert played.actions(0) == [7, NIL, NIL, NIL]
    assert played.verdicts(1) == ["on time"] * 4
    assert played.reason == "finished"
    assert played.stats(0).absent == 1
    assert played.result is not None
    assert [seat.disqualified for seat in played.result.seats] == ["late", None]


def test_when_all_are_out_the_match_is_over():
    played = play(TogetherTask(2, 9), Sleeper(1.0), Sleeper(2.0), control="act=40ms late=out")
    assert played.reason == "seats"
    assert {f.seat for f in played.disqualified} == {0, 1}
    assert len(played.turns) == 2


def test_players_in_turn_wait_for_each_other_without_being_charged():
    agents = [Sleeper(0.03, say=1), Sleeper(0.02, say=2)]
    task = InTurnTask([0, 1, 0, 1, 1])
    played = play(task, *agents)
    assert task.taken == [{"player_0": 1}, {"player_1": 2}] * 2 + [{"player_1": 2}]
    assert [t.seat for t in played.turns] == [0, 1, 0, 1, 1]
    assert [t.spent_ns for t in played.turns] == [30 * MS, 20 * MS, 30 * MS, 20 * MS, 20 * MS]
    assert agents[0].seen == [0, 2]


def test_a_turn_in_which_nobody_acts_counts_and_passes():
    class Pausing(TogetherTask):
        def step(self, action: Any) -> Any:
            result = super().step(action)
            return result._replace(observation={}) if len(self.taken) % 2 else result

    played = play(Pausing(2, 7), Sleeper(0.01), Sleeper(0.01))
    assert played.reason == "finished"
    assert played.result is not None
    assert played.result.turns == 7
    assert len(played.turns) == 8


@pytest.mark.parametrize("last_words", ["shown", "none"])
def test_the_last_reward_is_told_and_booked_for_each(last_words: str):
    heard: list[Any] = []

    class Listening(Sleeper):
        def result(self, observation: Any, reward: Any) -> str:
            heard.append((observation, reward))
            return f"said {self.say}"

    scheduler = ListScheduler([TogetherTask(2, 2, last_words=last_words)])
    played = play(scheduler, Listening(0.02, say=1), Listening(0.01, say=2))
    assert sorted(heard, key=lambda pair: pair[1]) == [
        (2 if last_words == "shown" else None, 1),
        (2 if last_words == "shown" else None, 2),
    ]
    assert [played.stats(seat).reward for seat in (0, 1)] == [2, 4]
    assert list(scheduler.outcomes[0].answers.items()) == [(0, "said 1"), (1, "said 2")]
    assert scheduler.outcomes[0].reward == 6


def test_falling_in_start_leaves_the_others():
    class Stuck(Sleeper):
        async def start(self, _briefing: Any) -> None:
            await trio.sleep_forever()

    played = play(TogetherTask(2, 2), Stuck(0), Sleeper(0.01), control="start=1s act=40ms")
    assert played.reason == "finished"
    assert played.verdicts(0) == ["absent"] * 2
    assert played.stats(0).absent == 2


class OwnActionsTask(TogetherTask):
    """The first player says numbers below ten, the second one any other number; a text breaks the check."""

    def is_legal_for(self, player: str, action: Any) -> bool:
        return bool((action < 10) == (player == "player_0"))


def test_players_may_have_actions_of_their_own():
    task = OwnActionsTask(2, 3)
    played = play(task, Sleeper(0.01, say=5), Sleeper(0.01, say=5))
    assert played.verdicts(0) == ["on time"] * 3
    assert played.verdicts(1) == ["illegal"] * 3
    assert task.taken == [{"player_0": 5, "player_1": NIL}] * 3


def test_a_check_that_breaks_is_a_no():
    played = play(OwnActionsTask(2, 2), Sleeper(0.01, say="five"), Sleeper(0.01, say=50))
    assert [played.verdicts(seat) for seat in range(2)] == [["illegal"] * 2, ["on time"] * 2]


@pytest.mark.parametrize("say", [5, 50])
def test_at_real_time_pace_too(say: int):
    task = OwnActionsTask(2, 2)
    agents = [Sleeper(0.001, say=say), Sleeper(0.001, say=50)]
    played = play(task, *agents, tick_ns=20 * MS)
    assert played.verdicts(0) == (["on time"] * 2 if say == 5 else ["illegal"] * 2)
    assert played.verdicts(1) == ["on time"] * 2
