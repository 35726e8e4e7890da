"""What a byte is, and what a script hears of it."""

from __future__ import annotations

import gc
import weakref
from random import Random
from typing import Any

import numpy as np
import pytest

from flagfall.tasks.catalog import make_task
from flagfall.tasks.commai import CATALOG
from flagfall.tasks.commai.byte_task import ByteTask, Script, is_whole
from flagfall.tasks.commai.catalog import COMMAI_CATALOG
from flagfall.tasks.commai.conversation import ConversationTask
from flagfall.tasks.commai.wrapped_task import BitTask, WrappedTask


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


def test_learners_are_told_the_interface_and_nothing_of_a_task():
    told = {make_task(name).instructions for name in (*CATALOG, *COMMAI_CATALOG)}
    sentences = make_task("micro1").instructions
    assert told == {sentences, ConversationTask.instructions}
    assert ConversationTask.instructions.startswith(sentences)
    in_bits = BitTask(Hears()).instructions
    assert in_bits.startswith(sentences)
    assert "one bit" in in_bits
    assert WrappedTask(Hears()).instructions == sentences
    assert (Hears().describe_action(104), Hears().describe_observation(97)) == ("104", "97")
    assert BitTask(Hears()).describe_action(None) == "NIL"
