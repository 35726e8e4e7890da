"""Logs for people and for collectors, by structlog: what matters of a match, while it is played.

Nothing is set up by importing this. A log is no record: the journal is, and it has everything.
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
"""So many warnings of one kind are logged for a seat in a match; the others are counted, and told at its
end. An agent that is late on every turn would else write more than everybody together."""

_LEVELS: Final = ("debug", "info", "warning", "error")


def configure_logging(
    style: Literal["console", "json"] | None = None,
    level: str = "info",
    stream: TextIO | None = None,
) -> None:
    """Set up structlog for this process.

    Args:
        style: `console` for people, `json` for collectors: one object a line. `None`: `console` on a
            terminal, else `json`.
        level: what is below it costs nothing: `debug`, `info`, `warning` or `error`.
        stream: where to; standard error by default.

    Raises:
        UsageError: there is no such style or level.
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
    # Whatever msgspec does not know becomes its text: a log must not fail over what it tells of.
    return msgspec.json.encode(event, enc_hook=repr).decode()


class LogSink:
    """A sink (`flagfall.kernel.roles.Sink`) that logs a match with structlog.

    Beginnings and ends are `info`; replies that are late, illegal or dropped, seats that fall and stalls
    are `warning`; turns are `debug`. Whatever is below the level that is set costs a comparison.

    A log is written when it happens, inside the turn: a standard error that nobody reads holds up the
    event loop like any print. No seat is charged for that.

    Args:
        match: what to call the match in the log.
        log: a structlog logger; by default the one that is set up when the sink is made.
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
        """Log one event. When the log cannot be written any more, the match goes on without it."""
        if type(event) is TurnPlayed and event.verdict == "on time" and not self._debug:
            return
        if not self._broken:
            try:
                _TELL[type(event)](self, event)
            except (OSError, ValueError):  # standard error is closed, for instance
                self._broken = True

    def _tell_turn(self, event: TurnPlayed) -> None:
        fields: dict[str, Any] = {
            "seat": event.seat,
            "turn": event.turn,
            "spent_ms": event.spent_ns / 1e6,
        }
        if event.verdict in {"late", "overrun", "illegal"}:
            self._warn(f"reply {event.verdict}", **fields)
        elif self._debug:
            self._log.debug(
                "turn", **fields, verdict=event.verdict, reward=event.reward, at_ms=event.at_ns / 1e6
            )

    def _warn(self, what: str, seat: int, **fields: Any) -> None:
        self._warned[what, seat] += 1
        told = self._warned[what, seat]
        if told <= MAX_WARNINGS:
            more = {"note": "further ones are counted only"} if told == MAX_WARNINGS else {}
            self._log.warning(what, seat=seat, **fields, **more)

    def _tell_header(self, event: MatchStarted) -> None:
        self._match_log.info(
            "match started",
            agents=list(event.agents),
            scheduler=event.scheduler,
            seed=event.seed,
            time_control=event.time_control,
            clock=event.clock,
        )

    def _tell_ready(self, event: SeatReady) -> None:
        self._log.info("seat ready", seat=event.seat, host=event.host, spent_ms=event.spent_ns / 1e6)

    def _tell_start(self, event: TaskStarted) -> None:
        self._log = self._match_log.bind(task=event.task, index=event.index)
        self._log.info("task started")

    def _tell_end(self, event: TaskEnded) -> None:
        self._log.info(
            "task ended", result=event.result, reward=event.reward, steps=event.steps, ended=event.ended
        )
        self._log = self._match_log

    def _tell_drop(self, event: ReplyDropped) -> None:
        self._warn("reply dropped", event.seat, turn=event.turn, why=event.why)

    def _tell_fall(self, event: SeatDisqualified) -> None:
        self._log.warning(
            "seat disqualified", seat=event.seat, reason=event.reason, detail=writable(event.detail)
        )

    def _tell_stall(self, event: StallSeen) -> None:
        self._warn("stall", -1 if event.seat is None else event.seat, lost_ms=event.lost_ns / 1e6)

    def _tell_over(self, event: MatchEnded) -> None:
        for (what, seat), count in sorted(self._warned.items()):
            if count > MAX_WARNINGS:
                self._match_log.warning(f"{what}: in all", seat=seat, count=count)
        tell = self._match_log.error if event.reason == "void" else self._match_log.info
        tell("match ended", reason=event.reason, turns=event.turns, **_given(detail=writable(event.detail)))


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


_TELL: Final[Mapping[type[Event], Callable[[LogSink, Any], None]]] = {
    MatchStarted: LogSink._tell_header,  # noqa: SLF001 - the table belongs to the class
    SeatReady: LogSink._tell_ready,  # noqa: SLF001
    TurnPlayed: LogSink._tell_turn,  # noqa: SLF001
    TaskStarted: LogSink._tell_start,  # noqa: SLF001
    TaskEnded: LogSink._tell_end,  # noqa: SLF001
    ReplyDropped: LogSink._tell_drop,  # noqa: SLF001
    SeatDisqualified: LogSink._tell_fall,  # noqa: SLF001
    StallSeen: LogSink._tell_stall,  # noqa: SLF001
    MatchEnded: LogSink._tell_over,  # noqa: SLF001
}
