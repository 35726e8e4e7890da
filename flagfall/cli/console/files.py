"""Files that commands read and write, the options of logs and sinks, and those that commands share."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TextIO, TypeAlias

from cyclopts import Parameter

from flagfall.errors import HostFault, UsageError, suggest
from flagfall.texts import one_line

if TYPE_CHECKING:
    from flagfall.recording.match_logs import LogSettings, MatchLogs

Flag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False)]
"""An option without a value, and without a form that switches it off."""

Texts: TypeAlias = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]
"""An option with several values."""

TaskIds: TypeAlias = Annotated[Texts, Parameter(name=["--task", "-t"])]
Seed: TypeAlias = Annotated[int, Parameter(name=["--seed", "-s"])]
Output: TypeAlias = Annotated[Path | None, Parameter(name=["--output", "-o"])]
Quiet: TypeAlias = Annotated[Flag, Parameter(name=["--quiet", "-q"])]

_JOURNALS: Final = (b'{"event":"match"', b"\x28\xb5\x2f\xfd")
"""Beginnings of journals, plain and compressed."""

_RECORDS: Final = (*_JOURNALS, b"SQLite format 3\0", b"\x37\x7f\x06")
"""Beginnings of journals, and of databases and their logs."""


def new_folder(command: str, *, make: bool = False) -> Path:
    """Return a folder for results: the command and the time, and a number if that name is taken.

    It may be made at once, so that no other program takes the name.
    """
    from datetime import datetime

    name = f"{command}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    for number in count(1):
        path = Path(name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            if make:
                path.mkdir()
                return path
            if not path.exists():
                return path
    raise AssertionError


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Return a context for reading an untrusted file: faults in it, and Ctrl-C, are reported in one line.

    Raises:
        UsageError: there is no such file, or the body of the context raised one.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a journal")
    if not path.exists():
        folder = path.parent
        names = [p.name for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []
        hint = suggest(path.name, names)
        raise UsageError(f"no such file: {path}{hint if hint.startswith('; nearest') else ''}")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path} may not be read: permission denied")
    try:
        yield
    except KeyboardInterrupt:
        print(f"flagfall: {path}: interrupted before its end", file=sys.stderr)
        raise
    except UsageError as error:
        raise UsageError(one_line(str(error))) from error


def check_journal(path: Path, *, overwrite: bool) -> None:
    """Check before a match that its journal can be written, and replaces a file only with `overwrite`."""
    from flagfall.recording.journal.writer import Journal

    Journal.check(path)
    check_record("journal", path, _JOURNALS, overwrite=overwrite)


def check_record(kind: str, path: Path, beginnings: tuple[bytes, ...], *, overwrite: bool) -> None:
    """Check that a file in which a match is recorded replaces no other, unless that is asked for.

    What commands make from records, such as reports, can be made again; see `replacing`. A file of this kind
    (`journal` or `results file`) has one of some beginnings.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        start = file.read(max(map(len, beginnings)))
    named = f"{kind.partition(' ')[0]} {path}"
    if start and not start.startswith(beginnings):
        raise UsageError(f"{named}: the file exists and is not a {kind}; it is not overwritten")
    if start and not overwrite:
        raise UsageError(f"{named}: the file exists; name another one, or replace it with --overwrite")


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a temporary file that replaces `path` when the context ends without an error.

    Args:
        path: the file to replace. Pipes and devices are written to directly.

    Raises:
        UsageError: no file can be created there, or a journal or a database would be lost.
        HostFault: writing failed, for instance as the disk is full.
    """
    if path.exists() and not path.is_file():  # a pipe, a terminal, /dev/null
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it")
        try:
            with path.open("w", encoding="utf-8") as straight:
                yield straight
        except BrokenPipeError:
            raise
        except OSError as error:
            raise HostFault(f"{path} cannot be written: {error.strerror or error}") from error
        return
    if _is_record(path):
        raise UsageError(f"{path} is a journal or a database, which would be lost; name another file")
    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    made = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o666 & ~mask)
        made.replace(path)
    except OSError as error:
        raise HostFault(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        made.unlink(missing_ok=True)


def _is_record(path: Path) -> bool:
    """Return whether a file is a journal, or the database of a tournament."""
    try:
        with path.open("rb") as file:
            return file.read(max(map(len, _RECORDS))).startswith(_RECORDS)
    except OSError:  # there is none, or it may not be read
        return False


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
        telemetry: Send spans and metrics to a collector of OpenTelemetry, which `OTEL_EXPORTER_OTLP_ENDPOINT`
            names; by default `http://localhost:4318`. `turns`: also a span for each turn (needs the extra
            `telemetry`).
    """

    log_level: Literal["debug", "info", "warning", "error"] | None = None
    log_format: Literal["console", "json"] | None = None
    log_file: Path | None = None
    sink: Texts = None
    telemetry: Literal["matches", "turns"] | None = None

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
    def opened(self, command: str, *others: Path | None) -> Iterator[MatchLogs]:
        """Open the log and telemetry, and import the sinks, while the context lasts.

        If the log could not be written, or spans not be sent, a line on the standard error reports it at the
        end.

        Args:
            command: names the span of the command.
            others: files that the command writes; the log must not be one of them.

        Raises:
            UsageError: the file cannot be opened or is one of the others, a sink cannot be imported, or
                structlog is configured already, or telemetry cannot be set up.
        """
        from attrs import evolve

        from flagfall.recording.match_logs import LogSettings

        settings, logs = LogSettings(sinks=tuple(self.sink or ())), None
        try:
            if self.is_logging:
                settings = self._with_log(settings, others)
            if self.telemetry is not None:
                counts_fd = _shared_file()
                root = f"flagfall.{command}"
                settings = evolve(settings, telemetry=self.telemetry, counts_fd=counts_fd, root=root)
            with settings.opened() as logs:
                yield logs
        finally:
            for line in () if logs is None else logs.failures():
                print(f"flagfall: {line}", file=sys.stderr, flush=True)
            for descriptor in settings.descriptors:
                os.close(descriptor)

    def _with_log(self, settings: LogSettings, others: tuple[Path | None, ...]) -> LogSettings:
        """Return the settings with those of the log, which is opened."""
        from attrs import evolve

        fd = self._open(others)
        terminal = os.isatty(fd)
        return evolve(
            settings,
            level=self.log_level or "info",
            style=self.log_format or ("console" if terminal else "json"),
            fd=fd,
            lock_fd=_shared_file(),
            colors=terminal,
            needs_own_setup=self._has_own_form,
        )

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


def _shared_file() -> int:
    """Return the descriptor of an empty file without a name, for the processes that log."""
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


NO_LOG: Final = LogOptions()
"""The default of every command: no log, and no sinks of the user's own."""
