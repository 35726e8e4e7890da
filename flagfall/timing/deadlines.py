"""Queue of deadlines: a heap whose entries are moved on lazily.

A turn moves its deadline on by storing a later `due_ns`; the heap is not touched. Only when the
old time comes is the entry put back at its true time. So a deadline that does not fire costs one
attribute.

Rule 1: an entry in the heap stands at its true time or before it, never behind it.
Rule 2: this file knows neither clock nor event loop; the owner says what time it is.
Rule 3: an entry that was armed again at an earlier time leaves its old place behind. Of such places there are
    at most as many as entries, or `_MIN_PLACES`.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

from flagfall.timing.durations import NEVER_NS


def ignore(*_values: object) -> None:
    """Do nothing; takes any arguments."""


_MIN_PLACES: Final = 1024
"""A heap of fewer places is never searched for those left behind."""


class Deadline:
    """An object that is called when its time has come.

    Attributes:
        due_ns: the true time; code that sets it to an earlier one than `armed_ns` calls `DeadlineQueue.arm`.
        armed_ns: where it stands in the deadlines; `NEVER_NS` while it does not.
        rank: of deadlines at one time, the lower comes first; so what happens at one moment does not
            depend on the order in which a loop ran the tasks that made them.
        on_error: called with what `fire` raises, and its place; `None`: it is raised by the queue.
    """

    __slots__ = ("armed_ns", "due_ns", "on_error", "rank")

    def __init__(self, rank: int = 0) -> None:
        self.rank: int = rank
        self.due_ns: int = NEVER_NS
        self.armed_ns: int = NEVER_NS
        self.on_error: Callable[[BaseException, str], None] | None = None

    def fire(self, now_ns: int) -> None:
        """Act on the time that has come; the deadline is not in the queue any more."""
        raise NotImplementedError


class DeadlineQueue:
    """The deadlines of one event loop, earliest first; equal times by rank, then in the order of arming.

    Args:
        on_earlier: called with the new earliest time whenever an arming makes it earlier.
    """

    __slots__ = ("_heap", "_most_places", "_on_earlier", "_ticket")

    def __init__(self, on_earlier: Callable[[int], None] | None = None) -> None:
        self._heap: list[tuple[int, int, int, Deadline]] = []
        self._ticket = 0
        self._most_places = _MIN_PLACES
        self._on_earlier = on_earlier

    def arm(self, entry: Deadline) -> None:
        """Let `entry` fire at its `due_ns`, unless that is moved on before."""
        due_ns = entry.due_ns
        if due_ns >= entry.armed_ns:
            return
        self._push(due_ns, entry)
        if self._on_earlier is not None and self._heap[0][3] is entry:
            self._on_earlier(due_ns)

    def _push(self, due_ns: int, entry: Deadline) -> None:
        self._ticket += 1
        entry.armed_ns = due_ns
        heap = self._heap
        heappush(heap, (due_ns, entry.rank, self._ticket, entry))
        if len(heap) > self._most_places:
            self._prune()

    def _prune(self) -> None:
        """Remove the places left behind; the cost is shared by as many pushes as there are places."""
        # An entry may have been armed at one time twice, and the first place counts.
        places: dict[Deadline, tuple[int, int, int, Deadline]] = {}
        for place in sorted(self._heap):
            if place[0] == place[3].armed_ns:
                places.setdefault(place[3], place)
        self._heap[:] = places.values()  # in order, and so a heap
        self._most_places = max(_MIN_PLACES, 2 * len(self._heap))

    def next_due_ns(self) -> int:
        """Return the time of the earliest deadline, `NEVER_NS` where there is none."""
        heap = self._heap
        while heap:
            at_ns, _, _, entry = heap[0]
            if at_ns == entry.armed_ns and at_ns == entry.due_ns:
                return at_ns
            heappop(heap)
            if at_ns == entry.armed_ns:  # moved on since (an entry armed earlier stands there, too)
                entry.armed_ns = NEVER_NS
                if entry.due_ns < NEVER_NS:
                    self._push(entry.due_ns, entry)
        return NEVER_NS

    def is_due_by(self, at_ns: int) -> bool:
        """Return whether a deadline comes by this moment."""
        heap = self._heap
        return bool(heap) and heap[0][0] <= at_ns and self.next_due_ns() <= at_ns

    def pop_due(self, now_ns: int) -> Deadline | None:
        """Remove and return the earliest deadline whose time has come; `None` where there is none."""
        heap = self._heap
        if not heap or heap[0][0] > now_ns:  # none stands behind its true time
            return None
        at_ns, _, _, entry = heap[0]
        if at_ns == entry.armed_ns and at_ns == entry.due_ns:
            heappop(heap)
        elif self.next_due_ns() <= now_ns:
            entry = heappop(heap)[3]
        else:
            return None
        entry.armed_ns = NEVER_NS
        return entry

    def fire_next(self, now_ns: int) -> bool:
        """Fire the earliest deadline whose time has come; return whether there was one.

        Raises:
            BaseException: what a deadline without `on_error` raises. All matches of a loop have one queue, so
                a deadline of a match hands its errors to that match.
        """
        entry = self.pop_due(now_ns)
        if entry is None:
            return False
        try:
            entry.fire(now_ns)
        except BaseException as error:
            if entry.on_error is None:
                raise
            entry.on_error(error, "at a deadline")
        return True
