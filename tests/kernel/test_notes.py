"""Notes of agents on their turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from flagfall import read_journal, verify
from flagfall.events import TurnPlayed
from flagfall.kernel.notes import LEFT_OUT, MAX_NOTE_BYTES, MAX_NOTES_BYTES, MAX_SUMS
from flagfall.playing import run
from flagfall.tasks.building import rebuild

NOTING = """
class Noting:
    def start(self, briefing):
        self.note = briefing.note
        self.turns = 0
        self.note({"ready": True})

    def reply(self, byte, reward):
        self.turns += 1
        if self.turns % 10 == 0:
            self.note({"prompt": "p", "tokens": 2, "seconds": 0.5, "turn": {"n": self.turns}})
        return 32
"""


class Agent:
    """Makes the given notes, one a turn."""

    def __init__(self, *notes: Any) -> None:
        self._notes = list(notes)

    def start(self, briefing: Any) -> None:
        self._note = briefing.note

    def reply(self, _byte: int, _reward: float) -> int:
        if self._notes:
            self._note(self._notes.pop(0))
        return 32


def turns(path: Path) -> list[TurnPlayed]:
    return [event for event in read_journal(path) if isinstance(event, TurnPlayed)]


def play(path: Path | None, *notes: Any, steps: int = 20, **options: Any) -> Any:
    return run("micro1", Agent(*notes), steps=steps, clock="virtual", journal=path, **options)


def test_a_note_is_in_the_record_of_its_turn_and_others_stay_plain(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    result = play(path, "one", {"tokens": 3}, steps=600)
    notes = {turn.turn: turn.note for turn in turns(path) if turn.note is not None}
    assert notes == {0: "one", 1: {"tokens": 3}}
    kinds = [msgspec.json.decode(line)["event"] for line in path.read_bytes().splitlines()]
    assert (kinds.count("turn"), kinds.count("turns") > 1) == (2, True)
    assert result.seats[0].stats.noted == {"tokens": 3}
    assert verify(path, rebuild).turns == 600
    without = tmp_path / "without.jsonl"
    play(without, steps=600)
    assert [(turn.observation, turn.action) for turn in turns(path)] == [
        (turn.observation, turn.action) for turn in turns(without)
    ]


@pytest.mark.parametrize("host", ["task", "thread", "process"])
def test_notes_come_from_every_host(tmp_path: Path, host: Any) -> None:
    (tmp_path / "noting.py").write_text(NOTING)
    path = tmp_path / "run.jsonl"
    result = run("micro1", f"{tmp_path}/noting.py:Noting", host=host, steps=25, journal=path)
    assert result.seats[0].disqualified is None
    noted = {"prompt": "p", "tokens": 2, "seconds": 0.5}
    assert {turn.turn: turn.note for turn in turns(path) if turn.note} == {
        0: {"ready": True},
        9: {**noted, "turn": {"n": 10}},
        19: {**noted, "turn": {"n": 20}},
    }
    assert result.seats[0].stats.noted == {"tokens": 4, "seconds": 1.0}


def test_what_json_cannot_express_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    play(path, object(), {"x": float("nan"), "y": True, "z": "1"}, "\ud800")
    found = [turn.note for turn in turns(path)[:3]]
    assert found == ["<object>", {"x": None, "y": True, "z": "1"}, "'\\ud800'"]


def test_an_agent_cannot_flood_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    long = "x" * (MAX_NOTE_BYTES - 2)
    result = play(path, long + "x", long, {"x": 1})
    assert [turn.note for turn in turns(path)[:3]] == [None, long, {"x": 1}]
    assert result.seats[0].stats.noted == {LEFT_OUT: 1, "x": 1}
    fitting = MAX_NOTES_BYTES // MAX_NOTE_BYTES
    result = play(None, *[long] * (fitting + 7), steps=fitting + 10)
    assert result.seats[0].stats.noted == {LEFT_OUT: 7}


def test_sums_have_a_bounded_number_of_names() -> None:
    result = play(None, {f"n{number}": 1 for number in range(100)}, {"n0": 2, "x" * 41: 1, "z": 10**400})
    noted = result.seats[0].stats.noted
    assert len(noted) == MAX_SUMS
    assert noted["n0"] == 3


@pytest.mark.parametrize("big", [2**64 - 1, 2**53, 1e308, -1e308])
def test_sums_are_bounded_so_that_every_format_can_hold_them(big: float) -> None:
    noted = play(None, {"x": big}, {"x": big}, {"y": 1}).seats[0].stats.noted
    assert abs(noted.get("x", 0)) <= 2**53
    assert noted[LEFT_OUT] >= 1
    assert noted["y"] == 1


def test_the_newest_note_of_a_turn_is_kept_and_seats_have_their_own(tmp_path: Path) -> None:
    def noting(name: str) -> Any:
        async def play_seat(seat: Any) -> None:
            async for turn in seat:
                if turn.number % 2:
                    seat.note(f"{name} old")
                    seat.note(f"{name} {turn.number}")
                seat.reply(turn.observation[0] % 1 if isinstance(turn.observation, list) else 0)

        return play_seat

    path = tmp_path / "run.jsonl"
    run("pettingzoo:classic/rps_v2", [noting("a"), noting("b")], steps=6, clock="virtual", journal=path)
    found = [(turn.turn, turn.seat, turn.note) for turn in turns(path) if turn.note]
    assert found
    assert found == [(turn, seat, f"{'ab'[seat]} {turn}") for turn, seat, _ in found]


def test_a_note_after_the_end_of_a_match_is_dropped() -> None:
    kept: list[Any] = []

    class Keeping(Agent):
        def start(self, briefing: Any) -> None:
            super().start(briefing)
            kept.append(briefing.note)

    result = run("micro1", Keeping(), steps=3, clock="virtual")
    kept[0]({"late": 1})
    assert result.seats[0].stats.noted == {}
