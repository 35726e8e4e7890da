"""Learners written in Python for round 1 of the General AI Challenge, and the modules that they import."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from flagfall.code_loader import ModuleTable
from flagfall.kernel.channels.codecs import BITS_PER_BYTE, SILENCE, BitDecoder, bits_to_text, text_to_bits

if TYPE_CHECKING:
    from flagfall.kernel.channels.turn_channel import Envelope


class StandardSerializer:
    """Text as bits: UTF-8, each byte most significant bit first; silence is a space."""

    SILENCE_TOKEN: Final = chr(SILENCE)
    SILENCE_ENCODING: Final = text_to_bits(SILENCE_TOKEN)

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

    SILENCE_TOKEN: Final = chr(SILENCE)
    SILENCE_ENCODING: Final = SILENCE_TOKEN

    def to_binary(self, message: str) -> str:
        """Return the text."""
        return message

    def to_text(self, data: str) -> str:
        """Return the text."""
        return data

    def can_deserialize(self, data: str) -> bool:
        """Return whether there is any text."""
        return bool(data)


# Channels that learners of round 1 may use: tokens into messages, and messages into tokens.
#
# The behaviour is that of the original: in byte mode a token is a character and messages queue up; in bit
# mode a token is `0` or `1`, and a new message takes the place of what is still unsaid.


class Observable:
    """A list of functions to call with a value."""

    def __init__(self) -> None:
        self._observers: list[Callable[[str], Any]] = []

    def register(self, observer: Callable[[str], Any]) -> None:
        """Call a function from now on."""
        self._observers.append(observer)

    def deregister(self, observer: Callable[[str], Any]) -> None:
        """Stop calling a function."""
        self._observers.remove(observer)

    def __call__(self, value: str) -> None:
        """Pass a value to every observer."""
        for observer in list(self._observers):
            observer(value)


class ByteInputChannel:
    """Characters heard, as one text.

    Attributes:
        message_updated: is called with the text whenever it grows.
        sequence_updated: is called with all tokens, after each of them.
    """

    def __init__(self, serializer: StandardSerializer) -> None:
        self.serializer = serializer
        self.message_updated: Observable = Observable()
        self.sequence_updated: Observable = Observable()
        self._text = ""
        self._sequence = ""

    def consume(self, token: str) -> None:
        """Take one token."""
        heard = self._decode(token)
        self._sequence += token
        self._text += heard
        if heard:
            self.message_updated(self._text)
        self.sequence_updated(self._sequence)

    def _decode(self, token: str) -> str:
        return token

    def clear(self) -> None:
        """Forget everything."""
        self._text = self._sequence = ""

    def get_text(self) -> str:
        """Return the text heard so far."""
        return self._text


class InputChannel(ByteInputChannel):
    """Bits heard, and the text that they make; `sequence_updated` is called with the bits."""

    def __init__(self, serializer: StandardSerializer) -> None:
        super().__init__(serializer)
        self._decoder = BitDecoder()

    def _decode(self, token: str) -> str:
        return self._decoder.feed(token)

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._decoder = BitDecoder()


class ByteOutputChannel:
    """Queue of characters to send.

    Attributes:
        sequence_updated: is called with each token that is taken.
    """

    def __init__(self, serializer: StandardSerializer) -> None:
        self.serializer = serializer
        self.sequence_updated: Observable = Observable()
        self._queue = ""

    def set_message(self, message: str) -> None:
        """Append a message to the queue."""
        self._queue += message

    def consume(self) -> str:
        """Take the next token; empty where none waits."""
        token, self._queue = self._queue[:1], self._queue[1:]
        self.sequence_updated(token)
        return token

    def clear(self) -> None:
        """Discard the queue."""
        self._queue = ""

    def is_empty(self) -> bool:
        """Return whether nothing waits."""
        return not self._queue


class OutputChannel(ByteOutputChannel):
    """Queue of bits to send."""

    def set_message(self, message: str) -> None:
        """Replace the queue by a message, from the first bit on at which a text begins in the queue."""
        starts = range(len(self._queue))
        cut = next((at for at in starts if self.serializer.to_text(self._queue[at:])), len(self._queue))
        self._queue = self._queue[:cut] + self.serializer.to_binary(message)


# Learners written in Python for round 1 of the General AI Challenge, as agents.
#
# Such a learner has `next(token)`, which returns its own token, and `reward(reward)`, which is called before
# each of them, mostly with 0. Tokens are texts of one character; in bit mode they are `0` and `1`. Its file
# imports `learners.base` and modules of `core`, which `LEARNER_MODULES` stands in for.

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
    "core.byte_channels": {"ByteInputChannel": ByteInputChannel, "ByteOutputChannel": ByteOutputChannel},
    "core.channels": {"InputChannel": InputChannel, "OutputChannel": OutputChannel},
    "core.serializer": {"IdentitySerializer": IdentitySerializer, "StandardSerializer": StandardSerializer},
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
