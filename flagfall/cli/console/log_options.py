"""Options for logs and sinks, which all commands that play share."""

from __future__ import annotations

__all__ = ["NO_LOG", "LogOptions"]

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from flagfall.errors import UsageError

if TYPE_CHECKING:
    from flagfall.recording.match_logs import MatchLogs


@Parameter(name="*")
@dataclass(frozen=True)
class LogOptions:
    """Settings of the log.

    Attributes:
        log_level: Log events of this level and above; `debug` logs every turn. By default `info`, if another
            option of the log is given, and otherwise no log (docs/logging.md).
        log_format: Form of the log: text, or one JSON object a line. By default `console` at a terminal,
            `json` otherwise.
        log_file: Append the log to this file, instead of writing it to the standard error.
        sink: Pass every event to your own code: `module:Sink` or `file.py:Sink`, a class of which each match
            gets an instance, or a function.
    """

    log_level: Literal["debug", "info", "warning", "error"] | None = None
    log_format: Literal["console", "json"] | None = None
    log_file: Path | None = None
    sink: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None

    @property
    def is_logging(self) -> bool:
        """Return whether there is a log."""
        return self.log_level is not None or self._has_own_form

    @property
    def _has_own_form(self) -> bool:
        """Return whether style or destination of the log are given."""
        return self.log_format is not None or self.log_file is not None

    @property
    def uses_stderr(self) -> bool:
        """Return whether the log is written to the standard error, where it would tear a progress line."""
        return self.is_logging and self.log_file is None

    @contextmanager
    def opened(self, *others: Path | None) -> Iterator[MatchLogs]:
        """Open the log and import the sinks, while the context lasts.

        If the log could not be written, a line on the standard error reports it at the end.

        Args:
            others: files that the command writes; the log must not be one of them.

        Raises:
            UsageError: the file cannot be opened or is one of the others, a sink cannot be imported, or
                structlog is configured already.
        """
        from flagfall.recording.match_logs import LogSettings

        names = tuple(self.sink or ())
        if not self.is_logging:
            with LogSettings(sinks=names).opened() as logs:
                yield logs
            return
        fd = self._open(others)
        lock_fd = os.memfd_create("flagfall-log-lock")
        terminal = os.isatty(fd)
        try:
            settings = LogSettings(
                self.log_level or "info",
                self.log_format or ("console" if terminal else "json"),
                fd,
                lock_fd,
                terminal,
                names,
                self._has_own_form,
            )
            with settings.opened() as logs:
                yield logs
            if logs.failure is not None:
                why = logs.failure.strerror or logs.failure
                print(f"flagfall: the log is incomplete: {why}", file=sys.stderr, flush=True)
        finally:
            os.close(fd)
            os.close(lock_fd)

    def _open(self, others: tuple[Path | None, ...]) -> int:
        """Return a descriptor for the log."""
        path = self.log_file
        if path is None:
            try:
                return os.dup(sys.stderr.fileno())
            except (OSError, ValueError) as error:
                raise UsageError(f"the log has no standard error to write to: {error}") from error
        if any(other is not None and other.absolute() == path.absolute() for other in others):
            raise UsageError(f"--log-file {path}: another output of this command has this name already")
        try:
            return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(f"--log-file {path}: cannot be written: {error.strerror or error}") from error


NO_LOG: Final = LogOptions()
"""The default of every command: no log, and no sinks of the user's own."""
