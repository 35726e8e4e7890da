"""Logs of a match with structlog, written while it is played, as text or as JSON.

Importing this module sets up nothing. A log is a summary; the complete record is the journal.
"""

from __future__ import annotations

__all__ = ["MAX_WARNINGS", "LogSink", "configure_logging"]

import logging
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

import msgspec
import structlog

from flagfall.errors import UsageError, suggest
from flagfall.events import (
    Event,
    MatchEnded,
    MatchStarted,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    StallSeen,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
)
from flagfall.recording.journal.format import writable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_WARNINGS: Final = 20
"""At most this many warnings of one kind are logged for a seat in a match; further ones are counted, and the
count is logged at the end. Otherwise an agent that is late in every turn would fill the log."""

_LEVELS: Final = ("debug", "info", "warning", "error")


def configure_logging(
    style: Literal["console", "json"] | None = None,
    level: str = "info",
    stream: TextIO | None = None,
) -> None:
    """Set up structlog for this process.

    Args:
        style: `console` for text, `json` for one JSON object a line. With `None`, `console` if the stream is
            a terminal, `json` otherwise.
        level: the lowest level that is logged: `debug`, `info`, `warning` or `error`.
        stream: the stream to write to; standard error by default.

    Raises:
        UsageError: the style or the level is unknown.
    """
    if level not in _LEVELS:
        raise UsageError(f"log level {level!r} is unknown{suggest(level, _LEVELS)}")
    if style not in {"console", "json", None}:
        raise UsageError(f"log style {style!r} is unknown{suggest(str(style), ('console', 'json'))}")
    stream = sys.stderr if stream is None else stream
    terminal = stream.isatty()
    for_people = terminal if style is None else style == "console"
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_for_people(colors=terminal) if for_people else _for_collectors()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def _for_people(*, colors: bool) -> list[Any]:
    return [structlog.dev.ConsoleRenderer(colors=colors)]


def _for_collectors() -> list[Any]:
    return [
        structlog.processors.dict_tracebacks,
        structlog.processors.JSONRenderer(serializer=_as_json),
    ]


def _as_json(event: Any, **_: Any) -> str:
    # A value that msgspec cannot encode is logged as its `repr`: logging must not fail on any value.
    return msgspec.json.encode(event, enc_hook=repr).decode()


class LogSink:
    """A sink (`flagfall.kernel.sinks.Sink`) that logs a match with structlog.

    Starts and ends of matches and tasks have the level `info`; late, illegal and dropped replies,
    disqualified seats and stalls `warning`; turns `debug`. An event below the level in force costs one
    comparison.

    A log entry is written at once, within the turn. If standard error is a pipe that is not read, writing
    blocks the event loop, as printing would. No seat is charged for that time.

    Args:
        match: the name of the match in the log; it is left out if empty.
        log: a structlog logger; by default `structlog.get_logger()` at the time the sink is made.
    """

    def __init__(self, match: str = "", log: Any = None) -> None:
        self._log = (structlog.get_logger() if log is None else log).bind(
            **({"match": match} if match else {})
        )
        self._match_log = self._log
        self._debug = self._log.is_enabled_for(logging.DEBUG)
        self._warned: Counter[tuple[str, int]] = Counter()
        self._broken = False

    def __call__(self, event: Event) -> None:
        """Log one event; after a failure to write, the match goes on without a log.

        Args:
            event: the next event of the match.
        """
        if type(event) is TurnPlayed and event.verdict == "on time" and not self._debug:
            return
        if not self._broken:
            try:
                _LOGGERS[type(event)](self, event)
            except (OSError, ValueError):  # such as a standard error that is closed
                self._broken = True

    def _log_turn(self, event: TurnPlayed) -> None:
        fields: dict[str, Any] = {
            "seat": event.seat,
            "turn": event.turn,
            "spent_ms": event.spent_ns / 1e6,
        }
        if event.verdict in {"late", "overrun", "illegal"}:
            fields |= _non_empty(refused=event.refused, legal=event.legal)
            self._warn(f"reply {event.verdict}", **fields)
        elif self._debug:
            self._log.debug(
                "turn", **fields, verdict=event.verdict, reward=event.reward, at_ms=event.at_ns / 1e6
            )

    def _warn(self, what: str, seat: int, **fields: Any) -> None:
        self._warned[what, seat] += 1
        count = self._warned[what, seat]
        if count <= MAX_WARNINGS:
            more = {"note": "further ones are counted only"} if count == MAX_WARNINGS else {}
            self._log.warning(what, seat=seat, **fields, **more)

    def _log_match(self, event: MatchStarted) -> None:
        self._match_log.info(
            "match started",
            agents=list(event.agents),
            scheduler=event.scheduler,
            seed=event.seed,
            time_control=event.time_control,
            clock=event.clock,
        )

    def _log_ready(self, event: SeatReady) -> None:
        self._log.info("seat ready", seat=event.seat, host=event.host, spent_ms=event.spent_ns / 1e6)

    def _log_start(self, event: TaskStarted) -> None:
        self._log = self._match_log.bind(task=event.task, index=event.index)
        self._log.info("task started")

    def _log_end(self, event: TaskEnded) -> None:
        self._log.info(
            "task ended", result=event.result, reward=event.reward, steps=event.steps, ended=event.ended
        )
        self._log = self._match_log

    def _log_drop(self, event: ReplyDropped) -> None:
        self._warn("reply dropped", event.seat, turn=event.turn, why=event.why)

    def _log_disqualified(self, event: SeatDisqualified) -> None:
        self._log.warning(
            "seat disqualified", seat=event.seat, reason=event.reason, detail=writable(event.detail)
        )

    def _log_stall(self, event: StallSeen) -> None:
        self._warn("stall", -1 if event.seat is None else event.seat, lost_ms=event.lost_ns / 1e6)

    def _log_match_end(self, event: MatchEnded) -> None:
        for (what, seat), count in sorted(self._warned.items()):
            if count > MAX_WARNINGS:
                self._match_log.warning(f"{what}: in all", seat=seat, count=count)
        log = self._match_log.error if event.reason == "void" else self._match_log.info
        log(
            "match ended", reason=event.reason, turns=event.turns, **_non_empty(detail=writable(event.detail))
        )


def _non_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


_LOGGERS: Final[Mapping[type[Event], Callable[[LogSink, Any], None]]] = {
    MatchStarted: LogSink._log_match,  # noqa: SLF001 - the table belongs to the class
    SeatReady: LogSink._log_ready,  # noqa: SLF001
    TurnPlayed: LogSink._log_turn,  # noqa: SLF001
    TaskStarted: LogSink._log_start,  # noqa: SLF001
    TaskEnded: LogSink._log_end,  # noqa: SLF001
    ReplyDropped: LogSink._log_drop,  # noqa: SLF001
    SeatDisqualified: LogSink._log_disqualified,  # noqa: SLF001
    StallSeen: LogSink._log_stall,  # noqa: SLF001
    MatchEnded: LogSink._log_match_end,  # noqa: SLF001
}
