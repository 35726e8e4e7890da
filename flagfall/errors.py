"""The errors of flagfall: the class says who pays.

A late agent is not among them: a verdict is a result of the match, so it is a value
(see `flagfall.events`), never an exception.
"""

from __future__ import annotations

__all__ = ["AgentFault", "FlagfallError", "HostFault", "UsageError", "suggest"]

import difflib
from collections.abc import Iterable
from typing import Final


class FlagfallError(Exception):
    """What every error raised on purpose by flagfall is."""


class UsageError(FlagfallError):
    """The caller asked for something that cannot be: the message names the place and the mend.

    Nothing has been played or written when it is raised.
    """


class AgentFault(FlagfallError):
    """An agent broke the rules or broke down: its seat loses, the match counts.

    Attributes:
        reason: one word for tables: `crashed`, `gone`, `garbage`, `not started`.
        detail: what to show its author, a traceback for instance; bounded in length.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class HostFault(FlagfallError):
    """The host (this program, a task, the disk) failed: the match is void, no seat pays for it."""


MAX_HINTED_CHARS: Final = 200
"""Longer words get no hint: to look for near ones takes time that grows with the square of the length."""


def suggest(word: str, known: Iterable[str]) -> str:
    """A hint for an unknown word: `; nearest: a, b`, or all that is known where nothing is near."""
    names = list(known)
    if len(word) > MAX_HINTED_CHARS:
        return ""
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.5)
    if near:
        return f"; nearest: {', '.join(near)}"
    return f"; known: {', '.join(names)}" if names else ""
