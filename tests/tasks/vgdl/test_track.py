"""The plan of the learning track: which level comes when, by what agents answer and by the clock."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import pytest
import trio

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import derive_seed
from flagfall.recording.journal.writer import Journal
from flagfall.recording.verify import verify
from flagfall.tasks.vgdl.learning_track import END_OF_ROUND, RULES, Track, TrackRules
from flagfall.tasks.vgdl.learning_track_tasks import build_track
from flagfall.testing import check_scheduler
from flagfall.timing import MS, S, VirtualClock
from flagfall.timing.durations import MINUTE
from tests.fakes import CountTask, Played, play, play_here

DOCUMENT = RULES["gvgai-document"]
PUBLIC = RULES["gvgai-2017"]


class Level(CountTask):
    """Four turns; an action is a number."""

    def __init__(self, number: int, steps: int = 4) -> None:
        super().__init__(steps)
        self.id = f"game.{number}"

    def metrics(self) -> dict[str, Any]:
        return {"ticks": len(self.taken)}


class Player:
    """Takes so many seconds a turn, and gives these answers to results; the last one for ever."""

    def __init__(self, *answers: Any, seconds: float = 0.01, over_result: float = 0.0) -> None:
        self.answers = list(answers)
        self.seconds = seconds
        self.over_result = over_result
        self.results: list[Any] = []

    async def act(self, _observation: Any) -> int:
        await trio.sleep(self.seconds)
        return 1

    async def result(self, observation: Any, reward: Any) -> Any:
        self.results.append((observation, reward))
        await trio.sleep(self.over_result)
        if not self.answers:
            return None
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def track(rules: TrackRules = DOCUMENT, steps: int = 4, **changes: Any) -> Track:
    return Track([Level(number, steps) for number in range(5)], attrs.evolve(rules, **changes))


def levels(played: Played) -> list[tuple[str, int]]:
    ended = [event for event in played.events if hasattr(event, "metrics")]
    return [(event.metrics["phase"][0], event.metrics["level"]) for event in ended]


def plan(player: Player, rules: TrackRules = DOCUMENT, **changes: Any) -> list[tuple[str, int]]:
    control = "act=40ms/1s result=1s"
    return levels(play(track(rules, **changes), player, control=control))


FIRST = [("t", 0), ("t", 1), ("t", 2)]
LAST = [("v", 3), ("v", 4)]


def test_the_whole_plan_of_the_document():
    # A game takes 40 ms, so the eighth begins at 280 ms, and the time is up with its second turn.
    assert plan(Player(9, 9, 1, 1, 0, 2), training_ns=300 * MS) == [
        *FIRST,
        *[("t", level) for level in (1, 1, 0, 2, 2)],
        *LAST,
    ]


def test_answers_before_the_third_level_choose_nothing():
    assert plan(Player(2, 2, 0), games=4) == [*FIRST, ("t", 0), *LAST]


@pytest.mark.parametrize("answer", [3, 4, -1, None, "1", "text", 1.0, True, [0]])
def test_any_other_answer_means_a_training_level_drawn_from_the_seed(answer):
    drawn = plan(Player(answer), games=40)[3:-2]
    assert {level for _, level in drawn} == {0, 1, 2}
    assert drawn == plan(Player(answer), games=40)[3:-2]
    assert drawn == plan(Player(None), games=40)[3:-2], "what was said makes no difference"
    played = play(track(games=40), Player(answer), seed=1, control="act=1s")
    assert levels(played)[3:-2] != drawn


def test_track_draws_from_the_seed_it_is_given():
    one, other = track(games=30), track(games=30)
    for scheduler in (one, other):
        scheduler.set_seed(derive_seed(5, "scheduler"))
    assert [_given(one) for _ in range(30)] == [_given(other) for _ in range(30)]


def _given(scheduler: Track) -> int:
    task = scheduler.next_task()
    assert task is not None
    return task.level


@pytest.mark.parametrize("games", [1, 2, 4])
def test_agent_may_end_its_training(games):
    answers = [None] * (games - 1) + [END_OF_ROUND]
    assert len(plan(Player(*answers))) == games + 2
    assert plan(Player(*answers))[games:] == LAST


def test_running_game_is_ended_by_the_document_and_its_result_is_heard():
    player = Player(0)
    scheduler = track(training_ns=50 * MS)
    played = play(scheduler, player, control="act=40ms/1s")
    assert levels(played) == [("t", 0), ("t", 1), *LAST]
    ends = [event for event in played.events if hasattr(event, "metrics")]
    assert [(e.ended, e.steps) for e in ends] == [
        ("finished", 4),
        ("time", 1),
        ("finished", 4),
        ("finished", 4),
    ]
    assert player.results[1] == (1, 1)


def test_public_program_plays_the_running_game_to_its_end():
    played = play(track(PUBLIC, training_ns=50 * MS, rounds=1), Player(0))
    ends = [event for event in played.events if hasattr(event, "metrics")]
    assert [(e.ended, e.steps) for e in ends] == [("finished", 4)] * 4


def test_public_program_lets_an_agent_train_on_a_validation_level():
    assert plan(Player(3), PUBLIC, games=5, rounds=1) == [*FIRST, ("t", 3), ("t", 3), *LAST]


def test_public_program_validates_ten_times():
    assert plan(Player(END_OF_ROUND), PUBLIC) == [("t", 0), *LAST * 10]


def test_answers_in_validation_change_nothing():
    assert plan(Player(END_OF_ROUND, 0, END_OF_ROUND), rounds=2) == [("t", 0), *LAST * 2]


def test_training_alone():
    assert plan(Player(0), games=2, rounds=0) == [("t", 0), ("t", 1)]


@pytest.mark.parametrize(("takes", "falls"), [(0.9, False), (1.1, True)])
def test_once_the_time_is_up_a_second_is_left_for_the_result(takes, falls):
    control = "act=40ms/1s result=1s"
    played = play(track(training_ns=10 * MS), Player(0, over_result=takes), control=control)
    assert bool(played.disqualified) is falls


def test_before_that_a_result_may_take_all_the_training_there_is():
    scheduler = track(training_ns=20 * S, games=2)
    played = play(scheduler, Player(0, over_result=4.0), control="act=40ms/1s result=1s")
    assert levels(played)[:2] == [("t", 0), ("t", 1)]
    assert [f.at_ns for f in played.disqualified] == [9 * S + 120 * MS], "in validation it has a second"


def test_ten_minutes_of_training_pass_at_once_on_the_virtual_clock():
    played = play(track(steps=100), Player(0, seconds=0.039), control="act=40ms/1s")
    ends = [event for event in played.events if hasattr(event, "metrics")]
    last = [event for event in ends if event.metrics["phase"] == "training"][-1]
    assert 10 * MINUTE <= last.at_ns < 10 * MINUTE + 40 * MS
    assert len(played.turns) == pytest.approx(600 / 0.039 + 200, abs=1)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_journal_of_a_track_verifies(tmp_path, rules):
    path = tmp_path / "track.jsonl"
    changes = {"training_ns": 310 * MS, "rounds": 2}
    player = Player(None, None, 1, None, 3, 0)
    trio.run(partial(play_here, track(rules, **changes), player, sinks=[Journal(path)]), clock=VirtualClock())
    assert verify(path, lambda _header: track(rules, **changes)).ok
    wrong = verify(path, lambda _header: track(rules, **{**changes, "training_ns": 400 * MS}))
    assert wrong.difference is not None


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_track_keeps_the_contract_of_schedulers(rules):
    check_scheduler(lambda: track(rules, games=20))


def test_levels_are_closed_once():
    made = [Level(number) for number in range(5)]
    scheduler = Track(made)
    scheduler.close()
    scheduler.close()
    assert [level.closed for level in made] == [1] * 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Track([Level(n) for n in range(4)]), "needs level 4, and the game has 4 levels"),
        (lambda: TrackRules.named("gvgai-2016"), "unknown rules 'gvgai-2016'; nearest: gvgai-2017"),
        (lambda: TrackRules.named("gvgai-2017", rounds=-1), "rounds -1: write a whole number, at least 0"),
        (lambda: TrackRules.named("gvgai-2017", games=0), "games 0: write a whole number, at least 1"),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(UsageError, match=message.replace("(", "\\(")):
        make()


def test_agents_of_the_track_are_not_told_the_rules():
    level = build_track("causeway", TrackRules(rounds=0), None).next_task()
    assert level is not None
    assert "rules you are not told" in level.instructions
    assert "plank" not in level.instructions
    assert (
        level.describe_action("ACTION_LEFT")
        == level.describe_action("LEFT")
        == level.describe_action(1)
        == "LEFT"
    )
    assert "builder" in level.describe_observation(level.reset(0)), "for people who look at a replay"
