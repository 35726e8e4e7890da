"""Byte steps per second on all 46 tasks of the challenge, with the random agent.

The random agent never learns the first task, so tasks are drawn at random instead of one after another.
"""

from __future__ import annotations

__all__ = ["main"]

from collections.abc import Iterator

import attrs

from benchmarks.matches import byte_rows
from benchmarks.measure import Row, show
from flagfall.tasks.configs import load_config

CHALLENGE = attrs.evolve(load_config("challenge"), policy="random")


def challenge(scale: int) -> Iterator[Row]:
    """Measure the configuration of the challenge, with its world and its words.

    Args:
        scale: divides the amount of work.
    """
    return byte_rows(CHALLENGE.build, scale)


def main(*, quick: bool = False, only: str = "") -> None:
    """Print the table of this suite.

    Args:
        quick: do a tenth of the work.
        only: measure only groups whose name contains this text.
    """
    groups = (challenge,)
    rows = (row for group in groups if only in group.__name__ for row in group(10 if quick else 1))
    show("Round 1, the 46 tasks of the challenge", rows)
