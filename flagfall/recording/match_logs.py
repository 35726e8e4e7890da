"""Logs and sinks of the matches of one command, set up in its own process or in a worker's."""

from __future__ import annotations

__all__ = ["NO_LOGS", "LogSettings", "MatchLogs"]

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs

from flagfall.errors import UsageError
from flagfall.recording.named_sinks import NamedSink, load_sink

if TYPE_CHECKING:
    from flagfall.kernel.sinks import Sink
    from flagfall.recording.log_setup import LineLogger, Style


@attrs.frozen
class LogSettings:
    """Options of the logs of matches; a worker process gets it by pickle, and the descriptors by inheritance.

    Attributes:
        level: lowest level of the log; `None` for no log.
        style: form of the entries.
        fd: descriptor to which entries are appended; -1 without a log.
        lock_fd: descriptor of the lock of `flagfall.recording.log_setup.LineLogger`; -1 without a log.
        colors: write text for people in colours.
        sinks: names of the user's own sinks.
        needs_own_setup: style or destination were asked for, so a program's own configuration of structlog is
            an error.
    """

    level: str | None = None
    style: Style = "json"
    fd: int = -1
    lock_fd: int = -1
    colors: bool = False
    sinks: tuple[str, ...] = ()
    needs_own_setup: bool = False

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Return the descriptors that a worker process has to inherit."""
        return () if self.level is None else (self.fd, self.lock_fd)

    @contextmanager
    def opened(self) -> Iterator[MatchLogs]:
        """Import the sinks and set up structlog; undo the setup when the context ends.

        Raises:
            UsageError: a sink cannot be imported; or structlog is configured already, and the settings ask
                for another style or destination.
        """
        named = tuple(load_sink(text) for text in self.sinks)
        if self.level is None:
            yield MatchLogs(self, named)
            return
        import structlog  # noqa: PLC0415 - takes 40 ms, which commands without a log need not pay

        from flagfall.recording.log_setup import LineLogger, configure_lines  # noqa: PLC0415

        for descriptor in self.descriptors:
            os.set_inheritable(descriptor, False)  # a worker's agents must not get them
        logger = LineLogger(self.fd, self.lock_fd)
        own = configure_lines(self.style, self.level, logger, colors=self.colors)
        if not own and self.needs_own_setup:
            raise UsageError(
                "--log-format and --log-file: structlog is configured already, by code that was imported;"
                " leave them out, or leave the configuration to flagfall"
            )
        try:
            yield MatchLogs(self, named, logger)
        finally:
            if own:
                structlog.reset_defaults()


NO_LOGS: Final = LogSettings()
"""No log, and no sinks of the user's own."""


@attrs.frozen
class MatchLogs:
    """Makes the sinks of each match.

    Attributes:
        settings: from which it was made.
    """

    settings: LogSettings
    _named: tuple[NamedSink, ...]
    _logger: LineLogger | None = None

    @property
    def failure(self) -> OSError | None:
        """Return the first error of writing the log in this process."""
        return None if self._logger is None else self._logger.failure

    def sinks(self, match: str) -> list[Sink]:
        """Return the sinks of one match; none if nothing was asked for.

        Args:
            match: the name of the match.

        Raises:
            UsageError: a sink of the user's own cannot be made.
        """
        made = [named.for_match(match) for named in self._named]
        if self.settings.level is not None:
            from flagfall.recording.log_sink import LogSink  # noqa: PLC0415 - see `LogSettings.opened`

            made.append(LogSink(match))
        return made
