"""The summary of a recorded match: what a page shows first, as JSON. Pure."""

from __future__ import annotations

__all__ = ["SeatFacts", "json_bytes", "summary_of"]

import json
import sys
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.tasks.adapters.imports import GYM_PREFIX, PETTINGZOO_PREFIX
from flagfall.terminal_text import one_line
from flagfall.viewer.replay.tally import CHUNK_ROWS, ChunkEntry, SeatEntry, TaskEntry
from flagfall.viewer.replay.texts import MAX_NAME_CHARS, MAX_TEXT_CHARS, exact, shortened, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flagfall.events import MatchStarted
    from flagfall.viewer.replay.index import Index, JournalState
    from flagfall.viewer.replay.tally import Tally

VERSION: Final = 1
"""Version of the summary and of the chunks."""

MAX_NAMED_TASKS: Final = 200
"""The most tasks that are named in the facts of the match."""

MAX_METRICS: Final = 32
"""The most metrics of a task, and the most families of rules."""

MAX_STDERR_CHARS: Final = 16_000
"""Longest standard error of a seat; results keep its end alone."""

_MAX_NS: Final = 2**63 - 1

_WITH_PICTURES: Final = ("vgdl:", "langroom:", GYM_PREFIX, PETTINGZOO_PREFIX)


@attrs.frozen
class SeatFacts:
    """Facts of a seat that its journal does not hold, but the results of its match do.

    Attributes:
        stderr: the end of the agent's standard error.
    """

    stderr: str = ""


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON in UTF-8.

    Args:
        value: plain types, with finite numbers.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def number(value: Any) -> float | int:
    """Return a number as every reader of JSON can take it: finite, and not too long.

    Args:
        value: a number of Python.
    """
    if isinstance(value, int) and abs(value) <= _MAX_NS:
        return value
    try:
        value = float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max
    if isfinite(value):
        return value
    return 0.0 if value != value else sys.float_info.max * (1 if value > 0 else -1)  # noqa: PLR0124 - not a number


def view_of(header: MatchStarted, *, numbers: bool | None) -> str:
    """Return how the world of a match is shown: `pictures`, `bytes` or `values`.

    Args:
        header: the header of its journal.
        numbers: its first turn consists of whole numbers.
    """
    if '"gvgai"' in (header.config or "")[:100]:
        return "pictures"
    if any(task.startswith(_WITH_PICTURES) for task in header.tasks):
        return "pictures"
    return "bytes" if numbers else "values"


def summary_of(index: Index, pictures: Mapping[str, Any], facts: Sequence[SeatFacts] = ()) -> dict[str, Any]:
    """Return the summary of a journal.

    Args:
        index: its index, as far as it was read.
        pictures: the field `pictures`.
        facts: further facts of the seats, in their order.
    """
    tally = index.tally
    state, detail = index.state()
    limits = (
        tally.limits.problem and f"its limits are not known: {one_line(tally.limits.problem, MAX_NAME_CHARS)}"
    )
    problems = [detail, limits]
    last = max(chunk.last for chunk in tally.chunks)
    return {
        "version": VERSION,
        "file": shortened(index.path.name, MAX_NAME_CHARS),
        "state": state,
        "state_detail": shortened("; ".join(filter(None, problems)), MAX_TEXT_CHARS),
        "match": _match(tally.header, tally),
        "seats": [
            _seat(entry, facts[at] if at < len(facts) else None) for at, entry in enumerate(tally.seats)
        ],
        "turns": tally.turns,
        "chunk_turns": CHUNK_ROWS,
        "turn_span": [exact(tally.chunks[0].first), exact(last)],
        "chunks": _chunks(tally, state),
        "tasks": [_task(entry) for entry in tally.tasks],
        "tasks_left_out": tally.started - len(tally.tasks),
        "over": _over(tally),
        "view": view_of(tally.header, numbers=tally.numbers),
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
        "begun": None if header.begun is None else shortened(header.begun, MAX_NAME_CHARS),
        "flagfall": shortened(header.flagfall, MAX_NAME_CHARS),
        "schema": header.schema,
        "rules": {
            shortened(name, MAX_NAME_CHARS): exact(revision)
            for name, revision in list(header.rules.items())[:MAX_METRICS]
        },
    }


def _seat(entry: SeatEntry, facts: SeatFacts | None) -> dict[str, Any]:
    out: dict[str, Any] | None = None
    if entry.disqualified is not None:
        turn, event = entry.disqualified
        out = {
            "turn": turn,
            "at_ns": event.at_ns,
            "reason": shortened(event.reason, MAX_NAME_CHARS),
            "detail": shortened(event.detail, MAX_STDERR_CHARS),
        }
    return {
        "name": shortened(entry.name, MAX_NAME_CHARS),
        "host": None if entry.host is None else shortened(entry.host, MAX_NAME_CHARS),
        "ready_ns": entry.ready_ns,
        "turns": entry.turns,
        "late": entry.late,
        "illegal": entry.illegal,
        "dropped": entry.dropped,
        "credit_ns": number(entry.credit_ns),
        "disqualified": out,
        "stderr": "" if facts is None else _tail(facts.stderr),
    }


def _tail(text: str) -> str:
    """Return the end of a text, where a traceback names its error."""
    if len(text) <= MAX_STDERR_CHARS:
        return shortened(text, MAX_STDERR_CHARS)
    return f"({len(text) - MAX_STDERR_CHARS:,} characters before)\n" + shortened(
        text[-MAX_STDERR_CHARS:], MAX_STDERR_CHARS
    )


def _chunks(tally: Tally, state: JournalState) -> list[dict[str, Any]]:
    chunks = [_chunk(chunk) for chunk in tally.chunks]
    if state != "growing":  # events behind the last turn
        for name, count in tally.pending.items():
            chunks[-1][name] += count
    return chunks


def _chunk(chunk: ChunkEntry) -> dict[str, Any]:
    counts = chunk.counts
    names = ("late", "illegal", "disqualified", "tasks", "stalls", "dropped")
    return {
        "first": chunk.first,
        "turns": chunk.turns,
        "at_ns": [number(at_ns) for at_ns in chunk.at_ns],
        "reward": number(chunk.reward),
        **{name: counts.get(name, 0) for name in names},
        "max_spent_ns": chunk.max_spent_ns,
        "max_share": [None if share is None else round(share, 4) for share in chunk.max_share],
    }


def _task(entry: TaskEntry) -> dict[str, Any]:
    end = entry.end
    metrics = {} if end is None else dict(list(end.metrics.items())[:MAX_METRICS])
    return {
        "index": entry.start.index,
        "task": shortened(entry.start.task, MAX_NAME_CHARS),
        "seed": exact(entry.start.seed),
        "first_turn": entry.first_turn,
        "turns": entry.turns,
        "result": None if end is None else end.result,
        "reward": 0 if end is None else number(end.reward),
        "steps": 0 if end is None else end.steps,
        "ended": "" if end is None else shortened(end.ended, MAX_NAME_CHARS),
        "metrics": {shortened(str(name), MAX_NAME_CHARS): _metric(value) for name, value in metrics.items()},
    }


def _metric(value: Any) -> Any:
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int):
        return exact(value)
    if isinstance(value, float):
        return number(value)
    return text_of(value, MAX_NAME_CHARS)


def _over(tally: Tally) -> dict[str, Any] | None:
    over = tally.over
    if over is None:
        return None
    return {
        "at_ns": over.at_ns,
        "reason": over.reason,
        "turns": over.turns,
        "reward": reward_of(over.reward),
        "detail": shortened(over.detail, MAX_STDERR_CHARS),
    }


def reward_of(reward: Any) -> Any:
    """Return a reward, or the rewards of some players by name.

    Args:
        reward: a number, or a mapping from player to number.
    """
    if not isinstance(reward, dict):
        return number(reward)
    return {
        shortened(player, MAX_NAME_CHARS): number(amount)
        for player, amount in list(reward.items())[:MAX_METRICS]
    }
