"""Messages of a learner of round 1: decimal texts and single characters.

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
"""The first message of a learner."""

MAX_SHOWN_CHARS: Final = 40
"""Maximum length of an invalid message that is shown to its author."""

_MAX_BYTE: Final = 255
_BITS: Final = "01"


@attrs.frozen
class BadReply:
    """A reply that is not a byte; no task takes it as an action.

    Attributes:
        what: the fault, and the beginning of the reply.
    """

    what: str


def read_reply(frames: list[bytes], *, bits: bool = False) -> int | BadReply:
    """Return the byte or bit of a message: one frame of one character in UTF-8, its code 0 to 255.

    Args:
        frames: the frames of the message.
        bits: it is bit mode; the character must be `0` or `1`.
    """
    if len(frames) != 1:
        return BadReply(f"{len(frames)} frames: {shown(frames[0])}")
    try:
        text = frames[0].decode()
    except UnicodeDecodeError:
        return BadReply(f"not UTF-8: {shown(frames[0])}")
    if len(text) != 1:
        return BadReply(f"{len(text)} characters: {shown(frames[0])}")
    code = ord(text)
    if bits:
        return _BITS.index(text) if text in _BITS else BadReply(f"not a bit: {shown(frames[0])}")
    return code if code <= _MAX_BYTE else BadReply(f"code {code}: {shown(frames[0])}")


def reward_text(reward: Any) -> bytes:
    """Return a reward as decimal text: whole numbers without a point, truth values as `1` and `0`.

    Args:
        reward: the reward.
    """
    if not isinstance(reward, int):
        reward = float(reward)
        if not reward.is_integer():
            return repr(reward).encode()
    return str(int(reward)).encode()


def token_text(observation: Any, *, bits: bool = False) -> bytes:
    """Return a byte as the character of that code, in UTF-8; a bit as `0` or `1`.

    Args:
        observation: the observation of the task.
        bits: it is bit mode.

    Raises:
        HostFault: it is not a byte, or not a bit. No agent is disqualified for that.
    """
    with suppress(TypeError):
        code = operator.index(observation)
        if bits and 0 <= code < len(_BITS):
            return _BITS[code].encode()
        if not bits and 0 <= code <= _MAX_BYTE:
            return chr(code).encode()
    raise HostFault(
        f"a learner over ZeroMQ takes bytes: give it byte tasks; this one shows {shown(observation)}"
    )


def shown(what: Any) -> str:
    """Return the beginning of a value as text, bounded in length.

    Args:
        what: the value.
    """
    if isinstance(what, bytes) and len(what) > MAX_SHOWN_CHARS:
        return f"{what[:MAX_SHOWN_CHARS]!r}..."
    return repr(what)[: 4 * MAX_SHOWN_CHARS]
