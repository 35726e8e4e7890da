"""Sink that logs a match with structlog while it is played.

Importing this module sets up nothing; `flagfall.recording.log_sink` does when it is called. A log is a
summary; the complete record is the journal.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final, Literal, TextIO, TypeAlias

import msgspec
import structlog

from flagfall.errors import UsageError, suggest
from flagfall.events import Event, MatchEnded, MatchStarted, TaskEnded, TaskStarted, TurnPlayed, TurnsPlayed
from flagfall.kernel.channels.arrays import list_encoder
from flagfall.kernel.safe_values import safe_repr
from flagfall.recording.journal.format import MAX_KEPT_BYTES, digest_of, encode, writable
from flagfall.recording.operations import OPERATIONS
from flagfall.texts import sanitize_terminal
from flagfall.timing.durations import NEVER_NS

# Setup of structlog for the logs of matches: renderers, and a logger whose lines several processes share.
#
# Rule 1: a program's own configuration of structlog is never replaced (`structlog.is_configured`).
# Rule 2: logging fails on no value: what JSON cannot express is logged as its `repr`, and a control character
#     never reaches a terminal.

Style: TypeAlias = Literal["console", "json"]
"""Form of the entries: text for people, or one JSON object a line."""

_encode_lists: Final = list_encoder().encode

LEVELS: Final = ("debug", "info", "warning", "error")


def configure_logging(style: Style | None = None, level: str = "info", stream: TextIO | None = None) -> bool:
    """Set up structlog for this process, unless the program has configured it already.

    Args:
        style: `console` for text, `json` for one JSON object a line. With `None`, `console` if the stream is
            a terminal, `json` otherwise.
        level: the lowest level that is logged: `debug`, `info`, `warning` or `error`.
        stream: the stream to write to; standard error by default.

    Returns:
        Whether structlog was set up; false if it was configured before, and so left as it is.

    Raises:
        UsageError: the style or the level is unknown.
    """
    if level not in LEVELS:
        raise UsageError(f"log level {level!r} is unknown{suggest(level, LEVELS)}")
    if style not in {"console", "json", None}:
        raise UsageError(f"log style {style!r} is unknown{suggest(str(style), ('console', 'json'))}")
    stream = sys.stderr if stream is None else stream
    terminal = stream.isatty()
    chosen: Style = style or ("console" if terminal else "json")
    return configure(chosen, level, structlog.WriteLoggerFactory(stream), colors=terminal)


def configure(style: Style, level: str, factory: Callable[..., Any], *, colors: bool) -> bool:
    """Set up structlog as `configure_logging` does, with any factory of loggers, and perhaps in colours."""
    if structlog.is_configured():
        return False
    if style == "console":
        rendered: list[Any] = [_printable, structlog.dev.ConsoleRenderer(colors=colors)]
    else:
        as_json = structlog.processors.JSONRenderer(serializer=_as_json)
        rendered = [structlog.processors.dict_tracebacks, as_json]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *rendered,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=factory,
        cache_logger_on_first_use=False,
    )
    return True


def _printable(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters in texts; other values are shown by `repr`, which escapes them."""
    for name, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[name] = sanitize_terminal(value)
    return event


def _as_json(event: Any, **_: Any) -> str:
    try:
        return msgspec.json.encode(event, enc_hook=repr).decode()
    except (ValueError, TypeError):  # such as a text with half of a surrogate pair
        return json.dumps(event, default=repr, skipkeys=True)


class LineLogger:
    """Logger for structlog that writes each entry as a whole line, also where several processes write.

    Args:
        fd: descriptor of the file or stream; entries are appended.
        lock_fd: descriptor of a file of its own that the processes share; a process holds a lock on it
            while it writes, so that no line is torn, whatever `fd` is and however long the line.

    Attributes:
        failure: the first error of writing, or `None`.
    """

    def __init__(self, fd: int, lock_fd: int) -> None:
        self.failure: OSError | None = None
        self._fd = fd
        self._lock_fd = lock_fd
        self._threads = threading.Lock()  # the lock on the file is the process's, not a thread's

    def msg(self, line: str) -> None:
        """Write one line.

        Args:
            line: without a line feed at its end.

        Raises:
            OSError: it cannot be written.
        """
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        with self._threads:
            try:
                fcntl.lockf(self._lock_fd, fcntl.LOCK_EX)
                try:
                    while data:
                        data = data[os.write(self._fd, data) :]
                finally:
                    fcntl.lockf(self._lock_fd, fcntl.LOCK_UN)
            except OSError as error:
                self.failure = self.failure or error
                raise

    debug = info = warning = warn = error = exception = critical = fatal = log = msg


MAX_WARNINGS: Final = 20
"""At most this many warnings of one kind are logged for a seat in a match; further ones are counted, and the
count is logged at the end. Otherwise an agent that is late in every turn would fill the log."""


class LogSink:
    """A sink (`flagfall.kernel.dispatcher.Sink`) that logs a match with structlog.

    Starts and ends of matches and tasks have the level `info`; late, illegal and dropped replies,
    disqualified seats and stalls `warning`; turns `debug`, with observation and action: whole if their JSON
    has at most `MAX_KEPT_BYTES`, otherwise the digest and the length, as in a journal. Every entry has the
    name of the match, and between the start and the end of a task its id and index; those of a seat have its
    number and the name of its agent. Above the level `debug`, plain turns cost what they cost beside a
    journal alone.

    A log entry is written at once, within the turn. If standard error is a pipe that is not read, writing
    blocks the event loop, as printing would. No seat is charged for that time.

    Args:
        match: the name of the match in the log; it is left out if empty.
        attempt: the number of the attempt at the match, from 1; `None`: it is left out.
    """

    def __init__(self, match: str = "", log: Any = None, *, attempt: int | None = None) -> None:
        log = structlog.get_logger() if log is None else log
        self._match_log = self._log = log.bind(**_non_empty(match=match, attempt=attempt))
        self._header: MatchStarted | None = None
        self._debug = _is_debugging(self._log)
        self._warned: Counter[tuple[str, int]] = Counter()
        self._broken = False
        if not self._debug:  # makes it a `BatchSink`: no event is made for a plain turn
            self.write_batch: Callable[[TurnsPlayed], None] = _ignore
            self.set_flush: Callable[[Callable[[], None]], None] = _ignore

    def __call__(self, event: Event) -> None:
        """Log one event; after a failure to write, the match goes on without a log."""
        if type(event) is TurnPlayed and event.verdict == "on time" and not self._debug:
            return
        if not self._broken:
            try:
                _LOGGERS.get(type(event), LogSink._log_event)(self, event)
            except (OSError, ValueError):  # such as a standard error that is closed
                self._broken = True

    def _log_turn(self, event: TurnPlayed) -> None:
        spent_ms = event.spent_ns / 1e6
        if event.verdict in {"late", "overrun", "illegal"}:
            reasons = _non_empty(refused=event.refused, legal=event.legal)
            seat = self._seat(event.seat, event.turn)
            self._warn(f"reply {event.verdict}", seat, turn=event.turn, spent_ms=spent_ms, **reasons)
        if self._debug:
            self._log.debug(
                "turn",
                **self._seat(event.seat, event.turn),
                turn=event.turn,
                **_shown_as("observation", event.observation),
                reward=event.reward,
                **_shown_as("action", event.action),
                verdict=event.verdict,
                spent_ms=spent_ms,
                at_ms=event.at_ns / 1e6,
            )

    def _seat(self, seat: int, turn: int = NEVER_NS) -> dict[str, Any]:
        """Return the fields that name a seat and its agent, who may be another in the turns of a parent."""
        agents = () if self._header is None else self._header.settings_at(turn).agents
        return {"seat": seat, "agent": agents[seat]} if 0 <= seat < len(agents) else {"seat": seat}

    def _warn(self, what: str, seat: dict[str, Any], /, **fields: Any) -> None:
        self._warned[what, seat["seat"]] += 1
        count = self._warned[what, seat["seat"]]
        if count <= MAX_WARNINGS:
            more = _LAST_NOTE if count == MAX_WARNINGS else {}
            self._log.warning(what, **(seat | fields | more))

    def _log_event(self, event: Event) -> None:
        """Log an event by its title, with all its fields."""
        fields = {}
        for name, value in event.facts().items():
            if name.endswith("_ns") and value is not None:
                fields[name.removesuffix("ns") + "ms"] = value / 1e6
            else:
                fields[name] = writable(value) if isinstance(value, str) else _shown(value)
        seat = fields.pop("seat", None)
        if event.level == "warning":
            self._warn(event.title, self._seat(-1 if seat is None else seat), **fields)
        else:
            self._log.info(event.title, **({} if seat is None else self._seat(seat)), **fields)

    def _log_match(self, event: MatchStarted) -> None:
        self._header = event
        self._match_log.info(
            "match started",
            agents=list(event.agents),
            scheduler=event.scheduler,
            seed=event.seed,
            time_control=event.time_control,
            clock=event.clock,
        )

    def _log_start(self, event: TaskStarted) -> None:
        self._log = self._match_log.bind(task=event.task, index=event.index)
        self._log.info("task started")

    def _log_end(self, event: TaskEnded) -> None:
        self._log.info(
            "task ended", result=event.result, reward=event.reward, steps=event.steps, ended=event.ended
        )
        self._log = self._match_log

    def _log_match_end(self, event: MatchEnded) -> None:
        for (what, seat), count in sorted(self._warned.items()):
            if count > MAX_WARNINGS:
                self._match_log.warning(f"{what}: in all", **self._seat(seat), count=count)
        log = self._match_log.error if event.reason == "void" else self._match_log.info
        detail = _non_empty(detail=writable(event.detail))
        log("match ended", reason=event.reason, turns=event.turns, **detail)


class OperationLog:
    """Listener that logs operations (`flagfall.recording.operations`) with structlog.

    Of one kind of warning for one match or address, `MAX_WARNINGS` are logged; further ones are counted.
    """

    def __init__(self) -> None:
        self._log = structlog.get_logger()
        self._warned: Counter[tuple[str, str, str]] = Counter()
        self._broken = False

    def __call__(self, operation: str, fields: Mapping[str, Any]) -> None:
        """Log one operation; after a failure to write, the run goes on without a log."""
        level = OPERATIONS[operation]
        if level == "warning":
            key = operation, fields.get("match", ""), fields.get("address", "")
            self._warned[key] += 1
            if self._warned[key] > MAX_WARNINGS:
                return
            if self._warned[key] == MAX_WARNINGS:
                fields = {**fields, **_LAST_NOTE}
        self._write(level, operation, fields)

    def close(self) -> None:
        """Log how many warnings there were of each kind that was not logged to its end."""
        for (operation, match, address), count in sorted(self._warned.items()):
            if count > MAX_WARNINGS:
                named = _non_empty(match=match, address=address)
                self._write("warning", f"{operation}: in all", {**named, "count": count})

    def _write(self, level: str, what: str, fields: Mapping[str, Any]) -> None:
        if not self._broken:
            try:
                getattr(self._log, level)(what, **fields)
            except (OSError, ValueError):  # such as a standard error that is closed
                self._broken = True


_LAST_NOTE: Final = {"note": "further ones are counted only"}


def _ignore(_what: object) -> None:
    """Do nothing."""


def _is_debugging(log: Any) -> bool:
    """Return whether entries of level `debug` are logged; true for a logger that cannot tell.

    A bound logger of structlog has the first method, one for the standard library the second, and one of the
    user's own may have neither, and drop entries in a processor.
    """
    for name in ("is_enabled_for", "isEnabledFor"):
        if hasattr(type(log), name):
            return bool(getattr(log, name)(logging.DEBUG))
    return True


def _shown_as(name: str, value: Any) -> dict[str, Any]:
    """Return the fields of a value; those of an array name its shape and dtype, too."""
    fields = {name: _shown(value)}
    numpy = sys.modules.get("numpy")  # an array has imported it
    if numpy is not None and type(value) is numpy.ndarray:
        fields |= {f"{name}_shape": list(value.shape), f"{name}_dtype": str(value.dtype)}
    return fields


def _shown(value: Any) -> Any:
    """Return a value as plain values, with arrays as lists, or as a digest if its JSON is long."""
    if type(value) is int:
        return value
    try:
        text = encode(value)
        if len(text) > MAX_KEPT_BYTES:
            return msgspec.to_builtins(digest_of(text))
        return msgspec.json.decode(_encode_lists(value))
    except (ValueError, TypeError, RecursionError):
        return safe_repr(value)


def _non_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


_LOGGERS: Final[Mapping[type[Event], Callable[[LogSink, Any], None]]] = {
    MatchStarted: LogSink._log_match,  # noqa: SLF001 - the table belongs to the class
    TurnPlayed: LogSink._log_turn,  # noqa: SLF001
    TaskStarted: LogSink._log_start,  # noqa: SLF001
    TaskEnded: LogSink._log_end,  # noqa: SLF001
    MatchEnded: LogSink._log_match_end,  # noqa: SLF001
}
