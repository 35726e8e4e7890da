"""The texts that name environments, and lists of them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.tasks.adapters.environment_task import split_texts
from flagfall.texts import parse_text


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("gym:A-v1", "gym:A-v1", {}),
        ("gym:A-v1?x=1", "gym:A-v1", {"x": 1}),
        ("gym:A-v1?x=1&y=2.5&z=null", "gym:A-v1", {"x": 1, "y": 2.5, "z": None}),
        ("gym:A-v1?map=8x8&slip=false", "gym:A-v1", {"map": "8x8", "slip": False}),
        ('gym:A-v1?size="8"', "gym:A-v1", {"size": "8"}),
        ('gym:A-v1?desc=["SF","FG"]', "gym:A-v1", {"desc": ["SF", "FG"]}),
        ("gym:A-v1?text=a%26b%3D%3F", "gym:A-v1", {"text": "a&b=?"}),
        ("gym:A-v1?text=", "gym:A-v1", {"text": ""}),
        ("gym:A-v1?text=a=b", "gym:A-v1", {"text": "a=b"}),
    ],
)
def test_options_are_json_or_text(text: str, name: str, options: dict[str, Any]):
    assert parse_text(text) == (name, options)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@given(st.dictionaries(st.text("abc_", min_size=1), JSON))
def test_any_json_can_be_said(options: dict[str, Any]):
    said = "&".join(f"{name}={quote(json.dumps(value))}" for name, value in options.items())
    assert parse_text(f"gym:A?{said}" if said else "gym:A") == ("gym:A", options)


@pytest.mark.parametrize("text", ["gym:A?", "gym:A?x", "gym:A?=1", "gym:A?x=1&", "gym:A?x=1&&y=2"])
def test_what_is_no_option_is_named(text: str):
    with pytest.raises(UsageError, match=r"expected `name=value` after the question mark, got ''|'x'|'=1'"):
        parse_text(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("micro1", ["micro1"]),
        ("micro1,micro2", ["micro1", "micro2"]),
        (",micro1,,micro2,", ["micro1", "micro2"]),
        ("", []),
        (",", []),
        ("gym:A?x=[1,2],micro1", ["gym:A?x=[1,2]", "micro1"]),
        ('gym:A?x={"a":[1,2],"b":3},gym:B', ['gym:A?x={"a":[1,2],"b":3}', "gym:B"]),
        ('gym:A?x="1,2",gym:B', ['gym:A?x="1,2"', "gym:B"]),
        ('gym:A?x="\\",[",gym:B', ['gym:A?x="\\",["', "gym:B"]),
        ("a],b", ["a]", "b"]),
        ('a",b', ['a"', "b"]),
    ],
)
def test_commas_separate_but_not_in_brackets_or_quotes(text: str, parts: list[str]):
    assert list(split_texts(text)) == parts


@given(st.text())
def test_nothing_is_lost_but_commas(text: str):
    assert "".join(split_texts(text)).replace(",", "") == text.replace(",", "")
