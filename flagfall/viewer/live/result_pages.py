"""Pages of results beside the live page: replays of matches that have ended, and the report so far."""

from __future__ import annotations

__all__ = ["LINKS", "ReportPage", "replays_of"]

from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import trio
from starlette.responses import Response
from starlette.routing import Route

from flagfall.errors import UsageError
from flagfall.tournament.folder import JOURNALS
from flagfall.viewer.pages import served_page
from flagfall.viewer.replay.routes import Replays
from flagfall.viewer.report.data import report_data
from flagfall.viewer.report.page import ENTRY, STYLES
from flagfall.viewer.report.source import open_source
from flagfall.viewer.server.files import path_inside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

LINKS: Final[Mapping[str, str]] = MappingProxyType({"replay": "replay/{match}/", "report": "report"})
"""Addresses of the pages; `{match}` stands for the id of a match."""

KEEP_SECONDS: Final = 10.0
"""Time for which a report is shown again without reading the results anew."""

KEEP_SHARE: Final = 10
"""A report is also kept for this many times as long as it took."""

_ENDINGS: Final = (".jsonl.zst", ".jsonl")


def replays_of(folder: Path) -> Replays:
    """Return the replays of a tournament's matches, by their ids.

    Args:
        folder: the folder of the tournament; the modules that journals name are not imported.
    """
    return Replays(partial(_journal, folder))


def _journal(folder: Path, match: str) -> Path:
    for ending in _ENDINGS:
        try:
            return path_inside(folder, f"{JOURNALS}/{match}{ending}")
        except UsageError as error:
            problem = error
    raise problem


class ReportPage:
    """The report of a tournament, made when it is asked for, and kept for a while.

    Args:
        folder: the folder of the tournament.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._making = trio.Lock()
        self._page = b""
        self._until = 0.0

    def route(self) -> Route:
        """Return its route."""
        return Route("/report", self._show, methods=["GET"])

    async def _show(self, _request: Request) -> Response:
        async with self._making:  # one at a time, whatever the number of viewers
            began = trio.current_time()
            if began >= self._until:
                self._page = await trio.to_thread.run_sync(self._make, abandon_on_cancel=True)
                now = trio.current_time()
                self._until = now + max(KEEP_SECONDS, KEEP_SHARE * (now - began))
        return Response(self._page, media_type="text/html")

    def _make(self) -> bytes:
        with open_source(self._folder) as source:
            data = report_data(source)
        title = f"{data['title']} - tournament report"
        return served_page(title=title, entry=ENTRY, blocks={"report": data}, styles=STYLES)
