"""Contract between the runner and an engine, which plays matches somewhere, several at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol, TypeAlias

import attrs
import msgspec

from flagfall.agents.process.limits import usable_cores
from flagfall.errors import HostFault, UsageError
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec

# Sizes of batches: how many matches a worker plays one after another before it asks for more.
#
# The runner bounds the expected duration of a batch by the engine's `batch_seconds`. It expects what the
# same agents took on the same task before, so a batch begins with matches of known duration: an agent that
# was not measured on a task, and a match that was void before, is played alone.

MAX_BATCH: Final = 256
"""Most matches of a batch: the shortest take 0.3 ms, and the attempts of a batch fit into one pipe buffer."""

SHARE: Final = 8
"""A batch has at most this part of each job's share of the matches that are left, so that all jobs end at
about the same time."""

_NEW_PART: Final = 0.25
"""Weight of a new, shorter duration in an expectation; a longer one counts at once."""


class Durations:
    """Expected durations of matches, from those that were played."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str], float] = {}

    def add(self, spec: MatchSpec, seconds: float) -> None:
        """Count a match."""
        for agent in spec.entrants:
            key = spec.task, agent
            before = self._seconds.get(key, 0.0)
            self._seconds[key] = max(seconds, before + (seconds - before) * _NEW_PART)

    def expected(self, spec: MatchSpec) -> float | None:
        """Return the expected seconds of a match; `None` if an agent has not played its task yet."""
        longest = 0.0
        for agent in spec.entrants:
            seconds = self._seconds.get((spec.task, agent))
            if seconds is None:
                return None
            longest = max(longest, seconds)
        return longest


Answer: TypeAlias = MatchRecord | UsageError
"""Result of an attempt; an error if the match cannot be played as planned."""


class WorkerLost(HostFault):
    """The worker that played a match is gone: its process was killed, or its machine failed."""


@attrs.frozen
class Attempt:
    """An attempt to play a match.

    Attributes:
        number: one-based.
        counts: the attempt counts even if a stall of the host affects it, because earlier attempts were void.
            The `why` of its record mentions the stall.
    """

    spec: MatchSpec
    number: int = 1
    counts: bool = False


class Batch:
    """Attempts for one worker, which plays them in order and reports each; short ones share a message.

    Args:
        take: called with reported records and the seconds that each match took; it may raise an exception,
            which ends the batch.

    Attributes:
        left: attempts that are not reported; of a running batch the first one is being played.
        recalled: no further attempt of the batch is to begin; those left are not void.
    """

    def __init__(
        self,
        attempts: Iterable[Attempt],
        take: Callable[[Batch, Sequence[tuple[MatchRecord, float]]], None],
    ) -> None:
        self.left: deque[Attempt] = deque(attempts)
        self.recalled: bool = False
        self._take = take
        self._on_recall: Callable[[], None] | None = None

    def report(self, played: Sequence[tuple[MatchRecord, float]]) -> None:
        """Report the records of the next attempts.

        Args:
            played: in the order of the batch, each with the seconds that the match took.
        """
        self._take(self, played)

    @contextmanager
    def recalled_by(self, call: Callable[[], None]) -> Iterator[None]:
        """Set the function that informs the worker of a recall, while the context lasts.

        Args:
            call: called at once if the batch is recalled already.
        """
        self._on_recall = call
        if self.recalled:
            call()
        try:
            yield
        finally:
            self._on_recall = None

    def recall(self) -> None:
        """Let the worker begin no further attempt, as far as it can be reached; see `recalled`."""
        if self.recalled or len(self.left) <= 1:
            return
        self.recalled = True
        if self._on_recall is not None:
            self._on_recall()


class Engine(Protocol):
    """Plays the matches of one tournament; journals are in its folder.

    Attributes:
        default_jobs: number of matches at the same time for which it has processors.
        batch_seconds: longest expected duration of a batch of several matches; 0: a batch is one match.
    """

    default_jobs: int
    batch_seconds: float

    async def play_batch(self, batch: Batch) -> None:
        """Play matches one after another on one worker, and report each; several calls may run at once.

        When it returns, all of them are reported, or the batch was recalled. When it raises an exception or
        is cancelled, which ends the match and the processes of its agents, the matches that have ended are
        reported as far as they are known.

        Raises:
            WorkerLost: the worker is gone; it was playing the first match that is not reported.
            UsageError: the first match that is not reported cannot be played as planned.
        """

    async def aclose(self) -> None:
        """Stop the workers; not to be called while a match is played."""


def jobs_on(plan: TournamentPlan, cores: int | None = None) -> int:
    """Return how many matches a number of processors can play at the same time.

    Under the wall clock each agent gets a processor of its own; under the virtual clock each match does.

    Args:
        cores: number of processors; by default those of this machine that this process may use.
    """
    cores = len(usable_cores()) if cores is None else cores
    seats = 1 if plan.clock == "virtual" else max(task.seats for task in plan.tasks)
    return max(1, cores // seats)


def void_record(spec: MatchSpec, attempt: int, why: str) -> MatchRecord:
    """Return the record of a void attempt, which counts for nothing."""
    return MatchRecord(id=spec.id, attempt=attempt, status="void", why=why, reason="void")


# Messages between the runner and its worker processes are the payloads of frames.

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024
"""Longest message: a plan may contain tasks with all their worlds; a record has some kilobytes."""

RECALL: Final = b""
"""For a worker."""

BATCH_ENDED: Final = b""
"""For the runner."""


class _Answered(msgspec.Struct, array_like=True):
    """An answer to an attempt: the record, or the text of the error."""

    seconds: float
    record: MatchRecord | None
    error: str


_ENCODER: Final = msgspec.msgpack.Encoder()
_BATCH: Final = msgspec.msgpack.Decoder(tuple[Attempt, ...])
_ANSWERED: Final = msgspec.msgpack.Decoder(_Answered)


def encode_batch(attempts: Iterable[Attempt]) -> bytes:
    """Return the message that hands attempts to a worker."""
    return _ENCODER.encode(tuple(attempts))


def decode_batch(payload: bytes) -> tuple[Attempt, ...]:
    """Return the attempts of a batch."""
    return _BATCH.decode(payload)


def encode_answer(answer: Answer, seconds: float) -> bytes:
    """Return the message with the result of an attempt."""
    if isinstance(answer, UsageError):
        return _ENCODER.encode(_Answered(seconds, None, _writable(str(answer))))
    try:
        return _ENCODER.encode(_Answered(seconds, answer, ""))
    except UnicodeEncodeError:  # the message of a fault quotes a text that is not UTF-8
        kept = attrs.evolve(answer, why=_writable(answer.why))
        return _ENCODER.encode(_Answered(seconds, kept, ""))


def decode_answer(payload: bytes) -> tuple[Answer, float]:
    """Return the result of an attempt, and its duration in seconds."""
    answered = _ANSWERED.decode(payload)
    return answered.record or UsageError(answered.error), answered.seconds


def _writable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
