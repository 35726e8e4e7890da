"""What a record says of an illegal action."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flagfall
from flagfall.events import Event, TurnPlayed
from flagfall.kernel.safe_values import MAX_ANSWER_BYTES, MAX_CHARS, safe_repr, to_recordable


class Secretive:
    def __repr__(self):
        raise AssertionError("nobody asks an agent's object")


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("e2e4", "'e2e4'"),
        (None, "None"),
        (True, "True"),
        (2.5, "2.5"),
        (-7, "-7"),
        ({"move": 9, "talk": [1]}, "{'move': 9, 'talk': [1]}"),
        (b"ab", "b'ab'"),
        (Secretive(), "<Secretive>"),
        ([object()], "[<object>]"),
        (np.zeros(10**7), "<ndarray>"),
        pytest.param(10**5000, "<unspeakable>", id="many digits"),
    ],
)
def test_plain_values_as_they_are_and_others_by_their_type(action, text):
    assert safe_repr(action) == text


def test_what_is_long_is_cut():
    for action in ("x" * 10**7, b"x" * 10**7, list(range(10**6)), "\ud800" * 1000):
        assert len(safe_repr(action).encode()) <= 10 * MAX_CHARS


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(object),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(nested)
def test_no_address_and_no_error(action):
    text = safe_repr(action)
    assert text == safe_repr(action)
    if "object" in text:
        assert not re.search(r"at 0x[0-9a-f]+", text)


@pytest.mark.parametrize(
    ("answer", "record"),
    [
        (None, None),
        (2, 2),
        (np.int64(1), 1),
        (np.str_("END_TRAINING"), "END_TRAINING"),
        ((1, {2: "x"}), [1, {"2": "x"}]),
        (float("nan"), None),
        (Secretive(), "<Secretive>"),
        ("\ud800", "'\\ud800'"),
        pytest.param(10**5000, "<unspeakable>", id="many digits"),
        pytest.param("x" * MAX_ANSWER_BYTES, safe_repr("x" * MAX_ANSWER_BYTES), id="long"),
    ],
)
def test_answers_as_a_record_gives_them_back(answer, record):
    assert to_recordable(answer) == record
    assert type(to_recordable(answer)) is type(record)


@given(nested)
def test_every_answer_can_be_recorded_and_stays_what_it_is(answer):
    once = to_recordable(answer)
    assert json.loads(json.dumps(once)) == once
    assert to_recordable(once) == once


def test_a_record_says_what_was_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    told: list[Event] = []
    flagfall.run(
        "micro1", lambda _byte: {"no": "byte"}, steps=2, clock="virtual", journal=path, sinks=[told.append]
    )
    refused = "{'no': 'byte'}"
    assert [event.refused for event in told if isinstance(event, TurnPlayed)] == [refused] * 2
    assert path.read_text().count(f'"refused":"{refused}"') == 2
