"""The page of a report: one HTML file that needs no network."""

from __future__ import annotations

__all__ = ["report_page"]

from collections.abc import Mapping
from typing import Any, Final

from flagfall.viewer.pages import Block, self_contained_page

ENTRY: Final = "report/main.js"
STYLES: Final = ("replay/replay.css", "report/report.css")


def report_page(data: Mapping[str, Any], replays: Mapping[str, Block] | None = None) -> bytes:
    """Return the page that shows a report.

    Args:
        data: from `flagfall.viewer.report.data.report_data`.
        replays: blocks of the embedded replays.
    """
    blocks: dict[str, Block] = {"report": data, **(replays or {})}
    return self_contained_page(
        title=f"{data['title']} - tournament report", entry=ENTRY, blocks=blocks, styles=STYLES
    )
