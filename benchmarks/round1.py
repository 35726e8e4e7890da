"""Byte steps per second on all 46 tasks of the challenge, with the random agent.

The random agent never learns the first task, so tasks are drawn at random instead of one after another.
"""

from __future__ import annotations

__all__ = ["SUITE"]

from collections.abc import Iterator

import attrs

from benchmarks.matches import byte_rows
from benchmarks.measure import Row
from benchmarks.suites import Suite, by_name
from flagfall.tasks.configs import load_config

CHALLENGE = attrs.evolve(load_config("challenge"), policy="random")


def challenge(scale: int) -> Iterator[Row]:
    """Measure the configuration of the challenge, with its world and its words.

    Args:
        scale: divides the amount of work.
    """
    return byte_rows(CHALLENGE.build, scale)


SUITE = Suite("the 46 tasks of the challenge", by_name(challenge))
