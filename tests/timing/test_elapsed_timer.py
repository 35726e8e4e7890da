"""What an agent sees of its clock."""

from __future__ import annotations

import pytest

from flagfall.timing import MS, NEVER_NS, ElapsedTimer


@pytest.mark.parametrize(
    ("now_ns", "elapsed_ms", "remaining_ms", "exceeded"),
    [
        (0, 0, 40, False),
        (999_999, 0, 39, False),
        (40 * MS - 1, 39, 0, False),
        (40 * MS, 40, 0, True),
        (42 * MS, 42, -2, True),
    ],
)
def test_milliseconds_are_rounded_towards_zero(
    now_ns: int, elapsed_ms: int, remaining_ms: int, exceeded: bool
):
    time_ns = [1000]
    timer = ElapsedTimer(lambda: time_ns[0], lambda: (1000, 40 * MS, None))
    time_ns[0] += now_ns
    assert (timer.elapsed_ns, timer.elapsed_ms) == (now_ns, elapsed_ms)
    assert (timer.remaining_ns, timer.remaining_ms) == (40 * MS - now_ns, remaining_ms)
    assert timer.exceeded is exceeded


def test_without_a_limit_there_is_always_time():
    timer = ElapsedTimer(lambda: 10**15, lambda: (0, NEVER_NS, None))
    assert timer.remaining_ns == NEVER_NS
    assert not timer.exceeded
    assert timer.late is None
