"""Every task keeps the rules of round 1 with every kind of agent, and the checker sees what breaks them.

Guaranteed to be rejected, wherever in a transcript: a reward outside -1, 0, 1; a wrong t, so any step lost,
doubled or moved; a start or end lost, doubled or under another name; a result that differs; a byte that is no
byte; a character outside a task's alphabet; another terminator or another digit of feedback that a
reward or a mapping pins down. A changed reward is rejected wherever the right answer is
known from elsewhere: everywhere in tasks 4 and 5.x and for punctuation, and in tasks 1 to 3 once the hidden
answer has shown. (In a transcript where a target is never found, some one wrong answer might as well have
been right: no checker can tell.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import pytest

from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.catalog import CATALOG
from flagfall.tasks.commai.micro.engine import MicroRules, MicroTask
from tests.conformance.round1_agents import (
    AGENTS,
    Noisy,
    Pupil,
    Record,
    Records,
    Repeating,
    Silent,
    Wavering,
    match,
    transcript,
)
from tests.conformance.round1_checker import check

FIRST = [task for task in CATALOG if task in {f"micro{n}" for n in range(1, 5)} or task.startswith("micro5.")]
"""Characters and digits; the other tasks have their own mutations in `test_round1_sentences`."""

SHOWN = ["micro4", *(task for task in CATALOG if task.startswith("micro5"))]
"""Tasks in which every right answer shows: it is the question, or it is told in the feedback."""


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("task", CATALOG)
def test_every_task_conforms_with_every_agent(task: str, agent: type[Silent]) -> None:
    assert check(transcript([task], agent, steps=2000)) == []


@pytest.mark.parametrize("agent", AGENTS)
def test_tasks_in_turn_conform(agent: type[Silent]) -> None:
    assert check(transcript(list(CATALOG), agent, steps=20_000, seed=3)) == []


@pytest.mark.parametrize("task", CATALOG)
def test_a_transcript_conforms_wherever_it_is_cut(task: str) -> None:
    for steps in range(1, 150, 2):
        assert check(transcript([task], Wavering, steps)) == []


@pytest.mark.parametrize("task", CATALOG)
def test_the_pupil_always_succeeds(task: str) -> None:
    records = transcript([task], Pupil, steps=3000)
    results = [record["result"] for record in records if record.get("event") == "end"]
    assert len(results) > 4
    assert set(results[:-1]) == {True}
    rewards = {record["reward"] for record in records if "t" in record}
    assert rewards == {1, 0}


@pytest.mark.parametrize("max_time", [1, 2, 3, 57, 200])
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("task", ["micro4", "micro5.1", "micro5.18"])
def test_timeouts_conform(task: str, agent: type[Silent], max_time: int) -> None:
    usual = CATALOG[task]()
    assert isinstance(usual, MicroTask)
    short: list[ByteTask] = [MicroTask(task, usual._make_source, MicroRules(max_time=max_time))]
    records = list(match(short, agent(Random(1)), 300))
    assert check(records, max_time=max_time) == []
    assert max_time > 3 or check(records) != []  # the longer ones may end before their time


# --- mutations ---------------------------------------------------------------------------------------------

Change = Callable[[Record], Iterable[Record]]


def played(task: str, agent: type[Silent], steps: int = 120) -> Records:
    """Some finished instances, and the one step more that pays for the last answer."""
    records = transcript([task], agent, steps)
    while (last := max(at for at, record in enumerate(records) if record.get("event") == "start")) == 0:
        steps *= 2
        records = transcript([task], agent, steps)
    return [*records[: last + 2], {"event": "end", "task": task, "result": None}]


def steps_of(records: Records) -> list[int]:
    return [at for at, record in enumerate(records) if "t" in record]


def assert_rejected(records: Records, places: list[int], change: Change, tries: int = 15) -> None:
    """Some of the places altered, one at a time, in each way that `change` gives."""
    assert check(records) == []
    assert places
    altered = list(records)
    for at in Random(0).sample(places, min(tries, len(places))):
        for changed in change(records[at]):
            altered[at] = changed
            assert check(altered) != [], (records[at], changed)
        altered[at] = records[at]


def other_rewards(record: Record) -> Iterable[Record]:
    return [record | {"reward": reward} for reward in (-1, 0, 1) if reward != record["reward"]]


@pytest.mark.parametrize("agent", [Silent, Noisy, Wavering, Pupil])
@pytest.mark.parametrize("task", SHOWN)
def test_a_changed_reward_is_rejected_where_answers_show(task: str, agent: type[Silent]) -> None:
    records = played(task, agent)
    assert_rejected(records, steps_of(records), other_rewards, tries=5)


@pytest.mark.parametrize("agent", [Silent, Repeating, Wavering, Pupil])
@pytest.mark.parametrize("task", ["micro1", "micro2", "micro3"])
def test_a_changed_reward_is_rejected_once_the_hidden_answer_is_out(task: str, agent: type[Silent]) -> None:
    records = played(task, agent)
    assert_rejected(records, steps_of(records), other_rewards)


@pytest.mark.parametrize("task", FIRST)
def test_what_is_no_reward_and_no_byte_is_rejected(task: str) -> None:
    records = played(task, Wavering)
    wrong: Record = {
        "reward": [2, -2, 0.5, True, "1", None],
        "env": ["", "ab", "\u0100", None, 32],
        "agent": ["", "ab", "\u0100", None, 32],
        "t": [-1, None, "0", True, 10**6],
    }
    assert_rejected(
        records,
        steps_of(records),
        lambda record: [record | {name: value} for name, values in wrong.items() for value in values],
        tries=2,
    )


@pytest.mark.parametrize("agent", [Noisy, Pupil])
@pytest.mark.parametrize("task", FIRST)
def test_a_byte_outside_the_alphabet_is_rejected(task: str, agent: type[Silent]) -> None:
    records = played(task, agent)
    strange = "~\0\n\xff" if len(task) == len("micro1") else "~\0\n\xffa!"
    assert_rejected(
        records, steps_of(records), lambda record: [record | {"env": byte} for byte in strange], tries=3
    )


@pytest.mark.parametrize("agent", [Noisy, Wavering, Pupil])
@pytest.mark.parametrize("task", [task for task in SHOWN if task not in {"micro4", "micro5.1"}])
def test_another_terminator_is_rejected(task: str, agent: type[Silent]) -> None:
    records = played(task, agent)
    places = [at for at in steps_of(records) if records[at]["env"] in ".; "]
    assert_rejected(
        records,
        places,
        lambda record: [record | {"env": byte} for byte in ".; 7" if byte != record["env"]],
        tries=2,
    )


@pytest.mark.parametrize("task", [f"micro5.{n}" for n in range(1, 19) if n not in {10, 11, 14}])
def test_other_feedback_is_rejected(task: str) -> None:
    records = played(task, Pupil)
    places = [at for at in steps_of(records) if records[at]["reward"] == 1]  # feedback begins there
    assert_rejected(
        records,
        places,
        lambda record: [record | {"env": digit} for digit in "0123456789" if digit != record["env"]],
        tries=3,
    )


@pytest.mark.parametrize("task", ["micro1", "micro2", "micro3", "micro4"])
def test_another_answer_is_rejected(task: str) -> None:
    records = played(task, Pupil)
    assert_rejected(records, steps_of(records)[:-1], lambda record: [record | {"agent": "~"}])


@pytest.mark.parametrize("task", FIRST)
def test_another_result_is_rejected(task: str) -> None:
    for agent in (Silent, Wavering, Pupil):
        records = played(task, agent)
        places = [at for at, record in enumerate(records) if record.get("event") == "end"]
        assert_rejected(
            records,
            places,
            lambda record: [
                record | {"result": result}
                for result in (True, False, None)
                if result is not record["result"]
            ],
            tries=2,
        )


@pytest.mark.parametrize("task", FIRST)
def test_lost_doubled_and_moved_records_are_rejected(task: str) -> None:
    records = played(task, Wavering)
    assert check(records) == []
    rng = Random(0)
    marks = [at for at, record in enumerate(records) if "event" in record]
    for at in rng.sample(range(len(records) - 1), 6) + marks[:4]:
        here, after = records[at], records[at + 1 :]
        # The very last byte step may be missing: then the transcript is just shorter.
        lost = [*records[:at], *after]
        assert check(lost) != [] or at == len(records) - 2
        assert check([*records[:at], here, here, *after]) != []
        if after:
            assert check([*records[:at], after[0], here, *after[1:]]) != []


@pytest.mark.parametrize("task", ["micro4", "micro5.2", "micro5.3", "micro5.5", "micro5.6", "micro5.12"])
def test_a_lost_step_is_rejected_even_if_the_rest_is_numbered_anew(task: str) -> None:
    records = played(task, Pupil)
    for lost in steps_of(records)[:-1]:
        shorter = [
            record | {"t": record["t"] - 1} if record.get("t", -1) > records[lost]["t"] else record
            for record in records
            if record is not records[lost]
        ]
        assert check(shorter) != [], records[lost]


@pytest.mark.parametrize(
    ("task", "other"),
    [
        ("micro1", "micro4"),
        ("micro3", "micro4"),
        ("micro4", "micro5.3"),
        ("micro5.2", "micro5.1"),
        ("micro5.3", "micro5.4"),
        ("micro5.5", "micro5.6"),
        ("micro5.10", "micro5.5"),
    ],
)
def test_the_wrong_task_order_is_rejected(task: str, other: str) -> None:
    records = transcript([task, other], Pupil, steps=600)
    swap = {task: other, other: task}
    swapped = [record | {"task": swap[record["task"]]} if "task" in record else record for record in records]
    assert check(records) == []
    assert check(swapped) != []
    starts_only = [
        new if new.get("event") == "start" else old for old, new in zip(records, swapped, strict=True)
    ]
    assert check(starts_only) != []


def test_a_changed_first_reward_is_rejected() -> None:
    records = transcript(["micro4"], Pupil, 50)
    records[1]["reward"] = 1
    assert [violation.rule for violation in check(records)] == ["reward"]


def test_violations_say_where_and_why() -> None:
    records = transcript(["micro5.3"], Pupil, 400)
    at = [at for at in steps_of(records) if records[at]["reward"] == 1][2]
    records[at]["reward"] = -1
    (violation, *_) = check(records)
    assert violation.rule == "judge"
    assert str(violation).startswith(f"t={records[at]['t'] + 1}: judge: ")
