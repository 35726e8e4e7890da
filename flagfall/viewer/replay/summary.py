"""The summary of a recorded match: what a page shows first, as JSON. Pure."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.tasks.catalog import family_of
from flagfall.texts import one_line, short_names
from flagfall.viewer.replay.tally import (
    CHUNK_ROWS,
    COUNTED_EVENTS,
    COUNTED_VERDICTS,
    ChunkEntry,
    TaskEntry,
    share_of,
)
from flagfall.viewer.replay.texts import MAX_ENTRIES, MAX_NAME_CHARS, MAX_TEXT_CHARS, exact, number, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flagfall.events import MatchStarted
    from flagfall.viewer.replay.index import Index, JournalState
    from flagfall.viewer.replay.tally import Tally


VERSION: Final = 1
"""Version of the summary and of the chunks."""

MAX_NAMED_TASKS: Final = 200
"""The most tasks that are named in the facts of the match."""


_COUNTS_OF_EVENTS: Final = (*dict.fromkeys(COUNTED_EVENTS.values()), "others")


def json_bytes(value: Any) -> bytes:
    """Return plain types, with finite numbers, as JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def view_of(tally: Tally) -> str:
    """Return how the world of a match is shown: `pictures`, as a tape of `bytes`, or as a table of `values`.

    The execution of a match without pictures may tell that its tasks are continuous, see
    `flagfall.viewer.replay.frames`.
    """
    header = tally.header
    if '"gvgai"' in (header.config or "")[:100]:
        return "pictures"
    names = {*header.tasks, *(task.name for task in tally.tasks)}
    families = [family_of(name) for name in names]
    if any(family and family.pictures for family in families):
        return "pictures"
    are_bytes = tally.earned.is_continuous or all(family and family.continuous for family in families)
    return "bytes" if tally.numbers and names and are_bytes else "values"


def summary_of(index: Index, pictures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of a journal, as far as its index has read it, with the field `pictures`."""
    tally = index.tally
    state, detail = index.state()
    limits = (
        tally.limits.problem and f"its limits are not known: {one_line(tally.limits.problem, MAX_NAME_CHARS)}"
    )
    problems = [detail, limits]
    last = max(chunk.last for chunk in tally.chunks)
    match = _match(tally.header, tally)
    return {
        "version": VERSION,
        "file": shortened(index.path.name, MAX_NAME_CHARS),
        "state": state,
        "state_detail": shortened("; ".join(filter(None, problems)), MAX_TEXT_CHARS),
        "match": match,
        "seats": [_seat(tally, seat) for seat in range(len(tally.seats))],
        "turns": tally.turns,
        "chunk_turns": CHUNK_ROWS,
        "turn_span": [exact(tally.chunks[0].first), exact(last)],
        "chunks": _chunks(tally, state),
        "tasks": [_task(entry) for entry in tally.tasks],
        "tasks_left_out": tally.started - len(tally.tasks),
        "short": short_names([*match["tasks"], *(entry.name for entry in tally.tasks)]),
        "over": _over(tally),
        "result": _result(tally),
        "view": view_of(tally),
        "pictures": dict(pictures),
    }


def _match(header: MatchStarted, tally: Tally) -> dict[str, Any]:
    return {
        "tasks": [shortened(task, MAX_NAME_CHARS) for task in header.tasks[:MAX_NAMED_TASKS]],
        "tasks_left_out": max(0, len(header.tasks) - MAX_NAMED_TASKS),
        "scheduler": shortened(header.scheduler, MAX_NAME_CHARS),
        "agents": [shortened(seat.name, MAX_NAME_CHARS) for seat in tally.seats],
        "agents_left_out": len(header.agents) - len(tally.seats),
        "seed": exact(header.seed),
        "time_control": shortened(header.time_control, MAX_NAME_CHARS),
        "limits": attrs.asdict(tally.limits.control),
        "clock": shortened(header.clock, MAX_NAME_CHARS),
        "tick_ns": header.tick_ns,
        "steps": header.steps,
        "parents": [
            {
                "turn": exact(parent.turn),
                "agents": [shortened(name, MAX_NAME_CHARS) for name in parent.agents[:MAX_ENTRIES]],
            }
            for parent in header.parents[-MAX_ENTRIES:]
        ],
        "begun": None if header.begun is None else shortened(header.begun, MAX_NAME_CHARS),
        "flagfall": shortened(header.flagfall, MAX_NAME_CHARS),
        "schema": header.schema,
        "rules": {
            shortened(name, MAX_NAME_CHARS): exact(revision)
            for name, revision in list(header.rules.items())[:MAX_ENTRIES]
        },
    }


def _result(tally: Tally) -> dict[str, Any]:
    """Return who has won, and the counts of the episodes."""
    decision = tally.decision()
    names = ("played", "solved", "failed", "drawn")
    counts = {name: tally.episodes[name] for name in names}
    return {"winners": list(decision.winners), "why": decision.why, **counts}


def _seat(tally: Tally, seat: int) -> dict[str, Any]:
    entry = tally.seats[seat]
    names = ("host", "ready_ns", "turns", "late", "illegal", "dropped", "won")
    out: dict[str, Any] | None = None
    if entry.disqualified is not None:
        turn, event = entry.disqualified
        out = {"turn": turn, "at_ns": event.at_ns, "reason": event.reason, "detail": event.detail}
    return {
        "name": shortened(entry.name, MAX_NAME_CHARS),
        **{name: getattr(entry, name) for name in names},
        "credit_ns": number(entry.credit_ns),
        "reward": number(entry.reward + tally.earned.paid(seat)) if tally.has_rewards else None,
        "disqualified": out,
        "printed": [
            {"turn": exact(part.turn), "text": part.text, "left_out": number(part.left_out)}
            for part in entry.printed
        ],
    }


def _chunks(tally: Tally, state: JournalState) -> list[dict[str, Any]]:
    chunks = [_chunk(chunk) for chunk in tally.chunks]
    if state != "growing":  # events behind the last turn
        for name, count in tally.pending.items():
            chunks[-1][name] += count
    return chunks


def _chunk(chunk: ChunkEntry) -> dict[str, Any]:
    counts = chunk.counts
    return {
        "first": chunk.first,
        "turns": chunk.turns,
        "at_ns": [number(at_ns) for at_ns in chunk.at_ns],
        "rewards": [number(float(f"{reward:.{_DIGITS}g}")) for reward in chunk.rewards],
        "rewarded": chunk.rewarded,
        "ends_task": chunk.ends_task,
        **{name: counts[name] for name in ("late", "illegal", *_COUNTS_OF_EVENTS)},
        "max_spent_ns": chunk.max_spent_ns,
        "max_share": [None if share is None else round(share, 4) for share in chunk.max_share],
        "notes": chunk.notes,
    }


def _task(entry: TaskEntry) -> dict[str, Any]:
    end = entry.end
    return {
        "index": entry.index,
        "task": entry.name,
        "seed": exact(entry.seed),
        "first_turn": entry.first_turn,
        "turns": entry.turns,
        "result": None if end is None else end.result,
        "reward": 0 if end is None else number(end.reward),
        "rewards": [] if end is None else [number(paid) for paid in end.rewards],
        "steps": 0 if end is None else end.steps,
        "ended": "" if end is None else end.ended,
        "metrics": {} if end is None else dict(end.metrics),
    }


def _over(tally: Tally) -> dict[str, Any] | None:
    names = ("at_ns", "reason", "turns", "reward", "detail")
    return None if tally.over is None else {name: getattr(tally.over, name) for name in names}


_DIGITS: Final = 12
"""Digits of sums of rewards; more are errors of rounding."""


def trim_summary(summary: dict[str, Any], chunks: range, span: tuple[int, int]) -> dict[str, Any]:
    """Return the summary of a part of a match: some chunks, and the turns of a span; see `trim_chunk`."""
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
    """Return a chunk without the turns outside of a span, and correct its entry in the summary."""
    first, last = span
    turns = chunk["turn"]
    rows = [row for row, turn in enumerate(turns) if first <= turn <= last]
    if len(rows) == len(turns):
        return chunk
    columns = {
        name: [column[row] for row in rows]
        for name, column in chunk.items()
        if isinstance(column, list) and name not in {"events", "ends"}
    }
    numbers = {name: [column[row] for row in rows] for name, column in chunk["numbers"].items()}
    # The end of the last turn's task has the number of the turn that would follow.
    events = [event for event in chunk["events"] if first <= event["turn"] <= last + (event["kind"] == "end")]
    begins = columns["turn"][0] if rows else first
    ends = [turn for turn in chunk["ends"] if first <= turn <= last]
    trimmed = {"first": begins, **columns, "ends": ends, "numbers": numbers, "events": events}
    _correct(entry, trimmed)
    return trimmed


def _correct(entry: dict[str, Any], chunk: dict[str, Any]) -> None:
    """Compute the aggregates of a chunk again."""
    rows = range(len(chunk["turn"]))
    entry["first"] = chunk["first"]
    entry["turns"] = len(set(chunk["turn"]))
    entry["at_ns"] = [chunk["at_ns"][0], chunk["at_ns"][-1]] if rows else [0, 0]
    verdicts = Counter(map(COUNTED_VERDICTS.get, chunk["verdict"]))
    entry["late"], entry["illegal"] = verdicts["late"], verdicts["illegal"]
    entry["rewarded"] = sum(map(bool, chunk["reward"]))
    entry["ends_task"] = bool(rows) and chunk["turn"][-1] in chunk["ends"]
    events = Counter(COUNTED_EVENTS.get(event["kind"], "others") for event in chunk["events"])
    entry.update({name: events[name] for name in _COUNTS_OF_EVENTS})
    seats = len(entry["max_spent_ns"])
    entry["max_spent_ns"], entry["max_share"] = [0] * seats, [None] * seats
    entry["rewards"], entry["notes"] = [0.0] * seats, [0] * seats
    for row in rows:
        seat, spent_ns, soft_ns = chunk["seat"][row], chunk["spent_ns"][row], chunk["soft_ns"][row]
        entry["rewards"][seat] += chunk["reward"][row] or 0
        entry["notes"][seat] += chunk["note"][row] is not None
        entry["max_spent_ns"][seat] = max(entry["max_spent_ns"][seat], spent_ns)
        if soft_ns is not None:
            share = max(entry["max_share"][seat] or 0.0, share_of(spent_ns, soft_ns))
            entry["max_share"][seat] = round(share, 4)
