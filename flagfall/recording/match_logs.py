"""Logs and sinks of the matches of one command, set up in its own process or in a worker's."""

from __future__ import annotations

import inspect
import os
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from flagfall import events
from flagfall.code_loader import find_member, load_module
from flagfall.errors import HostFault, UsageError
from flagfall.kernel.dispatcher import Sink
from flagfall.recording.operations import reported_to
from flagfall.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagfall.kernel.outcomes import Outcome
    from flagfall.recording.log_sink import LineLogger, Style
    from flagfall.recording.otlp import Telemetry


Detail: TypeAlias = Literal["matches", "turns"]
"""The smallest unit that has a span of its own: with `matches`, spans are of matches and tasks."""


@attrs.frozen
class NamedSink:
    """A loaded sink.

    Attributes:
        found: a class, of which each match gets an instance; or a callable, which gets the events of all.
    """

    text: str
    found: Any

    def for_match(self, match: str) -> Sink:
        """Return the sink of one match.

        A class is called with the name of the match if it has a parameter `match`, otherwise without
        arguments.

        Raises:
            UsageError: the class cannot be instantiated, or its instances cannot be called.
        """
        sink: Any = self.found
        if inspect.isclass(self.found):
            try:
                takes_match = "match" in inspect.signature(self.found).parameters
                sink = sink(match=match) if takes_match else sink()
            except Exception as error:
                raise UsageError(one_line(f"sink {self.text}: {_shown(error)}")) from error
            if not callable(sink):
                raise UsageError(f"sink {self.text}: it needs a method __call__(event)")
        # By these methods the kernel finds a `BatchSink` or a `WritingSink`.
        has_further_methods = hasattr(sink, "write_batch") or hasattr(sink, "drain")
        return sink if has_further_methods else _Named(self.text, sink)


@attrs.frozen
class _Named:
    """A plain sink whose failure names it."""

    text: str
    sink: Sink

    def __call__(self, event: Any) -> None:
        try:
            self.sink(event)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}, line {last.lineno}"
            raise HostFault(one_line(f"sink {self.text} failed ({where}): {_shown(error)}")) from error


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def load_sink(text: str) -> NamedSink:
    """Import a sink.

    Args:
        text: `module:Sink` or `file.py:Sink`, where `Sink` is a class or a callable that takes an event.

    Raises:
        UsageError: there is no such sink, or its module cannot be imported.
    """
    place, _, member = text.rpartition(":")
    if not place or not member:
        raise UsageError(f"unknown sink {text!r}: write module:Sink or file.py:Sink")
    found = find_member(load_module(place, "sink"), member, place)
    if not callable(found):
        raise UsageError(f"sink {text}: it is neither a class nor a function that takes an event")
    return NamedSink(text, found)


def series_path(path: Path, number: int, count: int) -> Path:
    """Return the file name of one match of a series: `run-3.jsonl.zst` for `run.jsonl.zst`.

    Args:
        path: the name that the user chose; it is unchanged if the series has one match.
    """
    if count == 1:
        return path
    ending = path.suffix
    if ending == ".zst":
        ending = path.with_suffix("").suffix + ending
    stem = path.name.removesuffix(ending) if ending else path.name
    return path.with_name(f"{stem}-{number:0{len(str(count - 1))}}{ending}")


@attrs.frozen
class LogSettings:
    """Options of the logs of matches; a worker process gets it by pickle, and the descriptors by inheritance.

    Attributes:
        level: lowest level of the log; `None` for no log.
        fd: descriptor to which entries are appended; -1 without a log.
        lock_fd: descriptor of the lock of `flagfall.recording.log_sink.LineLogger`; -1 without a log.
        sinks: names of the user's own sinks.
        needs_own_setup: style or destination were asked for, so a program's own configuration of structlog is
            an error.
        telemetry: what is sent to a collector: spans of matches and tasks, or of turns too; `None`: nothing.
        counts_fd: descriptor of what `flagfall.recording.otlp.loss` reads; -1 without telemetry.
        root: name of the span of the command; empty in a worker, whose spans have a parent elsewhere.
        parent: that parent, as W3C's `traceparent`; by default the one in the environment.
    """

    level: str | None = None
    style: Style = "json"
    fd: int = -1
    lock_fd: int = -1
    colors: bool = False
    sinks: tuple[str, ...] = ()
    needs_own_setup: bool = False
    telemetry: Detail | None = None
    counts_fd: int = -1
    root: str = ""
    parent: str = ""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Return the descriptors that a worker process has to inherit."""
        return tuple(fd for fd in (self.fd, self.lock_fd, self.counts_fd) if fd >= 0)

    @contextmanager
    def opened(self) -> Iterator[MatchLogs]:
        """Import the sinks, and set up structlog and telemetry; undo the setup when the context ends.

        Raises:
            UsageError: a sink cannot be imported; or structlog is configured already, and the settings ask
                for another style or destination; or telemetry cannot be set up.
        """
        for descriptor in self.descriptors:
            os.set_inheritable(descriptor, False)  # a worker's agents must not get them
        named = tuple(load_sink(text) for text in self.sinks)
        with ExitStack() as stack:
            logger = None if self.level is None else stack.enter_context(self._opened_log(self.level))
            if self.telemetry is None:
                yield MatchLogs(self, named, logger)
                return
            from flagfall.recording.otlp import opened_telemetry  # noqa: PLC0415 - an extra, and takes 200 ms

            telemetry = stack.enter_context(
                opened_telemetry(
                    turns=self.telemetry == "turns",
                    root=self.root,
                    parent=self.parent or os.environ.get("TRACEPARENT", ""),
                    counts_fd=self.counts_fd,
                )
            )
            in_workers = attrs.evolve(self, root="", parent=telemetry.parent)
            yield MatchLogs(in_workers, named, logger, telemetry)

    @contextmanager
    def _opened_log(self, level: str) -> Iterator[LineLogger]:
        import structlog  # noqa: PLC0415 - takes 40 ms, which commands without a log need not pay

        from flagfall.recording.log_sink import LineLogger, OperationLog, configure  # noqa: PLC0415

        logger = LineLogger(self.fd, self.lock_fd)
        own = configure(self.style, level, lambda *_names: logger, colors=self.colors)
        if not own and self.needs_own_setup:
            raise UsageError(
                "--log-format and --log-file: structlog is configured already, by code that was imported;"
                " leave them out, or leave the configuration to flagfall"
            )
        operations = OperationLog()
        try:
            with reported_to(operations):
                yield logger
        finally:
            operations.close()
            if own:
                structlog.reset_defaults()


NO_LOGS: Final = LogSettings()
"""No log, and no sinks of the user's own."""


@attrs.frozen
class MatchLogs:
    """Makes the sinks of each match."""

    settings: LogSettings
    _named: tuple[NamedSink, ...]
    _logger: LineLogger | None = None
    _telemetry: Telemetry | None = None

    def failures(self) -> Iterator[str]:
        """Yield a line for what could not be written or sent, after the end of the matches."""
        if self._logger is not None and self._logger.failure is not None:
            yield f"the log is incomplete: {self._logger.failure.strerror or self._logger.failure}"
        if self._telemetry is not None:
            from flagfall.recording.otlp import loss  # noqa: PLC0415 - see `LogSettings.opened`

            lost = loss(self.settings.counts_fd)
            if lost:
                yield f"telemetry is incomplete: {lost}"

    def sinks(self, match: str, attempt: int | None = None) -> list[Sink]:
        """Return the sinks of one match, if any were asked for; raises as `NamedSink.for_match` does."""
        made = [named.for_match(match) for named in self._named]
        if self.settings.level is not None:
            from flagfall.recording.log_sink import LogSink  # noqa: PLC0415 - see `LogSettings.opened`

            made.append(LogSink(match, attempt=attempt))
        if self._telemetry is not None:
            made.append(self._telemetry.sink(match, attempt))
        return made


class PlainEvents:
    """Passes what happens to the only seat of a match to sinks, as the kernel passes the events of a match.

    Args:
        sinks: take every event; without any, nothing is made.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        tasks: Sequence[str],
        agent: str,
        seed: int,
        *,
        scheduler: str = "",
        time_control: str = "",
        now: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._sinks = sinks
        self._now = now
        self._began_ns = now()
        self._turns = 0
        self._give(
            events.MatchStarted,
            schema=events.SCHEMA,
            flagfall="",
            tasks=tasks,
            scheduler=scheduler,
            agents=[agent],
            seed=seed,
            time_control=time_control,
            clock="wall",
        )

    def begin_task(self, task: str, index: int, seed: int) -> None:
        """Pass on the start of a task; the arguments are those of `TaskStarted`."""
        self._give(events.TaskStarted, task, index, seed)

    def turn(
        self, observation: Any, reward: Any, action: Any, spent_ns: int, verdict: events.Verdict = "on time"
    ) -> None:
        """Pass on a turn; the arguments are those of `TurnPlayed`."""
        self._give(events.TurnPlayed, self._turns, observation, reward, action, spent_ns, 0, verdict)
        self._turns += 1

    def end_task(self, outcome: Outcome) -> None:
        """Pass on the end of a task."""
        values = (outcome.result, outcome.reward, outcome.steps, outcome.ended, outcome.metrics)
        self._give(events.TaskEnded, outcome.task, outcome.index, *values)

    def end(self, reason: Literal["finished", "steps", "seats", "stopped"], fault: str = "") -> None:
        """Pass on the end of the match.

        Args:
            fault: the error of the agent that ended it; empty if there was none.
        """
        if fault:
            self._give(events.SeatDisqualified, 0, "crashed", fault)
        self._give(events.MatchEnded, reason, self._turns)

    def _give(self, kind: type[events.Event], *values: Any, **named: Any) -> None:
        if self._sinks:
            event = kind(self._now() - self._began_ns, *values, **named)
            for sink in self._sinks:
                sink(event)
