import json
import random
import re
from functools import partial

import numpy as np
import pytest
import trio

from flagfall import Journal, read_journal
from flagfall.errors import HostFault, UsageError
from flagfall.events import SCHEMA, MatchEnded, TurnPlayed
from flagfall.kernel.channels.arrays import restore_arrays
from flagfall.recording.journal.format import encode
from flagfall.recording.journal.reader import JournalError
from flagfall.recording.verify import verify
from flagfall.timing import VirtualClock

MATCHES = {
    "bytes": lambda lab: ([lab.Echo(12), lab.Echo(3), lab.Echo(9)], [lab.Guesser]),
    "owed": lambda lab: ([lab.Echo(12)], [lab.Repeater]),
    "arrays": lambda lab: ([lab.Grid(6), lab.Grid(4)], [lab.pair]),
    "duel": lambda lab: ([lab.Duel(7), lab.Duel(8)], [lab.Dreamer, lab.Dreamer]),
    "late": lambda lab: ([lab.Echo(30)], [lab.Dreamer]),
}


@pytest.fixture
def play(lab, tmp_path):
    """Record one of the matches; gives the path and how to build it again."""

    def record(name, file="j", **options):
        tasks, agents = MATCHES[name](lab)
        lab.run(Journal(tmp_path / file), lab.Tasks(*tasks), *agents, **options)
        return tmp_path / file, lambda _header: lab.Tasks(*MATCHES[name](lab)[0])

    return record


@pytest.mark.parametrize("name", MATCHES)
@pytest.mark.parametrize("file", ["j", "j.zst"])
@pytest.mark.parametrize("virtual", [True, False], ids=["virtual", "wall"])
def test_what_was_played_is_played_again(play, name, file, virtual):
    path, rebuild = play(name, file, virtual=virtual)
    found = verify(path, rebuild)
    assert found.ok, found
    played = [event for event in read_journal(path) if type(event) is TurnPlayed]
    assert found.turns == played[-1].turn + 1
    assert "are as they were recorded" in str(found)


@pytest.mark.parametrize("steps", [1, 5, 11, 12, 13, 23])
@pytest.mark.parametrize("name", MATCHES)
def test_a_match_that_was_cut_verifies(play, name, steps):
    path, rebuild = play(name, steps=steps)
    assert verify(path, rebuild).ok


@pytest.mark.parametrize("name", ["bytes", "duel"])
@pytest.mark.parametrize("turn", [0, 4, 6, 11])
def test_a_match_that_was_stopped_verifies(lab, tmp_path, name, turn):
    async def main():
        stop = trio.Event()
        sink = lambda event: stop.set() if getattr(event, "turn", None) == turn else None  # noqa: E731
        tasks, agents = MATCHES[name](lab)
        await lab.match(
            Journal(tmp_path / "j"), lab.Tasks(*tasks, rounds=9), *agents, sinks=[sink], stop=stop
        )

    trio.run(main, clock=VirtualClock())
    last = list(read_journal(tmp_path / "j"))[-1]
    assert type(last) is MatchEnded
    assert last.reason == "stopped"
    found = verify(tmp_path / "j", lambda _header: lab.Tasks(*MATCHES[name](lab)[0], rounds=9))
    assert found.ok, found


class Stopper:
    """Has the match stopped when it is asked in a phase, and then takes its time."""

    def __init__(self, phase, action, stop):
        self.phase, self.action, self.stop = phase, action, stop

    def act(self, _observation):
        return self.action

    async def init(self, _observation):
        await self.asked("init")

    async def result(self, _observation, _reward):
        await self.asked("result")

    async def asked(self, phase):
        if phase == self.phase:
            self.stop.set()
            await trio.sleep(0.5)


@pytest.mark.parametrize("phase", ["init", "result"])
@pytest.mark.parametrize("name", ["arrays", "duel"])
def test_a_match_that_was_stopped_between_turns_verifies(lab, tmp_path, name, phase):
    async def main():
        stop = trio.Event()
        tasks, agents = MATCHES[name](lab)
        stoppers = [Stopper(phase, (1, 1) if name == "arrays" else 1, stop) for _ in agents]
        await lab.match(Journal(tmp_path / "j"), lab.Tasks(*tasks), *stoppers, stop=stop)

    trio.run(main, clock=VirtualClock())
    last = list(read_journal(tmp_path / "j"))[-1]
    assert type(last) is MatchEnded
    assert last.reason == "stopped"
    found = verify(tmp_path / "j", lambda _header: lab.Tasks(*MATCHES[name](lab)[0]))
    assert found.ok, found


@pytest.mark.parametrize("turn", [0, 4, 11, 12])
@pytest.mark.parametrize("grid", [False, True])
def test_a_match_whose_agents_fell_verifies(lab, tmp_path, turn, grid):
    class Crasher:
        turn = 0

        def act(self, _observation):
            self.turn += 1
            if self.turn > turn:
                raise ValueError
            return (1, 1) if grid else 7

    def tasks(_header):
        return lab.Tasks(lab.Grid(12) if grid else lab.Echo(12), lab.Grid(5) if grid else lab.Echo(5))

    result = lab.run(Journal(tmp_path / "j"), tasks(None), Crasher)
    assert result.reason == "seats"
    found = verify(tmp_path / "j", tasks)
    assert found.ok, found


@pytest.mark.parametrize("grid", [False, True])
def test_a_match_that_was_void_verifies(lab, tmp_path, grid):
    def tasks(_header=None):
        return lab.Tasks((lab.Grid if grid else lab.Echo)(9, breaks_at=4))

    with pytest.raises(HostFault):
        lab.run(Journal(tmp_path / "j"), tasks(), lab.pair if grid else lab.Guesser)
    found = verify(tmp_path / "j", tasks)
    assert found.ok, found


def test_a_larger_match_verifies_and_is_closed(lab, tmp_path):
    lab.run(Journal(tmp_path / "j"), lab.Tasks(lab.Echo(30), rounds=50))
    again = lab.Tasks(lab.Echo(30), rounds=50)
    found = verify(tmp_path / "j", lambda _header: again)
    assert (found.ok, found.turns, found.tasks) == (True, 1500, 50)
    assert again.closed == 1
    assert len(again.outcomes) == 50


# Changes with true seals: only the re-execution can tell.


def change(lab, path, number, **fields):
    """Change fields of the how-manieth event, and seal the journal anew."""
    lines = lab.lines_of(path)
    lines[number] = {**lines[number], **fields}
    path.write_bytes(lab.sealed(lines))


@pytest.mark.parametrize(
    ("number", "fields", "words"),
    [
        (2, {"task": "ech"}, 'line 3, before turn 0: task: expected "echo", found "ech"'),
        (2, {"seed": 1}, "line 3, before turn 0: seed of the task: expected"),
        (2, {"index": 1}, "number of the task: expected 0, found 1"),
        (3, {"observation": 1}, "line 4, turn 0, seat 0: observation: expected"),
        (9, {"observation": 1}, "line 10, turn 6, seat 0: observation: expected"),
        (9, {"reward": 0.25}, "line 10, turn 6, seat 0: reward: expected 0.5, found 0.25"),
        (9, {"turn": 7}, "line 10, turn 6: number of the turn: expected 6, found 7"),
        (9, {"seat": 1}, "line 10, turn 6: seat: expected 0, found 1"),
        (9, {"action": 256}, "turn 6, seat 0: action that was played: expected a legal one, found 256"),
        (9, {"action": [1]}, "turn 6, seat 0: action that was played"),
        (9, {"verdict": "late"}, "turn 6, seat 0: action played for a seat that is late: expected 32"),
        (9, {"spent_ns": -1}, "turn 6, seat 0: time that the turn took"),
        (9, {"answers": 3}, "turn 6, seat 0: turn that was answered"),
        (9, {"at_ns": -1}, "turn 6: a turn before the match began"),
        (15, {"result": True}, "line 16, turn 11: result of task echo: expected false, found true"),
        (15, {"reward": 0.0}, "turn 11: reward of task echo"),
        (15, {"steps": 11}, "turn 11: steps of task echo: expected 12, found 11"),
        (15, {"ended": "truncated"}, "turn 11: ended of task echo"),
        (15, {"metrics": {"right": 1}}, "turn 11: metrics of task echo"),
        (15, {"ended": "cut"}, "turn 11: what comes next"),
        (-1, {"reward": 9}, "turn 23: reward owed at the end: expected"),
        (-1, {"turns": 9}, "turn 23: number of turns: expected 24, found 9"),
        (-1, {"reason": "steps"}, "turn 23:"),
        (-1, {"reason": "seats"}, "turn 23:"),
        (0, {"seed": 4}, "line 3, before turn 0: seed of the task"),
        (0, {"agents": ["a", "b"]}, "number of seats: expected 1, found 2"),
        (0, {"steps": 9}, "line 13, turn 9: number of turns: expected no more than 9"),
    ],
)
def test_a_changed_event_is_named(lab, play, number, fields, words):
    path, rebuild = play("bytes")
    change(lab, path, number, **fields)
    found = verify(path, rebuild)
    assert not found.ok
    assert words in str(found)


@pytest.mark.parametrize(
    ("column", "place", "value", "words"),
    [
        ("observation", 6, 1, "line 4, turn 6, seat 0: observation: expected"),
        ("reward", 11, 0.25, "line 4, turn 11, seat 0: reward: expected"),
        ("action", 3, 256, "line 4, turn 3, seat 0: action that was played"),
        ("spent_ns", 5, -1, "line 4, turn 5, seat 0: time that the turn took"),
        ("at_ns", 0, -1, "line 4, turn 0: a turn before the match began"),
        (
            "at_ns",
            4,
            -1,
            "line 4, turn 4: a turn before the match began: expected at least 0 ns, found -1 ns",
        ),
    ],
)
def test_among_turns_that_stand_together_the_very_one_is_named(lab, play, column, place, value, words):
    path, rebuild = play("bytes")
    lines = [json.loads(line) for line in path.read_bytes().splitlines() if b'"seal"' not in line]
    lines[3][column][place] = value
    path.write_bytes(lab.sealed(lines))
    assert words in str(verify(path, rebuild))


def test_a_journal_with_a_line_for_each_turn_verifies(lab, play):
    path, rebuild = play("bytes")
    change(lab, path, 0, schema=1)
    assert b'"turns"' not in path.read_bytes().split(b"\n", 1)[1].replace(b'"turns":24', b"")
    assert verify(path, rebuild).ok


@pytest.mark.parametrize("number", range(1, 32))
@pytest.mark.parametrize("how", ["missing", "doubled", "swapped"])
def test_missing_doubled_and_swapped_events_are_found(lab, play, number, how):
    path, rebuild = play("bytes")
    lines = lab.lines_of(path)
    assert len(lines) == 33
    if how == "missing" and lines[number]["event"] == "ready":
        pytest.skip("that seats were ready is not compared")
    if how == "missing":
        del lines[number]
    elif how == "doubled":
        lines.insert(number, lines[number])
    else:
        lines[number : number + 2] = lines[number + 1], lines[number]
    path.write_bytes(lab.sealed(lines))
    found = verify(path, rebuild)
    assert not found.ok
    assert "turn" in str(found)


def test_a_journal_without_its_last_event_is_not_the_match(lab, play):
    path, rebuild = play("bytes")
    path.write_bytes(lab.sealed(lab.lines_of(path)[:-1]))
    assert "the end of the match is missing" in str(verify(path, rebuild))


def test_another_action_shows_in_what_comes_of_it(lab, play):
    path, rebuild = play("owed")
    change(lab, path, 7, action=33)
    found = verify(path, rebuild)
    assert "line 9, turn 5, seat 0: reward: expected -1, found 0.5" in str(found)


def test_seats_are_named(lab, play):
    path, rebuild = play("duel")
    lines = lab.lines_of(path)
    number = next(n for n, e in enumerate(lines) if e.get("seat") == 1 and e.get("turn") == 3)
    change(lab, path, number, observation=77)
    assert f"line {number + 1}, turn 3, seat 1: observation" in str(verify(path, rebuild))
    del lines[number - 2]
    path.write_bytes(lab.sealed(lines))
    assert "turn 2: seat: expected 0, found 1" in str(verify(path, rebuild))


def test_another_reward_of_a_seat_is_found(lab, play):
    path, rebuild = play("duel")
    lines = lab.lines_of(path)
    number = next(n for n, line in enumerate(lines) if line["event"] == "end")
    first, second = lines[number]["rewards"]
    change(lab, path, number, rewards=[first + 1, second - 1])
    assert f"rewards of task duel: expected [{first},{second}], found" in str(verify(path, rebuild))
    change(lab, path, number, rewards=[first, second])
    assert verify(path, rebuild).ok
    over = next(n for n, line in enumerate(lines) if line["event"] == "over")
    change(lab, path, over, printed=[{"seat": 2, "turn": 0, "text": ""}])
    assert "seat: expected 0 to 1, found 2" in str(verify(path, rebuild))


def test_arrays_differ_by_type_shape_and_value(lab, play):
    path, rebuild = play("arrays")
    shown = lab.lines_of(path)[4]["observation"]
    assert set(shown["view"]) == {"$ndarray", "shape", "data"}
    for field, value in [("$ndarray", "<i4"), ("shape", [3, 2]), ("data", "AAAA" * 8)]:
        view = {**shown["view"], field: value}
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
        change(lab, copy, 4, observation={**shown, "view": view})
        assert "turn 1, seat 0: observation" in str(verify(copy, rebuild))


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1 + 4e-6, "are as they were recorded; 2 values rounded otherwise"),
        (1 + 4e-5, "turn 1, seat 0: observation"),
    ],
)
def test_floats_may_differ_as_far_as_another_processor_rounds_them(lab, play, factor, words):
    path, rebuild = play("arrays")
    turn = lab.lines_of(path)[4]
    view = restore_arrays(turn["observation"]["view"]) * np.float32(factor)
    seen = {**turn["observation"], "view": json.loads(encode(view))}
    change(lab, path, 4, observation=seen, reward=turn["reward"] * factor)
    assert words in str(verify(path, rebuild))


# Changes of bytes.


def flipped(text, at, mask):
    return text[:at] + bytes([text[at] ^ mask]) + text[at + 1 :]


def check_flip(path, rebuild, text, at, mask):
    path.write_bytes(flipped(text, at, mask))
    found = verify(path, rebuild)
    assert not found.ok, (at, mask)
    assert re.search(r"line \d+, (turns? \d+|before turn 0)", str(found)), (at, mask, str(found))
    return found


def test_every_byte_of_a_journal_counts(play):
    path, rebuild = play("bytes", steps=16)
    text = path.read_bytes()
    shake = random.Random(1)
    for at in range(len(text)):
        check_flip(path, rebuild, text, at, 1 << shake.randrange(8))


@pytest.mark.parametrize("name", ["arrays", "duel"])
def test_other_journals_are_sealed_as_well(play, name):
    path, rebuild = play(name)
    text = path.read_bytes()
    shake = random.Random(2)
    for _ in range(300):
        check_flip(path, rebuild, text, shake.randrange(len(text)), shake.randrange(1, 256))


def test_a_byte_of_a_large_journal_is_found_near_its_turn(lab, tmp_path):
    path = tmp_path / "j"
    lab.run(Journal(path), lab.Tasks(lab.Echo(50), rounds=80))
    text = path.read_bytes()
    shake = random.Random(3)
    for _ in range(40):
        at = shake.randrange(len(text))
        found = check_flip(
            path, lambda _h: lab.Tasks(lab.Echo(50), rounds=80), text, at, shake.randrange(1, 256)
        ).difference
        turn = max([0, *(int(n) for n in re.findall(rb'"turn":(\d+)', text[:at]))])
        assert abs(found.line - (text[:at].count(b"\n") + 1)) <= 8
        assert (found.turn or 0) - 512 <= turn <= (found.last_turn or 0) + 512


def test_a_changed_time_is_named_by_its_batch(play):
    path, rebuild = play("bytes", virtual=False)
    text = path.read_text()
    changed = re.sub(r'("turn":0,.*?"spent_ns":.)(\d)', lambda m: m[1] + str((int(m[2]) + 1) % 9 + 1), text)
    assert changed != text
    path.write_text(changed)
    found = verify(path, rebuild)
    assert re.search(r"turns 0 to \d+: the seal in line \d+ does not match", str(found))


def test_a_truncated_journal_is_named(play):
    path, rebuild = play("bytes")
    text = path.read_bytes()
    path.write_bytes(text[:1500])
    assert "the writer was killed" in str(verify(path, rebuild))
    path.write_bytes(b"")
    assert "line 1, before turn 0" in str(verify(path, rebuild))


# What cannot be compared.


@pytest.mark.parametrize("before", [0, 5])
def test_a_task_that_is_an_actor_is_played_again(lab, tmp_path, before):
    def tasks(_header=None):
        return lab.Tasks(*([lab.Echo(before)] if before else []), lab.Waiting(40))

    path = tmp_path / "j"
    lab.run(Journal(path), tasks())
    found = verify(path, tasks)
    assert found.ok, found
    assert found.turns == before + 40
    text = path.read_bytes()
    check_flip(path, tasks, text, text.rindex(b'"spent_ns":[') + 20, 1)


def test_a_scheduler_that_waits_for_real_things_cannot_be_asked_again(lab, tmp_path):
    lab.run(Journal(tmp_path / "j"), lab.PatientTasks(lab.Echo()))
    found = verify(tmp_path / "j", lambda _header: lab.PatientTasks(lab.Echo()))
    assert "task scheduler waits" in str(found)


def test_a_newer_schema_is_refused(lab, play):
    path, rebuild = play("bytes")
    change(lab, path, 0, schema=SCHEMA + 1)
    with pytest.raises(JournalError, match="newer"):
        verify(path, rebuild)


def test_an_error_of_the_caller_is_the_callers(play):
    path, _ = play("bytes")

    def rebuild(_header):
        raise UsageError("no such task")

    with pytest.raises(UsageError, match="no such task"):
        verify(path, rebuild)


def test_another_match_is_found_out(lab, play):
    path, _ = play("bytes")
    for tasks in ([lab.Echo(11)], [lab.Echo(12)], [lab.Echo(13)], [], [lab.Duel(4)], [lab.Grid(4)]):
        found = verify(path, partial(lambda tasks, _header: lab.Tasks(*tasks), tasks))
        assert not found.ok
        assert "turn" in str(found)


def test_a_task_that_breaks_now_is_told(lab, play):
    path, _ = play("bytes")
    assert "now it raises RuntimeError('it is broken')" in str(
        verify(path, lambda _h: lab.Tasks(lab.Echo(12, breaks_at=0)))
    )


def test_the_end_holds_the_reward_owed(play):
    path, _ = play("owed")
    last = list(read_journal(path))[-1]
    assert type(last) is MatchEnded
    assert last.reward == 0.5


@pytest.mark.parametrize(
    "action", [b"\x00\xff", b"", (1, (2, (3,))), [1, [2]], ({"a": (1, 2)},), "dGV4dA==", None, 2.5, {"a": []}]
)
def test_actions_of_any_type_are_given_to_the_task_as_they_were(lab, tmp_path, action):
    class Exact(lab.Echo):  # type: ignore[name-defined,misc]  # a class of the fixture
        """Takes this very action, and pays for its type."""

        def is_legal(self, said):
            return type(said) is type(action) and said == action

        def step(self, said):
            result = super().step(0)
            return result._replace(reward=len(repr(said)))

    lab.run(Journal(tmp_path / "j"), lab.Tasks(Exact(3)), lambda _shown: action)
    turns = [event for event in read_journal(tmp_path / "j") if type(event) is TurnPlayed]
    assert [turn.verdict for turn in turns] == ["on time"] * 3
    assert verify(tmp_path / "j", lambda _header: lab.Tasks(Exact(3))).ok


def test_players_with_actions_of_their_own_verify(lab, tmp_path):
    class Own(lab.Duel):  # type: ignore[name-defined,misc]  # a class of the fixture
        def is_legal_for(self, player, action):
            return type(action) is int and action % 2 == (player == "right")

    agents = [lambda _shown: 4, lambda _shown: 7]
    lab.run(Journal(tmp_path / "j"), lab.Tasks(Own(6)), *agents)
    turns = [event for event in read_journal(tmp_path / "j") if type(event) is TurnPlayed]
    assert {(turn.seat, turn.action, turn.verdict) for turn in turns} == {
        (0, 4, "on time"),
        (1, 7, "on time"),
    }
    assert verify(tmp_path / "j", lambda _header: lab.Tasks(Own(6))).ok

    class Other(lab.Duel):  # type: ignore[name-defined,misc]  # a class of the fixture
        def is_legal_for(self, player, _action):
            return player == "right"

    found = verify(tmp_path / "j", lambda _header: lab.Tasks(Other(6)))
    assert found.difference is not None
    assert (found.difference.what, found.difference.seat) == ("action that was played", 0)


def test_a_task_that_ignores_its_seed_says_why_nothing_was_compared(lab, tmp_path):
    class Unseeded(lab.Echo):  # type: ignore[name-defined,misc]  # a class of the fixture
        not_repeatable = None

        def reset(self, _seed):
            self.not_repeatable = "its episodes do not follow from their seeds"
            return super().reset(random.randrange(2**60))

    lab.run(Journal(tmp_path / "j"), lab.Tasks(Unseeded(5)), lab.Guesser)
    found = verify(tmp_path / "j", lambda _header: lab.Tasks(Unseeded(5)))
    assert not found.ok
    assert found.difference is None
    assert found.not_repeatable == "task echo: its episodes do not follow from their seeds"
