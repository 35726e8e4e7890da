"""Channels that learners of round 1 may use: tokens into messages, and messages into tokens.

The behaviour is that of the original: in byte mode a token is a character and messages queue up; in bit mode
a token is `0` or `1`, and a new message takes the place of what is still unsaid.
"""

from __future__ import annotations

__all__ = ["ByteInputChannel", "ByteOutputChannel", "InputChannel", "OutputChannel"]

from collections.abc import Callable
from typing import Any

from flagfall.agents.round1.serializers import StandardSerializer
from flagfall.kernel.channels.codecs import BitDecoder


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
