"""Pictures are those of the match, executed again under the rules of `verify`, whatever a task does."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from flagfall import read_journal
from flagfall.cli.runs.plan import from_config
from flagfall.errors import UsageError
from flagfall.events import MatchEnded, TaskEnded, TaskStarted, TurnPlayed
from flagfall.playing import run
from flagfall.tasks.building import rebuild
from flagfall.tasks.catalog import check_imports, make_task
from flagfall.tasks.task import with_pictures
from flagfall.viewer.replay import recorded_match as pictures_module
from flagfall.viewer.replay.execution import Execution
from flagfall.viewer.replay.recorded_match import Pictures, RecordedMatch
from flagfall.viewer.replay.routes import Replays
from tests.viewer.journals import header, write
from tests.viewer.reference_frames import Shown, decoded

SAFE = partial(rebuild, trust=False)


def drawn(
    path: Path, first: int = 0, last: int = 10**9, make: Any = SAFE
) -> tuple[dict[str, Any], dict[Any, Any]]:
    """Return the pictures of a match, executed in this process."""
    execution = Execution(path, make)
    try:
        return decoded(execution.draw(first, last))
    finally:
        execution.close()


def played_again(path: Path) -> dict[tuple[int, str], Shown]:
    """Return what the only task of a match renders, played by hand with the recorded actions."""
    events = list(read_journal(path))
    (start,) = (event for event in events if isinstance(event, TaskStarted))
    turns: dict[int, dict[int, Any]] = {}
    for event in events:
        if isinstance(event, TurnPlayed):
            turns.setdefault(event.turn, {})[event.seat] = event.action
    with with_pictures():
        task = make_task(start.task)
    shown: dict[tuple[int, str], Shown] = {}
    task.reset(start.seed)
    for turn, actions in turns.items():
        shown[turn, "b"] = np.copy(task.render())
        several = len(task.players) > 1
        task.step({task.players[seat]: of for seat, of in actions.items()} if several else actions[0])
    shown[max(turns), "e"] = np.copy(task.render())
    task.close()
    return shown


@pytest.mark.parametrize(
    ("task", "agents", "size"),
    [
        ("vgdl:windfall#0", 1, (90, 80)),
        ("vgdl:causeway#1:observation=image:pixels=7", 1, (91, 49)),
        ("langroom:echo:length=12", 1, (960, 240)),
        ("gym:CartPole-v1", 1, (600, 400)),
        ("duel:lamps", 2, (216, 216)),
        ("gym:FrozenLake-v1?is_slippery=false", 1, (256, 256)),
        ("pettingzoo:classic/tictactoe_v3", 2, (1000, 1000)),
        ("pettingzoo:classic/rps_v2?max_cycles=4", 2, (285, 800)),
    ],
)
def test_pictures_are_what_the_task_renders_before_each_action_and_at_the_end(tmp_path, task, agents, size):
    path = tmp_path / "a.jsonl"
    run(task, ["random"] * agents, clock="virtual", steps=12, scheduler="sequential:1", seed=3, journal=path)
    head, found = drawn(path)
    wanted = played_again(path)
    assert (head["kind"], head["why"]) == ("pictures", "")
    assert (head["scenes"][0]["width"], head["scenes"][0]["height"]) == size
    assert found.keys() == wanted.keys()
    assert [at for at, picture in found.items() if not np.array_equal(picture, wanted[at])] == []


def test_text_is_shown_where_there_is_no_picture(tmp_path):
    path = tmp_path / "a.jsonl"
    run("duel:heaps", ["random", "random"], clock="virtual", steps=4, seed=3, journal=path)
    head, found = drawn(path)
    assert (head["kind"], head["why"]) == ("text", "")
    assert str(found[0, "b"]).startswith("0  o")
    write(path, [header(), TaskStarted(1, "micro1", 0, 5)])
    assert drawn(path)[0]["kind"] == "none"


def test_pictures_do_not_change_the_match_and_windows_stay_closed(tmp_path):
    path = tmp_path / "a.jsonl"
    run("gym:CartPole-v1?render_mode=rgb_array", "random", clock="virtual", steps=5, journal=path)
    window = tmp_path / "b.jsonl"
    run("gym:CartPole-v1", "random", clock="virtual", steps=5, journal=window)
    lines = window.read_bytes().replace(b"gym:CartPole-v1", b"gym:CartPole-v1?render_mode=human")
    window.write_bytes(lines)
    assert drawn(window)[0]["kind"] == "pictures"
    assert drawn(path)[0]["kind"] == "pictures"


def test_observations_that_the_journal_has_as_digests_are_made_again(tmp_path):
    path = tmp_path / "a.jsonl"
    run("vgdl:windfall#0", "random", clock="virtual", steps=5, seed=3, journal=path)
    match = RecordedMatch(path)
    match.read_all()
    assert match.chunk(0)["observation"][0].startswith("digest ")
    head, _ = drawn(path)
    described = head["described"]
    assert described["turn"] == list(range(5))
    assert len(head["texts"][described["observation"][4]]) > 100
    match.close()


# Parts, in a process of its own.


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A match of a game with three parts of 20 turns."""
    path = tmp_path / "game.jsonl"
    run("vgdl:windfall#0", "random", clock="virtual", steps=60, seed=3, journal=path)
    return path


def test_parts_in_any_order_are_those_of_the_whole(game):
    whole = drawn(game)[1]
    pictures = Pictures(game, SAFE)
    try:
        for first in (40, 0, 20, 40):
            head, found = decoded(pictures.part(first, first + 19))
            assert head["why"] == ""
            assert {turn for turn, _ in found} == set(range(first, first + 20))
            assert all(np.array_equal(picture, whole[at]) for at, picture in found.items())
    finally:
        pictures.close()


def test_kept_pictures_are_bounded(game, monkeypatch):
    monkeypatch.setattr(pictures_module, "MAX_KEPT_BYTES", 3000)
    pictures = Pictures(game, SAFE)
    try:
        for first in range(0, 60, 10):
            pictures.part(first, first + 9)
        assert pictures._kept_bytes == sum(map(len, pictures._kept.values())) <= 3000
    finally:
        pictures.close()


def test_a_closed_match_leaves_no_process(game):
    pictures = Pictures(game, SAFE)
    pictures.part(0, 5)
    assert pictures._worker is not None
    process = pictures._worker._process
    pictures.close()
    assert process.poll() is not None
    with pytest.raises(UsageError, match="was closed"):
        pictures.part(6, 9)
    assert pictures._worker is None


def test_a_match_that_is_closed_for_others_is_not_taken_for_one_without_pictures(game, odd, monkeypatch):
    """The page asks again for what has failed, and keeps what it gets."""
    path, make = odd
    monkeypatch.setenv("ODD", "hang")
    monkeypatch.setattr("flagfall.viewer.replay.routes.MAX_OPEN", 1)
    replays = Replays.of(path.parent, rebuild=make)
    reached = Event()
    match = replays.match(path.name)
    match.read_all()
    monkeypatch.setattr(match._pictures, "_watch", lambda _turn: reached.set())
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(match.frames, 0)
        assert reached.wait(60)
        replays.match(game.name)
        with pytest.raises(UsageError, match="was closed while others are looked at: try again"):
            asked.result(60)
    replays.close()


# What the file names.


def test_nothing_that_a_journal_names_is_imported_without_trust(tmp_path):
    (tmp_path / "planted.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    start = TaskStarted(0, "gym:planted:Game-v0", 0, 0)
    path = write(
        tmp_path / "a.jsonl", [header(tasks=["gym:planted:Game-v0"]), start, TurnPlayed(1, 0, "x", 0, "y")]
    )
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        match = RecordedMatch(path)
        match.read_all()
        summary = match.summary()
        assert summary["pictures"]["available"] is False
        assert "would import module 'planted'" in summary["pictures"]["why"]
        assert "--trust" in summary["pictures"]["why"]
        assert match.chunk(0)["observation"] == ["x"]
        assert "would import module 'planted'" in decoded(match.frames(0))[0]["why"]
        match.close()
        assert not (tmp_path / "ran").exists()
        trusting = RecordedMatch(path, trust=True)
        assert "unknown Gymnasium environment 'Game-v0'" in decoded(trusting.frames(0))[0]["why"]
        trusting.close()
        assert (tmp_path / "ran").exists()
    finally:
        os.chdir(before)


def test_of_endless_tasks_only_those_that_could_be_made_are_looked_at(tmp_path, monkeypatch):
    """Pages ask for the summary of a growing match each second."""
    looked: list[str] = []

    def look(task: str) -> None:
        looked.append(task)
        check_imports(task)

    monkeypatch.setattr(pictures_module, "check_imports", look)
    tasks = ["vgdl:windfall#0"] * 100_000
    path = write(tmp_path / "a.jsonl", [header(tasks=tasks), TurnPlayed(1, 0, "x", 0, "y")])
    match = RecordedMatch(path)
    match.read_all()
    assert match.summary()["match"]["tasks_left_out"] == 100_000 - 200
    assert len(looked) == 10_000
    assert "100000 tasks; 10000 are the most" in decoded(match.frames(0))[0]["why"]
    match.close()


def test_no_module_beside_a_journal_is_imported(tmp_path, game, monkeypatch):
    """The working directory is a folder from elsewhere, and holds files named like libraries."""
    for name in ("flagfall", "msgspec", "numpy", "attrs", "sitecustomize", "json", "pickle"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in {"", str(tmp_path)}])
    pictures = Pictures(Path(game.name), SAFE)
    try:
        assert decoded(pictures.part(0, 5))[0]["kind"] == "pictures"
    finally:
        pictures.close()
    assert not (tmp_path / "ran").exists()


def test_tasks_of_a_function_need_the_function(tmp_path):
    config = '{"python": "goals.py:create_tasks"}'
    match = RecordedMatch(
        write(tmp_path / "a.jsonl", [header(tasks=[], config=config), TurnPlayed(1, 0, "x", 0, "y")])
    )
    match.read_all()
    assert match.summary()["pictures"] == {
        "available": False,
        "why": "its tasks were made by a Python function: pictures and names of actions need --config",
        "format": 2,
    }
    match.close()


LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789:"

READING_GAME = "\n".join(
    [
        "BasicGame",
        "    SpriteSet",
        "        avatar > MovingAvatar",
        *(f"        s{ord(letter)} > Immovable color=RED" for letter in LETTERS),
        "    LevelMapping",
        *(f"        {letter} > s{ord(letter)}{' avatar' * (letter == 's')}" for letter in LETTERS),
    ]
)
"""A game that makes a sprite of each letter of its level, which may be any file."""


@pytest.fixture
def named_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A journal of a game of flagfall, and a task that reads a file of the user as its level."""
    (tmp_path / "game.txt").write_text(READING_GAME)
    (tmp_path / "key").write_text("s:hunter2\n")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.jsonl"
    task = f"vgdl:game.txt#{tmp_path / 'key'}:observation=text"
    tasks = ["vgdl:windfall#0", task]
    run(tasks, "random", clock="virtual", scheduler="sequential:1", steps=600, seed=3, journal=path)
    return path, task


def test_a_page_holds_nothing_of_a_file_that_a_journal_names(named_file):
    """The execution observes the text of that file, which the author of the journal does not know."""
    path, task = named_file
    events = list(read_journal(path))
    second = next(at for at, e in enumerate(events) if isinstance(e, TaskStarted) and e.task == task)
    events[second + 1] = replace(events[second + 1], observation="guessed")
    write(path, events)
    match = RecordedMatch(path)
    match.read_all()
    heads = [decoded(match.frames(number))[0] for number in range(len(match.summary()["chunks"]))]
    match.close()
    assert "differs from the journal: observation" in heads[-1]["why"]
    assert '"guessed"' in heads[-1]["why"]
    assert "hunter" not in str(heads)
    assert len(heads[-1]["scenes"]) == 1  # of the first task


def test_a_task_without_a_turn_that_agrees_is_not_drawn(named_file):
    path, task = named_file
    events = list(read_journal(path))
    second = next(at for at, e in enumerate(events) if isinstance(e, TaskStarted) and e.task == task)
    began = events[second]
    turns = 1 + max(e.turn for e in events[:second] if isinstance(e, TurnPlayed))
    metrics = {"ep_length": 0, "reward": 0.0, "win": False, "score": 0.0, "ticks": -1}
    cut = TaskEnded(began.at_ns, task, 1, None, 0.0, 0, "cut", metrics)
    write(path, [*events[: second + 1], cut, MatchEnded(began.at_ns, "stopped", turns)])
    head, found = drawn(path)
    assert head["why"] == ""
    assert max(found) == (turns - 1, "e")
    assert [(scene["width"], scene["height"]) for scene in head["scenes"]] == [(90, 80)]


def test_mistakes_in_a_file_that_a_journal_names_are_not_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("hunter2 is the password\n")
    start = TaskStarted(0, "vgdl:notes.txt", 0, 0)
    path = write(tmp_path / "a.jsonl", [header(tasks=["vgdl:notes.txt"]), start, TurnPlayed(1, 0, 1, 0, 2)])
    why = drawn(path)[0]["why"]
    assert why.startswith("pictures end at turn 0: notes.txt:1:")
    assert "hunter2" not in why


# Tasks that go wrong.

TASKS = """
import os, sys, time
import numpy as np
from gymnasium import spaces
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.schedulers import parse_policy
from flagfall.tasks.task import Task

class Odd(Task):
    id = "odd"
    nil_action = 0
    action_space = spaces.Discrete(5)
    render_modes = ("rgb",)
    max_steps = 6
    how = os.environ.get("ODD", "")

    def _reset(self, seed):
        self.at = 0
        return "begin"

    def _step(self, action):
        self.at += 1
        if self.at == 3 and self.how == "differ":
            return StepResult("another", 0)
        if self.at == 3 and self.how == "raise":
            raise RuntimeError("broken\\x1b[31m " + "long " * 10_000)
        if self.at == 3 and self.how == "hang":
            time.sleep(1000)
        if self.at == 3 and self.how == "wait":
            open(os.environ["GATE"]).read()
        if self.at == 3 and self.how == "exit":
            os._exit(3)
        if self.at == 3 and self.how == "eat":
            self.eaten = bytearray(8 * 1024**3)
        return StepResult(f"step {self.at}", 0)

    def reached_terminal_state(self):
        return False

    def render(self, mode="rgb"):
        print("printed by the task")
        sys.stdout.flush()
        if self.how == "refuse" and self.at >= 3:
            raise ZeroDivisionError("no brush")
        if self.how == "garbage":
            return {"picture": 1}
        return np.full((8, 8, 3), self.at, np.uint8)

def create_tasks():
    return parse_policy("sequential:1", [Odd()])
"""


@pytest.fixture
def odd(tmp_path: Path) -> tuple[Path, Any]:
    """A match of a task that behaves, and the function that makes it again."""
    source = tmp_path / "odd_tasks.py"
    source.write_text(TASKS)
    path = tmp_path / "odd.jsonl"
    make = partial(from_config, str(source))
    run(make(header()), lambda _observation: 1, clock="virtual", journal=path)
    return path, make


@pytest.mark.parametrize(
    ("how", "turns", "why"),
    [
        ("", 6, ""),
        ("differ", 3, "pictures end at turn 3, where the execution differs from the journal: observation"),
        ("raise", 3, "pictures end at turn 3, where the execution differs from the journal: the task"),
        ("eat", 3, "MemoryError"),
        ("refuse", 3, "turn 3 of task odd cannot be drawn: ZeroDivisionError('no brush')"),
        ("garbage", 0, "has no picture: it renders a dict, neither an array nor a text"),
    ],
)
def test_pictures_end_where_a_task_goes_wrong(odd, monkeypatch, how, turns, why):
    path, make = odd
    monkeypatch.setenv("ODD", how)
    pictures = Pictures(path, make)
    try:
        head, found = decoded(pictures.part(0, 100))
    finally:
        pictures.close()
    assert sorted({turn for turn, which in found if which == "b"}) == list(range(turns))
    assert why in head["why"]
    assert len(head["why"]) < 400
    assert "\x1b" not in head["why"]


def test_a_task_that_hangs_costs_the_pictures_from_there_on(odd, monkeypatch):
    path, make = odd
    monkeypatch.setenv("ODD", "hang")
    monkeypatch.setattr(pictures_module, "TURN_SECONDS", 0.5)
    match = RecordedMatch(path, rebuild=make)
    match.read_all()
    try:
        head, found = decoded(match.frames(0))
        assert [turn for turn, _ in found] == [0, 1, 2]
        assert head["why"] == "pictures end at turn 3: the task takes more than 0.5 s for it"
        assert decoded(match.frames(0, (4, 5)))[0]["why"] == head["why"]
        assert match.chunk(0)["observation"] == ["begin", *(f"step {at}" for at in range(1, 6))]
    finally:
        match.close()


def test_a_process_that_was_frozen_goes_on(odd, monkeypatch, tmp_path):
    """A machine may sleep, or a user stop the process, for longer than any turn may take."""
    path, make = odd
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv("ODD", "wait")
    monkeypatch.setenv("GATE", str(gate))
    monkeypatch.setattr(pictures_module, "TURN_SECONDS", 2.0)
    pictures = Pictures(path, make)
    try:
        with ThreadPoolExecutor() as threads:
            drawing = threads.submit(pictures.part, 0, 5)
            with gate.open("w") as opened:  # the process is in its third step
                assert pictures._worker is not None
                process = pictures._worker._process.pid
                os.kill(process, signal.SIGSTOP)
                time.sleep(2.5)
                opened.write("go")
            os.kill(process, signal.SIGCONT)
            head, found = decoded(drawing.result())
    finally:
        pictures.close()
    assert head["why"] == ""
    assert max(found) == (5, "e")


@pytest.mark.parametrize(("how", "why"), [("hang", "executing the match hangs"), ("exit", "has ended")])
def test_a_process_that_is_lost_costs_the_pictures_alone(odd, monkeypatch, how, why):
    path, make = odd
    monkeypatch.setenv("ODD", how)
    if how == "hang":
        monkeypatch.setattr(pictures_module, "SILENT_SECONDS", 3.0)
    pictures = Pictures(path, make)
    try:
        assert why in decoded(pictures.part(0, 5))[0]["why"]
        assert why in decoded(pictures.part(4, 5))[0]["why"]
        assert pictures._worker is None
    finally:
        pictures.close()


def test_the_pictures_of_a_match_that_is_played_grow_without_another_execution(game):
    whole = game.read_bytes()
    wanted = drawn(game)[1]
    game.write_bytes(whole[: len(whole) // 3])
    made = []

    def make(began: Any) -> Any:
        made.append(began)
        return SAFE(began)

    execution = Execution(game, make)
    counts = []
    for size in (len(whole) // 3, len(whole) // 2, len(whole) * 2 // 3, len(whole)):
        game.write_bytes(whole[:size])
        assert execution.can_draw(0)
        head, found = decoded(execution.draw(0, 59))
        assert head["why"] == ""
        assert all(np.array_equal(picture, wanted[at]) for at, picture in found.items())
        counts.append(len(found))
    assert counts == sorted(set(counts))
    assert counts[-1] == len(wanted)
    assert len(made) == 1
    assert not execution.can_draw(7)
    execution.close()
