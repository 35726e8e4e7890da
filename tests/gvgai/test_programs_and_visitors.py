"""Clients over their standard input and output, and our own agents as clients of a server."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from flagfall.agents.process.isolation import Isolation
from flagfall.agents.process.sandbox import check_sandbox
from flagfall.cli import main
from flagfall.errors import HostFault, UsageError
from flagfall.gvgai.client import ClientReport, play_remote
from flagfall.gvgai.play_track import PlayedTrack, TrackTimes, play_track
from flagfall.gvgai.server import TrackServer
from flagfall.gvgai.states import read_state
from flagfall.kernel.channels.framing import LineError
from flagfall.tasks.vgdl.learning_track import RULES, TrackRules
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.tasks.vgdl.views.observer import Observer
from flagfall.tasks.vgdl.views.state_json import StateWriter
from flagfall.timing import MS, TimeControl
from tests.gvgai.clients import Client
from tests.gvgai.games import write_game
from tests.ports import free_port

FEW = attrs.evolve(RULES["gvgai-document"], games=4)
GENEROUS = "start=20s init=20s act=10s/10s result=20s"


def programmed(folder: Path, client: Client, control: str = GENEROUS, rules: TrackRules = FEW) -> PlayedTrack:
    times, rules = TrackTimes.of(rules, control)
    command = f"program:{shlex.join(client.words('pipe'))}"
    return trio.run(partial(play_track, TrackSetup(write_game(folder), rules), command, times))


def test_program_plays_over_its_pipes_in_the_order_of_the_specification(tmp_path):
    client = Client(tmp_path, "start()\nplay()")
    track = programmed(tmp_path, client)
    assert track.result.reason == "finished", track.result.seats[0].detail
    assert [(g.phase[0], g.level, g.winner) for g in track.statistics.games] == [
        ("t", 0, 1),
        ("v", 3, 1),
        ("v", 4, 0),
    ]
    assert client.told[:5] == ["S 0#START", "C 0#START_DONE", "S 1#INIT", "C 1#INIT_DONE", "S 2#ACT"]
    assert client.told[-1].endswith("#FINISH")


def test_program_in_a_sandbox_sees_its_own_script(tmp_path):
    try:
        check_sandbox()
    except UsageError as why:
        pytest.skip(str(why))
    script = Client(tmp_path, "start()\nplay()").path
    command = f"program:{shlex.join([sys.executable, str(script), 'pipe', '/dev/stderr'])}"
    times, rules = TrackTimes.of(FEW, GENEROUS)
    setup = TrackSetup(write_game(tmp_path), rules)
    track = trio.run(partial(play_track, setup, command, times, isolation=Isolation("sandbox")))
    assert track.result.reason == "finished", track.result.seats[0].detail


def test_first_line_of_a_program_that_greets_is_dropped(tmp_path):
    client = Client(tmp_path, "raw(b'client is up\\n')\nstart()\nplay()")
    track = programmed(tmp_path, client)
    assert track.result.seats[0].disqualified is None
    assert track.result.seats[0].stats.dropped == 1


@pytest.mark.parametrize(
    ("behaviour", "reason", "detail"),
    [
        ("sys.exit('no game for me')", "gone", "no game for me"),
        ("start()\nraise KeyError('lost')", "gone", "KeyError: 'lost'"),
        ("start()\nplay(act=lambda n, s: raw(b'x' * 9999))", "garbage", "4096 is the limit"),
        ("hear()\nsay(0, 'START_FAILED')", "not started", "START_FAILED"),
        ("start()\nplay(act=lambda n, s: time.sleep(60))", "late", "busy"),
    ],
)
def test_program_that_fails_is_out_and_gone(tmp_path, behaviour, reason, detail):
    control = "start=20s init=20s act=100ms/500ms result=20s"
    track = programmed(tmp_path, Client(tmp_path, behaviour), control)
    seat = track.result.seats[0]
    assert seat.disqualified == reason
    assert detail in seat.detail + track.result.seats[0].detail


def test_cpu_time_of_a_program_counts_where_it_is_asked_for(tmp_path):
    act = "def act(n, s):\n    time.sleep(0.05)\n    say(n, 'ACTION_ESCAPE')\n"
    client = Client(tmp_path, act + "start()\nplay(act=act)")
    control = "start=20s init=20s act=40ms/10s result=20s clock=cpu"
    track = programmed(tmp_path, client, control)
    assert track.result.seats[0].disqualified is None
    assert track.result.seats[0].stats.late == 0, "who sleeps uses no CPU time"


@pytest.mark.parametrize("command", ["program:no-such-program at all", "program:", "program:'"])
def test_program_that_does_not_exist_is_told(tmp_path, command):
    times, rules = TrackTimes.of(FEW, GENEROUS)
    with pytest.raises(UsageError, match="command"):
        trio.run(partial(play_track, TrackSetup(write_game(tmp_path), rules), command, times))


# Our agents as clients.


class Right:
    """Walks right; says of its results what they were."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.states: list[Any] = []
        self.results: list[Any] = []

    def init(self, state: Any) -> None:
        self.states.append(("init", state.game_tick))

    def act(self, state: Any) -> str:
        self.states.append(("act", state.game_tick))
        return "RIGHT"

    def result(self, state: Any, reward: float) -> Any:
        self.results.append((state.game_winner, state.game_score, reward))
        return self.answers.pop(0) if self.answers else 0


def visited(
    folder: Path, agent: Any, control: str = "untimed", rules: TrackRules = FEW, **options: Any
) -> tuple[ClientReport, TrackServer]:
    server = TrackServer(TrackSetup(write_game(folder), rules), TimeControl.parse(GENEROUS), port=0)

    async def main() -> ClientReport:
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                port = await nursery.start(server.run)
                return await play_remote(agent, "127.0.0.1", port, TimeControl.parse(control), **options)
        raise AssertionError

    return trio.run(main), server


def test_agent_plays_at_a_server(tmp_path):
    agent = Right(0, 0, 2)
    report, server = visited(tmp_path, agent)
    assert report.finished
    assert (report.late, report.overspent) == (0, 0)
    assert report.games == [
        (False, "PLAYER_WINS", 6.0, 4),
        (False, "PLAYER_LOSES", 0.0, 30),
        (False, "PLAYER_LOSES", 0.0, 30),
        (False, "PLAYER_LOSES", 0.0, 30),
        (True, "PLAYER_WINS", 6.0, 4),
        (True, "PLAYER_LOSES", 0.0, 30),
    ]
    assert [g.level for g in server.sessions[0].sink.statistics.games] == [0, 1, 2, 2, 3, 4]
    assert agent.states[:3] == [("init", 0), ("act", 0), ("act", 1)]
    assert agent.results[0] == ("PLAYER_WINS", 6.0, 5.0), "the goal paid five in the last tick"


def test_state_arrives_as_it_was_sent(tmp_path):
    track = TrackSetup(write_game(tmp_path), FEW).build()
    writer = StateWriter()
    level = track.next_task()
    assert level is not None
    level.reset(1)
    for action in ("RIGHT", "NIL", "RIGHT", "RIGHT", "RIGHT", "RIGHT"):
        play = level._task.play  # type: ignore[attr-defined]  # it is a level of a game
        sent = Observer(play).observe()
        arrived = read_state(writer.write(sent, "ACT", is_validation=True).encode())
        assert arrived == ("ACT", sent, True)
        level.step(action)


@pytest.mark.parametrize(
    "payload", [b"", b"{}", b"[]", b'{"phase":"START"}', b'{"phase":"ACT","gameTick":"x"}']
)
def test_what_is_no_state_is_told(payload):
    with pytest.raises(LineError, match="not a state of a server"):
        read_state(payload)


class Ticking:
    """A clock that goes on by what acts are said to take."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns


class Clocked(Right):
    """Takes these milliseconds for its acts, the last for ever."""

    def __init__(self, clock: Ticking, *milliseconds: int, **phases: int) -> None:
        super().__init__()
        self.clock = clock
        self.milliseconds = list(milliseconds)
        self.phases = phases

    def start(self, _briefing: Any) -> None:
        self.clock.ns += self.phases.get("start", 0) * MS

    def init(self, state: Any) -> None:
        super().init(state)
        self.clock.ns += self.phases.get("init", 0) * MS

    def act(self, state: Any) -> str:
        left = len(self.milliseconds)
        self.clock.ns += (self.milliseconds.pop(0) if left > 1 else self.milliseconds[0]) * MS
        return super().act(state)

    def result(self, state: Any, reward: float) -> Any:
        self.clock.ns += self.phases.get("result", 0) * MS
        return super().result(state, reward)


def test_client_withholds_late_actions_and_gives_up_overspent_levels(tmp_path):
    clock = Ticking()
    agent = Clocked(clock, 10, 40, 39, 49, 10, 50, 1)
    report, server = visited(tmp_path, agent, "gvgai-2017", now=clock)
    assert (report.late, report.overspent) == (2, 1)
    first = server.sessions[0].sink.statistics.games[0]
    assert (first.winner, first.ticks) == (-1, 5), "END_OVERSPENT aborts the level"


def test_client_ends_its_training_when_its_time_is_over(tmp_path):
    clock = Ticking()
    agent = Clocked(clock, 1, result=400)
    report, server = visited(tmp_path, agent, "total=1s result=2s", now=clock)
    assert [(g.phase[0], g.level) for g in server.sessions[0].sink.statistics.games] == [
        *[("t", 0), ("t", 1), ("t", 2)],
        *[("v", 3), ("v", 4)],
    ]
    assert report.finished


@pytest.mark.parametrize(
    ("phases", "control", "fell"),
    [
        ({"start": 1000}, "start=1s", "not started"),
        ({"init": 1000}, "init=1s", "not started"),
        ({"result": 1000}, "result=1s total=1s", "late"),
    ],
)
def test_client_says_that_it_took_too_long(tmp_path, phases, control, fell):
    clock = Ticking()
    report, server = visited(tmp_path, Clocked(clock, 1, **phases), control, now=clock)
    assert report.finished, "every client is sent FINISH, in or out"
    result = server.sessions[0].result
    assert result is not None
    assert result.seats[0].disqualified == fell


class Broken(Right):
    """Fails in one of its methods."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def _maybe(self, where: str) -> None:
        if where == self.where:
            raise ValueError(f"lost in {where}")

    def start(self, _briefing: Any) -> None:
        self._maybe("start")

    def init(self, _state: Any) -> None:
        self._maybe("init")

    def act(self, state: Any) -> str:
        self._maybe("act")
        return super().act(state)

    def result(self, state: Any, reward: float) -> Any:
        self._maybe("result")
        return super().result(state, reward)


@pytest.mark.parametrize("where", ["start", "init", "act", "result"])
def test_agent_that_breaks_down_leaves_and_says_why(tmp_path, where):
    report, server = visited(tmp_path, Broken(where))
    assert not report.finished
    assert f"ValueError: lost in {where}" in report.fault
    result = server.sessions[0].result
    assert result is not None
    assert result.seats[0].disqualified == "gone"


@pytest.mark.parametrize("answer", ["7#3\n8#2", 3.5, None, "END_TRAINING", 2])
def test_nothing_that_an_agent_says_breaks_the_protocol(tmp_path, answer):
    class Odd(Right):
        def act(self, state: Any) -> Any:
            super().act(state)
            return f"LEFT#{answer}\n99#ACTION_UP"

    report, server = visited(tmp_path, Odd(answer, answer, answer))
    assert report.finished
    assert server.sessions[0].result is not None
    assert server.sessions[0].result.seats[0].stats.dropped == 0


def test_nobody_there_is_told():
    with pytest.raises(UsageError, match="no server listens at localhost"):
        trio.run(
            partial(
                play_remote, Right(), "localhost", free_port(), TimeControl.parse("untimed"), wait_seconds=0.2
            )
        )


@pytest.mark.parametrize("said", [b"hello\n", b'0#{"phase":"INIT"}\n', b"0#START\n1#{}\n"])
def test_server_that_says_nonsense_is_told(said):
    async def main() -> None:
        async with trio.open_nursery() as nursery:

            async def nonsense(stream: trio.SocketStream) -> None:
                await stream.send_all(said)
                await trio.sleep(5)

            listeners = await nursery.start(partial(trio.serve_tcp, nonsense, 0, host="127.0.0.1"))
            port = listeners[0].socket.getsockname()[1]
            with pytest.raises(HostFault, match="server"):
                await play_remote(Right(), "127.0.0.1", port, TimeControl.parse("untimed"))
            nursery.cancel_scope.cancel()

    trio.run(main)


ALIENS = (
    '{{"isValidation":false,"gameScore":11.0,"gameTick":{tick},"gameWinner":"{winner}","isGameOver":{over},'
    '"worldDimension":[300.0,110.0],"blockSize":10,"noOfPlayers":1,"avatarSpeed":1.0,'
    '"avatarOrientation":[0.0,0.0],"avatarPosition":[190.0,100.0],"avatarLastAction":"ACTION_LEFT",'
    '"avatarType":1,"avatarHealthPoints":0,"avatarMaxHealthPoints":0,"avatarLimitHealthPoints":1000,'
    '"isAvatarAlive":true,"phase":"{phase}","availableActions":["ACTION_USE","ACTION_LEFT","ACTION_RIGHT"],'
    '"avatarResources":{{"7":2}},"observationGrid":[[[{{"category":3,"itype":9,"obsID":404,'
    '"position":{{"x":0.0,"y":0.0}},"reference":{{"x":-1.0,"y":-1.0}},"sqDist":2.0}}],[]]],'
    '"observationGridNum":1,"observationGridMaxRow":2,"observationGridMaxCol":1,"NPCPositionsNum":0,'
    '"NPCPositionsMaxRow":0,"immovablePositionsNum":0,"immovablePositionsMaxRow":0}}'
)
"""A state as the original's server sends it, its lists cut."""


def test_replies_at_a_server_of_the_original_are_to_the_letter():
    """The server here is written from the specification; it ends lines as on another platform."""
    session = [
        ("START", b"0#START_DONE#JSON"),
        (ALIENS.format(tick=0, winner="NO_WINNER", over="false", phase="INIT"), b"1#INIT_DONE#JSON"),
        (ALIENS.format(tick=0, winner="NO_WINNER", over="false", phase="ACT"), b"2#ACTION_RIGHT#JSON"),
        (ALIENS.format(tick=1, winner="NO_WINNER", over="false", phase="ACT"), b"3#ACTION_RIGHT#JSON"),
        (ALIENS.format(tick=1, winner="PLAYER_LOSES", over="true", phase="END"), b"4#2#JSON"),
        ("FINISH", None),
    ]
    said: list[bytes] = []

    async def serve(stream: trio.SocketStream) -> None:
        for number, (payload, reply) in enumerate(session):
            await stream.send_all(f"{number}#{payload}\r\n".encode())
            if reply is not None:
                said.append(await stream.receive_some())

    async def main() -> ClientReport:
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
            port = listeners[0].socket.getsockname()[1]
            report = await play_remote(agent, "127.0.0.1", port, TimeControl.parse("untimed"))
            nursery.cancel_scope.cancel()
        return report

    agent = Right(2)
    report = trio.run(main)
    assert said == [reply + b"\n" for _, reply in session if reply is not None]
    assert report.finished
    assert report.games == [(False, "PLAYER_LOSES", 11.0, 1)]
    assert agent.results == [("PLAYER_LOSES", 11.0, 0.0)]


def test_agent_that_plays_its_seat_itself_cannot_visit(tmp_path):
    class Actor:
        async def run(self, seat: Any) -> None: ...

    with pytest.raises((UsageError, ExceptionGroup)) as caught:
        visited(tmp_path, Actor())
    error: Any = caught.value
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    assert "cannot visit" in str(error)


# The command line.


def flagfall(*words: str) -> Any:

    return subprocess.run(
        [sys.executable, "-m", "flagfall", "gvgai", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_serve_and_play_on_understand_each_other(tmp_path):

    port, game = free_port(), write_game(tmp_path)
    options = ["--games", "3", "--time-control", GENEROUS, "-o", str(tmp_path / "j.jsonl"), "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "flagfall", "gvgai", "serve", "--game", game, "--port", str(port), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        client = flagfall(
            "play-on", f"127.0.0.1:{port}", "-a", "random", "--json", "--time-control", "untimed"
        )
        said, complained = server.communicate(timeout=90)
    assert (client.returncode, server.returncode) == (0, 0), client.stderr + complained
    assert f"waiting for clients at 127.0.0.1:{port}" in complained
    report, served = json.loads(client.stdout), json.loads(said)
    assert report["finished"]
    games = served["sessions"][0]["games"]
    assert [game["level"] for game in games] == [0, 1, 2, 3, 4]
    assert [game["score"] for game in games] == [score for _, _, score, _ in report["games"]]
    again = flagfall("results", str(tmp_path / "j.jsonl"), "--json")
    assert json.loads(again.stdout)["games"] == games


def test_interrupted_server_lets_go_and_says_what_was_played(tmp_path):
    command = [sys.executable, "-m", "flagfall", "gvgai", "serve", "--agents", "0", "--json"]
    with subprocess.Popen(
        [*command, "--game", write_game(tmp_path), "--port", str(free_port())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        assert "waiting for clients" in server.stderr.readline()
        server.send_signal(signal.SIGINT)
        said, _ = server.communicate(timeout=90)
    assert server.returncode == 130
    assert json.loads(said) == {"sessions": []}


def test_train_and_contest_on_the_command_line(tmp_path):
    game = write_game(tmp_path)
    options = ["--clock", "virtual", "--think", "10ms", "--training", "2s"]
    trained = flagfall("train", game, "-a", "random", *options, "--results", str(tmp_path / "r.json"))
    assert trained.returncode == 0, trained.stderr
    assert "validation" in trained.stdout
    assert len(json.loads((tmp_path / "r.json").read_text())["games"]) > 5
    out = ["--output", str(tmp_path / "contest")]
    held = flagfall("contest", game, "-a", "random", "-a", "q-learning", *options, *out, "--json")
    assert held.returncode == 0, held.stderr
    data = json.loads(held.stdout)
    assert {one["agent"] for one in data["standings"]} == {"random", "q-learning"}
    assert len(data["matches"]) == 2
    assert "[2/2]" in held.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "cinder", "-a", "random"], "no game 'cinder'; nearest: cinders"),
        (["train", "cinders", "-a", "randum"], "unknown agent 'randum'"),
        (["train", "cinders", "-a", "random", "--training", "10"], "--training '10' has no unit"),
        (["train", "cinders", "-a", "random", "--clock", "virtual"], "only thinking takes time"),
        (["contest", "-a", "random"], "name at least one game"),
        (["serve", "--game", "cinders", "--agents", "-1"], "--agents -1"),
        (["serve", "--game", "cinders", "--port", "99999"], "invalid port 99999"),
        (["serve", "--game", "cinders", "--results", "no/r.json"], "there is no folder no"),
        (["train", "cinders", "-a", "random", "--results", __file__], "it is not overwritten"),
        (
            ["contest", "cinders", "-a", "random", "-o", "r.json", "--results", "r.json"],
            "the journal has this name already",
        ),
        (
            ["serve", "--game", "cinders", "--sprites", "nowhere"],
            "--sprites nowhere: there is no such",
        ),
        (["play-on", "8080", "-a", "random"], "write HOST:PORT"),
        (["results", "nothing.jsonl"], "no such file"),
    ],
)
def test_mistakes_are_told_with_exit_code_2(words, message, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code = main(["gvgai", *words])
    said = capsys.readouterr()
    assert code == 2, said.out + said.err
    assert message in said.err


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("train cinders -a random", "run.jsonl"),
        ("contest cinders glacier -a random", "run-1.jsonl"),
        ("serve --game cinders --agents 3 --port 0", "run-2.jsonl"),
        ("serve --game cinders --agents 0 --port 0", "run-7.jsonl"),
    ],
)
def test_a_journal_is_replaced_only_where_that_is_asked_for(words, name, tmp_path, capsys):
    for text, message in (
        (b"a letter", "is not a journal"),
        (b'{"event":"match"', "replace it with --overwrite"),
    ):
        (tmp_path / name).write_bytes(text)
        code = main(["gvgai", *words.split(), "-o", str(tmp_path / "run.jsonl")])
        said = capsys.readouterr().err
        assert (code, said.count("\n")) == (2, 1)
        assert f"journal {tmp_path / name}: the file exists" in said
        assert message in said
    assert [path.name for path in tmp_path.iterdir()] == [name]
