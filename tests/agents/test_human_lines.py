"""Humans at a pipe or a terminal, line by line: what is shown, what is asked, what is said."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import termios
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from flagfall.agents.human.dialogue import MAX_LINE_BYTES, LineConsole, LineInput
from flagfall.agents.human.player import HaltOnDotHuman, Human, HumanAgent, ImmediateHuman
from flagfall.agents.registry import HUMANS
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.timing import VirtualClock
from tests.fakes import Played, play_here

RULE = "-" * 80 + "\n"
ROOM = 63
Pays = dict[int, float]


class Teacher(ByteTask):
    """Says a text, then spaces; pays for the answers to the steps in `pays`."""

    id = "teacher"

    def __init__(self, text: str, pays: Pays | None = None, steps: int = 1000) -> None:
        self.text = text.ljust(steps)[:steps]
        self.pays = pays or {}
        self.heard = ""

    def script(self, rng: Random) -> Generator[int, int, bool]:  # noqa: ARG002
        self.heard = ""
        for step, byte in enumerate(self.text.encode("latin-1")):
            self.heard += chr((yield byte))
            if step in self.pays:
                self.pay(self.pays[step])
        return True


class Sitting:
    """A human at a console of the test's own, and all that was shown there."""

    def __init__(self, kind: Callable[..., Human], fd: int, **options: Any) -> None:
        self.shown = io.StringIO()
        self.stop = trio.Event()
        options.setdefault("stop", self.stop.set)
        self.human = kind(**options)
        console = partial(LineConsole, fd=fd, output=self.shown)
        self.human.open_console = console  # type: ignore[method-assign]

    async def play(
        self, tasks: Any, *, control: str = "untimed", notices: bool = True, **options: Any
    ) -> Played:
        sinks = [self.human.notice] if notices else []
        return await play_here(tasks, self.human, control=control, stop=self.stop, sinks=sinks, **options)


def pipe_with(text: str) -> int:
    out, into = os.pipe()
    os.write(into, text.encode())
    os.close(into)
    return out


def sit(kind: Callable[..., Human], tasks: Any, typed: str, **options: Any) -> tuple[str, Played]:
    """Play on the virtual clock with these lines typed; what was shown, and what was played."""
    own = {key: options.pop(key) for key in ("skip_steps", "stop") if key in options}
    fd = pipe_with(typed)
    try:
        sitting = Sitting(kind, fd, **own)
        played = trio.run(partial(sitting.play, tasks, **options), clock=VirtualClock())
    finally:
        os.close(fd)
    return sitting.shown.getvalue(), played


def shown(teacher: str, learner: str, marks: str, reward: str, steps: int) -> str:
    """What stands above a prompt."""
    return (
        f"{RULE}{teacher:<{ROOM}}  reward:{reward:>8}\n"
        f"{learner:<{ROOM}}    time:{steps:>8}\n{marks.rstrip()}\n"
    )


def said(played: Played) -> str:
    return "".join(map(chr, played.actions()))


# When is asked.


def test_immediate_asks_before_every_step_unless_something_is_queued():
    text, played = sit(ImmediateHuman, Teacher("abcd", {3: 1}, steps=5), "x\nyz..\n\n")
    assert text == (
        shown("a", "", "", "0", 0)
        + "> x\n"
        + shown("ab", "x", "", "0", 1)
        + "> yz..\n"
        + shown("abcd ", "xyz.", "    +", "1", 4)
        + "> \n"
        + shown("abcd ", "xyz. ", "    +", "1", 5)
    )
    assert said(played) == "xyz. "
    assert played.reason == "finished"


def test_halt_on_dot_asks_at_a_dot_and_says_one_for_many():
    teacher = Teacher("a.  bc.d", {2: 0}, steps=9)
    text, played = sit(HaltOnDotHuman, teacher, "q...\nr\n")
    assert text == (
        shown("a.", "", "", "0", 1)
        + "> q...\n"
        + shown("a.  bc.", " q.   ", "", "0", 6)
        + "> r\n"
        + shown("a.  bc.d ", " q.   r  ", "", "0", 9)
    )
    assert said(played) == " q.   r  "


def test_the_usual_human_is_asked_two_spaces_after_the_text_and_rests_a_step():
    text, played = sit(HumanAgent, Teacher("ab", steps=10), "one\n\nx\n")
    assert text == (
        shown("ab  ", "   ", "", "0", 3)
        + "> one\n"
        + shown("ab" + " " * 6, "   one ", "", "0", 7)
        + "> \n"
        + shown("ab" + " " * 8, "   one   ", "", "0", 9)
        + "> x\n"
        + shown("ab" + " " * 8, "   one   x", "", "0", 10)
    )
    assert said(played) == "   one   x"


@pytest.mark.parametrize(("pay", "rest"), [(0, "bc"), (1, "  "), (-1, "  "), (-2, "  ")])
def test_only_a_reward_clears_what_is_queued(pay, rest):
    _text, played = sit(HaltOnDotHuman, Teacher(".", {0: pay}, steps=4), "abc\n")
    assert said(played) == f"a{rest} "


def test_a_reward_makes_the_spaces_before_it_count_no_more():
    text, _played = sit(HumanAgent, Teacher("", {0: 1}, steps=4), "")
    assert text.startswith(shown("   ", "  ", " +", "1", 2) + "> ")


# What is shown.


def test_rewards_have_signs_and_are_summed_up():
    pays = {0: 1, 1: -1, 2: 2, 3: -2, 4: 0, 5: 7, 6: -0.5}
    text, _played = sit(ImmediateHuman, Teacher("abcdefgh", pays, steps=8), "\n" * 8)
    assert text.endswith(shown("abcdefgh", " " * 8, " +-2\u01bb +-", "6.5", 8))


def test_the_lines_scroll_together():
    letters = "".join(chr(97 + step % 26) for step in range(100))
    typed = letters.upper()
    text, _played = sit(ImmediateHuman, Teacher(letters, {98: 1}, steps=100), typed + "\nV\n")
    assert text.endswith(shown(letters[-ROOM:], typed[-ROOM:], " " * 62 + "+", "1", 100))


def test_what_cannot_be_shown_is_a_dot_and_what_is_no_byte_is_left_out():
    text, played = sit(ImmediateHuman, Teacher("\x07\xe9", steps=3), "\xe9\u2192\t\n\n")
    assert said(played) == "\xe9\t "
    assert shown("\xb7\xe9 ", "\xe9\xb7", "", "0", 2) in text


def test_the_last_reward_is_shown_though_no_byte_comes_with_it():
    text, _played = sit(ImmediateHuman, Teacher("a", {0: 1}, steps=1), "x\n")
    assert text.endswith(shown("a", "x", "", "1", 1))


# Commands.


def test_skip_is_silent_until_the_next_instance():
    tasks = [Teacher("a", steps=50), Teacher("b", steps=5)]
    text, played = sit(ImmediateHuman, tasks, "x\nSKIP\ny\nQUIT\n")
    assert said(played) == "x" + " " * 49 + "y"
    assert text.count("> ") == 4
    assert played.reason == "stopped"


def test_skip_is_silent_for_so_many_steps_where_the_instance_cannot_be_seen():
    tasks = [Teacher("a", steps=5), Teacher("b", steps=20)]
    _text, played = sit(ImmediateHuman, tasks, "SKIP\ny\nQUIT\n", notices=False, skip_steps=9)
    assert said(played) == " " * 10 + "y"


@pytest.mark.parametrize("typed", ["x\nQUIT\nmore\n", "x\n"])
def test_quit_and_the_end_of_the_input_end_the_match_cleanly(typed):
    text, played = sit(ImmediateHuman, Teacher("ab"), typed)
    assert played.reason == "stopped"
    assert said(played) == "x"
    assert not played.disqualified
    assert text.endswith(shown("ab", "x", "", "0", 1))


def test_without_a_way_to_end_the_match_the_human_leaves_the_seat():
    _text, played = sit(ImmediateHuman, Teacher("ab"), "x\nQUIT\n", stop=None)
    assert played.reason == "seats"
    assert [fall.reason for fall in played.disqualified] == ["gone"]


def test_a_human_sits_down_anew_for_each_match():
    async def both() -> list[str]:
        fd = pipe_with("ab\nQUIT\nQUIT\n")
        sitting = Sitting(ImmediateHuman, fd)
        first = await sitting.play(Teacher("x", steps=4))
        sitting.stop = trio.Event()
        sitting.human.stop = sitting.stop.set
        sitting.human.open_console = partial(  # type: ignore[method-assign]
            LineConsole, fd=pipe_with("cd\n"), output=sitting.shown
        )
        second = await sitting.play(Teacher("y", steps=2))
        os.close(fd)
        return [said(first), said(second)]

    assert trio.run(both, clock=VirtualClock()) == ["ab", "cd"]


def test_a_task_that_shows_no_bytes_says_so():
    class Numbers(Teacher):
        def _reset(self, seed: int) -> Any:
            super()._reset(seed)
            return "seven"

    _text, played = sit(ImmediateHuman, Numbers("a"), "x\n")
    assert played.disqualified[0].reason == "crashed"
    assert "'seven'" in played.disqualified[0].detail


# Time.


def test_no_virtual_time_passes_while_a_human_thinks():
    async def main() -> tuple[Played, float]:
        fd, into = os.pipe()
        sitting = Sitting(ImmediateHuman, fd)

        def type_later() -> None:
            time.sleep(0.05)
            os.write(into, b"x\n" * 3)
            os.close(into)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(trio.to_thread.run_sync, type_later))
            played = await sitting.play(Teacher("abc", steps=3), control="act=1ms/2ms")
        os.close(fd)
        return played, trio.current_time()

    played, seconds = trio.run(main, clock=VirtualClock())
    assert said(played) == "xxx"
    assert played.verdicts() == ["on time"] * 3
    assert seconds == 0


def test_a_slow_human_misses_turns_and_is_never_out():
    async def main() -> tuple[Played, str]:
        fd, into = os.pipe()
        sitting = Sitting(ImmediateHuman, fd)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def types() -> None:
                await trio.sleep(0.8)
                os.write(into, b"x\n")
                await trio.sleep(0.8)
                os.write(into, b"QUIT\n")

            played = await sitting.play(Teacher("abcdefghijklmnop"), control="act=200ms/500ms")
        os.close(fd)
        os.close(into)
        return played, sitting.shown.getvalue()

    played, text = trio.run(main)
    assert played.reason == "stopped"
    assert not played.disqualified
    verdicts = played.verdicts()
    answered = verdicts.index("on time")
    assert answered >= 2
    assert played.actions()[answered] == ord("x")
    assert verdicts.count("on time") == 1
    assert f"late: a space was played in {answered} turns\n" in text
    assert " " * answered + "x" in text


def test_the_end_of_the_match_reaches_a_human_who_is_asked():
    async def main() -> tuple[Played, float]:
        fd, into = os.pipe()
        sitting = Sitting(ImmediateHuman, fd)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def stops() -> None:
                await trio.sleep(0.05)
                sitting.stop.set()

            began = trio.current_time()
            played = await sitting.play(Teacher("a"))
            took = trio.current_time() - began
        os.close(fd)
        os.close(into)
        return played, took

    played, took = trio.run(main)
    assert played.reason == "stopped"
    assert not played.disqualified
    assert took < 0.5


# Where lines come from.


def read_all(fd: int) -> list[str]:
    async def main() -> list[str]:
        source = LineInput(fd)
        lines = []
        while (line := await source.line()) is not None:
            lines.append(line)
        return lines

    try:
        return trio.run(main)
    finally:
        os.close(fd)


def test_lines_come_from_pipes_files_and_nothing(tmp_path: Path):
    (tmp_path / "lines").write_bytes(b"one\r\n\ntwo \xff\nno end")
    lines = ["one", "", "two \ufffd", "no end"]
    assert read_all(os.open(tmp_path / "lines", os.O_RDONLY)) == lines
    out, into = os.pipe()
    os.write(into, (tmp_path / "lines").read_bytes())
    os.close(into)
    assert read_all(out) == lines
    assert read_all(os.open("/dev/null", os.O_RDONLY)) == []


def test_a_line_without_end_is_taken_in_parts(tmp_path: Path):
    (tmp_path / "long").write_bytes(b"x" * (MAX_LINE_BYTES + 5) + b"\ny")
    lines = read_all(os.open(tmp_path / "long", os.O_RDONLY))
    assert [len(line) for line in lines] == [MAX_LINE_BYTES, 5, 1]


def read_to_the_end(terminal: int) -> str:
    got = b""
    with suppress(OSError):  # how a terminal says that its other end is closed
        while chunk := os.read(terminal, 65_536):
            got += chunk
    os.close(terminal)
    return got.decode()


def test_at_a_terminal_the_typed_line_is_not_shown_twice_and_the_width_is_the_terminals():
    ours, theirs = os.openpty()
    modes = termios.tcgetattr(theirs)
    modes[3] &= ~termios.ECHO  # it would come at its own time, in between
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    os.write(ours, b"x\n\x04")

    async def main() -> None:
        with os.fdopen(os.dup(theirs), "w", encoding="utf-8") as output:
            sitting = Sitting(ImmediateHuman, theirs)
            sitting.human.open_console = partial(  # type: ignore[method-assign]
                LineConsole, fd=theirs, output=output
            )
            await sitting.play(Teacher("ab"))

    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    trio.run(main, clock=VirtualClock())
    os.close(theirs)
    text = read_to_the_end(ours).replace("\r\n", "\n")
    assert text.startswith("-" * 60 + "\na")
    assert text.count("x") == 2  # only in the learner's line of the two pictures after
    assert text.count("-" * 60 + "\n") == 3
    assert text.count("> ") == 2


def test_the_names():
    assert list(HUMANS) == ["human", "human-line", "human-dot", "human-immediate", "human-keys", "human-room"]
