"""The one grace period of a turn: on a host that stalled, a late verdict waits for an answer unheard.

Rule 1: at most one grace period per turn. What is lost while it lasts does not begin another.
Rule 2: it ends `GRACE_NS` after the deadline, and not before the loop has run `HEARING_PASSES` more times: an
    answer that is there when the loop wakes late is heard, however late that is.
"""

from __future__ import annotations

__all__ = ["GRACE_NS", "HEARING_PASSES", "Grace"]

from typing import Final

from flagfall.timing.durations import MS

GRACE_NS: Final = 5 * MS
"""The time after a deadline in which an answer may still be read where the host stalled: a few time slices of
a busy machine, since an idle one does not stall."""

HEARING_PASSES: Final = 3
"""The least number of passes of the loop: one reads what lies ready, two more bring it through tasks of an
agent's own that pass it on."""

_NEXT_PASS_NS: Final = 1_000

_NOTHING: Final = object()


class Grace:
    """The grace period of a turn.

    It keeps what it was begun for, so that it costs a turn nothing that does not need it.
    """

    __slots__ = ("_passes", "_until_ns", "_what")

    def __init__(self) -> None:
        self._until_ns = self._passes = 0
        self._what: object = _NOTHING

    def forget(self) -> None:
        """Begin anew the next time."""
        self._what = _NOTHING

    def put_off(self, now_ns: int, due_ns: int, what: object) -> int:
        """Return until when a late verdict waits; 0 when it is given now.

        Args:
            now_ns: the present time.
            due_ns: the deadline that has passed.
            what: the envelope whose deadline it is; `None` for the hard limit of one that is not open any
                more.
        """
        # By identity, not by number: the hard limit of a turn that is over (`None`) has a grace period too.
        if what is not self._what:
            self._what = what
            self._until_ns = due_ns + GRACE_NS
            self._passes = HEARING_PASSES
        if now_ns < self._until_ns:
            return self._until_ns
        if self._passes == 0:
            return 0
        # The time is over, but a loop that was held up all the while has not looked for the answer once.
        self._passes -= 1
        return now_ns + _NEXT_PASS_NS
