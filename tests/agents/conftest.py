"""Fixtures of tests of agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.model_server import servers


@pytest.fixture
def server() -> Iterator[Any]:
    """Start servers that answer as a language model does."""
    with servers() as serve:
        yield serve
