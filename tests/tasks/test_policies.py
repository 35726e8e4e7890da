"""The five task schedulers of round 1, and their text forms."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice
from typing import Any

import pytest
from gymnasium.spaces import Discrete
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import Outcome, StepResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.tasks import schedulers
from flagfall.tasks.schedulers import (
    POLICIES,
    ConsecutiveTaskScheduler,
    DependenciesTaskScheduler,
    IncrementalTaskScheduler,
    RandomTaskScheduler,
    SequentialTaskScheduler,
    TaskScheduler,
    parse_policy,
)
from flagfall.tasks.task import Task

RESULTS = st.lists(st.sampled_from([True, False, None]), max_size=60)
THRESHOLDS = st.integers(1, 4)
SIZES = st.integers(1, 5)


class Stub(Task):
    def __init__(self, task_id: str, actions: int = 2) -> None:
        self.id = task_id
        self.closed = 0
        self.space = Discrete(actions)

    @property
    def action_space(self) -> Discrete:
        return self.space

    @property
    def observation_space(self) -> Discrete:
        return self.space

    def _reset(self, seed: int) -> int:
        return seed

    def _step(self, action: Any) -> StepResult:
        return StepResult(action)

    def reached_terminal_state(self) -> bool:
        return False

    def close(self) -> None:
        self.closed += 1


def stubs(count: int) -> list[Stub]:
    return [Stub(f"t{number}") for number in range(count)]


def outcome(task: Task | None, result: bool | None) -> Outcome:
    assert task is not None
    return Outcome(task.id, 0, result, 0.0, 1)


def plays(scheduler: TaskScheduler, results: list[bool | None]) -> list[str | None]:
    """The ids of the tasks given, one more than there are results, until the scheduler is done."""
    given = [scheduler.next_task()]
    for result in results:
        if given[-1] is None:
            break
        scheduler.report(outcome(given[-1], result))
        given.append(scheduler.next_task())
    return [None if task is None else task.id for task in given]


def make(name: str, tasks: list[Stub]) -> TaskScheduler:
    return POLICIES[name](tasks)


# --- what all of them share --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_no_tasks_are_refused_at_once(name: str) -> None:
    with pytest.raises(UsageError, match="at least one task"):
        make(name, [])


@pytest.mark.parametrize("name", POLICIES)
def test_each_task_is_closed_once(name: str) -> None:
    one, other = stubs(2)
    scheduler = make(name, [one, other, one])
    scheduler.close()
    scheduler.close()
    assert (one.closed, other.closed) == (1, 1)


@pytest.mark.parametrize("name", POLICIES)
def test_the_interface_of_a_task_sampler(name: str) -> None:
    scheduler = make(name, stubs(3))
    role: SchedulerRole = scheduler  # mypy's say
    assert callable(role.report)
    assert scheduler.last_sampled_task is None
    assert scheduler.length == math.inf
    assert scheduler.next_task(force_advance_scene=True) is scheduler.last_sampled_task
    assert scheduler.all_observation_spaces_equal
    assert not make(name, [Stub("a", 2), Stub("b", 3)]).all_observation_spaces_equal


@pytest.mark.parametrize("name", POLICIES)
@given(results=RESULTS, seed=st.integers(0, 2**64))
def test_reset_and_seed_give_the_same_tasks_again(name: str, results: list[bool | None], seed: int) -> None:
    scheduler = make(name, stubs(3))
    scheduler.set_seed(seed)
    first = plays(scheduler, results)
    scheduler.reset()
    assert scheduler.last_sampled_task is None
    assert plays(scheduler, results) == first
    fresh = make(name, stubs(3))
    fresh.set_seed(seed)
    assert plays(fresh, results) == first


@pytest.mark.parametrize("name", ["random", "dependencies"])
def test_seeds_differ(name: str) -> None:
    def order(seed: int) -> tuple[str | None, ...]:
        scheduler = make(name, stubs(3))
        scheduler.set_seed(seed)
        return tuple(plays(scheduler, [None] * 20))

    assert len({order(seed) for seed in range(10)}) == 10


# --- random and sequential ---------------------------------------------------------------------------------


def test_random_draws_every_place_of_the_list_alike() -> None:
    one, other = stubs(2)
    scheduler = RandomTaskScheduler([one, other, one])
    counts = Counter(plays(scheduler, [True, False] * 1500))
    assert counts.keys() == {"t0", "t1"}
    assert 1850 < counts["t0"] < 2150


@given(results=RESULTS, size=SIZES)
def test_sequential_goes_round_whatever_the_results(results: list[bool | None], size: int) -> None:
    given_ids = plays(SequentialTaskScheduler(stubs(size)), results)
    assert given_ids == [f"t{number % size}" for number in range(len(results) + 1)]


# --- incremental and consecutive ---------------------------------------------------------------------------


@given(results=RESULTS, size=SIZES, threshold=THRESHOLDS)
def test_incremental_moves_on_by_the_sum_of_successes(
    results: list[bool | None], size: int, threshold: int
) -> None:
    given_ids = plays(IncrementalTaskScheduler(stubs(size), threshold), results)
    successes = [results[:number].count(True) for number in range(len(results) + 1)]
    assert given_ids == [f"t{count // threshold % size}" for count in successes]


@given(results=RESULTS, size=SIZES, threshold=THRESHOLDS)
def test_consecutive_moves_on_after_successes_in_a_row_until_all_are_learned(
    results: list[bool | None], size: int, threshold: int
) -> None:
    expected, learned, row = ["t0"], 0, 0
    for result in results:
        row = row + 1 if result else 0
        if row == threshold:
            learned, row = learned + 1, 0
        expected.append(f"t{learned}")
        if learned == size:
            break
    scheduler = ConsecutiveTaskScheduler(stubs(size), threshold)
    given_ids = plays(scheduler, results)
    assert given_ids == [task_id if task_id != f"t{size}" else None for task_id in expected]
    assert scheduler.length == (0 if learned == size else math.inf)


def test_consecutive_stays_finished() -> None:
    (task,) = stubs(1)
    scheduler = ConsecutiveTaskScheduler([task], 1)
    assert plays(scheduler, [True]) == ["t0", None]
    assert scheduler.length == 0
    assert scheduler.next_task() is None
    assert scheduler.last_sampled_task is task
    scheduler.reset()
    assert scheduler.next_task() is task


def test_consecutive_knows_that_it_is_finished_before_it_is_asked() -> None:
    scheduler = ConsecutiveTaskScheduler(stubs(1), 1)
    scheduler.report(outcome(scheduler.next_task(), True))
    assert scheduler.length == 0


def test_the_specified_counts() -> None:
    """Specification 2: a failure breaks a row but not a sum."""
    mixed: list[bool | None] = [True, False, True, True]
    assert plays(ConsecutiveTaskScheduler(stubs(3)), mixed) == ["t0", "t0", "t0", "t0", "t1"]
    assert plays(IncrementalTaskScheduler(stubs(3)), mixed) == ["t0", "t0", "t0", "t1", "t1"]


def test_a_task_listed_twice_is_played_twice() -> None:
    one, other = stubs(2)
    assert plays(ConsecutiveTaskScheduler([one, other, one], 1), [True] * 3) == ["t0", "t1", "t0", None]


@pytest.mark.parametrize("policy", [IncrementalTaskScheduler, ConsecutiveTaskScheduler])
@pytest.mark.parametrize("threshold", [0, -1, 1.5, True, "2"])
def test_thresholds_are_whole_numbers(policy: Any, threshold: object) -> None:
    with pytest.raises(UsageError, match="success_threshold must be a whole number"):
        policy(stubs(1), threshold)


# --- dependencies ------------------------------------------------------------------------------------------


@st.composite
def acyclic(draw: st.DrawFn) -> tuple[int, list[tuple[str, str]]]:
    """A number of tasks, and pairs that all point upwards."""
    size = draw(SIZES)
    pairs = [(f"t{low}", f"t{high}") for high in range(size) for low in range(high)]
    return size, draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else []


@given(plan=acyclic(), results=RESULTS, threshold=THRESHOLDS, seed=st.integers(0, 1000))
def test_dependencies_give_only_what_is_unlocked(
    plan: tuple[int, list[tuple[str, str]]], results: list[bool | None], threshold: int, seed: int
) -> None:
    size, pairs = plan
    scheduler = DependenciesTaskScheduler(stubs(size), pairs, threshold)
    scheduler.set_seed(seed)
    successes: Counter[str] = Counter()
    for result in results:
        task = scheduler.next_task()
        assert task is not None
        assert all(successes[before] >= threshold for before, after in pairs if after == task.id)
        scheduler.report(outcome(task, result))
        successes[task.id] += result is True


def test_everything_unlocked_is_given_and_what_is_solved_stays() -> None:
    scheduler = DependenciesTaskScheduler(stubs(3), [("t0", "t1"), ("t0", "t2"), ("t1", "t2")], 2)
    assert set(plays(scheduler, [None] * 20)) == {"t0"}
    unlocked = []
    for task_id in ("t0", "t0", "t1", "t1"):
        scheduler.report(Outcome(task_id, 0, True, 0.0, 1))
        unlocked.append(sorted({task.id for task in islice(iter(scheduler.next_task, None), 60)}))
    assert unlocked == [["t0"], ["t0", "t1"], ["t0", "t1"], ["t0", "t1", "t2"]]


def test_successes_are_summed_by_id_and_a_task_listed_twice_is_no_likelier() -> None:
    one, twin, other = Stub("a"), Stub("a"), Stub("b")
    scheduler = DependenciesTaskScheduler([one, one, one, twin, other], [["a", "b"]], 2)
    counts = Counter(map(id, islice(iter(scheduler.next_task, None), 1000)))
    assert counts.keys() == {id(one), id(twin)}
    assert 400 < counts[id(one)] < 600
    scheduler.report(outcome(one, True))
    scheduler.report(outcome(twin, True))
    assert other in islice(iter(scheduler.next_task, None), 100)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("t0", "t9")], "entry 1: unknown task 't9'; nearest: t"),
        ([("t0", "t1"), ("x", "t1")], "entry 2: unknown task 'x'; known: t0, t1, t2"),
        ([("t0", "t0")], "a cycle locks t0 for ever"),
        ([("t0", "t1"), ("t1", "t2"), ("t2", "t0")], "a cycle locks t0, t1, t2 for ever"),
        ([("t0", "t1"), ("t1", "t0"), ("t1", "t2")], "a cycle locks t0, t1 for ever"),
        ([("t0",)], "entry 1 must be a pair"),
        (["t0"], "entry 1 must be a pair"),
    ],
)
def test_impossible_dependencies_are_refused(pairs: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DependenciesTaskScheduler(stubs(3), pairs)


# --- text forms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_a_bare_name_takes_the_usual_settings(name: str) -> None:
    tasks = stubs(2)
    parsed = parse_policy(name, tasks)
    assert type(parsed) is POLICIES[name]
    assert parsed.tasks == tuple(tasks)


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("consecutive", 2),
        ("consecutive:5", 5),
        ("consecutive:success_threshold=5", 5),
        (" consecutive : success_threshold = 5 ", 5),
        ("incremental:3", 3),
    ],
)
def test_thresholds_in_texts(text: str, threshold: int) -> None:
    parsed = parse_policy(text, stubs(1))
    assert isinstance(parsed, ConsecutiveTaskScheduler | IncrementalTaskScheduler)
    assert parsed.success_threshold == threshold


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("dependencies:t0>t1,t1>t2;unlock_threshold=4", 4),
        ("dependencies: t0 > t1 > t2 ; unlock_threshold = 4", 4),
        ("dependencies:unlock_threshold=4;tasks_dependencies=t0>t1>t2", 4),
        ("dependencies:t0>t1,t1>t2", 10),
    ],
)
def test_dependencies_in_texts(text: str, threshold: int) -> None:
    parsed = parse_policy(text, stubs(3))
    assert isinstance(parsed, DependenciesTaskScheduler)
    assert parsed.unlock_threshold == threshold
    results: list[bool | None] = [True] * 200
    order = list(dict.fromkeys(plays(parsed, results)))
    assert order == ["t0", "t1", "t2"]


def test_a_policy_takes_the_arguments_of_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    class Backwards(SequentialTaskScheduler):
        pass

    monkeypatch.setattr(schedulers, "POLICIES", {**POLICIES, "backwards": Backwards})
    parsed = parse_policy("backwards:2", stubs(1))
    assert isinstance(parsed, Backwards)
    assert parsed.rounds == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown policy ''"),
        ("consective", "unknown policy 'consective'; nearest: consecutive"),
        ("random:3", "column 8: this policy takes no arguments"),
        ("incremental:", "column 13: '' is not a whole number"),
        ("incremental:x", "column 13: 'x' is not a whole number"),
        ("incremental: 0", "column 14: '0' is not a whole number"),
        ("incremental:succes_threshold=4", "column 13: .*'succes_threshold'; nearest: success_threshold"),
        ("incremental:3;success_threshold=4", "column 15: success_threshold is given twice"),
        ("incremental:success_threshold=4=5", "column 13: expected `success_threshold=value`"),
        ("dependencies:t0>", "column 17: expected `before>after`"),
        ("dependencies:t0>t1,t2", "column 20: expected `before>after`, got 't2'"),
        ("dependencies:t0>t1;4", "column 20: unknown argument '4'"),
        ("dependencies:t0>t11", "unknown task 't11'; nearest: t1"),
        ("dependencies:t0>t1>t0", "a cycle locks t0, t1 for ever"),
    ],
)
def test_texts_that_are_no_policy(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_policy(text, stubs(2))
    assert str(caught.value).startswith(f"policy {text!r}: ")


@given(st.text("random:dependcis>,;=0123 t_hl"))
def test_any_text_is_a_policy_or_a_usage_error(text: str) -> None:
    for name in ("", "dependencies:", "consecutive:"):
        try:
            parse_policy(name + text, stubs(2))
        except UsageError:
            continue
