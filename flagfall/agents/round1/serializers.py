"""Text as bits and back, as learners of round 1 use it."""

from __future__ import annotations

__all__ = ["IdentitySerializer", "StandardSerializer"]

from typing import Final

from flagfall.kernel.channels.codecs import BITS_PER_BYTE, SILENCE, bits_to_text, text_to_bits


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
