"""The messages of a remote learner, as round 1 has them: decimal texts and single characters.

In bit mode a token is the character `0` or `1`, in byte mode the character of its code.
"""

from __future__ import annotations

__all__ = ["HELLO", "BadReply", "read_reply", "reward_text", "shown", "token_text"]

import operator
from contextlib import suppress
from typing import Any, Final

import attrs

from flagfall.errors import HostFault

HELLO: Final = b"hello"
"""What a learner says first."""

MAX_SHOWN_CHARS: Final = 40
"""So much of a bad message is shown to its author."""

_MAX_BYTE: Final = 255
_BITS: Final = "01"


@attrs.frozen
class BadReply:
    """Stands for a reply that is no byte; no task takes it as an action.

    Attributes:
        what: what is wrong with it, and how it began.
    """

    what: str


def read_reply(frames: list[bytes], *, bits: bool = False) -> int | BadReply:
    """The byte or bit that a message means: one frame of one character, its code 0 to 255, in UTF-8.

    Args:
        frames: of the message.
        bits: it is bit mode; the character must be `0` or `1`.
    """
    if len(frames) != 1:
        return BadReply(f"{len(frames)} frames: {shown(frames[0])}")
    try:
        text = frames[0].decode()
    except UnicodeDecodeError:
        return BadReply(f"no UTF-8: {shown(frames[0])}")
    if len(text) != 1:
        return BadReply(f"{len(text)} characters: {shown(frames[0])}")
    code = ord(text)
    if bits:
        return _BITS.index(text) if text in _BITS else BadReply(f"no bit: {shown(frames[0])}")
    return code if code <= _MAX_BYTE else BadReply(f"code {code}: {shown(frames[0])}")


def reward_text(reward: Any) -> bytes:
    """A reward as decimal text: whole ones without a point, truth values as `1` and `0`."""
    if not isinstance(reward, int):
        reward = float(reward)
        if not reward.is_integer():
            return repr(reward).encode()
    return str(int(reward)).encode()


def token_text(observation: Any, *, bits: bool = False) -> bytes:
    """A byte as the character of that code, in UTF-8; a bit as `0` or `1`.

    Args:
        observation: what the task shows.
        bits: it is bit mode.

    Raises:
        HostFault: it is no byte, or no bit. No agent pays for that.
    """
    with suppress(TypeError):
        code = operator.index(observation)
        if bits and 0 <= code < len(_BITS):
            return _BITS[code].encode()
        if not bits and 0 <= code <= _MAX_BYTE:
            return chr(code).encode()
    raise HostFault(f"a remote learner hears bytes; give it byte tasks, this one shows {shown(observation)}")


def shown(what: Any) -> str:
    """How something begins, bounded in length."""
    if isinstance(what, bytes) and len(what) > MAX_SHOWN_CHARS:
        return f"{what[:MAX_SHOWN_CHARS]!r}..."
    return repr(what)[: 4 * MAX_SHOWN_CHARS]
