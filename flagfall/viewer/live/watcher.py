"""One watcher of a folder for all viewers of its live page; it rests while there are none."""

from __future__ import annotations

__all__ = ["Watcher"]

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import trio

from flagfall.viewer.live.folder_reader import FolderReader, News
from flagfall.viewer.live.views import NewsItem, RunView
from flagfall.viewer.server.sse import Hub

READ_SECONDS: Final = 1.0
"""Time between readings of the folder; each takes some milliseconds."""

STANDINGS_SECONDS: Final = 2.0
"""Shortest time between computations of the standings."""

STANDINGS_SHARE: Final = 10
"""After a computation the next one waits this many times its duration: large tournaments take a tenth of one
processor at most."""

KEPT_NEWS: Final = 200
"""Matches that have ended which a page gets when it connects."""

_T = TypeVar("_T")


class Watcher:
    """Reads a folder for all viewers, and sends them what has changed.

    Args:
        folder: the folder of a tournament, which may come later.

    Attributes:
        hub: sends the events `run`, `news` and `standings`.
    """

    def __init__(self, folder: Path) -> None:
        self.hub: Hub = Hub()
        self._reader = FolderReader(folder)
        self._news: deque[NewsItem] = deque(maxlen=KEPT_NEWS)
        self._begun = False
        self._counted: tuple[object, ...] = ()
        self._changed = trio.Event()
        self._reading = trio.Lock()

    async def run(self) -> None:
        """Watch until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._compute_standings)
            try:
                while True:
                    await self.hub.wait_for_viewer()
                    await self.refresh()
                    await trio.sleep(READ_SECONDS)
            finally:
                self._reader.close()

    async def refresh(self) -> None:
        """Read the folder now, for example after a command."""
        async with self._reading:
            view, news = await _in_thread(self._reader.read)
            self._publish(view, news)

    def _publish(self, view: RunView, news: News) -> None:
        self.hub.publish("run", view)
        if news.items or news.left_out or not self._begun:
            anew = not self._news or not news.items or news.items[0].number <= self._news[-1].number
            if anew:  # the first ones, or the folder was away and perhaps holds another tournament
                self._news.clear()
            self._begun = True
            self._news.extend(news.items)
            kept = {"items": list(self._news), "left_out": 0, "all": True}
            told = {"items": news.items, "left_out": news.left_out, "all": anew}
            self.hub.publish("news", told, keep=kept)
        counted = (view.played, view.state in {"missing", "waiting", "damaged"}, view.state == "ended")
        if counted != self._counted:
            self._counted = counted
            self._changed.set()

    async def _compute_standings(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = trio.Event()
            began = trio.current_time()
            self.hub.publish("standings", await _in_thread(self._reader.read_standings))
            took = trio.current_time() - began
            await trio.sleep(max(STANDINGS_SECONDS, STANDINGS_SHARE * took))


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Call a function that blocks; if this is cancelled, it goes on alone for at most some seconds."""
    return await trio.to_thread.run_sync(work, abandon_on_cancel=True)
