"""Plugin of pytest: the fixture `explore`, whose search options of the command line may change.

Everything that it needs is imported where a test uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture."""
    group = parser.getgroup("flagfall", "exploration of matches under faults")
    group.addoption("--explore-runs", type=int, metavar="N", help="simulations of each test's search")
    group.addoption("--explore-seed", type=int, metavar="N", help="seed of each test's search")
    group.addoption("--explore-again", metavar="CASE", help="simulate only this case, as it was printed")


@pytest.fixture
def explore(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return `flagfall.testing.explore`; options of the command line replace its arguments."""
    options = {name: request.config.getoption(f"explore_{name}") for name in ("runs", "seed", "again")}
    given = {name: value for name, value in options.items() if value is not None}

    def explore_as_asked(match: Any, **arguments: Any) -> None:
        from flagfall.testing.exploration import explore as search  # noqa: PLC0415 - takes half a second

        search(match, **{**arguments, **given})

    return explore_as_asked
