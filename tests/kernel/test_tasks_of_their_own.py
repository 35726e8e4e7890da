"""Tasks that run in actors of their own, phases around tasks, and what is owed at their end."""

from __future__ import annotations

from typing import Any

import trio

from flagfall.events import MatchEnded, TaskEnded, TaskStarted
from flagfall.timing import MS
from tests.fakes import NIL, ActorTask, CountTask, ListScheduler, Sleeper, TogetherTask, play


class Recorder(Sleeper):
    def __init__(self, *seconds: float) -> None:
        super().__init__(*seconds)
        self.heard: list[Any] = []

    def init(self, observation: Any) -> None:
        self.heard.append(("init", observation))

    def result(self, observation: Any, reward: Any) -> str:
        self.heard.append(("result", observation, reward))
        return "well played"


def test_a_task_that_waits_for_real_things():
    got: list[Any] = []

    async def body(referee: Any) -> None:
        for turn in range(3):
            await trio.sleep(0.5)
            got.append(await referee.ask(turn, turn))

    scheduler = ListScheduler([ActorTask(body)])
    agent = Recorder(0.01)
    played = play(scheduler, agent)
    assert got == [7, 7, 7]
    assert [t.spent_ns for t in played.turns] == [10 * MS] * 3
    assert scheduler.outcomes[0].steps == 3
    assert scheduler.outcomes[0].reward == 3
    assert agent.heard == [("init", 0), ("result", None, 0)]
    assert scheduler.outcomes[0].answers == {0: "well played"}


def test_an_exchange_that_is_given_up_is_never_answered():
    got: list[Any] = []

    async def body(referee: Any) -> None:
        with trio.move_on_after(0.005):
            got.append(await referee.ask("first"))
        got.append(await referee.ask("second"))
        with trio.move_on_after(0.005):
            got.append(await referee.ask("third"))
        await trio.sleep(1)

    class Saying:
        async def act(self, observation: str) -> int:
            await trio.sleep(0.01)
            return len(observation)

    played = play(ActorTask(body), Saying())
    assert got == [6]
    assert played.actions() == [6]
    assert [d.why for d in played.dropped] == ["stale", "stale"]
    assert played.disqualified == []


def test_an_agent_that_falls_after_a_turn_was_given_up_answers_nothing_later():
    got: list[Any] = []

    async def body(referee: Any) -> None:
        shown = dict.fromkeys(("player_0", "player_1"), 0)
        with trio.move_on_after(0.005):
            await referee.ask(shown)
        await trio.sleep(1)  # seat 0 breaks down
        got.append(await referee.ask(shown))

    class Breaks:
        async def act(self, _observation: int) -> int:
            await trio.sleep(0.01)
            raise ValueError

    played = play(ActorTask(body, players=2), Breaks(), Sleeper(0.02))
    assert got == [{"player_0": NIL, "player_1": 7}]
    assert played.verdicts(0) == ["absent"]
    assert played.verdicts(1) == ["on time"]


def test_the_limit_of_steps_ends_a_task_that_runs_by_itself():
    async def body(referee: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            while True:
                await referee.ask(0)

    scheduler = ListScheduler([ActorTask(body), CountTask(1)])
    played = play(scheduler, Sleeper(0.01), steps=4)
    assert played.reason == "steps"
    assert len(played.turns) == 4
    ends = [e for e in played.events if isinstance(e, TaskStarted | TaskEnded)]
    assert [type(e) for e in ends] == [TaskStarted, TaskEnded]
    assert isinstance(ends[1], TaskEnded)
    assert ends[1].ended == "cut"


def test_a_task_may_wrap_up_when_the_match_ends():
    async def body(referee: Any) -> None:
        try:
            while True:
                await referee.ask(0)
        except Exception:  # noqa: BLE001, S110 - such tasks exist
            pass
        await trio.sleep(1)

    agent = Recorder(0.01)
    played = play(ListScheduler([ActorTask(body), CountTask(1)]), agent, steps=2)
    assert played.reason == "steps"
    assert agent.heard == [("init", 0)]
    assert sum(isinstance(e, TaskStarted) for e in played.events) == 1


def test_what_the_task_before_owes_is_paid_with_the_first_exchange():
    async def body(referee: Any) -> None:
        await referee.ask("a", 1)
        await referee.ask("b", 1)

    async def silent(_referee: Any) -> None:
        await trio.sleep(0.1)

    tasks = [
        CountTask(1, continuous=True),
        ActorTask(silent, continuous=True),
        ActorTask(body, continuous=True),
    ]
    scheduler = ListScheduler(tasks)
    played = play(scheduler, Sleeper(0.01))
    assert [t.reward for t in played.turns] == [0, 8, 1]
    assert [o.reward for o in scheduler.outcomes] == [7, 0, 2]
    assert played.stats().reward == 9


def test_phases_come_around_tasks_unless_they_are_continuous():
    agent = Recorder(0.01)
    play(ListScheduler([CountTask(1), CountTask(1)]), agent)
    assert agent.heard == [("init", 0), ("result", 1, 7)] * 2
    agent = Recorder(0.01)
    scheduler = ListScheduler([CountTask(2, continuous=True)] * 2)
    played = play(scheduler, agent)
    # The last words: the reward for its last action is told, and counted.
    assert agent.heard == [("result", None, 7)]
    assert [t.reward for t in played.turns] == [0, 7, 7, 7]
    assert played.stats().reward == 28
    assert played.events[-1] == MatchEnded(40 * MS, "finished", 4, 7)


def test_last_words_go_to_each_player_and_need_no_listener():
    played = play(TogetherTask(2, 2, continuous=True), Recorder(0.01), Sleeper(0.01, say=3))
    assert played.reason == "finished"
    assert [played.stats(seat).reward for seat in (0, 1)] == [14, 6]


def test_steps_cut_the_match_in_the_middle():
    scheduler = ListScheduler([CountTask(5)])
    played = play(scheduler, Sleeper(0.01), steps=3)
    assert played.reason == "steps"
    end = next(e for e in played.events if isinstance(e, TaskEnded))
    assert (end.steps, end.ended, end.result) == (2, "cut", None)


async def impatient(turns: Any) -> None:
    """Withdraws six turns."""
    for number in range(6):
        with trio.move_on_after(0.005):
            await turns.ask(number)


def test_turns_that_were_withdrawn_count_towards_the_steps():
    tasks = [ActorTask(impatient, continuous=True), CountTask(5, continuous=True)]
    played = play(ListScheduler(tasks), Sleeper(1), control="untimed", steps=2)
    assert played.turns == []
    assert (played.events[-1].reason, played.events[-1].turns) == ("steps", 2)


def test_an_answer_to_a_withdrawn_turn_is_not_played_for_the_next_task():
    async def once(turns: Any) -> None:
        with trio.move_on_after(0.005):
            await turns.ask(0)

    tasks = [ActorTask(once, continuous=True), CountTask(2, continuous=True)]
    # It answers turn 0 at 12 ms, when the next task runs, whose first tick comes at 15 ms.
    played = play(ListScheduler(tasks), Sleeper(0.012, 1, say=42), control="untimed", tick_ns=10 * MS)
    assert [(turn.turn, turn.action) for turn in played.turns] == [(1, NIL), (2, NIL)]
