"""What agents in processes print: kept within bounds, with the match and in its journal, and harmless."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.process.prints import MAX_PARTS, Prints
from flagfall.events import MatchEnded, Printed
from flagfall.kernel.outcomes import STDERR_BYTES, end_of
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.journal.writer import Journal
from tests.command_line import call_main
from tests.fakes import CountTask, Played, play, play_here

CONTROL = "start=20s act=10s/20s"

CHUNKS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), max_size=60)


@given(CHUNKS, st.integers(1, 50))
def test_the_beginning_and_the_end_are_kept(chunks: list[tuple[int, int]], most: int):
    turn, whole, turns_of = 0, "", []
    prints = Prints(most, 1, lambda: turn)
    for step, length in chunks:
        turn += step
        text = "".join(chr(65 + (len(whole) + place) % 26) for place in range(length))
        whole += text
        turns_of += [turn] * length
        prints.add(text.encode())
    parts = prints.parts()
    assert sum(part.left_out + len(part.text) for part in parts) == len(whole)
    assert sum(len(part.text) for part in parts) == min(len(whole), 2 * most)
    assert sum(part.left_out > 0 for part in parts) == (len(whole) > 2 * most)
    place = 0
    for part in parts:
        place += part.left_out
        assert whole[place : place + len(part.text)] == part.text
        assert set(turns_of[place : place + len(part.text)]) == {part.turn}
        place += len(part.text)


def test_a_line_each_turn_takes_bounded_room():
    prints = Prints(STDERR_BYTES, 0, count().__next__)
    for _ in range(5_000):
        prints.add(b".")
    parts = prints.parts()
    assert len(parts) == 2 * MAX_PARTS
    assert (parts[0].turn, parts[-1].turn) == (0, 4_999)
    assert sum(part.left_out for part in parts) == 5_000 - 2 * MAX_PARTS


def test_characters_may_come_in_pieces_and_need_not_be_any():
    prints = Prints(10, 0, count().__next__)
    for chunk in (b"\xe2\x82", b"\xac!", b"\xff\xfe"):
        prints.add(chunk)
    assert [part.text for part in prints.parts()] == ["", "\u20ac!", "\ufffd\ufffd"]
    for _ in range(9):
        prints.add("\u20ac".encode())
    assert "\u20ac\u20ac\u20ac" in end_of(prints.parts())


async def played(folder: Path, body: str, steps: int = 3, control: str = CONTROL) -> Played:
    (folder / "bot.py").write_text(f"import os, sys, time\ndef act(turn):\n{body}\n    return 1\n")
    host = ProcessHost(f"{folder}/bot.py:act", "bot")
    return await play_here(CountTask(steps), host, control=control, sinks=[Journal(folder / "m.jsonl")])


def recorded(folder: Path) -> tuple[Printed, ...]:
    (end,) = [event for event in read_journal(folder / "m.jsonl") if isinstance(event, MatchEnded)]
    return end.printed


async def test_prints_of_an_agent_that_was_not_disqualified_are_kept(tmp_path: Path):
    body = "    print('thought', turn)\n    time.sleep(0.05)\n    print('felt', turn, file=sys.stderr)"
    match = await played(tmp_path, body)
    assert match.result is not None
    seat = match.result.seats[0]
    assert seat.disqualified is None
    lines = [f"{how} {turn}" for turn in range(3) for how in ("thought", "felt")]
    assert "".join(part.text for part in seat.printed).splitlines() == lines
    assert seat.stderr_tail == "\n".join(lines)
    assert recorded(tmp_path) == tuple(seat.printed)
    for part in seat.printed:  # it was printed in this turn, or before
        assert all(int(line.split()[1]) <= part.turn for line in part.text.splitlines())


async def test_last_words_of_an_agent_that_is_killed_are_kept(tmp_path: Path):
    body = "    print('I shall think')\n    time.sleep(600)"
    match = await played(tmp_path, body, control="start=20s act=1s/2s")
    assert [event.reason for event in match.disqualified] == ["late"]
    assert [(part.turn, part.text) for part in recorded(tmp_path)] == [(0, "I shall think\n")]


async def test_a_flood_neither_blocks_the_match_nor_fills_the_journal(tmp_path: Path):
    body = "    print('begin' if turn == 0 else '', 'x' * 1_500_000, 'end', turn)"
    match = await played(tmp_path, body)
    assert (match.disqualified, match.verdicts()) == ([], ["on time"] * 3)
    parts = recorded(tmp_path)
    assert sum(len(part.text) for part in parts) == 2 * STDERR_BYTES
    assert sum(part.left_out for part in parts) > 4_000_000
    assert parts[0].text.startswith("begin x")
    assert parts[-1].text.endswith("x end 2\n")
    assert (tmp_path / "m.jsonl").stat().st_size < 30_000


async def test_hostile_prints_reach_no_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    hostile = b"\x1b]0;owned\x07\x1b[2J\r\xff\n" + "\u202egnp\u2028\ud800".encode("utf-8", "surrogatepass")
    body = f"    os.write(1, {hostile!r})"
    await played(tmp_path, body, steps=1)
    shown = call_main(capfd, "results", str(tmp_path / "m.jsonl")).out
    (line,) = [line for line in shown.splitlines() if "owned" in line]
    assert line == r"    \x1b]0;owned\x07\x1b[2J\r" + "\ufffd"
    assert r"    \u202egnp\u2028" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)
    data = json.loads(call_main(capfd, "results", str(tmp_path / "m.jsonl"), "--json").out)
    assert data["seats"][0]["printed"][0]["text"].startswith("\x1b]0;owned")


def test_prints_of_agents_in_the_loop_are_not_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    def act(observation: int) -> int:
        sys.stdout.write(f"thought {observation}\n")
        return 1

    match = play(CountTask(3), act, sinks=[Journal(tmp_path / "m.jsonl")])
    assert match.result is not None
    assert (match.result.seats[0].printed, recorded(tmp_path)) == ((), ())
    assert b"printed" not in (tmp_path / "m.jsonl").read_bytes()
    assert capfd.readouterr().out.count("thought") == 3
