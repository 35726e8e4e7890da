"""Videos of matches, decoded again: frames, sizes, pixels, pace, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio
from msgspec.structs import replace
from PIL import Image

import flagfall
from flagfall.events import TaskEnded, TurnPlayed
from flagfall.recording.journal.reader import read_journal
from flagfall.viewer import video
from flagfall.viewer.parquet import open_source
from flagfall.viewer.replay.execution import NICENESS
from flagfall.viewer.replay.page import replay_blocks
from flagfall.viewer.replay.recorded_match import RecordedMatch
from flagfall.viewer.video_drawing import MAX_CAPTION_SEATS, Frames, SeatLine
from tests.command_line import call_main
from tests.viewer.journals import bytes_match, write
from tests.viewer.reference_frames import decoded

ffmpeg = pytest.importorskip("imageio_ffmpeg")

FIXTURES = Path(__file__).parent.parent / "fixtures"
HOLD = 20
"""Frames of the last world at ten turns a second."""


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    """A match of a game, long enough for an end of the task within it."""
    path = tmp_path_factory.mktemp("game") / "game.jsonl"
    flagfall.run("vgdl:windfall#0", "random", clock="virtual", steps=500, seed=3, journal=path)
    return path


@pytest.fixture
def export(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return partial(call_main, capfd, "export")


def frames_of(path):
    """Return the frames of a file as whole numbers that can be subtracted, and how many a second has."""
    if path.suffix == ".gif":
        with Image.open(path) as image:
            shown = []
            for number in range(image.n_frames):
                image.seek(number)
                shown.append(np.asarray(image.convert("RGB"), np.int16))
            return shown, 1000 / image.info["duration"]
    words = [ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(words, capture_output=True, check=True)
    width, height, rate = re.findall(rb" (\d+)x(\d+)[ ,].* ([\d.]+) fps", done.stderr)[0]
    pixels = np.frombuffer(done.stdout, np.uint8).reshape(-1, int(height), int(width), 3)
    return list(pixels.astype(np.int16)), float(rate)


def pictures_of(journal, turns):
    """Return the pictures of a replay in order, the last of them again for as long as it is held."""
    blocks: dict[str, Any] = replay_blocks(journal, turns=turns)
    _, shown = decoded(blocks["frames-0"])
    pictures = list(shown.values())
    return pictures + [pictures[-1]] * HOLD


@pytest.mark.parametrize(("to", "most"), [("mp4", 12), ("gif", 3)])
def test_each_turn_and_each_end_is_a_frame_with_the_pixels_of_the_replay(export, game, tmp_path, to, most):
    end = next(event for event in read_journal(game) if isinstance(event, TaskEnded))
    turns = (end.steps - 5, end.steps + 5)
    made = export("--turns", f"{turns[0]}:{turns[1]}", game, f"game.{to}")
    assert (made.code, made.out, made.err) == (0, f"game.{to}\n", "")
    frames, rate = frames_of(tmp_path / f"game.{to}")
    pictures = pictures_of(game, turns)
    assert (len(frames), rate) == (11 + 1 + HOLD, 10)
    assert len(pictures) == len(frames)
    for frame, picture in zip(frames, pictures, strict=True):
        assert all(side % 2 == 0 for side in frame.shape[:2])
        height, width = picture.shape[:2]
        scale = frame.shape[1] // width
        world = frame[: height * scale, : width * scale].reshape(height, scale, width, scale, 3).mean((1, 3))
        assert abs(world - picture).mean() < most
    captions = [frame[80 * scale :] for frame in frames]
    assert abs(captions[0] - captions[1]).max() > 50, "the number of the turn changes"


def test_without_an_output_the_file_is_named_after_the_journal(export, game, tmp_path):
    assert export("--to", "gif", game, "--turns", "0:3").out == "game.gif\n"
    assert (tmp_path / "game.gif").stat().st_size < 50_000


def changes(frames):
    """Return the lengths of runs of frames that show the same."""
    starts = [0] + [at for at in range(1, len(frames)) if abs(frames[at] - frames[at - 1]).max() > 100]
    return np.diff([*starts, len(frames)]).tolist()


def test_at_the_pace_of_the_clock_a_long_turn_is_a_pause(export, tmp_path):
    class Thinks:
        async def run(self, seat):
            async for turn in seat:
                await trio.sleep(2 if turn.number == 3 else 0.2)
                seat.reply(65 + turn.number, turn.number)

    path = tmp_path / "slow.jsonl"
    flagfall.run("micro4", Thinks(), steps=6, clock="virtual", journal=path, time_control="act=5s")
    assert export(path, "slow.mp4", "--speed", "clock").code == 0
    frames, rate = frames_of(tmp_path / "slow.mp4")
    assert rate == 30
    assert changes(frames) == [6, 6, 6, 60, 6, 6, 60]
    assert export(path, "fast.mp4", "--speed", "60").code == 0
    frames, rate = frames_of(tmp_path / "fast.mp4")
    assert (rate, len(frames)) == (30, 3 + 60)
    assert export(path, "slow.mp4", "--speed", "0.5").code == 0
    assert changes(frames_of(tmp_path / "slow.mp4")[0]) == [60] * 7


def test_a_tape_of_bytes_has_verdicts_rewards_and_the_result(export, tmp_path):
    class Odd:
        async def run(self, seat):
            async for turn in seat:
                await trio.sleep(0.5 if turn.number == 2 else 0.001)
                seat.reply("no byte" if turn.number == 1 else 65, turn.number)

    path = tmp_path / "odd.jsonl"
    flagfall.run("micro4", Odd(), steps=3, clock="virtual", journal=path, time_control="act=40ms/1s")
    assert export(path, "odd.gif").code == 0
    frames, _ = frames_of(tmp_path / "odd.gif")
    turns = [event for event in read_journal(path) if isinstance(event, TurnPlayed)]
    seen = "".join(chr(turn.observation) for turn in turns)
    assert [turn.verdict for turn in turns] == ["on time", "illegal", "late"]
    totals = np.cumsum([0, *(turn.reward for turn in turns[1:])])
    for number, turn in enumerate(turns):
        drawing = Frames(1, 480)
        verdict = "" if turn.verdict == "on time" else turn.verdict
        played = "".join("·" if of.action == 32 else chr(of.action) for of in turns[: number + 1])
        tape = f"teacher {seen[: number + 1].replace(' ', '·')}\nlearner {played}\n"
        name = open_source(path).header.agents[0]
        seat = SeatLine(name, f"{totals[number]:g}", verdict)
        expected = drawing.draw(tape, f"turn {number}  micro4", [seat])
        assert abs(frames[number] - expected).max() <= 12, number
    assert abs(frames[-1] - frames[2]).max() > 100, "the result is written over the number of the turn"


def test_a_part_begins_with_the_rewards_before_it(export, tmp_path):
    path = tmp_path / "part.jsonl"
    first = 2**55  # which JavaScript does not have exactly
    write(path, bytes_match(1200, first=first))
    made = export(path, "part.gif", "--turns", f"{first + 1150}:{first + 1160}")
    assert (made.code, made.err) == (0, "")
    frames, _ = frames_of(tmp_path / "part.gif")
    blocks: dict[str, Any] = replay_blocks(path, turns=(first, first + 1149))
    total = sum(
        reward or 0
        for name, block in blocks.items()
        if name.startswith("chunk")
        for reward in json.loads(zlib.decompress(block))["reward"]
    )
    assert total > 1000
    expected = Frames(1, 480).draw("", f"turn {first + 1150:,}  micro1", [SeatLine("agent 0", f"{total:,g}")])
    rows = expected.shape[0] // 8
    assert abs(frames[0][-rows:] - expected[-rows:]).max() <= 12


WORLDS = """
import os

import numpy as np
from gymnasium import spaces

from flagfall import StepResult, Task


class _World(Task):
    observation_space = spaces.Discrete(9)
    action_space = spaces.Discrete(2)

    def _reset(self, seed):
        self.now = 0
        return 0

    def _step(self, action):
        self.now += 1
        return StepResult(self.now, 1.0, self.now == 3)

    def reached_terminal_state(self):
        return self.now == 3


class Small(_World):
    def render(self, mode="rgb"):
        return np.full((5, 7, 3), 40 * self.now, np.uint8)


class Wide(_World):
    def render(self, mode="rgb"):
        return np.full((301, 901, 3), 200, np.uint8)


class Words(_World):
    def render(self, mode="rgb"):
        if mode == "ansi":
            return "at \\x1b[41m" + str(self.now) + "\\x1b[0m \\u202e<b>\\x07"
        raise NotImplementedError


class Blind(_World):
    pass


class Crowd(_World):
    players = tuple(map(str, range(258)))

    def _reset(self, seed):
        self.now = 0
        return {"255": 0}

    def _step(self, actions):
        self.now += 1
        return StepResult({str(255 + self.now % 2): 0}, {}, self.now == 3)

    def render(self, mode="rgb"):
        return np.full((5, 7, 3), self.now, np.uint8)

    def describe_action(self, action, player=None):
        return f"{player} goes"


class Priority(_World):
    def render(self, mode="ansi"):
        if mode == "ansi":
            return str(os.nice(0))
        raise NotImplementedError
"""


@pytest.fixture
def worlds(tmp_path, monkeypatch):
    """Return a function that plays tasks of a user's own file."""
    (tmp_path / "worlds.py").write_text(WORLDS)
    monkeypatch.chdir(tmp_path)

    def play(*names):
        path = tmp_path / "own.jsonl"
        words = [word for name in names for word in ("--task", f"worlds.py:{name}")]
        call = [sys.executable, "-m", "flagfall", "run", "--agent", "random", "--clock", "virtual", "--quiet"]
        subprocess.run([*call, *words, "--journal", str(path)], check=True, cwd=tmp_path)
        return path

    return play


def test_worlds_of_all_sizes_texts_and_none_are_frames_of_one_size(export, worlds, tmp_path):
    path = worlds("Small", "Wide", "Words", "Blind")
    assert export(path, "own.gif", "--trust").err == ""
    frames, _ = frames_of(tmp_path / "own.gif")
    assert len({frame.shape for frame in frames}) == 1
    assert len(frames) == 4 + 4 + 4 + 3 + HOLD
    assert all(side % 2 == 0 for side in frames[0].shape[:2])
    middle = frames[0].shape[1] // 2
    assert [frames[at][100, middle].tolist() for at in (1, 5)] == [[40] * 3, [200] * 3]


def test_seats_beyond_those_that_are_shown_have_no_frames(export, worlds, tmp_path):
    worlds("Small")
    path = tmp_path / "crowd.jsonl"
    flagfall.run(
        "worlds.py:Crowd", [lambda _: 1] * 258, clock="virtual", scheduler="sequential:1", journal=path
    )
    ended = export(path, "crowd.gif", "--trust")
    assert (ended.code, ended.err) == (0, "")
    assert len(frames_of(tmp_path / "crowd.gif")[0]) == 3 + HOLD


def test_who_waits_for_a_file_gets_it_at_the_priority_of_the_command(worlds):
    path = worlds("Priority")
    blocks: dict[str, Any] = replay_blocks(path, trust=True)
    _, shown = decoded(blocks["frames-0"])
    assert set(shown.values()) == {str(os.nice(0))}
    with closing(RecordedMatch(path, trust=True)) as match:  # as a server shows it beside matches
        match.read_all()
        _, shown = decoded(match.frames(0))
    assert set(shown.values()) == {str(min(19, os.nice(0) + NICENESS))}


def test_pictures_of_own_modules_need_trust(export, worlds, tmp_path):
    path = worlds("Small")
    ended = export(path, "own.mp4")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"flagfall: {path}: there are no pictures for a video: ")
    assert ended.err.endswith("need --trust\n")
    assert not (tmp_path / "own.mp4").exists()


def test_a_video_ends_where_the_execution_differs(export, game, tmp_path):
    events = list(read_journal(game))
    (at, turn) = next(
        (at, of) for at, of in enumerate(events) if isinstance(of, TurnPlayed) and of.turn == 20
    )
    events[at] = replace(turn, reward=99)
    path = write(tmp_path / "other.jsonl", events)
    ended = export(path, "other.mp4")
    assert ended.code == 1
    assert (
        "other.jsonl: pictures end at turn 20, where the execution differs from the journal: rew" in ended.err
    )
    assert ended.err.count("\n") == 1
    assert len(frames_of(tmp_path / "other.mp4")[0]) == 20 + HOLD


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("", "no format is chosen; add --to trace|"),
        ("x.avi", "x.avi: its ending names no format; add --to "),
        ("x.gif -o y.gif", "--output y.gif: the output is x.gif already; give one of them"),
        ("--to trace --turns 0:5", "--turns is an option of videos: --to mp4 or gif"),
        ("x.parquet --speed clock", "--speed is an option of videos"),
        ("x.mp4 --speed 0", "--speed '0': write turns a second from 0.1 to 1000, or clock"),
        ("x.mp4 --speed nan", "--speed 'nan': write turns"),
        ("x.mp4 --turns 7", "--turns '7': write the first and the last turn"),
        ("x.mp4 --turns 900:999", "there are no turns 900:999; the journal has 0:499"),
        ("nowhere/x.mp4", "nowhere/x.mp4 cannot be written: No such file"),
    ],
)
def test_mistakes_get_one_line_and_leave_no_file(export, game, tmp_path, words, what):
    ended = export(game, *words.split())
    assert (ended.code, ended.out) == (2, "")
    assert what in ended.err
    assert ended.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_match(export):
    ended = export(FIXTURES / "tournaments" / "interrupted", "x.mp4")
    assert ended.code == 2
    assert "a video shows one match: name one of its journals, such as " in ended.err


def test_the_extra_is_named(export, game, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    ended = export(game, "x.mp4")
    assert (ended.code, ended.err) == (
        2,
        "flagfall: videos need the extra video: pip install 'flagfall[video]'\n",
    )


def test_too_many_frames_are_refused(export, game, tmp_path, monkeypatch):
    form = video._GIF._replace(max_frames=30)
    monkeypatch.setattr(video, "write_gif", partial(video.write_video, form))
    ended = export(game, "x.gif")
    assert (ended.code, list(tmp_path.iterdir())) == (2, [])
    assert "the video would have more than 30 frames: choose a part with --turns" in ended.err


def test_a_full_disk_leaves_no_half_file(game, tmp_path):
    words = f"ulimit -f 4; exec '{sys.executable}' -B -m flagfall export '{game}' x.mp4"
    done = subprocess.run(
        ["/bin/bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("flagfall: x.mp4 cannot be written: ffmpeg: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_hostile_texts_stay_in_their_lines():
    names = ["\u202eevil\x1b[31m\x00", "名" * 300, "a\u0301" * 90, "", *"bcdefghijkl"]
    seats = [SeatLine(name, "1e+300", "disqualified") for name in names]
    drawing = Frames(len(names), 1024)
    first = drawing.draw("x" * 10_000 + "\n" * 10_000 + "\t\x1b[999;", "t" * 10_000, seats)
    again = drawing.draw(np.zeros((1, 3000, 3), np.uint8), "", [])
    assert first.shape == again.shape
    assert first.shape[0] < 1024 + (2 + MAX_CAPTION_SEATS) * 30
