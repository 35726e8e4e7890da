"""Envelopes: what a referee sends to an agent, numbered."""

from __future__ import annotations

__all__ = ["Envelope", "LateNotice"]

from typing import Any

from msgspec import Struct

from flagfall.events import Verdict
from flagfall.timing.phases import Phase


class LateNotice(Struct, frozen=True):
    """Notice to an agent that another action than its own was played in a turn.

    Attributes:
        turn: the turn.
        verdict: `late` or `illegal`.
        played: the action that was played instead.
        by_ns: how late the answer was when that was decided; 0 for an illegal one.
    """

    turn: int
    verdict: Verdict
    played: Any
    by_ns: int = 0


class Envelope(Struct, frozen=True, gc=False):
    """One request to an agent; frozen, since an agent in the loop holds it while the referee judges by it.

    Attributes:
        number: identifies it within the match. Turns count 0, 1, 2, ...; the other phases count
            -1, -2, -3, ...
        observation: what the agent is shown.
        reward: the reward for an earlier action, 0 if there was none.
        phase: what is asked.
        late: the notice of a turn that was late or illegal, once, in the first envelope after it.
    """

    number: int
    observation: Any = None
    reward: Any = 0
    phase: Phase = "act"
    late: LateNotice | None = None
