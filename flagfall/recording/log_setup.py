"""Setup of structlog for the logs of matches: renderers, and a logger whose lines several processes share.

Rule 1: a program's own configuration of structlog is never replaced (`structlog.is_configured`).
Rule 2: logging fails on no value: what JSON cannot express is logged as its `repr`, and a control character
    never reaches a terminal.
"""

from __future__ import annotations

__all__ = ["LEVELS", "LineLogger", "Style", "configure_lines", "configure_logging"]

import fcntl
import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias

import msgspec
import structlog

from flagfall.errors import UsageError, suggest
from flagfall.terminal_text import sanitize_terminal

if TYPE_CHECKING:
    from collections.abc import MutableMapping

Style: TypeAlias = Literal["console", "json"]
"""Form of the entries: text for people, or one JSON object a line."""

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
    return _configure(chosen, level, structlog.WriteLoggerFactory(stream), colors=terminal)


def configure_lines(style: Style, level: str, logger: LineLogger, *, colors: bool) -> bool:
    """Set up structlog for this process, as `configure_logging`, with a logger of whole lines.

    Args:
        style: see `configure_logging`.
        level: see `configure_logging`.
        logger: writes the entries.
        colors: write the text for people in colours.
    """
    return _configure(style, level, lambda *_names: logger, colors=colors)


def _configure(style: Style, level: str, factory: Callable[..., Any], *, colors: bool) -> bool:
    if structlog.is_configured():
        return False
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_for_people(colors=colors) if style == "console" else _for_collectors()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=factory,
        cache_logger_on_first_use=False,
    )
    return True


def _for_people(*, colors: bool) -> list[Any]:
    return [_printable, structlog.dev.ConsoleRenderer(colors=colors)]


def _printable(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters in texts; other values are shown by `repr`, which escapes them."""
    for name, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[name] = sanitize_terminal(value)
    return event


def _for_collectors() -> list[Any]:
    return [
        structlog.processors.dict_tracebacks,
        structlog.processors.JSONRenderer(serializer=_as_json),
    ]


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

    debug = msg
    info = msg
    warning = msg
    warn = msg
    error = msg
    exception = msg
    critical = msg
    fatal = msg
    log = msg
