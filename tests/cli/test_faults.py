"""`flagfall run --fault`: a match under faults, its tables, its journal, and what is refused."""

from __future__ import annotations

import pytest

from tests.command_line import call_main

BOT = """
class Bot:
    def act(self, observation):
        return 65
"""


@pytest.fixture
def bot(tmp_path):
    file = tmp_path / "bot.py"
    file.write_text(BOT)
    return f"{file}:Bot"


def test_a_match_under_faults_is_a_result_and_its_journal_verifies(capfd, tmp_path, bot):
    journal = tmp_path / "run.jsonl"
    line = "run --task micro1 --steps 30 --time-control act=40ms/1s --fault"
    ended = call_main(
        capfd, line, "crash @turn 20", "--fault", "delay 50ms @turn 5", "-o", journal, "--agent", bot
    )
    assert ended.code == 0, ended.err
    assert "disqualified: crashed" in ended.out
    assert "faults: crash 1, delay 1\n" in ended.out
    assert call_main(capfd, "verify", journal).code == 0
    first = journal.read_bytes()
    call_main(
        capfd,
        f"{line}",
        "delay 50ms @turn 5; crash @turn 20",
        "-o",
        journal,
        "--overwrite",
        "--agent",
        bot,
    )
    assert journal.read_bytes() == first


def test_what_struck_and_what_did_not_is_told(capfd):
    line = "run --task micro1 --agent random --steps 5 --host process --fault"
    ended = call_main(capfd, line, "supervisor dies @turn 2; drop @turn 4")
    assert "faults: supervisor dies 1; did not happen: seat 0: drop @turn 4" in ended.out
    data = call_main(capfd, line, "exit 3 @turn 2", "--json").data()
    assert data["faults"] == [{"exit": 1}]
    assert data["matches"][0]["seats"][0]["disqualified"] == "gone"


def test_a_void_match_keeps_its_journal(capfd, tmp_path):
    journal = tmp_path / "run.jsonl"
    ended = call_main(
        capfd, "run --task micro1 --agent random --steps 9 --fault", "task raises @turn 4", "-o", journal
    )
    assert ended.code == 1
    assert "task raises @turn 4" in ended.err
    assert '"void"' in journal.read_text()


@pytest.mark.parametrize(
    ("options", "fault", "says"),
    [
        ("", "crsh", "--fault 'crsh': fault 1, at character 1: unknown fault 'crsh'; nearest: crash"),
        ("", "seat 1: crash", "--fault: fault 'seat 1: crash @start': the match has seats 0 to 0"),
        ("--host task", "drop", "plays with host task, and drop strikes only agents with host process"),
        ("--host thread", "crash", "no thread is simulated"),
        ("", "kill runner", "it strikes tournaments, not matches"),
        ("--time-control clock=cpu", "crash", "clock=cpu"),
        ("--clock wall", "crash", "leave --clock wall out"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_in_one_line(capfd, options, fault, says):
    ended = call_main(capfd, f"run --task micro1 --agent random --steps 5 {options} --fault", fault)
    assert ended.code == 2
    assert says in ended.err
    assert ended.err.count("\n") == 1
    assert not ended.out
