"""Replays that stand in the page of a report."""

from __future__ import annotations

__all__ = ["embed_replays"]

import shlex
from collections.abc import Callable, Sequence
from typing import Final

from flagfall.errors import UsageError
from flagfall.terminal_text import one_line
from flagfall.viewer.pages import Block
from flagfall.viewer.replay.page import MAX_PAGE_BYTES, PageFull, replay_blocks
from flagfall.viewer.report.matches import Chosen

MAX_TURNS: Final = 5000
"""Turns of a match that a report embeds, from its beginning; `flagfall replay` shows all of a longer one."""


def embed_replays(
    chosen: Sequence[Chosen],
    warn: Callable[[str], None],
    watch: Callable[[int], None] = lambda _turns: None,
) -> tuple[list[Chosen], dict[str, Block]]:
    """Return the matches whose replays fit into a page, and the blocks of these replays.

    No module that a journal names is imported: pictures are there for the tasks of flagfall itself.

    Args:
        chosen: matches to embed, the most interesting first.
        warn: takes a line on each match that cannot be embedded.
        watch: called with the number of turns done, over all matches.
    """
    embedded: list[Chosen] = []
    blocks: dict[str, Block] = {}
    left, done = MAX_PAGE_BYTES, 0
    for one in chosen:
        turns = None if one.record.turns <= MAX_TURNS else (0, MAX_TURNS - 1)
        try:
            found = replay_blocks(
                one.path,
                prefix=f"match-{len(embedded)}-",
                turns=turns,
                max_bytes=left,
                watch=lambda turn, before=done: watch(before + turn),  # type: ignore[misc]
            )
        except PageFull:
            warn(
                f"match {one_line(one.record.id)} is not embedded, for lack of room in the page;"
                f" `flagfall replay {shlex.quote(str(one.path))}` shows it"
            )
            continue
        except UsageError as error:
            warn(f"match {one_line(one.record.id)} is not embedded: {one_line(str(error))}")
            continue
        done += min(one.record.turns, MAX_TURNS)
        left -= sum(len(block) for block in found.values() if isinstance(block, bytes))
        blocks.update(found)
        embedded.append(one)
    return embedded, blocks
