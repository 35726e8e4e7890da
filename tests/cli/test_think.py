"""`flagfall run --think`, what a journal says of it, and recorded think times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flagfall import UsageError, run
from flagfall.events import MatchStarted, StallSeen, TurnPlayed
from flagfall.recording.journal.reader import read_journal
from flagfall.timing import MS

LINE = "run --task micro1 --steps 30 --clock virtual"


def header(file: str | Path) -> MatchStarted:
    event = next(iter(read_journal(file)))
    assert isinstance(event, MatchStarted)
    return event


def spent_ms(file: str | Path) -> list[float]:
    return [event.spent_ns / MS for event in read_journal(file) if isinstance(event, TurnPlayed)]


def test_one_model_is_for_all_agents_and_several_are_one_for_each(call, folder):
    assert call(f"{LINE} --agent random silent --think 20ms -o all.jsonl").code == 0
    assert [set(spent_ms(f"all-{number}.jsonl")) for number in range(2)] == [{20}, {20}]
    one_each = ["--think", "uniform(1ms, 2ms) network=1ms", "none"]
    assert call(f"{LINE} --agent random silent -o each.jsonl", *one_each).code == 0
    assert all(3 <= spent <= 4 for spent in spent_ms("each-0.jsonl"))
    assert set(spent_ms("each-1.jsonl")) == {0}
    assert header("each-0.jsonl").think == ["act=uniform(1ms, 2ms) network=1ms"]
    assert b"think" not in Path("each-1.jsonl").read_bytes()
    assert call(f"{LINE} --agent silent -o plain.jsonl").code == 0
    assert (folder / "plain.jsonl").read_bytes() == (folder / "each-1.jsonl").read_bytes()


@pytest.mark.usefixtures("folder")
def test_agents_of_one_match_have_their_own_models(call):
    line = "run --task duel:lamps --agent random random --clock virtual -o lamps.jsonl"
    assert call(line, "--think", "10ms", "none").code == 0
    assert header("lamps.jsonl").think == ["act=10ms", ""]
    turns = [event for event in read_journal("lamps.jsonl") if isinstance(event, TurnPlayed)]
    assert {(turn.seat, turn.spent_ns) for turn in turns} == {(0, 10 * MS), (1, 0)}


@pytest.mark.usefixtures("folder")
def test_the_same_seed_gives_the_same_journal_and_another_one_does_not(call):
    think = ["--think", "lognormal(20ms, 0.8) network=exponential(2ms) loss=0.1/20ms stall=0.1/100ms"]
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        line = f"{LINE} --agent random --time-control act=90ms/5s -s {seed} -o {name}.jsonl"
        assert call(line, *think).code == 0
    one, again, other = (Path(f"{name}.jsonl").read_bytes() for name in ("one", "again", "other"))
    assert one == again != other
    assert any(isinstance(event, StallSeen) for event in read_journal("one.jsonl"))
    assert call("verify one.jsonl").code == 0
    assert call("results one.jsonl").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--clock", "virtual", "--think", "20"], "--think: latency, column 1: '20' has no unit"),
        (["--clock", "virtual", "--think", "1ms", "2ms", "3ms"], "--think: 3 models for 2 agents"),
        (
            ["--clock", "virtual", "--think", "recorded(none.jsonl)"],
            "--think: none.jsonl: line 1: cannot be read",
        ),
        (["--clock", "virtual", "--think", "recorded(bots.py)"], "--think: bots.py: line 1"),
        (["--clock", "virtual", "--think", "recorded(.)"], "--think: .: line 1: cannot be read"),
        (["--clock", "virtual", "--think", "recorded(/dev/zero)"], "--think: /dev/zero: "),
        (["--think", "20ms"], "--think: a model of latency needs the virtual clock (--clock virtual)"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mistake_is_told_before_anything_is_played(call: Any, words: list[str], told: str):
    ended = call("run --task micro1 --steps 9 --agent random silent -o run.jsonl", *words)
    assert ended.code == 2
    assert told in ended.err.splitlines()[0]
    assert not Path("run.jsonl").exists()


@pytest.mark.usefixtures("folder")
def test_recorded_times_are_drawn_again(call):
    source = ["--think", "start=3s mixture(0.5 7ms, 0.5 90ms)"]
    assert call(f"{LINE} --agent random -o before.jsonl", *source).code == 0
    recorded = ["--think", "start=recorded(before.jsonl, phase=start) recorded(before.jsonl, agent=random)"]
    assert call(f"{LINE} --agent silent -o after.jsonl", *recorded).code == 0
    assert set(spent_ms("after.jsonl")) == set(spent_ms("before.jsonl")) == {7, 90}
    (text,) = header("after.jsonl").think
    assert text.count("sha256=") == 2
    assert call(f"{LINE} --agent silent -o again.jsonl", "--think", text).code == 0
    assert Path("after.jsonl").read_bytes() == Path("again.jsonl").read_bytes()
    Path("before.jsonl").unlink()
    assert call("verify after.jsonl").code == 0, "what a journal names is not read"
    assert call(f"{LINE} --agent random -o before.jsonl", "--think", "9ms").code == 0
    ended = call(f"{LINE} --agent silent", "--think", text)
    assert "the file has changed" in ended.err
    ended = call(f"{LINE} --agent silent", "--think", "recorded(before.jsonl, agent=bob)")
    assert "no agent 'bob' played; it has random" in ended.err


def test_programs_give_models_as_texts(tmp_path):
    def played(think: Any, **options: Any) -> list[str]:
        journal = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        run("micro1", "random", clock="virtual", steps=5, think=think, journal=journal, **options)
        return list(header(journal).think)

    assert played("20ms") == played(["20ms"]) == ["act=20ms"]
    assert played([]) == played("none") == played(()) == []
    with pytest.raises(UsageError, match=r"think: 2 models for 1 agent"):
        played(["1ms", "2ms"])
    with pytest.raises(UsageError, match=r"think: a model of latency needs the virtual clock"):
        run("micro1", "random", steps=5, think="20ms")
