"""A replay in one HTML file that works without a server, and its data as blocks of another page."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.viewer.pages import Block, self_contained_page
from flagfall.viewer.replay.recorded_match import RecordedMatch
from flagfall.viewer.replay.summary import json_bytes, trim_chunk, trim_summary

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

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
