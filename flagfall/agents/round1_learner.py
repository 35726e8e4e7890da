"""Learners written in Python for round 1 of the General AI Challenge, as agents.

Such a learner has `next(token)`, which returns its own token, and `reward(reward)`, which is called before
each of them, mostly with 0. Tokens are texts of one character; in bit mode they are `0` and `1`. Its file
imports `learners.base` and `core.serializer`, which `LEARNER_MODULES` stands in for.
"""

from __future__ import annotations

__all__ = ["LEARNER_MODULES", "BaseLearner", "StandardSerializer", "is_round1_learner", "learner_answer"]

from collections.abc import Callable
from typing import Any, Final

from flagfall.kernel.channels.codecs import BITS_PER_BYTE, SILENCE, bits_to_text, text_to_bits
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


class StandardSerializer:
    """Text as bits: UTF-8, each byte most significant bit first; silence is a space."""

    SILENCE_TOKEN: Final = SILENCE
    SILENCE_ENCODING: Final = text_to_bits(SILENCE)

    def to_binary(self, message: str) -> str:
        """Return a text as characters `0` and `1`."""
        return text_to_bits(message)

    def to_text(self, data: str, strict: bool = False) -> str | None:
        """Return the text in the whole bytes of a string of bits; `None` where there is none."""
        return bits_to_text(data, strict=strict) if len(data) >= BITS_PER_BYTE else None

    def can_deserialize(self, data: str) -> bool:
        """Return whether some text ends the bits."""
        return self.to_text(data) is not None


class IdentitySerializer:
    """Text as itself."""

    SILENCE_TOKEN: Final = SILENCE
    SILENCE_ENCODING: Final = SILENCE

    def to_binary(self, message: str) -> str:
        """Return the text."""
        return message

    def to_text(self, data: str) -> str:
        """Return the text."""
        return data

    def can_deserialize(self, data: str) -> bool:
        """Return whether there is any text."""
        return bool(data)


LEARNER_MODULES: Final[ModuleTable] = {
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

    A teacher never says the bytes 0 and 1 (they are no text), so these are bits. What is not one token is
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
