"""Bounds of what a seat and a stage wait for, repeat and record, each with its reason."""

from __future__ import annotations

__all__ = [
    "CPU_WALL_FACTOR",
    "HEARING_NS",
    "LOOK_AGAIN_NS",
    "MAX_DETAIL_CHARS",
    "MAX_DROPPED_RECORDS",
    "MAX_NAMED_TURN",
    "UNDER_WAY_NS",
]

from typing import Final

MAX_NAMED_TURN: Final = 2**53
"""The largest number of a turn that is recorded as an agent names it, where there never was such a turn: what
every reader of JSON takes exactly. An agent may name one of a million digits, which no journal can hold."""

CPU_WALL_FACTOR: Final = 10
"""On the CPU clock, a turn is over after this many times its limit on the wall: an agent that sleeps uses
no CPU, and must not stop the match."""

HEARING_NS: Final = 1_000_000_000
"""The longest way of an answer from a thread; one that is heard later counts as made when it is heard.
An answer that is under way takes a few passes of the loop at most."""

UNDER_WAY_NS: Final = 500_000
"""The wait for an answer that is under way before looking again; the loop hears it as soon as it is there."""

LOOK_AGAIN_NS: Final = 1_000
"""CPU time runs slower than the wall's, so the agent may have some left: look again, but do not spin."""

MAX_DETAIL_CHARS: Final = 4_000
"""A traceback of some forty lines; what tells an author why an agent fell need not be longer."""

MAX_DROPPED_RECORDS: Final = 100
"""At most this many dropped replies of a seat are recorded one by one; further ones are only counted, so that
an agent that floods its seat cannot fill the disk."""
