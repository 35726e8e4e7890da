"""Thresholds of Python's garbage collector that grow with the number of open matches.

A turn that waits holds some thirty objects (frames, a cancel scope of trio), which are freed by their
reference counts when it is over. With thousands of matches, more of them wait at a time than the collector
leaves alone by default (700). So it goes through them, finds no garbage, and moves them to the oldest
generation. It does not notice that they are freed there, and soon goes through all objects of the process:
0.6 s with 8,192 open matches, every few turns, in which no deadline is kept and no agent runs.

With a threshold above the number of objects that wait, it runs when garbage was made, not when turns wait.
The older generations are collected more often in return, so that what ended matches leave behind stays within
a share of what the open ones need.

Rule 1: the youngest generation's threshold is only ever raised. A collector that is switched off stays so.
Rule 2: thresholds are lowered as matches end; with the last one, those of before are restored.
Rule 3: if the program sets thresholds of its own meanwhile, those stay.
"""

from __future__ import annotations

__all__ = ["OBJECTS_PER_MATCH", "CollectorThresholds", "thresholds"]

import gc
import threading
from typing import Final

OBJECTS_PER_MATCH: Final = 64
"""The threshold per open match: twice what a waiting turn holds, and a third of what an open match does."""

_OLDER: Final = (1, 1)
"""Every second collection of the youngest generation includes the next one, and every second of those the
oldest. So the whole heap may be looked at after 256 new objects per match, as many as two matches have."""


class CollectorThresholds:
    """The thresholds of the garbage collector, set by the number of open matches of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # event loops may run in several threads
        self._open = 0
        self._before = self._ours = gc.get_threshold()

    def match_opened(self) -> None:
        """Count a match of any event loop."""
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._before = self._ours = gc.get_threshold()
            self._set()

    def match_closed(self) -> None:
        """Count a match as ended."""
        with self._lock:
            self._open -= 1
            self._set()

    def _set(self) -> None:
        youngest = self._open * OBJECTS_PER_MATCH
        wanted = (youngest, *_OLDER) if 0 < self._before[0] < youngest else self._before
        if wanted != self._ours and gc.get_threshold() == self._ours:
            gc.set_threshold(*wanted)
            self._ours = wanted


thresholds: Final = CollectorThresholds()
"""Those of this process: there is one collector for all event loops."""
