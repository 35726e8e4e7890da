"""Pages of replays on the server: one journal, or any journal of a folder."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio
from starlette.responses import Response
from starlette.routing import Route

from flagfall.errors import UsageError
from flagfall.viewer.pages import served_page
from flagfall.viewer.replay.page import ENTRY, STYLES
from flagfall.viewer.replay.recorded_match import RecordedMatch
from flagfall.viewer.server.app import path_inside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from flagfall.viewer.replay.execution import Rebuild


MAX_OPEN: Final = 4
"""Matches that are kept open at the same time: each has an index, and perhaps a process that draws it."""

MAX_READERS: Final = 4
"""Requests for summaries and turns that are answered at the same time; they read files."""

MAX_DRAWERS: Final = 2
"""Requests for pictures that are answered at the same time; each may wait for an execution."""

_T = TypeVar("_T")


class Replays:
    """Journals that are shown, opened when they are asked for by their names in the address."""

    def __init__(
        self, find: Callable[[str], Path], *, trust: bool = False, rebuild: Rebuild | None = None
    ) -> None:
        self._find = find
        self._make = partial(RecordedMatch, trust=trust, rebuild=rebuild)
        self._open: OrderedDict[str, RecordedMatch] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, place: Path, **options: Any) -> Replays:
        """Return the replays of one file, whatever its name in the address, or of the files of a folder."""
        return cls(partial(path_inside, place) if place.is_dir() else lambda _name: place, **options)

    def match(self, name: str) -> RecordedMatch:
        """Return a match; a `UsageError` if there is no such journal, and was none.

        A journal is looked for at each request, and followed where it is moved.
        """
        with self._lock:
            found = self._open.get(name)
            try:
                path = self._find(name)
            except UsageError:
                if found is None:
                    raise
                found.follow(None)
                return found
            if found is None:
                found = self._open[name] = self._make(path)
            found.follow(path)
            self._open.move_to_end(name)
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)[1].close()
            return found

    def close(self) -> None:
        """Close all matches."""
        with self._lock:
            for match in self._open.values():
                match.close()
            self._open.clear()


def replay_routes(replays: Replays, at: str = "") -> list[Route]:
    """Return the routes of replays.

    Args:
        at: beginning of the addresses, such as `/replay`: each journal then has a page at `/replay/NAME/`.
            Without it there is one page, at `/`.
    """
    pages = _Pages(replays)
    base = f"{at}/{{name}}" if at else ""
    routes: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/": pages.page,
        "/data/summary": pages.summary,
        "/data/chunk/{number:int}": pages.chunk,
        "/data/frames/{number:int}": pages.frames,
    }
    return [Route(base + path, answer) for path, answer in routes.items()]


class _Pages:
    """Answers to requests."""

    def __init__(self, replays: Replays) -> None:
        self._replays = replays
        self._readers = trio.CapacityLimiter(MAX_READERS)
        self._drawers = trio.CapacityLimiter(MAX_DRAWERS)

    async def _match(self, request: Request) -> RecordedMatch:
        name = request.path_params.get("name", "")
        return await self._read(partial(self._replays.match, name))

    async def _read(self, work: Callable[[], _T]) -> _T:
        return await trio.to_thread.run_sync(work, limiter=self._readers, abandon_on_cancel=True)

    async def page(self, request: Request) -> Response:
        match = await self._match(request)
        title = f"{match.path.name} - flagfall replay"
        html = served_page(title=title, entry=ENTRY, blocks={}, styles=STYLES)
        return Response(html, media_type="text/html; charset=utf-8")

    async def summary(self, request: Request) -> Response:
        match = await self._match(request)
        return _json(await self._read(match.summary_bytes))

    async def chunk(self, request: Request) -> Response:
        match = await self._match(request)
        number: int = request.path_params["number"]
        return _json(await self._read(partial(match.chunk_bytes, number)))

    async def frames(self, request: Request) -> Response:
        match = await self._match(request)
        work = partial(match.frames, request.path_params["number"])
        data = await trio.to_thread.run_sync(work, limiter=self._drawers, abandon_on_cancel=True)
        return Response(data, media_type="application/octet-stream")


def _json(data: bytes) -> Response:
    return Response(data, media_type="application/json")
