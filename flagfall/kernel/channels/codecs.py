"""Codecs between texts and bits. Pure: values in, values out.

In byte mode a turn carries one character, 0 to 255. In bit mode it carries `0` or `1`: UTF-8, each byte most
significant bit first, like the standard serializer of round 1 of the General AI Challenge.
"""

from __future__ import annotations

import re
from typing import Final

from flagfall.errors import FlagfallError

SILENCE: Final = 0x20
"""The byte for silence: a space."""

BITS_PER_BYTE: Final = 8

_BITS: Final = tuple(f"{byte:08b}" for byte in range(256))
_NO_BIT = re.compile("[^01]")
# Bytes outside of any character decode to these under `surrogateescape`.
_ESCAPED = re.compile("[\udc80-\udcff]")
# The longest incomplete character.
_LONGEST_BEGINNING_BYTES: Final = 3


class CodecError(FlagfallError, ValueError):
    """A value cannot be encoded, or data cannot be decoded."""


def text_to_bits(text: str) -> str:
    """Encode a text as UTF-8, each byte as eight characters `0` or `1`, most significant first.

    Raises:
        CodecError: a character is half of a surrogate pair, which UTF-8 cannot encode.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        at = error.start
        what = f"character {at} is {text[at]!r}, half of a surrogate pair: it has no UTF-8 form"
        raise CodecError(what) from None
    return "".join([_BITS[byte] for byte in data])


def bits_to_text(bits: str, *, strict: bool = False) -> str | None:
    """Read whole bytes of bits as UTF-8; bits after the last whole byte are ignored.

    Args:
        strict: all bytes must decode; otherwise leading bytes are dropped until the rest decodes.

    Returns:
        The text; `None` if nothing decodes, or there are fewer than eight bits.

    Raises:
        CodecError: another character is among the bits.
    """
    text = _bits_to_bytes(bits).decode("utf-8", "surrogateescape")
    good_from = _after_last_escape(text)
    return None if strict and good_from > 0 else text[good_from:] or None


def _after_last_escape(text: str) -> int:
    """Return the start of the part that is valid UTF-8 up to the end."""
    return max((match.end() for match in _ESCAPED.finditer(text)), default=0)


def _bits_to_bytes(bits: str) -> bytes:
    _check_bits(bits)
    whole = len(bits) - len(bits) % BITS_PER_BYTE
    return bytes(int(bits[at : at + BITS_PER_BYTE], 2) for at in range(0, whole, BITS_PER_BYTE))


def _check_bits(bits: str, offset: int = 0) -> None:
    wrong = _NO_BIT.search(bits)
    if wrong is not None:
        at = offset + wrong.start()
        raise CodecError(f"bit {at} is {wrong.group()!r}: the bit wire carries 0 and 1 only")


class BitDecoder:
    """Decoder from bits, in pieces of any length, to text, like in round 1.

    Bytes outside of any character are skipped as soon as a later byte completes one.
    """

    def __init__(self) -> None:
        self._bits = ""
        self._tail = b""
        self._taken = 0

    def feed(self, bits: str) -> str:
        """Add bits, and return the characters that they complete; may be empty.

        Raises:
            CodecError: another character is among the bits; nothing was added. The message has its position,
                counted from the first bit fed.
        """
        _check_bits(bits, self._taken + len(self._bits))
        bits = self._bits + bits
        data = _bits_to_bytes(bits)
        self._bits = bits[BITS_PER_BYTE * len(data) :]
        return "".join([self._take(byte) for byte in data])

    def _take(self, byte: int) -> str:
        self._tail += bytes([byte])
        self._taken += BITS_PER_BYTE
        text = self._tail.decode("utf-8", "surrogateescape")
        heard = text[_after_last_escape(text) :]
        # No character has decoded since the tail began: only the beginning of one can matter.
        self._tail = b"" if heard else self._tail[-_LONGEST_BEGINNING_BYTES:]
        return heard
