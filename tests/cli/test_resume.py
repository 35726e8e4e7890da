"""`flagfall run --resume`: a match whose program was killed goes on, and no answer is asked for again."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from flagfall import read_turns
from flagfall.agents.samples.llm.settings import KEY, MODEL, URL
from flagfall.events import MatchStarted, TaskEnded, TurnPlayed
from flagfall.recording.journal.format import encode
from flagfall.recording.journal.reader import read_journal
from tests.cli.conftest import until
from tests.model_server import SECRET, Server, completes, servers

CONTROL = ("--time-control", "start=60s init=60s result=60s act=60s/90s", "--seed", 3, "-q", "-o")
"""More time than a busy machine needs: no turn is late."""

KILLS = int(os.environ.get("FLAGFALL_KILLS", "3"))
"""Kills of one match; each costs half a second of the processor."""

GAME = "run -t vgdl:cinders#0 --steps 10 -a llm"
BYTES = "run -t micro4 -t micro1 --steps 24 -a llm?listen=6"
IN_TURN = "run -t duel:heaps --steps 8 -a llm?memory=3 -a llm"
AT_ONCE = "run -t duel:lamps --steps 6 -a llm -a llm"
ELSEWHERE = "--host process"


class Model:
    """A scripted model, whose answers follow from what it is asked.

    Attributes:
        answered: the messages that it has answered, without the time that was left.
        stops_after: the number of these after which it gives no more answers.
        waiting: requests that it has not answered.
    """

    def __init__(self) -> None:
        self.answered: list[str] = []
        self.stops_after: float = float("inf")
        self.waiting = 0

    def __call__(self, server: Server, asked: Any) -> None:
        text = re.sub(r"You have [^ ]+ s to answer\.", "", json.dumps(asked["messages"]))
        if len(self.answered) >= self.stops_after:
            self.waiting += 1
            server.connection.recv(1)  # until the client has gone
            return
        time.sleep(0.02)
        dice = random.Random(text)
        choices = re.findall(r"Choose one of these actions: (.*?)\\n", text)
        said = (
            {"action": dice.choice(choices[-1].split(", "))} if choices else {"say": dice.choice("abc") * 3}
        )
        self.answered.append(text)
        completes(said, prompt_tokens=40, completion_tokens=6)(server, asked)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """Serve a model, and set the variables of the agent."""
    model = Model()
    monkeypatch.setenv(MODEL, "small")
    monkeypatch.setenv(KEY, SECRET)
    with servers() as serve:
        monkeypatch.setenv(URL, serve(model).url)
        yield model


def told(journal: Path) -> list[bytes]:
    """Return the turns and the ends of tasks of a whole match, without what differs by the clock."""
    events = list(read_journal(journal))
    turns = [replace(one, at_ns=0, spent_ns=0, note=None) for one in events if isinstance(one, TurnPlayed)]
    ends = [replace(one, at_ns=0) for one in events if isinstance(one, TaskEnded)]
    return [encode(one) for one in (*turns, *ends)]


@pytest.fixture
def whole(program: Any, model: Model) -> Callable[[str], tuple[list[bytes], Counter[str]]]:
    """Play a match to its end: return what is told of it, and what the model was asked."""

    def play(line: str) -> tuple[list[bytes], Counter[str]]:
        ended = program(line, *CONTROL, "whole.jsonl")
        assert (ended.code, ended.err) == (0, "")
        asked, model.answered = Counter(model.answered), []
        return told(Path("whole.jsonl")), asked

    return play


@pytest.mark.parametrize(
    ("line", "name", "kills"),
    [
        (GAME, "cut.jsonl", (1, 7, 9)),
        (f"{GAME} {ELSEWHERE}", "cut.jsonl", (4,)),
        (BYTES, "cut.jsonl.zst", (2, 3)),
        (f"{BYTES} {ELSEWHERE}", "cut.jsonl", (5,)),
        (IN_TURN, "cut.jsonl", (3, 4)),
        (f"{IN_TURN} {ELSEWHERE}", "cut.jsonl.zst", (3, 6)),
    ],
)
def test_what_was_answered_is_not_asked_again(
    program: Any, start: Any, model: Model, whole: Any, line: str, name: str, kills: tuple[int, ...]
) -> None:
    expected, asked = whole(line)
    for stops_after in kills:
        model.stops_after, model.waiting = stops_after, 0
        process = start(line, *CONTROL, name, "--resume")
        until(lambda: model.waiting > 0)
        process.kill()
        process.communicate()
        assert len(model.answered) == stops_after
    model.stops_after = float("inf")
    ended = program(line, *CONTROL, name, "--resume", "--json")
    assert ended.code == 0
    assert Counter(model.answered) == asked
    assert told(Path(name)) == expected
    noted = [seat["noted"] for seat in ended.data()["matches"][0]["seats"]]
    assert sum(seat["requests"] for seat in noted) == len(model.answered)
    header = next(read_journal(name))
    assert isinstance(header, MatchStarted)
    assert len(header.parents) == len(kills)
    assert program(f"verify {name}").code == 0
    assert not list(Path().glob("unfinished*"))


@pytest.mark.parametrize("line", [GAME, f"{BYTES} {ELSEWHERE}", AT_ONCE, IN_TURN])
def test_killed_at_any_moment(program: Any, start: Any, model: Model, whole: Any, line: str) -> None:
    expected, asked = whole(line)
    seats = line.count("-a llm")
    dice = random.Random(line)
    kills = 0
    for _ in range(KILLS):
        before = len(model.answered)
        process = start(line, *CONTROL, "cut.jsonl", "--resume")
        until(lambda: len(model.answered) > before or process.poll() is not None)  # noqa: B023 - called at once
        time.sleep(dice.uniform(0, 0.2))
        kills += process.poll() is None
        process.kill()
        process.communicate()
    assert program(line, *CONTROL, "cut.jsonl", "--resume").code == 0
    answered = Counter(model.answered)
    again = answered - asked
    assert asked - answered == Counter()
    assert sum(again.values()) <= kills * seats, "at most the questions of the turn under way, at each kill"
    assert told(Path("cut.jsonl")) == expected
    assert program("verify cut.jsonl").code == 0
    assert not list(Path().glob("unfinished*"))


@pytest.mark.parametrize(
    "line", ["run -t vgdl:cinders#0 --steps 9 -a random", "run -t duel:heaps -a random -a random"]
)
def test_a_journal_that_is_cut_anywhere_is_completed(call: Any, folder: Path, line: str) -> None:
    line = f"{line} --clock virtual --seed 4 -q -o"
    assert call(line, "whole.jsonl").code == 0
    text = (folder / "whole.jsonl").read_bytes()
    wanted = [encode(event) for event in list(read_journal("whole.jsonl"))[1:]]
    ends = [place + 1 for place, byte in enumerate(text) if byte == 10]
    for length in (0, *ends[:-1], *(end + 20 for end in ends[:-1])):
        (folder / "cut.jsonl").write_bytes(text[:length])
        ended = call(line, "cut.jsonl", "--resume")
        assert (ended.code, ended.err) == (0, ""), length
        assert [encode(event) for event in list(read_journal("cut.jsonl"))[1:]] == wanted, length
        assert call("verify cut.jsonl").code == 0


UNLIKE = [
    ("--seed 5", "seed: 4 is recorded, and 5 is asked for"),
    ("--steps 31", "steps: 30 is recorded, and 31 is asked for"),
    ("--agent memorizing", 'agents: ["random"] is recorded, and ["memorizing"] is asked for'),
    ("--task micro4", 'tasks: ["micro1"] is recorded, and ["micro4"] is asked for'),
    ("--scheduler random", 'scheduler: "sequential" is recorded, and "random" is asked for'),
    ("--clock wall", 'clock: "virtual" is recorded, and "wall" is asked for'),
    ("--tick 20ms", "tick ns: null is recorded, and 20000000 is asked for"),
    ("--time-control act=1s", "time control: "),
    ("--config challenge", 'tasks: ["micro1"] is recorded, and '),
]


def run_of(more: str = "") -> str:
    """Return the words of a match, with others in place of some."""
    words = {"--task": "micro1", "--agent": "random", "--seed": "4", "--steps": "30", "--clock": "virtual"}
    words |= dict([more.split(" ")] if more else [])
    if "--config" in words:
        del words["--task"]
    return f"run {' '.join(word for pair in words.items() for word in pair)} -q -o"


@pytest.fixture
def cut(call: Any, folder: Path) -> Path:
    """A journal that lacks its end; the whole one is beside it."""
    assert call(run_of(), "whole.jsonl").code == 0
    lines = (folder / "whole.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "cut.jsonl").write_bytes(b"".join(lines[:4]) + lines[4][:9])
    return folder / "cut.jsonl"


@pytest.mark.parametrize(("more", "said"), UNLIKE)
def test_another_match_is_not_taken_for_it(call: Any, cut: Path, more: str, said: str) -> None:
    before = cut.read_bytes()
    ended = call(run_of(more), cut.name, "--resume")
    assert (ended.code, ended.out) == (2, "")
    assert f"--resume: the match in cut.jsonl has other {said}" in ended.err
    assert ended.err.count("\n") == 1
    assert cut.read_bytes() == before


@pytest.mark.usefixtures("cut")
def test_a_match_that_is_over_stays_as_it_is(call: Any) -> None:
    before = Path("whole.jsonl").read_bytes()
    ended = call(run_of().replace("-q ", ""), "whole.jsonl", "--resume")
    assert (ended.code, ended.out, ended.err) == (0, "", "flagfall: whole.jsonl: the match is over\n")
    assert Path("whole.jsonl").read_bytes() == before
    assert call(run_of(), "none.jsonl", "--resume").code == 0
    assert Path("none.jsonl").read_bytes() == before
    assert "--resume: name the --journal" in call("run -t micro1 -a random --resume").err


MOODY = """
import os, random

class Moody:
    def act(self, observation):
        return random.Random(os.environ["MOOD"]).randrange(97, 123)
"""


@pytest.mark.parametrize("name", ["cut.jsonl", "cut.jsonl.zst"])
def test_an_agent_that_answers_otherwise_loses_nothing(
    program: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / "moody.py").write_text(MOODY)
    line = "run -t micro1 -a moody.py:Moody --pass-env MOOD --steps 4000 -q -o"
    monkeypatch.setenv("MOOD", "1")
    assert program(line, name).code == 0
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) * 2 // 3])
    before = (folder / name).read_bytes()
    monkeypatch.setenv("MOOD", "2")
    ended = program(line, name, "--resume")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"flagfall: {name}: turn 0, seat 0: the agent answers ")
    assert ended.err.count("\n") == 1
    assert (folder / name).read_bytes() == before
    monkeypatch.setenv("MOOD", "1")
    assert program(line, name, "--resume").code == 0
    assert len(read_turns(name)["turn"]) == 4000
    assert sorted(path.name for path in folder.glob("*cut*")) == [name]


DEAR = """
import random

class Dear:
    def start(self, briefing):
        self.briefing = briefing
        self.turns = 0

    def act(self, observation):
        noted = self.briefing.noted
        self.turns += 1
        if self.turns == 2:
            assert noted in (None, {})
            return 65
        said = random.SystemRandom().randrange(97, 123) if noted is None else noted["said"]
        self.briefing.note({"said": said, "was": noted})
        return said
"""


@pytest.mark.parametrize("host", ["task", "thread", "process"])
def test_an_agent_of_ones_own_finds_its_notes(call: Any, folder: Path, host: str) -> None:
    (folder / "dear.py").write_text(DEAR)
    line = f"run -t vgdl:cinders#0 --steps 12 -a dear.py:Dear --host {host} -q -o cut.jsonl"
    assert call(line).code == 0
    before = read_turns("cut.jsonl")
    text = (folder / "cut.jsonl").read_bytes().splitlines(keepends=True)
    kept = next(place for place, row in enumerate(text) if b'"turn":8' in row)
    (folder / "cut.jsonl").write_bytes(b"".join(text[:kept]))
    assert call(line, "--resume").code == 0
    after = read_turns("cut.jsonl")
    assert list(after["action"][:8]) == list(before["action"][:8])
    assert [note and note["was"] for note in after["note"]] == [None] * 12
    assert call("verify cut.jsonl").code == 0


def test_of_two_journals_the_one_with_more_turns_counts(call: Any, cut: Path, folder: Path) -> None:
    aside = folder / "unfinished-cut.jsonl"
    before = cut.read_bytes()
    assert call(run_of(), cut.name, "--resume").code == 0
    lines = cut.read_bytes().splitlines(keepends=True)
    wanted = list(read_journal(cut))[1:]
    for kept in (0, 1, 2, 5, len(lines)):  # of the new journal, when its program was killed
        aside.write_bytes(before)
        cut.write_bytes(b"".join(lines[:kept]))
        assert call(run_of(), cut.name, "--resume").code == 0
        assert list(read_journal(cut))[1:] == wanted
        assert not aside.exists()
    aside.write_bytes(before)
    cut.unlink()
    assert call(run_of(), cut.name, "--resume").code == 0
    assert list(read_journal(cut))[1:] == wanted
    aside.write_bytes(before)
    cut.write_bytes((folder / "whole.jsonl").read_bytes())
    ended = call(run_of(), cut.name, "--resume")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "cut.jsonl does not go on from unfinished-cut.jsonl, which lies beside it" in ended.err
    assert aside.read_bytes() == before


def test_a_match_of_a_series_goes_on(call: Any, folder: Path) -> None:
    line = "run -t micro1 -a random -a memorizing --matches 2 --steps 40 --clock virtual -q -o series.jsonl"
    assert call(line).code == 0
    files = [folder / f"series-{number}.jsonl" for number in range(4)]
    before = [list(read_journal(file))[1:] for file in files]
    whole = files[0].read_bytes()
    files[2].write_bytes(files[2].read_bytes()[:700])
    files[3].unlink()
    ended = call(line, "--resume", "--json")
    assert [match["turns"] for match in ended.data()["matches"]] == [40, 40]
    assert [list(read_journal(file))[1:] for file in files] == before
    assert files[0].read_bytes() == whole


def test_a_match_that_is_being_played_is_left_alone(start: Any, program: Any, folder: Path) -> None:
    line = "run -t micro1 -a silent --scheduler sequential -q -o live.jsonl"
    process = start(line)
    until(lambda: (folder / "live.jsonl").exists() and (folder / "live.jsonl").stat().st_size > 0)
    ended = program(line, "--resume")
    assert (ended.code, ended.err) == (
        2,
        "flagfall: --resume: live.jsonl is being written by another program\n",
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
