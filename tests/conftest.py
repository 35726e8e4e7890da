"""What tests of all folders share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from flagfall.timing import VirtualClock

# A busy machine is no reason to fail.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """The clock of the test: waiting takes no time, and every time is exact."""
    return VirtualClock()
