"""What a byte is, and what a script hears of it."""

from __future__ import annotations

import gc
import weakref
from random import Random
from typing import Any

import numpy as np
import pytest

from flagfall.tasks.commai.byte_task import ByteTask, Script, is_whole


class Hears(ByteTask):
    """One byte each way; the result is whether it was an h."""

    id = "hears"

    def script(self, _rng: Random) -> Script:
        self.heard = yield 97
        return self.heard == ord("h")


@pytest.mark.parametrize("byte", [0, 255, np.uint8(255), np.int64(104), np.int8(0)], ids=repr)
def test_bytes_are_whole_numbers_of_python_and_numpy(byte: Any):
    assert Hears().is_legal(byte)


@pytest.mark.parametrize(
    "other",
    [-1, 256, np.int64(256), np.int8(-1), True, np.True_, 1.0, np.float32(1), np.array(1), "a", b"a", None],
    ids=repr,
)
def test_nothing_else_is(other: Any):
    assert not Hears().is_legal(other)
    assert is_whole(other) is (type(other) is int or isinstance(other, np.integer))


def test_a_task_that_is_closed_in_the_middle_is_freed_at_once():
    task = Hears()
    task.reset(0)
    found = weakref.ref(task)
    gc.disable()
    try:
        task.close()
        del task
        assert found() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("byte", [104, np.uint8(104), np.int64(104)], ids=repr)
def test_a_script_hears_plain_numbers(byte: Any):
    task = Hears()
    task.reset(0)
    assert task.step(byte).terminated
    assert type(task.heard) is int
    assert task.result() is True
