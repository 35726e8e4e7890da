"""Bounds on the waits, repetitions and records of seats and referee, each with its reason."""

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
"""The largest number of an unasked turn that is recorded as the agent sent it: every JSON parser reads it
exactly. An agent may send a number of a million digits, which no journal can hold."""

CPU_WALL_FACTOR: Final = 10
"""On the CPU clock, a turn is over after this many times its limit in wall-clock time, without the time that
the host lost: an agent that sleeps uses no CPU time, and must not stop the match."""

HEARING_NS: Final = 1_000_000_000
"""Maximum delivery time of an answer from a thread; one that arrives later counts from its arrival. Delivery
takes a few passes of the loop."""

UNDER_WAY_NS: Final = 500_000
"""Wait for an answer that is being delivered, before looking again; the loop receives it on its arrival."""

LOOK_AGAIN_NS: Final = 1_000
"""CPU time passes more slowly than wall-clock time, so the agent may have some left: look again, without
spinning."""

MAX_DETAIL_CHARS: Final = 4_000
"""A traceback of about forty lines, enough for an author to see why an agent was disqualified."""

MAX_DROPPED_RECORDS: Final = 100
"""At most this many dropped replies of a seat are recorded one by one; further ones are only counted, so that
an agent that floods its seat cannot fill the disk."""
