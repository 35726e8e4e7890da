"""A replay in one HTML file that works without a server, and its data as blocks of another page."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.viewer.pages import Block, page_parts
from flagfall.viewer.replay.frames import no_frames
from flagfall.viewer.replay.recorded_match import RecordedMatch, whole_match
from flagfall.viewer.replay.summary import json_bytes, trim_chunk, trim_summary
from flagfall.viewer.replay.texts import MAX_NAME_CHARS, shortened

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from flagfall.viewer.replay.execution import Rebuild


MAX_PAGE_BYTES: Final = 24 * 1024 * 1024
"""Most data of a page, compressed; base64 makes 32 MB of it, about as much as mails carry."""

ENTRY: Final = "replay/main.js"
STYLES: Final = ("replay/replay.css",)

_LEVEL: Final = 6


def replay_page(path: str | os.PathLike[str], **chosen: Any) -> bytes:
    """Return the replay of a journal as one HTML file; see `replay_parts`."""
    return b"".join(replay_parts(path, **chosen))


def replay_parts(
    path: str | os.PathLike[str],
    *,
    trust: bool = False,
    rebuild: Rebuild | None = None,
    turns: tuple[int, int] | None = None,
    watch: Callable[[int], None] = lambda _turn: None,
    report: Callable[[str], None] = lambda _line: None,
) -> Iterator[bytes]:
    """Yield the replay of a journal as one HTML file, in parts as they are made; see `replay_blocks`.

    Args:
        report: takes a line on pictures that have no room in the page, with the turn from which on they are
            left out; the turns themselves stay.

    Raises:
        UsageError: the file is no journal, there are no such turns, or their data, without pictures, has more
            than `MAX_PAGE_BYTES`.
    """
    with whole_match(path, trust=trust, rebuild=rebuild, watch=watch) as match:
        title = f"{shortened(match.path.name, MAX_NAME_CHARS)} - flagfall replay"
        blocks = _Blocks(match, "", MAX_PAGE_BYTES, report).made(turns, watch)
        yield from page_parts(title=title, entry=ENTRY, blocks=blocks, styles=STYLES)


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
    with whole_match(path, trust=trust, rebuild=rebuild, watch=watch) as match:
        return dict(_Blocks(match, prefix, max_bytes).made(turns, watch))


@attrs.define(eq=False)
class _Blocks:
    """Makes the blocks of a page; without `report`, pictures that have no room are a `PageFull`."""

    _match: RecordedMatch
    _prefix: str
    _max_bytes: int
    _report: Callable[[str], None] | None = None
    _bytes: int = 0

    def made(
        self, turns: tuple[int, int] | None, watch: Callable[[int], None]
    ) -> Iterator[tuple[str, Block]]:
        summary = self._match.summary()
        first, last = map(int, summary["turn_span"])
        wanted = range(len(summary["chunks"]))
        if turns is not None:
            wanted = chunks_with(summary, self._match.path, *turns)
            first, last = max(first, turns[0]), min(last, turns[1])
            summary = trim_summary(summary, wanted, (first, last))
        has_pictures = summary["pictures"]["available"]
        spans = []
        for place, number in enumerate(wanted):
            chunk = self._match.chunk(number)
            if turns is not None:
                chunk = trim_chunk(chunk, summary["chunks"][place], (first, last))
            held = chunk["turn"] or [chunk["first"]]
            spans.append((held[0], held[-1]))
            data = zlib.compress(json_bytes(chunk), _LEVEL)
            if not self._has_room(data):
                raise PageFull(self._match.path, first, held[0])
            yield f"{self._prefix}chunk-{place}", data
            if not has_pictures:
                watch(held[-1])
        yield f"{self._prefix}summary", summary  # after the chunks, with which it was corrected
        if has_pictures:
            yield from self._pictures(wanted, spans)

    def _pictures(self, wanted: range, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, Block]]:
        left_out = b""
        for place, (number, span) in enumerate(zip(wanted, spans, strict=True)):
            frames = left_out or self._match.frames(number, span)
            if not left_out and not self._has_room(frames):
                if self._report is None:
                    raise PageFull(self._match.path, spans[0][0], span[0])
                most = f"a page holds {MAX_PAGE_BYTES / 1024**2:,.0f} MB"
                part = f"--turns {span[0]}:{spans[-1][1]} writes them into another one"
                why = f"pictures are left out from turn {span[0]} on: {most}; {part}"
                self._report(why)
                frames = left_out = no_frames(why)
            yield f"{self._prefix}frames-{place}", frames

    def _has_room(self, data: bytes) -> bool:
        self._bytes += len(data)
        return self._bytes <= self._max_bytes


def chunks_with(summary: dict[str, Any], path: os.PathLike[str], first: int, last: int) -> range:
    """Return the chunks that have turns of a span."""
    chunks = summary["chunks"]
    begins, ends = map(int, summary["turn_span"])
    if first > last or first > ends or last < begins:
        raise UsageError(f"{path}: there are no turns {first}:{last}; the journal has {begins}:{ends}")
    low = max((at for at, chunk in enumerate(chunks) if chunk["first"] <= first), default=0)
    high = max(at for at, chunk in enumerate(chunks) if chunk["first"] <= last)
    return range(low, high + 1)
