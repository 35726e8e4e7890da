"""A replay in one HTML file that works without a server, and its data as blocks of another page."""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import trio
from starlette.responses import Response
from starlette.routing import Route

from flagfall.errors import UsageError
from flagfall.viewer.pages import Block, self_contained_page, served_page
from flagfall.viewer.replay.recorded_match import RecordedMatch
from flagfall.viewer.replay.summary import json_bytes, trim_chunk, trim_summary
from flagfall.viewer.server.app import path_inside

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from flagfall.viewer.replay.execution import Rebuild


MAX_PAGE_BYTES: Final = 24 * 1024 * 1024
"""Most data of a page, compressed; base64 makes 32 MB of it, about as much as mails carry."""

ENTRY: Final = "replay/main.js"
STYLES: Final = ("replay/replay.css",)

_LEVEL: Final = 6


def replay_page(
    path: str | os.PathLike[str],
    *,
    trust: bool = False,
    rebuild: Rebuild | None = None,
    turns: tuple[int, int] | None = None,
    watch: Callable[[int], None] = lambda _turn: None,
) -> bytes:
    """Return the replay of a journal as one HTML file; see `replay_blocks`.

    Raises:
        UsageError: the file is no journal, there are no such turns, or they need more than `MAX_PAGE_BYTES`.
    """
    blocks: dict[str, Any] = replay_blocks(path, trust=trust, rebuild=rebuild, turns=turns, watch=watch)
    title = f"{blocks['summary']['file']} - flagfall replay"
    return self_contained_page(title=title, entry=ENTRY, blocks=blocks, styles=STYLES)


class PageFull(UsageError):
    """A replay from the turn `first` on has more data than a page may hold: no room from `turn` on."""

    def __init__(self, path: str | os.PathLike[str], first: int, turn: int) -> None:
        most = f"{MAX_PAGE_BYTES / 1024**2:,.0f} MB"
        part = "show it with a server"
        if turn > first:
            part = f"choose a part of it with --turns {first}:{turn - 1}"
        super().__init__(f"{path}: the data of this page has more than {most} from turn {turn} on: {part}")


def replay_blocks(
    path: str | os.PathLike[str],
    *,
    prefix: str = "",
    trust: bool = False,
    rebuild: Rebuild | None = None,
    turns: tuple[int, int] | None = None,
    max_bytes: int = MAX_PAGE_BYTES,
    watch: Callable[[int], None] = lambda _turn: None,
) -> dict[str, Block]:
    """Return the data of a replay as blocks of a page: `summary`, `chunk-0`, `frames-0` and so on.

    Args:
        prefix: beginning of the names of all blocks.
        trust: modules that the journal names may be imported, to draw pictures.
        rebuild: see `flagfall.viewer.replay.recorded_match.RecordedMatch`.
        turns: the first and the last turn to show; by default all.
        max_bytes: most data, compressed.
        watch: called with the turn reached.

    Raises:
        UsageError: the file is no journal, or there are no such turns; `PageFull`: they need more room.
    """
    match = RecordedMatch(path, trust=trust, rebuild=rebuild, watch=watch)
    try:
        match.read_all()
        return _Blocks(match, prefix, max_bytes).collect(turns, watch)
    finally:
        match.close()


@attrs.define(eq=False)
class _Blocks:
    """Collects the blocks of a page."""

    _match: RecordedMatch
    _prefix: str
    _max_bytes: int
    _blocks: dict[str, Block] = attrs.Factory(dict)
    _bytes: int = 0

    def collect(self, turns: tuple[int, int] | None, watch: Callable[[int], None]) -> dict[str, Block]:
        summary = self._match.summary()
        first, last = summary["turn_span"]
        wanted = range(len(summary["chunks"]))
        if turns is not None:
            wanted = _chunks_with(summary, self._match.path, *turns)
            first, last = max(first, turns[0]), min(last, turns[1])
            summary = trim_summary(summary, wanted, (first, last))
        self._blocks[f"{self._prefix}summary"] = summary
        for place, number in enumerate(wanted):
            chunk = self._match.chunk(number)
            if turns is not None:
                chunk = trim_chunk(chunk, summary["chunks"][place], (first, last))
            held = chunk["turn"] or [chunk["first"]]
            watch(held[-1])
            self._add(f"chunk-{place}", zlib.compress(json_bytes(chunk), _LEVEL), (first, held[0]))
            if summary["pictures"]["available"]:
                frames = self._match.frames(number, (held[0], held[-1]))
                self._add(f"frames-{place}", frames, (first, held[0]))
        return self._blocks

    def _add(self, name: str, data: bytes, held: tuple[int, int]) -> None:
        self._bytes += len(data)
        if self._bytes > self._max_bytes:
            raise PageFull(self._match.path, *held)
        self._blocks[self._prefix + name] = data


def _chunks_with(summary: dict[str, Any], path: os.PathLike[str], first: int, last: int) -> range:
    """Return the chunks that have turns of a span."""
    chunks = summary["chunks"]
    begins, ends = summary["turn_span"]
    if first > last or first > ends or last < begins:
        raise UsageError(f"{path}: there are no turns {first}:{last}; the journal has {begins}:{ends}")
    low = max((at for at, chunk in enumerate(chunks) if chunk["first"] <= first), default=0)
    high = max(at for at, chunk in enumerate(chunks) if chunk["first"] <= last)
    return range(low, high + 1)


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
        """Return a match; a `UsageError` if there is no such journal."""
        path = self._find(name)
        with self._lock:
            found = self._open.get(name)
            if found is None:
                found = self._open[name] = self._make(path)
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
        return _json(await self._read(lambda: json_bytes(match.chunk(number))))

    async def frames(self, request: Request) -> Response:
        match = await self._match(request)
        work = partial(match.frames, request.path_params["number"])
        data = await trio.to_thread.run_sync(work, limiter=self._drawers, abandon_on_cancel=True)
        return Response(data, media_type="application/octet-stream")


def _json(data: bytes) -> Response:
    return Response(data, media_type="application/json")
