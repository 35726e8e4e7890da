"""Videos of matches: the pictures of a replay with a caption, encoded by the program ffmpeg.

Pictures come from the process that executes a recorded match for replays, part by part; each frame is passed
on to ffmpeg when it is drawn. So memory does not grow with the match.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, NamedTuple

import attrs

from flagfall.errors import UsageError
from flagfall.events import ON_TIME
from flagfall.texts import counted, one_line
from flagfall.viewer.parquet import take_events
from flagfall.viewer.replay.frames import MAX_TILE_BYTES, decode_frames
from flagfall.viewer.replay.page import chunks_with
from flagfall.viewer.replay.recorded_match import RecordedMatch, whole_match
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

_PART_OF_FFMPEG: Final = re.compile(r"^\[[^]]*\] ")
"""Beginning of a message of ffmpeg: its part, and an address in its memory."""


class _Format(NamedTuple):
    """What a format of videos can hold.

    Attributes:
        calls: arguments of the calls of ffmpeg, one after the other; the first one takes the frames. `OUTPUT`
            stands for the file to write.
        max_rate: most frames a second; of faster turns some are left out.
        max_side: greatest width and height of the world, in pixels.
        max_frames: most frames of a file.
    """

    calls: Sequence[str]
    max_rate: int
    max_side: int
    max_frames: int


_MP4: Final = _Format(
    ("-c:v libx264 -preset veryfast -crf 18 -pix_fmt yuv420p -movflags +faststart -f mp4 OUTPUT",),
    max_rate=30,
    max_side=1_024,
    max_frames=1_000_000,
)
"""H.264 with halved colours, which every browser plays; more than nine hours."""

_GIF: Final = _Format(
    (
        "-c:v libx264rgb -preset ultrafast -qp 0 all.mkv",
        "-i all.mkv -vf palettegen palette.png",
        "-i all.mkv -i palette.png -lavfi paletteuse=dither=none:diff_mode=rectangle -f gif OUTPUT",
    ),
    max_rate=20,
    max_side=480,
    max_frames=3_000,
)
"""One palette for all frames, which wait for it in a file without loss; times are hundredths of a second."""


def write_video(
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
    program = find_ffmpeg()
    path = sources[0].path
    if problem := take_events(sources[0], lambda *_: None):
        report(problem)
    rate = speed if speed != "clock" and 1 <= speed <= form.max_rate else form.max_rate
    opened = whole_match(path, trust=trust, rebuild=rebuild, watch=watch)
    with opened as match, closing(_Encoder(program, file, form, rate)) as encoder:
        film = _Film(match, turns, report)
        frames = Frames(len(film.seats), form.max_side)
        began_ns: int | None = None
        for number, (scene, following) in enumerate(pairwise(film.scenes()), 1):
            began_ns = scene.at_ns if began_ns is None else began_ns
            seconds = (following.at_ns - began_ns) / 10**9 if speed == "clock" else number / speed
            encoder.put(frames, scene, round(seconds * rate) - encoder.count)
        encoder.put(frames, following, max(1, round(HOLD_SECONDS * rate)))
        encoder.finish()


write_mp4: Final = partial(write_video, _MP4)
write_gif: Final = partial(write_video, _GIF)


class _Scene(NamedTuple):
    """What is shown from a time of the match on: the world and its caption."""

    at_ns: int
    world: Picture | str
    title: str
    seats: Sequence[SeatLine]


@attrs.define(eq=False)
class _Turn:
    """A turn, and what the execution of the match tells of it.

    Attributes:
        rows: a row of the chunk for each seat that played, with the texts of its values.
        pictures: `b`, before its actions, and `e`, the end of its task after them; pictures or texts.
        players: the seats in the words of the task, where these are new.
    """

    number: int
    rows: Sequence[dict[str, Any]]
    pictures: dict[str, Picture | str] = attrs.Factory(dict)
    players: Sequence[str] = ()


_COLUMNS: Final = (
    *("turn", "seat", "at_ns", "spent_ns", "credit_ns", "verdict", "reward", "observation", "action"),
)
"""Columns of a chunk that are shown."""


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
        begins, ends = map(int, summary["turn_span"])
        first, last = turns or (begins, ends)
        self._chunks = chunks_with(summary, match.path, first, last)
        self._span = range(first, min(last, ends) + 1)
        self._has_end = last >= ends
        self._begins = [task["first_turn"] for task in summary["tasks"]]
        names = [one_line(seat["name"]) for seat in summary["seats"]]
        self.seats: list[str] = [
            name if names.count(name) == 1 else f"{name} {seat}" for seat, name in enumerate(names)
        ]
        self._players: Sequence[str] = ()
        self._totals = [0.0] * len(self.seats)
        for chunk in summary["chunks"][: self._chunks.start]:
            self._totals = [total + more for total, more in zip(self._totals, chunk["rewards"], strict=True)]
        self._tape: deque[tuple[int, str, str]] = deque(maxlen=TAPE_COLUMNS * TAPE_LINES)
        self._has_tape = summary["view"] == "bytes"
        self._part = FIRST_PART
        self._problem = ""

    def scenes(self) -> Iterator[_Scene]:
        """Yield the scenes in order; the last one is the last world again, with the result.

        Raises:
            UsageError: there is nothing to show.
        """
        scene: _Scene | None = None
        ended_ns = 0
        for turn in self._turns():
            for scene in self._scenes_of(turn, ended_ns):
                yield scene
            ended_ns = max(ended_ns, *(row["at_ns"] for row in turn.rows))
        if scene is None:
            raise UsageError(f"{self._match.path}: {self._problem or 'it has no turns to show'}")
        title = scene.title
        if self._problem:
            self._report(f"{self._match.path}: {self._problem}")
        elif self._has_end:
            title = self._result()
        yield _Scene(ended_ns, scene.world, title, self._lines(turn))

    def _turns(self) -> Iterator[_Turn]:
        """Yield the turns with their pictures, up to the first one whose picture is missing."""
        for number in self._chunks:
            chunk = self._match.chunk(number)
            columns = (chunk[name] for name in _COLUMNS)
            rows = [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]
            self._add_rewards([row for row in rows if row["turn"] < self._span.start])
            shown = [row for row in rows if row["turn"] in self._span]
            turns = [_Turn(turn, list(of)) for turn, of in groupby(shown, itemgetter("turn"))]
            at = 0
            while at < len(turns):
                part = turns[at : at + self._part]
                at += len(part)
                self._add_pictures(number, part)
                for turn in part:
                    if self._problem and not turn.pictures:
                        return
                    yield turn

    def _add_rewards(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            self._totals[row["seat"]] += row["reward"] or 0

    def _add_pictures(self, number: int, part: Sequence[_Turn]) -> None:
        """Fill in what the execution tells of some turns of a chunk."""
        if not self._summary["pictures"]["available"]:
            return
        head, frames = decode_frames(self._match.frames(number, (part[0].number, part[-1].number)))
        by_number = {turn.number: turn for turn in part}
        for of, which, picture in frames:
            if of in by_number:  # else it is a turn of seats that are not shown
                by_number[of].pictures[which] = picture
        for of, names in head["players"]:
            by_number[of].players = names
        rows = {(of, row["seat"]): row for of, turn in by_number.items() for row in turn.rows}
        for of, seat, *texts in zip(*head["described"].values(), strict=True):
            words = zip(("observation", "action"), texts, strict=True)
            rows[of, seat].update((name, head["texts"][text]) for name, text in words if text >= 0)
        self._has_tape |= head["continuous"]
        self._problem = head["why"]
        largest = max((scene["width"] * scene["height"] * 3 for scene in head["scenes"]), default=1)
        self._part = max(FIRST_PART, min(MAX_PART, MAX_TILE_BYTES // largest))

    def _scenes_of(self, turn: _Turn, after_ns: int) -> Iterator[_Scene]:
        """Yield the world that a turn began with, and the end of its task after it."""
        task = bisect_right(self._begins, turn.number) - 1
        name = one_line(self._summary["tasks"][task]["task"]) if task >= 0 else ""
        title = f"turn {turn.number:,}  {name}"
        began_ns = min(row["at_ns"] - row["spent_ns"] - row["credit_ns"] for row in turn.rows)
        world = turn.pictures["b"] if "b" in turn.pictures else self._text(turn)
        self._players = turn.players or self._players
        yield _Scene(max(after_ns, began_ns), world, title, self._lines(turn))
        self._add_rewards(turn.rows)
        if "e" in turn.pictures:
            at_ns = max(after_ns, *(row["at_ns"] for row in turn.rows))
            yield _Scene(at_ns, turn.pictures["e"], f"{title}, at its end", self._lines(turn))

    def _lines(self, turn: _Turn) -> list[SeatLine]:
        verdicts = {row["seat"]: row["verdict"].replace(ON_TIME, "") for row in turn.rows}
        players = {seat: f" ({one_line(player)})" for seat, player in enumerate(self._players)}
        return [
            SeatLine(name + players.get(seat, ""), f"{round(total, 6):,.10g}", verdicts.get(seat, ""))
            for seat, (name, total) in enumerate(zip(self.seats, self._totals, strict=True))
        ]

    def _text(self, turn: _Turn) -> str:
        """Return the world of a turn without a picture: a tape of bytes, or what each seat saw and did."""
        lines: list[str] = []
        first = turn.rows[0]
        if self._has_tape and first["observation"].isdecimal():
            heard, spoken = _glyph(first["observation"]), _glyph(first["action"])
            self._tape.append((turn.number // TAPE_COLUMNS, heard, spoken))
            for _, part in groupby(self._tape, itemgetter(0)):
                _, teacher, learner = zip(*part, strict=True)
                lines += [f"teacher {''.join(teacher)}", f"learner {''.join(learner)}", ""]
            return "\n".join(lines)
        for row in turn.rows:
            for what, name in (("saw", "observation"), ("did", "action")):
                words = f"{self.seats[row['seat']]} {what} {row[name][:MAX_VALUE_CHARS]}"
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
        ended = f"the match has ended after {counted(over['turns'], 'turn')}"
        tasks = f": {result['solved']} of {counted(result['played'], 'task')} solved"
        return ended + tasks * bool(result["solved"])


def _glyph(text: str) -> str:
    """Return the letter of a byte or bit on a tape, as the page of a replay has it."""
    if not text.isdecimal():
        return " "
    number = int(text)
    if number in {0, 1}:
        return text
    if number == _SILENCE:
        return "·"
    return chr(number) if number < _MAX_ASCII and chr(number).isprintable() else "▯"


class _Encoder:
    """Passes frames on to ffmpeg, which is started with the size of the first one."""

    def __init__(self, program: str, file: BinaryIO, form: _Format, rate: float) -> None:
        self.count: int = 0
        self._program = program
        self._form = form
        self._rate = rate
        # ffmpeg goes back to the beginning of its output, as it could not in a pipe.
        self._output = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        self._folder = tempfile.TemporaryDirectory(prefix="flagfall-video-")
        self._messages = Path(self._folder.name) / "messages"
        self._process: subprocess.Popen[bytes] | None = None

    def put(self, frames: Frames, scene: _Scene, count: int) -> None:
        """Show a scene in some frames; in none if it is over before the next frame."""
        self.count += max(0, count)
        if self.count > self._form.max_frames:
            most = f"the video would have more than {self._form.max_frames:,} frames"
            raise UsageError(f"{most}: choose a part with --turns, another --speed or another format")
        if count <= 0:
            return
        frame = frames.draw(scene.world, scene.title, scene.seats)
        if self._process is None:
            size = f"{frame.shape[1]}x{frame.shape[0]}"
            taken = f"-f rawvideo -pix_fmt rgb24 -s {size} -r {self._rate:g} -i -"
            self._process = self._start(f"{taken} {self._form.calls[0]}")
        assert self._process.stdin is not None
        try:
            for _ in range(count):
                self._process.stdin.write(frame.data)
        except OSError:
            self._wait(self._process)

    def _start(self, arguments: str) -> subprocess.Popen[bytes]:
        words = [self._output if word == "OUTPUT" else word for word in arguments.split()]
        with self._messages.open("wb") as messages:
            return subprocess.Popen(  # noqa: S603 - the program of the package
                [self._program, "-v", "error", "-y", *words],
                cwd=self._folder.name,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                process_group=0,  # Ctrl-C reaches the parent alone, which ends it
            )

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(OSError):
            process.communicate()
        if process.returncode:
            lines = self._messages.read_text(errors="replace").splitlines()
            said = lines[0] if lines else f"it ended with status {process.returncode}"
            raise OSError(f"ffmpeg: {one_line(_PART_OF_FFMPEG.sub('', said))}")

    def finish(self) -> None:
        """Complete the file; an `OSError` if it cannot be written."""
        assert self._process is not None
        self._wait(self._process)
        for arguments in self._form.calls[1:]:
            self._process = self._start(arguments)
            self._wait(self._process)

    def close(self) -> None:
        """End ffmpeg if it still runs, and remove what is not the output."""
        if self._process is not None:
            self._process.kill()
            with suppress(OSError):
                self._process.communicate()
        self._folder.cleanup()


def find_ffmpeg() -> str:
    """Return the program ffmpeg.

    Raises:
        UsageError: the extra `video` is not installed, or has no such program for this machine.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("videos need Linux, where ffmpeg opens its output in /proc; take `flagfall replay`")
    try:
        from imageio_ffmpeg import get_ffmpeg_exe  # noqa: PLC0415 - an extra

        return str(get_ffmpeg_exe())
    except ImportError as error:
        raise UsageError("videos need the extra video: pip install 'flagfall[video]'") from error
    except RuntimeError as error:
        raise UsageError(f"videos need the program ffmpeg: {one_line(str(error))}") from error
