"""Videos of matches: the pictures of a replay with a caption, encoded by the program ffmpeg.

Pictures come from the process that executes a recorded match for replays, part by part; each frame is passed
on to ffmpeg when it is drawn. So memory does not grow with the match.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import textwrap
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, NamedTuple

import attrs

from flagfall.errors import UsageError
from flagfall.events import ON_TIME
from flagfall.texts import counted, one_line
from flagfall.viewer.parquet import take_events
from flagfall.viewer.replay.frames import MAX_TILE_BYTES, decode_frames
from flagfall.viewer.replay.page import chunks_with
from flagfall.viewer.replay.recorded_match import RecordedMatch
from flagfall.viewer.video_drawing import TEXT_CELLS, Frames, Picture, SeatLine

if TYPE_CHECKING:
    from flagfall.viewer.parquet import Source
    from flagfall.viewer.replay.execution import Rebuild

HOLD_SECONDS: Final = 2
"""The last world is shown for this long, with the result."""

FIRST_PART: Final = 8
MAX_PART: Final = 256
"""Turns whose pictures are held at a time: few until their size is known, and at most."""

TAPE_COLUMNS: Final = 50
TAPE_LINES: Final = 5
"""Turns in a line of a tape of bytes, and lines that are shown."""

MAX_VALUE_CHARS: Final = 500
"""Longest text of an observation or an action in a world of text."""

_SILENCE: Final = 32
_MAX_ASCII: Final = 128


class _Format(NamedTuple):
    """What a format of videos can hold.

    Attributes:
        arguments: those of ffmpeg, which takes the frames.
        then: arguments of further calls of ffmpeg, with the names of files that the ones before have made.
        max_rate: most frames a second; of faster turns some are left out.
        max_side: greatest width and height of the world, in pixels.
        max_frames: most frames of a file.
    """

    arguments: Sequence[str]
    then: Sequence[Sequence[str]]
    max_rate: int
    max_side: int
    max_frames: int


_PART_OF_FFMPEG: Final = re.compile(r"^\[[^]]*\] ")
"""Beginning of a message of ffmpeg: its part, and an address in its memory."""

_OUTPUT: Final = "OUTPUT"
"""Stands in arguments for the file to write."""

_MP4: Final = _Format(
    (
        *("-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p"),
        *("-movflags", "+faststart", "-f", "mp4", _OUTPUT),
    ),
    (),
    max_rate=30,
    max_side=1_024,
    max_frames=1_000_000,
)
"""H.264 with halved colours, which every browser plays; more than nine hours."""

_GIF: Final = _Format(
    ("-c:v", "libx264rgb", "-preset", "ultrafast", "-qp", "0", "frames.mkv"),
    (
        ("-i", "frames.mkv", "-vf", "palettegen", "palette.png"),
        (
            *("-i", "frames.mkv", "-i", "palette.png"),
            *("-filter_complex", "paletteuse=dither=none:diff_mode=rectangle", "-f", "gif", _OUTPUT),
        ),
    ),
    max_rate=20,
    max_side=480,
    max_frames=3_000,
)
"""One palette for all frames, which wait for it in a file without loss; times are hundredths of a second."""


def write_mp4(
    sources: Sequence[Source], file: BinaryIO, report: Callable[[str], None], **chosen: Any
) -> None:
    """Write the video of a match as MP4; see `_write`."""
    _write(_MP4, sources, file, report, **chosen)


def write_gif(
    sources: Sequence[Source], file: BinaryIO, report: Callable[[str], None], **chosen: Any
) -> None:
    """Write the video of a match as an animated GIF; see `_write`."""
    _write(_GIF, sources, file, report, **chosen)


def _write(
    form: _Format,
    sources: Sequence[Source],
    file: BinaryIO,
    report: Callable[[str], None],
    *,
    turns: tuple[int, int] | None = None,
    speed: float | Literal["clock"] = 10.0,
    trust: bool = False,
    rebuild: Rebuild | None = None,
    watch: Callable[[int], None] = lambda _turn: None,
) -> None:
    """Write the video of one match.

    Args:
        sources: the match, which is executed again for its pictures.
        report: takes a line if the journal is damaged, or pictures end before the match.
        turns: the first and the last turn to show; by default all.
        speed: turns a second, or `clock`.
        trust: see `flagfall.viewer.replay.recorded_match.RecordedMatch`, as `rebuild` and `watch`.

    Raises:
        UsageError: there are several matches, no such turns, no pictures, too many frames, or ffmpeg is not
            installed.
        OSError: the file cannot be written.
    """
    if len(sources) > 1:
        raise UsageError(f"a video shows one match: name one of its journals, such as {sources[0].path}")
    program = _find_ffmpeg()
    path = sources[0].path
    if problem := take_events(sources[0], lambda *_: None):
        report(problem)
    match = RecordedMatch(path, trust=trust, rebuild=rebuild, watch=watch, in_background=False)
    rate = speed if speed != "clock" and 1 <= speed <= form.max_rate else form.max_rate
    with closing(match), closing(_Encoder(program, file, form, rate)) as encoder:
        match.read_all()
        film = _Film(match, turns, report)
        frames = Frames(len(film.seats), form.max_side)
        held: _Scene | None = None
        began_ns = 0
        for number, scene in enumerate(film.scenes()):
            if held is None:
                began_ns = scene.at_ns
            else:
                seconds = (scene.at_ns - began_ns) / 10**9 if speed == "clock" else number / speed
                encoder.put(held, frames, round(seconds * rate) - encoder.count)
            held = scene
        assert held is not None
        encoder.put(held, frames, max(1, round(HOLD_SECONDS * rate)))
        encoder.finish()


@attrs.frozen
class _Scene:
    """What is shown from a time of the match on: the world and its caption."""

    at_ns: int
    world: Picture | str
    title: str
    seats: Sequence[SeatLine]


class _Film:
    """The scenes of a match: the world that each turn began with, and the end of each task."""

    def __init__(
        self, match: RecordedMatch, turns: tuple[int, int] | None, report: Callable[[str], None]
    ) -> None:
        self._match = match
        self._report = report
        self._summary = summary = match.summary()
        if why := summary["pictures"]["why"]:
            raise UsageError(f"{match.path}: there are no pictures for a video: {why}")
        self._chunks = range(len(summary["chunks"]))
        begins, ends = map(int, summary["turn_span"])
        self._first, self._last = begins, ends
        if turns is not None:
            self._chunks = chunks_with(summary, match.path, *turns)
            self._first, self._last = max(begins, turns[0]), min(ends, turns[1])
        self._has_end = self._last == ends
        self._begins = [task["first_turn"] for task in summary["tasks"]]
        names = [one_line(seat["name"]) for seat in summary["seats"]]
        self.seats: list[str] = [
            name if names.count(name) == 1 else f"{name} {seat}" for seat, name in enumerate(names)
        ]
        self._totals = [0.0] * len(self.seats)
        for chunk in summary["chunks"][: self._chunks.start]:
            self._totals = [total + more for total, more in zip(self._totals, chunk["rewards"], strict=True)]
        self._tape: deque[tuple[int, str, str]] = deque(maxlen=TAPE_COLUMNS * TAPE_LINES)
        self._has_tape = summary["view"] == "bytes"
        self._players: list[list[Any]] = []  # from a turn on, the seats in the words of the task
        self._part = FIRST_PART
        self._problem = ""

    def scenes(self) -> Iterator[_Scene]:
        """Yield the scenes in order; the last one is the last world again, with the result.

        Raises:
            UsageError: there is nothing to show.
        """
        turn: _Turn | None = None
        scene: _Scene | None = None
        for turn in self._turns():
            after_ns = 0 if scene is None else scene.at_ns
            for scene in self._scenes_of(turn, after_ns):
                yield scene
        if turn is None or scene is None:
            raise UsageError(f"{self._match.path}: {self._problem or 'it has no turns to show'}")
        title = scene.title
        if self._problem:
            self._report(f"{self._match.path}: {self._problem}")
        elif self._has_end:
            title = self._result()
        yield _Scene(max(scene.at_ns, turn.ended_ns), scene.world, title, self._lines(turn))

    def _turns(self) -> Iterator[_Turn]:
        """Yield the turns with their pictures, up to the first one whose picture is missing."""
        for number in self._chunks:
            chunk = self._match.chunk(number)
            numbers = chunk["turn"]
            self._add_rewards(chunk, [row for row, turn in enumerate(numbers) if turn < self._first])
            rows = [row for row, turn in enumerate(numbers) if self._first <= turn <= self._last]
            turns = [_Turn(chunk, turn, list(of)) for turn, of in groupby(rows, numbers.__getitem__)]
            at = 0
            while at < len(turns):
                part = turns[at : at + self._part]
                at += len(part)
                self._add_pictures(number, part)
                for turn in part:
                    if self._problem and not turn.pictures:
                        return
                    yield turn

    def _add_rewards(self, chunk: dict[str, Any], rows: Sequence[int]) -> None:
        for row in rows:
            self._totals[chunk["seat"][row]] += chunk["reward"][row] or 0

    def _add_pictures(self, number: int, part: Sequence[_Turn]) -> None:
        """Fill in the pictures of some turns of a chunk."""
        if not self._summary["pictures"]["available"]:
            return
        head, frames = decode_frames(self._match.frames(number, (part[0].number, part[-1].number)))
        by_number = {turn.number: turn for turn in part}
        for of, which, picture in frames:
            by_number[of].pictures[which] = picture
        for of, seat, *texts in zip(*head["described"].values(), strict=True):
            by_number[of].said[seat] = [None if text < 0 else head["texts"][text] for text in texts]
        self._players = self._players[-1:] + head["players"]
        self._has_tape |= head["continuous"]
        self._problem = head["why"]
        largest = max((scene["width"] * scene["height"] * 3 for scene in head["scenes"]), default=1)
        self._part = max(FIRST_PART, min(MAX_PART, MAX_TILE_BYTES // largest))

    def _scenes_of(self, turn: _Turn, after_ns: int) -> Iterator[_Scene]:
        """Yield the world that a turn began with, and the end of its task after it."""
        task = bisect_right(self._begins, turn.number) - 1
        name = one_line(self._summary["tasks"][task]["task"]) if task >= 0 else ""
        title = f"turn {turn.number:,}  {name}"
        world = turn.pictures["b"] if "b" in turn.pictures else self._text(turn)
        yield _Scene(max(after_ns, turn.began_ns), world, title, self._lines(turn))
        self._add_rewards(turn.chunk, turn.rows)
        if "e" in turn.pictures:
            at_ns = max(after_ns, turn.ended_ns)
            yield _Scene(at_ns, turn.pictures["e"], f"{title}, at its end", self._lines(turn))

    def _lines(self, turn: _Turn) -> list[SeatLine]:
        verdicts = {turn.chunk["seat"][row]: turn.chunk["verdict"][row] for row in turn.rows}
        players: list[str] = next(
            (names for begins, names in reversed(self._players) if begins <= turn.number), []
        )
        named = {
            seat: f"{self.seats[seat]} ({one_line(player)})"
            for seat, player in enumerate(players[: len(self.seats)])
        }
        return [
            SeatLine(
                named.get(seat, name),
                f"{round(total, 6):,.10g}",
                verdicts.get(seat, ON_TIME).replace(ON_TIME, ""),
            )
            for seat, (name, total) in enumerate(zip(self.seats, self._totals, strict=True))
        ]

    def _text(self, turn: _Turn) -> str:
        """Return the world of a turn without a picture: a tape of bytes, or what each seat saw and did."""
        chunk = turn.chunk
        if self._has_tape and chunk["numbers"]:
            seen, played = (
                _glyph(chunk["numbers"][name][turn.rows[0]]) for name in ("observation", "action")
            )
            self._tape.append((turn.number, seen, played))
            lines = []
            for _, entries in groupby(self._tape, key=lambda entry: entry[0] // TAPE_COLUMNS):
                part = list(entries)
                lines.append(f"teacher {''.join(seen for _, seen, _ in part)}")
                lines += [f"learner {''.join(played for *_, played in part)}", ""]
            return "\n".join(lines)
        lines = []
        for row in turn.rows:
            seat = chunk["seat"][row]
            said = turn.said.get(seat, (None, None))
            for what, column, of_task in zip(("saw", "did"), ("observation", "action"), said, strict=True):
                text = chunk[column][row] if of_task is None else of_task
                words = f"{self.seats[seat]} {what} {text[:MAX_VALUE_CHARS]}"
                lines += textwrap.wrap(words, TEXT_CELLS[0], subsequent_indent="  ")
        return "\n".join(lines)

    def _result(self) -> str:
        """Return how the match has ended, in one line."""
        over, result = self._summary["over"], self._summary["result"]
        if over is None:
            return "the journal ends before the match did"
        if winners := [self.seats[seat] for seat in result["winners"]]:
            return f"{winners[0]} has won" if len(winners) == 1 else f"a draw: {', '.join(winners)}"
        if result["why"]:
            return str(result["why"])
        tasks = f": {result['solved']} of {counted(result['played'], 'task')} solved"
        ended = f"the match has ended after {counted(over['turns'], 'turn')}"
        return ended + tasks * bool(result["solved"])


@attrs.define(eq=False)
class _Turn:
    """A turn, as rows of a chunk, with what is shown of it.

    Attributes:
        pictures: `b`, before its actions, and `e`, the end of its task after them; pictures or texts.
        said: by seat, observation and action in the words of the task, where it has others than the chunk.
    """

    chunk: dict[str, Any]
    number: int
    rows: Sequence[int]
    pictures: dict[str, Picture | str] = attrs.Factory(dict)
    said: dict[int, list[str | None]] = attrs.Factory(dict)

    @property
    def began_ns(self) -> int:
        names = ("at_ns", "spent_ns", "credit_ns")
        at_ns, spent_ns, credit_ns = (self.chunk[name] for name in names)
        return int(min(at_ns[row] - spent_ns[row] - credit_ns[row] for row in self.rows))

    @property
    def ended_ns(self) -> int:
        return int(max(self.chunk["at_ns"][row] for row in self.rows))


def _glyph(number: int | None) -> str:
    """Return the letter of a byte or bit on a tape, as the page of a replay has it."""
    if number is None:
        return " "
    if number in {0, 1}:
        return str(number)
    if number == _SILENCE:
        return "·"
    return chr(number) if 0 < number < _MAX_ASCII and chr(number).isprintable() else "▯"


class _Encoder:
    """Passes frames on to ffmpeg, which is started with the size of the first one."""

    def __init__(self, program: str, file: BinaryIO, form: _Format, rate: float) -> None:
        self.count: int = 0
        self._form = form
        self._rate = rate
        self._words = (program, "-v", "error", "-y")
        # ffmpeg goes back to the beginning of its output, as it could not in a pipe.
        self._output = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        self._folder = tempfile.TemporaryDirectory(prefix="flagfall-video-")
        self._messages = (Path(self._folder.name) / "messages").open("w+b")
        self._process: subprocess.Popen[bytes] | None = None

    def put(self, scene: _Scene, frames: Frames, count: int) -> None:
        """Show a scene in some frames; in none if it is over before the next frame."""
        self.count += max(0, count)
        if self.count > self._form.max_frames:
            most = f"the video would have more than {self._form.max_frames:,} frames"
            raise UsageError(f"{most}: choose a part with --turns, another --speed or another format")
        if count > 0:
            frame = frames.draw(scene.world, scene.title, scene.seats)
            if self._process is None:
                size = f"{frame.shape[1]}x{frame.shape[0]}"
                words = (
                    "-f",
                    "rawvideo",
                    "-pix_fmt",
                    "rgb24",
                    "-s",
                    size,
                    "-r",
                    f"{self._rate:g}",
                    "-i",
                    "-",
                )
                self._process = self._start(*words, *self._form.arguments)
            assert self._process.stdin is not None
            try:
                for _ in range(count):
                    self._process.stdin.write(frame.data)
            except OSError:
                self._wait()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        words = [self._output if word == _OUTPUT else word for word in arguments]
        return subprocess.Popen(  # noqa: S603 - the program of the package
            [*self._words, *words],
            cwd=self._folder.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._messages,
            process_group=0,  # Ctrl-C reaches the parent alone, which ends it
        )

    def _wait(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        status = self._process.wait()
        if status:
            self._messages.seek(0)
            lines = self._messages.read().decode(errors="replace").splitlines()
            said = [_PART_OF_FFMPEG.sub("", line) for line in lines] or [f"it ended with status {status}"]
            raise OSError(f"ffmpeg: {one_line(said[0])}")

    def finish(self) -> None:
        """Complete the file; an `OSError` if it cannot be written."""
        self._wait()
        for arguments in self._form.then:
            self._process = self._start(*arguments)
            self._wait()

    def close(self) -> None:
        """End ffmpeg if it still runs, and remove what is not the output."""
        if self._process is not None:
            self._process.kill()
            with suppress(OSError):
                self._process.communicate()
        self._messages.close()
        self._folder.cleanup()


def _find_ffmpeg() -> str:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe  # noqa: PLC0415 - an extra

        return str(get_ffmpeg_exe())
    except ImportError as error:
        raise UsageError("videos need the extra video: pip install 'flagfall[video]'") from error
    except RuntimeError as error:
        raise UsageError(f"videos need the program ffmpeg: {one_line(str(error))}") from error
