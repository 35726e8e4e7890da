from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.timing.durations import MINUTE, MS, NEVER_NS, UNITS, US, S, format_duration, parse_duration

WRITTEN = {
    "0s": 0,
    "5ns": 5,
    "250us": 250 * US,
    "40ms": 40 * MS,
    "1.5ms": 1_500 * US,
    "0.6s": 600 * MS,
    "1s": S,
    "90s": 90 * S,
    "1m": MINUTE,
    "10m": 10 * MINUTE,
    "1h": 60 * MINUTE,
}


@pytest.mark.parametrize(("text", "ns"), WRITTEN.items())
def test_durations_read_and_write_exactly(text: str, ns: int) -> None:
    assert parse_duration(text) == ns
    assert format_duration(ns) == text


@pytest.mark.parametrize(
    ("text", "ns"),
    [("0.0000000000005h", None), ("0.01m", 600 * MS), ("60s", MINUTE), (" 1s ", S), ("0ns", 0)],
)
def test_other_spellings_are_read_too(text: str, ns: int | None) -> None:
    if ns is None:
        with pytest.raises(UsageError, match="not a whole number"):
            parse_duration(text)
    else:
        assert parse_duration(text) == ns


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "number and a unit"),
        ("40", "has no unit: write 40ms or 40s"),
        ("-1s", "number and a unit"),
        ("1e3s", "number and a unit"),
        ("1 s", "number and a unit"),
        (".5s", "number and a unit"),
        ("٣s", "number and a unit"),
        ("9" * 5_000 + "s", r"999\.\.\."),
        ("40msec", "unknown unit 'msec'; nearest: ms"),
        ("0.1ns", "not a whole number of nanoseconds"),
        (f"{NEVER_NS}ns", "too long"),
    ],
)
def test_what_is_no_duration_is_refused_with_the_mend(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_duration(text)


def test_a_negative_duration_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="-1 ns"):
        format_duration(-1)


durations = st.one_of(
    st.integers(0, NEVER_NS - 1),
    st.builds(
        lambda count, unit: count * UNITS[unit], st.integers(0, 1_000_000), st.sampled_from(sorted(UNITS))
    ),
)


@given(durations)
def test_what_is_written_reads_back(ns: int) -> None:
    assert parse_duration(format_duration(ns)) == ns


@given(durations, st.sampled_from(sorted(UNITS)))
def test_no_whole_number_of_a_unit_is_shorter(ns: int, unit: str) -> None:
    count, rest = divmod(ns, UNITS[unit])
    assert rest or len(format_duration(ns)) <= len(f"{count}{unit}")


@given(st.text(max_size=30))
def test_any_text_is_a_duration_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert 0 <= parse_duration(text) < NEVER_NS
