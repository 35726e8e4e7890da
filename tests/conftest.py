"""What tests of all folders share."""

from __future__ import annotations

import pytest

from flagfall.timing import VirtualClock


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """The clock of the test: waiting takes no time, and every time is exact."""
    return VirtualClock()
