"""Round 1's figures: the layout of the original, and every reward under the task that paid it."""

from __future__ import annotations

import pytest

from flagfall import run
from flagfall.events import Event, MatchEnded, MatchStarted, TaskEnded, TaskStarted, TurnPlayed
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.round1_results import ResultsSink
from flagfall.tasks.configs import load_config

SAMPLE = """\
* General results
Average reward: -0.6545454545454545
Total time: 55
Total reward: -36
* Average reward per task
Micro1Task: -0.6545454545454545
* Total reward per task
Micro1Task: -36
* Total time per task
Micro1Task: 55
* Number of trials per task
Micro1Task: 1
"""

HEADER = MatchStarted(
    0,
    schema=1,
    flagfall="",
    tasks=["a"],
    scheduler="random",
    agents=["x"],
    seed=0,
    time_control="",
    clock="virtual",
)


def figures_of(*events: Event) -> ResultsSink:
    sink = ResultsSink()
    for event in (HEADER, *events):
        sink(event)
    return sink


def turns(first: int, *rewards: float) -> list[TurnPlayed]:
    return [TurnPlayed(0, first + n, 32, reward, 32) for n, reward in enumerate(rewards)]


def test_the_sample_of_the_specification():
    told = turns(0, 0, *[-1] * 36, *[0] * 18)
    sink = figures_of(
        TaskStarted(0, "Micro1Task", 0, 1),
        *told,
        TaskEnded(0, "Micro1Task", 0, None, -36.0, 54, "cut"),
        MatchEnded(0, "stopped", 55),
    )
    assert sink.figures().as_text() == SAMPLE
    assert sink.figures().as_data() == {
        "average_reward": -36 / 55,
        "total_time": 55,
        "total_reward": -36,
        "tasks": {"Micro1Task": {"average_reward": -36 / 55, "total_reward": -36, "time": 55, "trials": 1}},
    }


def test_the_last_reward_of_an_instance_is_booked_for_it_and_tasks_are_sorted():
    sink = figures_of(
        TaskStarted(0, "long", 0, 1),
        *turns(0, 0, 0, 0),
        TaskEnded(0, "long", 0, True, 1.0, 3),
        TaskStarted(0, "short", 1, 1),
        *turns(3, 1, -1),
        TaskEnded(0, "short", 1, False, -2.0, 2),
        TaskStarted(0, "long", 2, 1),
        *turns(5, -1, 0.5),
    )
    assert sink.figures().as_text().splitlines() == [
        "* General results",
        f"Average reward: {-0.5 / 7}",
        "Total time: 7",
        "Total reward: -0.5",
        "* Average reward per task",
        "short: -1.0",
        "long: 0.3",
        "* Total reward per task",
        "long: 1.5",
        "short: -2",
        "* Total time per task",
        "short: 2",
        "long: 5",
        "* Number of trials per task",
        "short: 1",
        "long: 2",
    ]


def test_nothing_played_is_no_division():
    assert (
        figures_of().figures().as_text().startswith("* General results\nAverage reward: 0.0\nTotal time: 0\n")
    )


@pytest.mark.parametrize("steps", [1, 2, 242, 243, 244, 5000])
def test_match_and_journal_give_the_same_figures(tmp_path, steps):
    sink = ResultsSink()
    path = tmp_path / "run.jsonl"
    result = run(load_config("challenge"), "random", steps=steps, clock="virtual", sinks=[sink], journal=path)
    figures = sink.figures()
    again = ResultsSink()
    for event in read_journal(path):
        again(event)
    assert again.figures() == figures
    assert figures.time == result.turns == steps
    assert figures.reward == result.seats[0].stats.reward
    assert {task.name: task.reward for task in figures.tasks} == {t.task: t.reward for t in result.tasks}


def test_a_match_that_breaks_off_counts_what_its_turns_show(tmp_path):
    path = tmp_path / "run.jsonl"
    run("micro4", "repeating", steps=50, clock="virtual", journal=path)
    events = list(read_journal(path))
    whole, cut = ResultsSink(), ResultsSink()
    for event in events:
        whole(event)
        if not isinstance(event, MatchEnded) and getattr(event, "ended", "") != "cut":
            cut(event)
    assert cut.figures() == whole.figures()
