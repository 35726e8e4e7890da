"""What travels between the two ends of a seat: an envelope out, a reply back, both numbered."""

from __future__ import annotations

__all__ = ["Envelope", "Late", "Phase", "Reply"]

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from flagfall.events import Verdict

Phase: TypeAlias = Literal["start", "init", "act", "result"]
"""What is asked of the agent.

- `start`: come up; the observation is what the agent may know before it plays (`Briefing` fields).
- `init`: a task begins; the observation is its first.
- `act`: choose an action.
- `result`: a task is over; the observation is its last one, the reward its last reward.
"""


class Late(Struct, frozen=True):
    """What an agent is told of a turn that was not its own action.

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


class Envelope(Struct, gc=False):
    """One request to an agent.

    Attributes:
        number: identifies it within the match. Turns count 0, 1, 2, ...; the other phases count
            -1, -2, -3, ...
        observation: what the agent is shown.
        reward: the reward for an earlier action, 0 if there was none.
        phase: what is asked.
        late: told once, in the first envelope after a turn that was late or illegal.
    """

    number: int
    observation: Any = None
    reward: Any = 0
    phase: Phase = "act"
    late: Late | None = None


class Reply(Struct, frozen=True):
    """One answer of an agent.

    Attributes:
        number: the number of the envelope that it answers.
        action: the action for `act`; whatever the phase asks for else.
    """

    number: int
    action: Any = None
