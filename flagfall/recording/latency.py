"""Models of latency with the recorded times that they name."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from hashlib import file_digest
from heapq import merge
from itertools import islice
from operator import itemgetter
from pathlib import Path

from flagfall.errors import UsageError
from flagfall.recording.seat_times import OUT, read_times
from flagfall.texts import counted
from flagfall.timing.distributions import MAX_LATENCY_NS, MAX_SAMPLES
from flagfall.timing.latency import SeatLatency


def read_models(texts: Sequence[str], agents: int, field: str = "think") -> tuple[SeatLatency | None, ...]:
    """Return the model of latency of each agent, with the recorded times that it names.

    Args:
        texts: one text for all agents, or one for each in their order; `none` for an agent without a model.
        field: what the texts are called, for messages.

    Raises:
        UsageError: a text is invalid, there are too few or too many, or a journal cannot be used.
    """
    if len(texts) not in {0, 1, agents}:
        raise UsageError(
            f"{field}: {counted(len(texts), 'model')} for {counted(agents, 'agent')}: write one for all, or"
            " one for each in their order, `none` for an agent that takes no time"
        )
    models: list[SeatLatency | None] = []
    for text in texts:
        try:
            models.append(load_model(SeatLatency.parse(text)))
        except UsageError as error:
            raise UsageError(f"{field}: {error}") from error
    return tuple(models * agents if len(models) == 1 else models)


def load_model(model: SeatLatency, folder: Path = Path()) -> SeatLatency | None:
    """Return a model with the recorded times that it names; `None` for one that delays nothing.

    Args:
        folder: where relative names of journals start.

    Raises:
        UsageError: a journal cannot be used.
    """
    found = model.loaded(cache(lambda file, agent, phase: recorded_times(folder / file, agent, phase)))
    return None if found == SeatLatency() else found


def recorded_times(journal: Path, agent: str = "", phase: str = "act") -> tuple[str, Sequence[int]]:
    """Return the SHA-256 of a journal, and the times in nanoseconds that agents took in a phase.

    An agent that was late has its limit as its time: how long it would have taken is not recorded.

    Args:
        agent: the agent; an empty name stands for all.
        phase: `act` or `start`.

    Raises:
        UsageError: the journal cannot be read, or holds no such times.
    """
    found = read_times(journal)
    if found.problem:
        raise UsageError(found.problem)
    seats = [seat for seat in found.seats if agent in {"", seat.agent}]
    if not seats:
        raise UsageError(f"{journal}: no agent {agent!r} played; it has {', '.join(found.header.agents)}")
    if phase == "act":
        turns = merge(
            *(zip(seat.turn, seat.verdict, seat.spent_ns, strict=True) for seat in seats), key=itemgetter(0)
        )
        spent = (spent_ns for _, verdict, spent_ns in turns if verdict != OUT)
    else:
        spent = (seat.ready_ns for seat in seats if seat.ready_ns is not None)
    times = array("q", (min(ns, MAX_LATENCY_NS) for ns in islice(spent, MAX_SAMPLES)))
    if not times:
        raise UsageError(f"{journal}: no time of phase {phase} is recorded in it")
    with journal.open("rb") as file:
        return file_digest(file, "sha256").hexdigest(), times
