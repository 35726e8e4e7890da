"""Values of spaces: what is read from JSON is what was written, and nothing else is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.kernel.channels.arrays import (
    json_decoder,
    json_encoder,
    msgpack_decoder,
    msgpack_encoder,
)
from flagfall.tasks.adapters.space_values import (
    NotOfSpace,
    check_writable,
    contains,
    default_action,
    frozen_copy,
    read,
)

WIRES = {
    "JSON": (json_encoder().encode, json_decoder()),
    "MessagePack": (msgpack_encoder().encode, msgpack_decoder()),
}
encode = WIRES["JSON"][0]

SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)
PLAIN = st.one_of(
    st.builds(spaces.Discrete, st.integers(1, 9), start=st.integers(-5, 5)),
    st.builds(
        lambda shape, dtype: spaces.Box(-5, 100, shape, dtype),
        SHAPES,
        st.sampled_from([np.int8, np.int64, np.float32, np.float64, np.float16]),
    ),
    st.builds(lambda shape: spaces.Box(-np.inf, np.inf, shape), SHAPES),
    st.builds(lambda shape: spaces.Box(0, 255, shape, np.uint8), SHAPES),
    st.builds(spaces.MultiBinary, st.integers(1, 4)),
    st.builds(spaces.MultiDiscrete, st.lists(st.integers(1, 5), min_size=1, max_size=3)),
    st.builds(
        lambda least, more: spaces.Text(least + more, min_length=least), st.integers(0, 3), st.integers(1, 5)
    ),
    st.builds(
        spaces.Graph,
        st.just(spaces.Box(-1, 1, (2,))),
        st.sampled_from([None, spaces.Discrete(3), spaces.Box(0, 1, (1,))]),
    ),
)
SPACES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.builds(spaces.Tuple, st.lists(inner, max_size=3)),
        st.builds(spaces.Dict, st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3)),
        st.builds(spaces.Sequence, inner),
        st.builds(spaces.OneOf, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=5,
)


def sample(space: spaces.Space[Any], seed: int = 0) -> Any:
    space.seed(seed)
    return space.sample()


@pytest.mark.parametrize("wire", WIRES)
@given(space=SPACES, seed=st.integers(0, 9))
def test_what_goes_over_a_wire_is_read_as_it_was(wire: str, space: spaces.Space[Any], seed: int):
    write, load = WIRES[wire]
    value = sample(space, seed)
    got = read(space, load(write(value)))
    assert write(got) == write(read(space, value))
    assert write(read(space, got)) == write(got), "reading twice changes nothing"
    assert space.contains(got)


@pytest.mark.parametrize("feature", [spaces.Discrete(4), spaces.Box(0, 1, (2,)), spaces.MultiBinary(2)])
def test_stacked_sequences_are_arrays(feature: spaces.Space[Any]):
    space = spaces.Sequence(feature, stack=True)
    for seed in range(5):
        value = sample(space, seed)
        assert encode(read(space, json_decoder()(encode(value)))) == encode(value)
    assert encode(read(space, [])) == encode(default_action(space))
    assert not contains(space, 3)


@given(space=SPACES)
def test_the_lowest_is_of_the_space(space: spaces.Space[Any]):
    value = default_action(space)
    assert contains(space, value)
    assert space.contains(value)


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.just(object())
    | st.just(np.array(["a"]))
    | st.just(np.zeros(2)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=1), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(space=SPACES, value=JUNK)
def test_anything_may_be_asked_about_and_what_is_read_is_of_the_space(space: spaces.Space[Any], value: Any):
    if contains(space, value):
        assert space.contains(read(space, value))


@pytest.mark.parametrize(
    ("space", "value", "got"),
    [
        (spaces.Discrete(3), np.int64(2), 2),
        (spaces.Discrete(3), np.array(2), 2),
        (spaces.Discrete(3, start=-1), -1, -1),
        (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), [1, 0], (1, 0)),
        (spaces.OneOf([spaces.Discrete(2), spaces.Text(3)]), [1, "abc"], (1, "abc")),
    ],
    ids=str,
)
def test_numbers_and_tuples_get_the_type_of_the_space(space: spaces.Space[Any], value: Any, got: Any):
    assert read(space, value) == got
    assert type(read(space, value)) is type(got)


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), True),
        (spaces.Discrete(3), 1.0),
        (spaces.Discrete(3), np.float32(1)),
        (spaces.Discrete(3), np.array([1])),
        (spaces.Discrete(3), 10**30),
        (spaces.Box(0, 1, (2,)), [0.5]),
        (spaces.Box(0, 1, (2,)), [0.5, 1.5]),
        (spaces.Box(0, 1, (2,)), [0.5, float("nan")]),
        (spaces.Box(-np.inf, np.inf, (2,)), [0.5, float("inf")]),
        (spaces.Box(-np.inf, np.inf, (2,)), [0.5, 1e300]),
        (spaces.Box(0, 1, (2,)), [0.5, "1"]),
        (spaces.Box(0, 1, (2,)), [0.5, [1]]),
        (spaces.Box(0, 9, (2,), np.int8), [1.0, 2.0]),
        (spaces.Box(0, 9, (2,), np.int8), [1, 300]),
        (spaces.MultiDiscrete([2, 3]), [2, 0]),
        (spaces.MultiDiscrete([2, 3]), [0.0, 0.0]),
        (spaces.MultiBinary(2), [0, 2]),
        (spaces.Text(3), "abcd"),
        (spaces.Text(3), np.str_("abc")),
        (spaces.Tuple([spaces.Discrete(2)]), [1, 1]),
        (spaces.Dict(a=spaces.Discrete(2)), {"a": 1, "b": 1}),
        (spaces.Dict(a=spaces.Discrete(2)), [1]),
        (spaces.OneOf([spaces.Discrete(2)]), [1, 0]),
        (spaces.Graph(spaces.Box(0, 1, (1,)), None), [[[0.5]], None]),
        (spaces.Graph(spaces.Box(0, 1, (1,)), None), [[[0.5]], [1], [[0, 0]]]),
        (spaces.Graph(spaces.Box(0, 1, (1,)), spaces.Discrete(2)), [[[0.5]], [1], [[0, 5]]]),
    ],
    ids=str,
)
def test_what_is_not_of_the_space_is_refused(space: spaces.Space[Any], value: Any):
    assert not contains(space, value)
    with pytest.raises(NotOfSpace):
        read(space, value)


def test_a_list_of_numbers_is_an_array():
    got = read(spaces.Box(0, 1, (2, 1)), [[0.1], [1]])
    assert got.dtype == np.float32
    assert got.tolist() == [[np.float32(0.1)], [1.0]]
    assert read(spaces.Box(-1, 1, ()), 0.5).shape == ()


def test_an_array_that_was_read_is_the_readers_own():
    said = np.zeros(2, np.float32)
    got = read(spaces.Box(0, 1, (2,)), said)
    got[0] = 1
    assert said[0] == 0


@pytest.mark.parametrize(
    ("space", "mask", "action"),
    [
        (spaces.Discrete(4), None, 0),
        (spaces.Discrete(4), np.array([0, 0, 1, 1], np.int8), 2),
        (spaces.Discrete(4, start=10), [0, 1, 0, 0], 11),
        (spaces.Discrete(4), [0, 0, 0, 0], 0),
        (spaces.MultiDiscrete([2, 3]), ([0, 1], [0, 0, 1]), [1, 2]),
        (spaces.Box(2, 5, (2,)), None, [2, 2]),
        (spaces.Box(-5, 5, (2,)), None, [0, 0]),
        (spaces.Text(9, min_length=2, charset="ba"), None, "aa"),
    ],
    ids=str,
)
def test_the_lowest_action(space: spaces.Space[Any], mask: Any, action: Any):
    got = default_action(space, mask)
    assert (got.tolist() if isinstance(got, np.ndarray) else got) == action


class Odd(spaces.Space[Any]):
    """A space of somebody's own."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def sample(self, *_args: Any, **_kwargs: Any) -> Any:
        return self.value

    def contains(self, value: Any) -> bool:
        return bool(value + 0 == self.value)


def test_a_space_of_ones_own_has_no_lowest():
    with pytest.raises(NotOfSpace, match="Odd has no lowest value"):
        default_action(Odd(7))


def test_a_space_of_ones_own_judges_itself():
    assert read(Odd(7), 7) == 7
    assert not contains(Odd(7), 8)
    assert not contains(Odd(7), "it breaks the check")


@given(space=SPACES)
def test_spaces_can_be_recorded(space: spaces.Space[Any]):
    state = space.np_random.bit_generator.state
    check_writable(space, "observations")
    check_writable(space, "actions")
    assert space.np_random.bit_generator.state == state, "trying takes nothing from the space"


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (Odd(object()), "a object cannot be sent"),
        (Odd(float("nan")), "change when they are encoded and decoded"),
        (spaces.Box(0, 1, (3000, 3000)), "too large"),
    ],
    ids=["object", "nan", "large"],
)
def test_spaces_that_cannot_be_recorded_say_so(space: spaces.Space[Any], words: str):
    with pytest.raises(UsageError, match=f"actions of .* cannot be recorded: .*{words}"):
        check_writable(space, "actions")


def test_what_is_kept_is_a_copy_that_nobody_writes_to():
    array = np.zeros(2)
    graph = spaces.GraphInstance(array, None, array)
    got = frozen_copy({"a": array, "b": (array, [array]), "g": graph, "n": np.float32(1)})
    array[0] = 9
    assert encode(got) == encode(
        {
            "a": np.zeros(2),
            "b": (np.zeros(2), [np.zeros(2)]),
            "g": (np.zeros(2), None, np.zeros(2)),
            "n": 1.0,
        }
    )
    assert type(got["g"]) is spaces.GraphInstance
    with pytest.raises(ValueError, match="read-only"):
        got["b"][1][0][0] = 1
