"""Execution of a recorded match, to draw and describe its turns; a process of its own runs it (`main`).

A journal may name files of this machine, such as a level, and its page may be passed on. So nothing is shown
of a task before one of its observations agrees with the journal: no picture, no value, no word of a file.
"""

from __future__ import annotations

import os
import pickle
import resource
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, Final

import attrs

from flagfall.errors import UsageError
from flagfall.events import Event, MatchStarted, TaskEnded, TaskStarted, TurnPlayed
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.roles import SchedulerRole, TaskDefaults, TaskRole
from flagfall.kernel.spaces import player_names
from flagfall.recording.journal.file import open_lines
from flagfall.recording.journal.format import MAX_LINE_BYTES, SEAL_PREFIX, Digest, decode_events
from flagfall.recording.journal.reader import JournalError, check_schema
from flagfall.recording.replay import Different, NotRepeatable, Rerun
from flagfall.tasks.catalog import add_pickled
from flagfall.tasks.task import with_pictures
from flagfall.tasks.vgdl.language.values import GameError
from flagfall.texts import one_line
from flagfall.viewer.replay.frames import FrameEncoder, NotAPicture, Which
from flagfall.viewer.replay.tally import MAX_SEATS
from flagfall.viewer.replay.texts import MAX_NAME_CHARS, shortened, text_of

MAX_WHY_CHARS: Final = 300
"""Longest line on what ends an execution."""

MODES: Final = ("rgb", "ansi")
"""Render modes that are shown, the best first."""

_DEFAULTS: Final = {TaskDefaults.describe_action, TaskDefaults.describe_observation}

Rebuild = Callable[[MatchStarted], SchedulerRole]
"""A function that returns the task scheduler of a match with new tasks."""


class Execution:
    """One execution of a match, from its beginning to a turn; it only goes forwards.

    Args:
        rebuild: returns the task scheduler of its header.
        watch: called with the next turn, which `turn` is, before each event.

    Attributes:
        ended: one line on why it cannot go on; empty while it can.
    """

    def __init__(
        self, path: Path, rebuild: Rebuild, watch: Callable[[int], None] = lambda _turn: None
    ) -> None:
        self.turn: int = 0
        self.ended: str = ""
        self._path = path
        self._watch = watch
        self._open = ExitStack()
        self._schema = self._offset = 0
        self._events: Iterator[Event] = iter(())
        self._waiting: deque[Event] = deque()
        self._rerun: Rerun | None = None
        self._undrawn = ""
        self._undescribed: TaskRole | None = None  # a task that has failed to describe a turn
        self._named: TaskRole | None = None
        self._names: list[str] = []  # of the players of that task
        self._is_confirmed = False  # an observation of the present task agrees with the journal
        self._first = -1
        self._encoder = FrameEncoder()
        self._drawn_turn = -1
        try:
            self._begin(rebuild)
        except (UsageError, Different, OSError, EOFError) as error:
            self.ended = _line(_without_quotes(error))
        except Exception as error:  # noqa: BLE001 - code of a task, while it is made
            self.ended = _line(f"the tasks of the match cannot be made: {error!r}")

    def _begin(self, rebuild: Rebuild) -> None:
        with open_lines(self._path, MAX_LINE_BYTES) as lines:
            first = next(lines, b"")
        schema = check_schema(self._path, first)
        try:
            (header,) = decode_events(first, schema)
        except (CodecError, ValueError) as error:
            raise JournalError(self._path, 1, None, str(error)) from error
        if not isinstance(header, MatchStarted):
            raise JournalError(self._path, 1, None, "it does not begin with a match")
        self._schema = schema
        self._offset = len(first)
        with with_pictures():
            scheduler = rebuild(header)
        self._open.callback(_close_quietly, scheduler)
        self._rerun = Rerun(header, scheduler)
        self._open.callback(_close_quietly, self._rerun)

    def _read_on(self) -> Iterator[Event]:
        """Yield the events behind those that were read, up to the present end of the file."""
        with open_lines(self._path, MAX_LINE_BYTES, self._offset) as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                if not line.startswith(SEAL_PREFIX):
                    yield from decode_events(line, self._schema)

    def close(self) -> None:
        """End the tasks."""
        self._open.close()

    def can_draw(self, first: int) -> bool:
        """Return whether `draw` can draw the part from this turn on without another execution."""
        return self.turn <= first or first == self._first

    def draw(self, first: int, last: int) -> bytes:
        """Go on to the end of a part of the match that `can_draw`; return its pictures, encoded.

        The last turn is not before that of the last call, if that had the same first turn.
        """
        if first != self._first:  # else it is the newest part, which has grown with the match
            self._first, self._encoder = first, FrameEncoder()
        encoder = self._encoder
        while not self.ended:
            event = self._next_event()
            if event is None:
                break
            if isinstance(event, TurnPlayed) and event.turn > last:
                self._waiting.appendleft(event)
                break
            self._watch(self.turn)
            self._take(event)
            if not self.ended:
                self._draw(event, first, encoder)
        encoder.why = encoder.why or self.ended or self._undrawn
        return encoder.finish()

    def drawn_so_far(self, why: str) -> bytes:
        """Return the pictures that `draw` has made so far, encoded, while it hangs in code of a task."""
        self._encoder.why = self._encoder.why or why
        return self._encoder.finish()

    def _next_event(self) -> Event | None:
        if self._waiting:
            return self._waiting.popleft()
        try:
            event = next(self._events, None)
            if event is None:  # the file may have grown since
                self._events = self._read_on()
                event = next(self._events, None)
        except (CodecError, ValueError, OSError, EOFError) as error:
            self.ended = _line(f"pictures end at turn {self.turn}: the journal cannot be read on: {error}")
            return None
        return event

    def _take(self, event: Event) -> None:
        assert self._rerun is not None
        if isinstance(event, TurnPlayed):
            self.turn = event.turn
        try:
            with with_pictures():  # a scheduler may make tasks as it goes on
                self._rerun.take(event)
        except Different as found:
            value = f" ({found.found})" if found.found else ""  # of the journal; never the expected one
            where = f"pictures end at turn {self.turn}, where the execution differs from the journal"
            self.ended = _line(f"{where}: {found.what}{value}")
        except (NotRepeatable, UsageError) as why:
            self.ended = _line(f"pictures end at turn {self.turn}: {_without_quotes(why)}")
        except Exception as error:  # noqa: BLE001 - code of a task, or of a scheduler
            self.ended = _line(f"pictures end at turn {self.turn}: the execution fails: {error!r}")
        if isinstance(event, TurnPlayed):
            self.turn = event.turn + 1

    def _draw(self, event: Event, first: int, encoder: FrameEncoder) -> None:
        assert self._rerun is not None
        if isinstance(event, TaskStarted | TurnPlayed):
            self._is_confirmed = isinstance(event, TurnPlayed)
        if isinstance(event, TurnPlayed):
            if event.turn < first:
                return
            self._describe(event, encoder)
            if event.turn != self._drawn_turn:
                self._drawn_turn = event.turn
                self._add(encoder, event.turn, "before", self._rerun.task)
        elif isinstance(event, TaskEnded) and self._is_confirmed and self.turn - 1 >= first:
            try:
                self._rerun.play_unplayed()
            except Exception as error:  # noqa: BLE001 - code of a task
                self._note_undrawn(f"the end of task {event.task} cannot be drawn: {error!r}")
            else:
                self._add(encoder, self.turn - 1, "end", self._rerun.task)

    def _describe(self, event: TurnPlayed, encoder: FrameEncoder) -> None:
        """Add what the task says of a turn of a seat, whose observation agrees with the journal."""
        assert self._rerun is not None
        task, seat = self._rerun.task, event.seat
        if task is None or task is self._undescribed or seat >= MAX_SEATS:
            return
        try:
            player = task.players[seat]
            seen = _words(task.describe_observation, event.observation, self._rerun.observation, player)
            done = _words(task.describe_action, event.action, self._rerun.action, player)
            encoder.describe(event.turn, seat, seen, done)
            if task is not self._named:
                names = player_names(task)[:MAX_SEATS]
                self._named, self._names = task, [shortened(name, MAX_NAME_CHARS) for name in names]
            if self._names:
                encoder.name_players(event.turn, self._names)
            is_number = type(event.observation) is int and len(task.players) == 1
            encoder.is_continuous |= task.continuous and is_number
        except (Exception, SystemExit) as error:  # noqa: BLE001 - code of a task
            self._undescribed = task
            self._note_undrawn(f"turn {event.turn} of task {task.id} cannot be described: {error!r}")

    def _note_undrawn(self, why: str) -> None:
        self._undrawn = self._undrawn or _line(why)

    def _add(self, encoder: FrameEncoder, turn: int, which: Which, task: TaskRole | None) -> None:
        if task is None or encoder.is_full:
            return
        render: Callable[[str], Any] = getattr(task, "render", _render_nothing)
        for mode in MODES:
            try:
                encoder.add(turn, which, render(mode))
            except NotImplementedError:
                continue
            except NotAPicture as error:
                wrong = f"turn {turn} of task {task.id} has no picture: {error}"
            except Exception as error:  # noqa: BLE001 - code of a task
                wrong = f"turn {turn} of task {task.id} cannot be drawn: {error!r}"
            else:
                return
            self._note_undrawn(wrong)
            return


def _words(describe: Callable[[Any, str], str], recorded: Any, value: Any, player: str) -> str | None:
    """Return what a task says of a value; `None` where the chunk has the same words, as by default."""
    if isinstance(recorded, Digest):  # of which the chunk has no words
        return shortened(str(describe(value, player)))
    if getattr(describe, "__func__", None) in _DEFAULTS:
        return None
    text = shortened(str(describe(value, player)))
    return None if text == text_of(recorded) else text


def _render_nothing(_mode: str) -> None:
    raise NotImplementedError


def _without_quotes(error: Exception) -> str:
    """Return a message without what it quotes from a file that the journal names."""
    if isinstance(error, GameError):
        return f"{error.place}: this cannot be played; flagfall verify names the mistake"
    return str(error)


def _line(text: str) -> str:
    return one_line(text, MAX_WHY_CHARS)


def _close_quietly(closing: Any) -> None:
    """Close what code of a task may refuse to close; the process ends with it."""
    with suppress(Exception):
        closing.close()


# Process that executes a recorded match to draw it: what a task does there cannot hold up the pages.
#
# It reads commands from its standard input: a pickled `Job` first, then two numbers for each part of the
# match. On its standard output it reports `p` and the turn while it works, `w` and one line before it gives
# up, and `f` and the pictures. It ends with its input.

MAX_MEMORY_BYTES: Final = 4 * 1024**3
"""Most memory of the process; a task that needs more raises an error."""

REPORT_SECONDS: Final = 0.5
"""Interval between reports on the turn reached."""

LOOKS: Final = 10
"""Looks, or waits, one after the other, until something has taken too long. Where the machine or a process
was frozen, only one of them is lost, so a freeze costs no pictures."""

NICENESS: Final = 10
"""A process in the background gets what the pages and running matches leave of a CPU."""

_HEAD: Final = struct.Struct("<cI")
_COMMAND: Final = struct.Struct("<qq")


@attrs.frozen
class Job:
    """The match to draw; `rebuild` can be pickled, and the patience is that for one turn."""

    path: Path
    rebuild: Rebuild
    patience_seconds: float
    in_background: bool
    families: bytes


def pack(kind: bytes, payload: bytes) -> bytes:
    """Return a message: a letter, the length, and the payload."""
    return _HEAD.pack(kind, len(payload)) + payload


def read_message(read: BinaryIO) -> tuple[bytes, bytes] | None:
    """Read a message; return `None` at the end of the stream."""
    head = read.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, length = _HEAD.unpack(head)
    payload = read.read(length)
    return (kind, payload) if len(payload) == length else None


def command(first: int, last: int) -> bytes:
    """Return the command to draw a part of the match, from its first to its last turn."""
    return _COMMAND.pack(first, last)


@attrs.define(eq=False)
class _Reports:
    """Writes reports to the parent, from the thread of the execution and from its watch."""

    _write: BinaryIO
    _lock: threading.Lock = attrs.Factory(threading.Lock)
    _due: float = 0.0

    def send(self, kind: bytes, payload: bytes) -> None:
        with self._lock:
            self._write.write(pack(kind, payload))
            self._write.flush()

    def progress(self, turn: int) -> None:
        """Report the turn reached, if the last report is long ago."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + REPORT_SECONDS
            self.send(b"p", str(turn).encode())


class _Watched:
    """An execution, and a thread that ends the process if code of a task hangs."""

    def __init__(self, job: Job, reports: _Reports) -> None:
        self._reports = reports
        self._turn = 0
        self._since = time.monotonic()
        self.execution = Execution(job.path, job.rebuild, self._begin_event)
        self._is_drawing = False
        self._is_open = True
        threading.Thread(target=self._watch, args=(job.patience_seconds,), daemon=True).start()

    def _begin_event(self, turn: int) -> None:
        self._turn, self._since = turn, time.monotonic()
        self._reports.progress(turn)

    def draw(self, first: int, last: int) -> None:
        """Draw a part of the match, and report it."""
        self._since = time.monotonic()
        self._is_drawing = True
        data = self.execution.draw(first, last)
        self._is_drawing = False
        self._reports.send(b"f", data)

    def close(self) -> None:
        self._is_open = False
        self.execution.close()

    def _watch(self, patience_seconds: float) -> None:
        looks, since = 0, self._since
        while self._is_open:
            time.sleep(patience_seconds / LOOKS)
            looks = looks + 1 if self._is_drawing and since == self._since else 0
            since = self._since
            if looks > LOOKS:
                took = f"the task takes more than {patience_seconds:g} s for it"
                why = f"pictures end at turn {self._turn}: {took}"
                self._reports.send(b"w", why.encode())
                self._reports.send(b"f", self.execution.drawn_so_far(why))
                os._exit(1)


def main() -> None:
    """Draw parts of a match until the input ends."""
    commands, reports = _take_streams()
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"  # environments open no window
    job: Job = pickle.load(commands)  # noqa: S301 - from the parent process
    os.nice(NICENESS * job.in_background)
    add_pickled(job.families)
    due: SimpleQueue[tuple[int, int]] = SimpleQueue()
    threading.Thread(target=_read_commands, args=(commands, due), daemon=True).start()
    watched: _Watched | None = None
    while True:
        first, last = due.get()
        if watched is None or not watched.execution.can_draw(first):
            if watched is not None:
                watched.close()
            watched = _Watched(job, reports)
        watched.draw(first, last)


def _take_streams() -> tuple[BinaryIO, _Reports]:
    """Return the streams to the parent; what tasks print goes nowhere, and their input is empty."""
    commands, reports = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    return os.fdopen(commands, "rb"), _Reports(os.fdopen(reports, "wb"))


def _read_commands(commands: BinaryIO, due: SimpleQueue[tuple[int, int]]) -> None:
    """Pass commands on; with the parent's end, end the process whatever a task does."""
    while len(data := commands.read(_COMMAND.size)) == _COMMAND.size:
        first, last = _COMMAND.unpack(data)
        due.put((first, last))
    os._exit(0)
