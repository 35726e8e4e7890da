"""Text on the byte wire and on the bit wire. Pure: values in, values out.

The byte wire carries the characters 0 to 255, one a turn. The bit wire carries `0` and `1`: UTF-8, each byte
most significant bit first, as the standard serializer of round 1 of the General AI Challenge has it.
"""

from __future__ import annotations

__all__ = [
    "MAX_PENDING_BITS",
    "SILENCE",
    "BitDecoder",
    "BitEncoder",
    "CodecError",
    "bits_to_text",
    "bytes_to_text",
    "text_to_bits",
    "text_to_bytes",
]

import codecs
import re
from typing import Final

from flagfall.errors import FlagfallError

SILENCE: Final = 0x20
"""The byte of a side that says nothing: one space."""

BITS_PER_BYTE: Final = 8

MAX_PENDING_BITS: Final = 8 * 65_536
"""What a `BitEncoder` holds unsaid. The longest message of the micro-tasks is some hundred characters."""

_BITS: Final = tuple(f"{byte:08b}" for byte in range(256))
_NO_BIT = re.compile("[^01]")
# What a byte that belongs to no character decodes to under `surrogateescape`.
_ESCAPED = re.compile("[\udc80-\udcff]")
# The longest beginning of a character that is not one yet.
_LONGEST_BEGINNING_BYTES: Final = 3


class CodecError(FlagfallError, ValueError):
    """Something cannot go over the wire, or what came over it means nothing.

    Attributes:
        position: where in the input, from 0; `None` where that has no meaning.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


def text_to_bytes(text: str) -> bytes:
    """One byte for each character.

    Raises:
        CodecError: a character is beyond 255; names it and its position.
    """
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError as error:
        at = error.start
        raise CodecError(
            f"character {at} is {text[at]!r} (number {ord(text[at])}): the byte wire carries 0 to 255 only",
            at,
        ) from None


def bytes_to_text(data: bytes) -> str:
    """One character for each byte; every byte has one."""
    return data.decode("latin-1")


def text_to_bits(text: str) -> str:
    """UTF-8, each byte as eight characters `0` or `1`, most significant first.

    Raises:
        CodecError: a character is half of a surrogate pair, which UTF-8 cannot write.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        at = error.start
        raise CodecError(
            f"character {at} is {text[at]!r}, half of a surrogate pair: it has no UTF-8 form", at
        ) from None
    return "".join([_BITS[byte] for byte in data])


def bits_to_text(bits: str, *, strict: bool = False) -> str | None:
    """Read whole bytes of bits as UTF-8; bits after the last whole byte are ignored.

    Args:
        bits: characters `0` and `1`.
        strict: all must decode; else as many leading bytes are dropped as it takes for the rest to.

    Returns:
        The text; `None` where nothing decodes, or there are fewer than eight bits.

    Raises:
        CodecError: another character is among the bits.
    """
    text = _bits_to_bytes(bits).decode("utf-8", "surrogateescape")
    good_from = _after_last_escape(text)
    if strict and good_from > 0:
        return None
    return text[good_from:] or None


def _after_last_escape(text: str) -> int:
    """Where the part begins that is good UTF-8 up to the end."""
    return max((match.end() for match in _ESCAPED.finditer(text)), default=0)


def _bits_to_bytes(bits: str) -> bytes:
    _check_bits(bits)
    whole = len(bits) - len(bits) % BITS_PER_BYTE
    return bytes(int(bits[at : at + BITS_PER_BYTE], 2) for at in range(0, whole, BITS_PER_BYTE))


def _check_bits(bits: str, offset: int = 0) -> None:
    wrong = _NO_BIT.search(bits)
    if wrong is not None:
        at = offset + wrong.start()
        raise CodecError(f"bit {at} is {wrong.group()!r}: the bit wire carries 0 and 1 only", at)


class BitEncoder:
    """Text in, bits out, in pieces of any length."""

    def __init__(self) -> None:
        self._bits = bytearray()

    @property
    def pending_bits(self) -> int:
        """How many bits wait to be taken."""
        return len(self._bits)

    def feed(self, text: str) -> None:
        """Add text to what is to be said.

        Raises:
            CodecError: a character has no UTF-8 form, or more than `MAX_PENDING_BITS` would wait; nothing
                was added.
        """
        bits = text_to_bits(text)
        if len(self._bits) + len(bits) > MAX_PENDING_BITS:
            raise CodecError(
                f"{len(self._bits) + len(bits)} bits would wait: {MAX_PENDING_BITS} is the limit"
            )
        self._bits += bits.encode()

    def take(self, count: int = 1) -> str:
        """Take the next bits: at most `count` of those that wait, none at the end.

        Args:
            count: number of bits.
        """
        bits = self._bits[:count].decode()
        del self._bits[:count]
        return bits


class BitDecoder:
    """Bits in, in pieces of any length; text out, as soon as there is some.

    Args:
        strict: bits that are not UTF-8 are an error; else bytes that are part of no character are skipped
            as soon as a later one is, which is how a listener of round 1 hears.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._bits = ""
        self._tail = b""
        self._taken = 0

    @property
    def pending_bits(self) -> int:
        """How many bits are kept that are no text yet; 31 at most."""
        return len(self._bits) + BITS_PER_BYTE * len(self._tail)

    def feed(self, bits: str) -> str:
        """Add bits.

        Returns:
            The text that they complete; empty where they complete none.

        Raises:
            CodecError: another character is among the bits (nothing was added then), or the decoder is
                strict and they are not UTF-8; names the position, counted from the first bit ever fed.
        """
        _check_bits(bits, self._taken + len(self._bits))
        bits = self._bits + bits
        data = _bits_to_bytes(bits)
        self._bits = bits[BITS_PER_BYTE * len(data) :]
        return "".join([self._take(byte) for byte in data])

    def _take(self, byte: int) -> str:
        self._tail += bytes([byte])
        self._taken += BITS_PER_BYTE
        if self._strict:
            return self._take_strictly()
        text = self._tail.decode("utf-8", "surrogateescape")
        heard = text[_after_last_escape(text) :]
        # No character has decoded since the tail began: only the beginning of one can matter.
        self._tail = b"" if heard else self._tail[-_LONGEST_BEGINNING_BYTES:]
        return heard

    def _take_strictly(self) -> str:
        try:
            text, read = codecs.utf_8_decode(self._tail, "strict", False)
        except UnicodeDecodeError as error:
            at = self._taken - BITS_PER_BYTE * len(self._tail)
            self._tail = b""
            raise CodecError(f"the character at bit {at} is not UTF-8: {error.reason}", at) from None
        self._tail = self._tail[read:]
        return text
