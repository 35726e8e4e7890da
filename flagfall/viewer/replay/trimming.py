"""Parts of the data of a replay: some turns of it, for a page that cannot hold all. Pure."""

from __future__ import annotations

__all__ = ["trim_chunk", "trim_summary"]

from typing import Any, Final

from flagfall.viewer.replay.tally import MAX_SHARE

_EVENTS_OF: Final = {
    "tasks": "start",
    "stalls": "stall",
    "dropped": "dropped",
    "disqualified": "disqualified",
}
"""Counts of a chunk, and the kinds of events that they count."""

_LATE: Final = ("late", "overrun")


def trim_summary(summary: dict[str, Any], chunks: range, span: tuple[int, int]) -> dict[str, Any]:
    """Return the summary of a part of a match; `trim_chunk` completes its chunks.

    Args:
        summary: the summary of the match.
        chunks: the numbers of the chunks that are kept.
        span: the first and the last turn that are kept.
    """
    first, last = span
    note = f"only turns {first:,} to {last:,} are part of this page"
    detail = summary["state_detail"]
    return summary | {
        "state_detail": f"{detail}; {note}" if detail else note,
        "turn_span": [first, last],
        "chunks": [dict(summary["chunks"][number]) for number in chunks],
        "tasks": [
            task
            for task in summary["tasks"]
            if task["first_turn"] <= last and task["first_turn"] + max(1, task["turns"]) > first
        ],
    }


def trim_chunk(chunk: dict[str, Any], entry: dict[str, Any], span: tuple[int, int]) -> dict[str, Any]:
    """Return a chunk without the turns outside of a span, and correct its entry in the summary.

    Args:
        chunk: the chunk.
        entry: its entry, which is changed.
        span: the first and the last turn that are kept.
    """
    first, last = span
    turns = chunk["turn"]
    rows = [row for row, turn in enumerate(turns) if first <= turn <= last]
    if len(rows) == len(turns):
        return chunk
    columns = {
        name: [column[row] for row in rows]
        for name, column in chunk.items()
        if isinstance(column, list) and name != "events"
    }
    numbers = {name: [column[row] for row in rows] for name, column in chunk["numbers"].items()}
    # The end of the last turn's task has the number of the turn that would follow.
    events = [event for event in chunk["events"] if first <= event["turn"] <= last + (event["kind"] == "end")]
    begins = columns["turn"][0] if rows else first
    trimmed = {"first": begins, **columns, "numbers": numbers, "events": events}
    _correct(entry, trimmed)
    return trimmed


def _correct(entry: dict[str, Any], chunk: dict[str, Any]) -> None:
    """Compute the aggregates of a chunk again."""
    rows = range(len(chunk["turn"]))
    entry["first"] = chunk["first"]
    entry["turns"] = len(set(chunk["turn"]))
    entry["at_ns"] = [chunk["at_ns"][0], chunk["at_ns"][-1]] if rows else [0, 0]
    entry["late"] = sum(verdict in _LATE for verdict in chunk["verdict"])
    entry["illegal"] = chunk["verdict"].count("illegal")
    entry["reward"] = sum(sum(of.values()) if isinstance(of, dict) else of for of in chunk["reward"])
    entry["rewarded"] = sum(any(of.values()) if isinstance(of, dict) else bool(of) for of in chunk["reward"])
    for name, kind in _EVENTS_OF.items():
        entry[name] = sum(event["kind"] == kind for event in chunk["events"])
    seats = len(entry["max_spent_ns"])
    entry["max_spent_ns"], entry["max_share"] = [0] * seats, [None] * seats
    for row in rows:
        seat, spent_ns, soft_ns = chunk["seat"][row], chunk["spent_ns"][row], chunk["soft_ns"][row]
        entry["max_spent_ns"][seat] = max(entry["max_spent_ns"][seat], spent_ns)
        if soft_ns is not None:
            share = min(spent_ns / soft_ns, MAX_SHARE) if soft_ns else MAX_SHARE * (spent_ns > 0)
            entry["max_share"][seat] = round(max(entry["max_share"][seat] or 0.0, share), 4)
