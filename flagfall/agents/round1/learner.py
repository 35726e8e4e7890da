"""Learners written in Python for round 1 of the General AI Challenge, as agents.

Such a learner has `next(token)`, which returns its own token, and `reward(reward)`, which is called before
each of them, mostly with 0. Tokens are texts of one character; in bit mode they are `0` and `1`. Its file
imports `learners.base` and modules of `core`, which `LEARNER_MODULES` stands in for.
"""

from __future__ import annotations

__all__ = ["LEARNER_MODULES", "BaseLearner", "is_round1_learner", "learner_answer"]

from collections.abc import Callable
from typing import Any, Final

from flagfall.agents.round1.channels import (
    ByteInputChannel,
    ByteOutputChannel,
    InputChannel,
    OutputChannel,
)
from flagfall.agents.round1.serializers import IdentitySerializer, StandardSerializer
from flagfall.kernel.channels.envelope import Envelope
from flagfall.module_aliases import ModuleTable

_BITS: Final = ("0", "1")


class BaseLearner:
    """A learner that echoes what it hears; base class of learners of round 1."""

    def try_reward(self, reward: float | None) -> None:
        """Pass a reward on, unless there is none."""
        if reward is not None:
            self.reward(reward)

    def reward(self, reward: float) -> None:
        """Take the reward for the token before: a number, mostly 0."""

    def next(self, input: str) -> str:  # noqa: A002 - learners may be written with this keyword
        """Return the answer to a token: one character."""
        return input


LEARNER_MODULES: Final[ModuleTable] = {
    "core.byte_channels": {
        "ByteInputChannel": ByteInputChannel,
        "ByteOutputChannel": ByteOutputChannel,
    },
    "core.channels": {"InputChannel": InputChannel, "OutputChannel": OutputChannel},
    "core.serializer": {
        "IdentitySerializer": IdentitySerializer,
        "StandardSerializer": StandardSerializer,
    },
    "learners.base": {"BaseLearner": BaseLearner},
}
"""The modules of round 1 that the file of a learner may import, for `module_aliases`."""


def is_round1_learner(agent: Any) -> bool:
    """Return whether an object is asked as round 1 asks its learners."""
    rewarded = getattr(agent, "try_reward", None) or getattr(agent, "reward", None)
    return callable(getattr(agent, "next", None)) and callable(rewarded)


def learner_answer(agent: Any) -> Callable[[Envelope], Any]:
    """Return what answers an envelope of a byte task with a learner: a byte, or a bit in bit mode.

    A teacher never sends the bytes 0 and 1 (they are not text), so these are bits. What is not one token is
    returned as it is, and is illegal.
    """
    reward = getattr(agent, "try_reward", None) or agent.reward

    def answer(envelope: Envelope) -> Any:
        heard: int = envelope.observation
        in_bits = heard < len(_BITS)
        reward(envelope.reward or 0)
        reply = agent.next(_BITS[heard] if in_bits else chr(heard))
        if in_bits and reply in _BITS:
            return _BITS.index(reply)
        if not in_bits and isinstance(reply, str) and len(reply) == 1:
            return ord(reply)
        return reply

    return answer
