"""The full screen for humans: in a real terminal, which tmux is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flagfall.agents.human.dialogue import TAPE_STEPS, Tape
from flagfall.agents.human.full_screen import score
from flagfall.agents.registry import HUMANS
from flagfall.errors import UsageError
from tests.agents.terminal import Terminal, open_terminal

PROGRAM = """
import sys
import trio
from flagfall.agents.registry import HUMANS
from flagfall.playing import play
from flagfall.tasks.commai.byte_task import ByteTask

class Teacher(ByteTask):
    id = "teacher"

    def script(self, rng):
        yield from self.say(b"say: y")
        heard = yield ord(".")
        self.pay(1 if heard == ord("y") else -1)
        yield from self.say(b" well done")
        if sys.argv[1] == "crash":
            raise ValueError("the task broke")
        for _ in range(1 if sys.argv[1] == "end" else 100_000):
            yield ord("~")
        return True

async def main():
    stop = trio.Event()
    human = HUMANS["human"](stop=stop.set, world=lambda: "+--+\\n|@ |\\n+--+")
    result = await play(Teacher(), human, time_control="untimed", stop=stop, sinks=[human.notice])
    print("ended:", result.reason, result.turns)

trio.run(main)
"""


SCRIPT = f"""
trap : INT
stty -g >before
{sys.executable} -W error program.py $1 2>errors
stty -g >after
echo stty was saved
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "run.sh").write_text(SCRIPT)
    with open_terminal(tmp_path) as terminal:
        yield terminal


def play(terminal: Terminal, how: str) -> None:
    terminal.run(f"sh run.sh {how}")


def assert_sane(terminal: Terminal) -> None:
    terminal.wait_for("stty was saved")
    assert (terminal.folder / "before").read_text() == (terminal.folder / "after").read_text()
    state = terminal.call("display-message", "-p", "#{cursor_flag} #{alternate_on} #{mouse_any_flag}")
    assert state.split() == ["1", "0", "0"]


def test_a_human_reads_answers_is_paid_and_quits(terminal: Terminal):
    play(terminal, "quit")
    asked = terminal.wait_for("teacher say: y.", "YOUR TURN").splitlines()
    assert len(asked) == 24
    assert asked[0].split() == ["flagfall", "time", "6", "reward", "0", "YOUR", "TURN"]
    assert asked[3].startswith("learner       _ ")
    assert [line[-4:] for line in asked[1:4]] == ["+--+", "|@ |", "+--+"]
    terminal.type("yx", "BSpace", "Enter")
    paid = terminal.wait_for("reward 1 (last +1)", "well done", "steps/s").splitlines()
    assert paid[3].startswith("learner       y")
    assert paid[4] == "reward         +"

    terminal.type("Tab")
    terminal.wait_for("paused: Enter steps")
    before = time_on(terminal.screen())
    terminal.type("Enter")
    terminal.wait_for(f"time {before + 1} ")
    terminal.type("Tab", "Up", "Up")
    terminal.wait_for("50 steps/s")
    terminal.type("!", "Enter")  # nobody asked
    terminal.wait_until(lambda screen: any("!" in line for line in screen.splitlines() if "learner" in line))
    terminal.type("QUIT", "Enter")
    terminal.wait_for("ended: stopped")
    assert_sane(terminal)
    assert not (terminal.folder / "errors").read_text()


def time_on(screen: str) -> int:
    words = screen.split()
    return int(words[words.index("time") + 1])


@pytest.mark.parametrize(
    ("how", "keys", "told"),
    [
        ("end", ["y", "Enter"], None),
        ("crash", ["y", "Enter"], "the task broke"),
        ("ctrl-c", ["C-c"], "KeyboardInterrupt"),
        ("skip", ["C-n"], None),
    ],
)
def test_the_terminal_is_left_as_it_was_however_the_match_ends(terminal: Terminal, how, keys, told):
    play(terminal, how)
    terminal.wait_for("teacher say: y.", "YOUR TURN")
    terminal.type(*keys)
    if how == "skip":
        terminal.wait_for("~~~~~~~~", "time 100")
        terminal.type("C-x")
    assert_sane(terminal)
    errors = (terminal.folder / "errors").read_text()
    assert told in errors if told else not errors


# The score.


def plain(tape: Tape, columns: int, rows: int) -> list[str]:
    return ["".join(text for _colour, text in line) for line in score(tape, columns, rows)]


def taped(steps: int, *, start: int = 0) -> Tape:
    tape = Tape()
    for step in range(start, start + steps):
        tape.hear(step, ord("a") + step % 26, 1 if step % 10 == 9 else 0)
        tape.say(ord("A") + step % 26)
    return tape


def test_the_score_is_written_in_systems_that_stay_where_they_are():
    lines = plain(taped(25), columns=19, rows=9)
    assert lines == [
        "10 " + "\u2500" * 16,
        "teacher klmnopqrst",
        "learner KLMNOPQRST",
        "reward           +",
        "20 " + "\u2500" * 16,
        "teacher uvwxy",
        "learner UVWXY",
        "reward       ",
    ]
    assert plain(taped(26), columns=19, rows=9)[:4] == lines[:4]


def test_the_score_marks_where_the_next_byte_will_stand():
    tape = taped(2)
    tape.hear(2, ord("."), -1)
    assert plain(tape, 40, 4)[1:] == ["teacher ab.", "learner AB_", "reward    -"]
    assert plain(Tape(), 40, 4)[1:] == ["teacher ", "learner ", "reward  "]


@pytest.mark.parametrize("size", [(80, 24), (9, 1), (3, 0), (300, 100)])
def test_the_score_fits_whatever_the_terminal_is_like(size):
    columns, rows = size
    for steps in (0, 1, 71, TAPE_STEPS + 1000):
        lines = plain(taped(steps), columns, rows)
        assert len(lines) <= max(rows, 4)
        assert all(len(line) <= max(columns, 9) for line in lines)


def test_an_old_tape_forgets_and_stays_aligned():
    tape = taped(TAPE_STEPS + 12)
    tape.hear(TAPE_STEPS + 12, ord("."), 0)
    voices = tape.newest(TAPE_STEPS)
    assert [len(voice) for voice in voices] == [TAPE_STEPS, TAPE_STEPS - 1, TAPE_STEPS]
    assert voices[0][:-1].upper() == voices[1]


def test_turns_that_were_not_seen_have_their_place():
    tape = taped(2)
    tape.hear(5, ord("f"), 0)
    tape.hear(6, ord("g"), 0)
    assert tape.newest(10)[:2] == ("ab???fg", "AB    ")
    assert tape.missed == 4
    assert tape.time == 6


# What cannot be.


def test_without_a_terminal_it_says_what_else_there_is():
    with pytest.raises(UsageError, match="needs a terminal; play as human-line"):
        HUMANS["human"]()


def test_without_urwid_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "urwid", None)
    monkeypatch.delitem(sys.modules, "flagfall.agents.human.full_screen")
    with pytest.raises(UsageError, match=r"pip install 'flagfall\[human\]'"):
        HUMANS["human"]()
