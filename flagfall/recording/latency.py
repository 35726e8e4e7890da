"""Models of latency with the recorded times that they name."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from hashlib import file_digest
from pathlib import Path

from flagfall.errors import UsageError
from flagfall.events import MatchStarted, SeatReady, TurnPlayed
from flagfall.recording.journal.reader import read_journal
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
    times = array("q")
    seats: set[int] = set()
    for event in read_journal(journal):
        if isinstance(event, MatchStarted):
            seats = {seat for seat, name in enumerate(event.agents) if agent in {"", name}}
            if not seats:
                raise UsageError(f"{journal}: no agent {agent!r} played; it has {', '.join(event.agents)}")
        elif len(times) == MAX_SAMPLES:
            break
        elif (
            isinstance(event, TurnPlayed if phase == "act" else SeatReady)
            and event.seat in seats
            and getattr(event, "verdict", None) not in {"absent", "disqualified"}
        ):
            times.append(min(max(0, event.spent_ns), MAX_LATENCY_NS))
    if not times:
        raise UsageError(f"{journal}: no time of phase {phase} is recorded in it")
    with journal.open("rb") as file:
        return file_digest(file, "sha256").hexdigest(), times
