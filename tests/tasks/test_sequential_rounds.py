from __future__ import annotations

import math

import pytest

from flagfall.errors import UsageError
from flagfall.tasks.catalog import make_task
from flagfall.tasks.schedulers import SequentialTaskScheduler, parse_policy


@pytest.mark.parametrize("text", ["sequential:2", "sequential: rounds=2"])
def test_rounds_end_the_sequence(text: str) -> None:
    scheduler = parse_policy(text, [make_task("micro1"), make_task("micro2")])
    assert scheduler.length == 4
    for _ in range(2):  # `reset` begins anew
        given = [task.id for task in iter(scheduler.next_task, None)]
        assert given == ["micro1", "micro2"] * 2
        assert scheduler.length == 0
        assert scheduler.next_task() is None
        scheduler.reset()


def test_without_rounds_there_is_no_end() -> None:
    assert parse_policy("sequential", [make_task("micro1")]).length == math.inf


def test_no_round_is_refused() -> None:
    with pytest.raises(UsageError, match="rounds must be a whole number, at least 1; got 0"):
        SequentialTaskScheduler([make_task("micro1")], rounds=0)
    with pytest.raises(UsageError, match="column 12: '0' is not a whole number, at least 1"):
        parse_policy("sequential:0", [make_task("micro1")])
