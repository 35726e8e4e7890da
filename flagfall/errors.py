"""Exceptions, one class per responsible party: the agent, the host or the caller.

Lateness of an agent is not an exception: a verdict is a result of the match, so it is a value
(`flagfall.events`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final


class FlagfallError(Exception):
    """Base class of all errors that flagfall raises deliberately."""


class UsageError(FlagfallError):
    """Invalid request by the caller; the message names the place and the fix.

    When it is raised, nothing has been played or written.
    """


UNAVAILABLE: Final = "unavailable"
"""Reason of an agent whose service, such as the server of its language model, gave no answer. The agent loses
the match, also if that shows only at its end, and `flagfall run` and `tournament` end with exit code 1."""


class AgentFault(FlagfallError):
    """Fault of an agent: its seat is disqualified, and the match counts.

    Attributes:
        reason: short text for tables: `crashed`, `gone`, `garbage`, `not started`, `unavailable`.
        detail: information for the author of the agent, such as a traceback; bounded in length.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class HostFault(FlagfallError):
    """Failure of the host (this program, a task, the disk): the match is void, and no seat is blamed."""


MAX_HINTED_CHARS: Final = 200
"""Longer words get no suggestion: the search takes time quadratic in the length of the word."""


MAX_HINTS: Final = 10
"""Most words in a hint; of more known words, the nearest ones stand there."""


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown word: `; nearest: a, b`, or the known words where none is similar.

    Args:
        known: the valid words. Of more than `MAX_HINTS` the hint names the nearest, and their number.
    """
    names = list(known)
    if len(word) > MAX_HINTED_CHARS:
        return ""
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.5)
    if near:
        return f"; nearest: {', '.join(near)}"
    if len(names) > MAX_HINTS:
        least = difflib.get_close_matches(word, names, n=MAX_HINTS, cutoff=0.0)
        return f"; nearest of {len(names)}: {', '.join(least)}"
    return f"; known: {', '.join(names)}" if names else ""


def error_at(what: str, text: str, column: int, message: str) -> UsageError:
    """Return the error of an invalid text, with a caret under the place.

    Args:
        what: what the text is, for the message.
        column: the place, from 1.
    """
    # One character for one, so that the caret stands under the word.
    line = "".join(char if char.isprintable() else " " for char in text)
    caret = " " * (column - 1) + "^"
    return UsageError(f"{what}, column {column}: {message}\n  {line}\n  {caret}")
