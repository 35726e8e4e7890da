"""Agents in threads, in processes and on other machines on the virtual clock: equal seeds, equal journals."""

from __future__ import annotations

import json
import random
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

import flagfall
from flagfall.agents.hosts.network import NetworkHost
from flagfall.agents.hosts.process import CommandHost, ProcessHost
from flagfall.agents.hosts.registry import Player
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.hosts.thread import ThreadHost
from flagfall.agents.process.forking import FORK_SERVERS
from flagfall.agents.registry import load_agent
from flagfall.agents.wire.admission import JoinPolicy
from flagfall.agents.wire.client import ServerAddress, connect_and_play
from flagfall.agents.wire.session import MAX_UNSOLICITED
from flagfall.agents.zmq.host import RemoteLearnerHost
from flagfall.errors import UsageError
from flagfall.events import SeatReady, TurnPlayed
from flagfall.playing import MatchRequest
from flagfall.recording.journal.writer import Journal
from flagfall.tasks.commai.catalog import CATALOG
from flagfall.testing.simulation.match import simulate
from flagfall.timing import MS, VirtualClock
from flagfall.timing.latency import SeatLatency
from tests.fakes import CountTask, InTurnTask, Played, Sleeper, TogetherTask, play_here, shuffled_tasks

FOLDER = Path(__file__).parent
AGENTS = FOLDER / "some_agents.py"
BOT = FOLDER.parents[1] / "examples/wire/bot.py"
CONTROL = "start=1s init=1s act=40ms/1s result=1s"
"""Limits that a start of a process exceeds in real time, and that answers may exceed on a busy machine."""

RUNS = 3
TOKEN = "open sesame"  # noqa: S105 - for this test


@pytest.fixture(scope="module", autouse=True)
def kept_server() -> Iterator[None]:
    """One fork server for all tests."""
    with FORK_SERVERS.keep():
        yield


def host(kind: str, name: str) -> Any:
    return hosted(kind, f"{AGENTS}:{name}")


def hosted(kind: str, spec: str) -> Any:
    if kind == "process":
        return ProcessHost(spec, "agent")
    return (LoopHost if kind == "task" else ThreadHost)(load_agent(spec), "agent")


class Runs:
    """The same match several times on the virtual clock, whose journals must be equal.

    Attributes:
        seconds: real time of all of them.
    """

    def __init__(
        self,
        folder: Path,
        task: Callable[[], Any],
        *hosts: Callable[[], Any],
        guests: Sequence[Callable[[], Any]] = (),
        guard_seconds: float = 60.0,
        **options: Any,
    ) -> None:
        self.played: list[Played] = []
        journals = set()
        began = time.perf_counter()
        for number in range(RUNS):
            journal = folder / f"{number}.jsonl"
            main = partial(self._play, task, hosts, guests, journal, {"control": CONTROL, **options})
            self.played.append(trio.run(main, clock=VirtualClock(guard_seconds)))
            journals.add(journal.read_bytes())
        self.seconds = time.perf_counter() - began
        assert len(journals) == 1

    async def _play(
        self, task: Any, hosts: Any, guests: Any, journal: Path, options: dict[str, Any]
    ) -> Played:
        async with trio.open_nursery() as nursery:
            for guest in guests:
                nursery.start_soon(guest)
            agents = [make() for make in hosts]
            return await play_here(task(), *agents, sinks=[Journal(journal)], **options)
        raise AssertionError

    @property
    def first(self) -> Played:
        return self.played[0]

    def fall(self, seat: int = 0) -> tuple[str, str]:
        """The reason why a seat fell, and the details."""
        (found,) = [fell for fell in self.first.disqualified if fell.seat == seat]
        return found.reason, found.detail


@pytest.mark.parametrize("kind", ["thread", "process"])
@pytest.mark.parametrize("name", ["echo", "trio_echo", "AsyncioEcho", "actor", "Phases"])
def test_equal_matches_have_equal_journals(tmp_path: Path, kind: str, name: str):
    runs = Runs(tmp_path, lambda: CountTask(20), lambda: host(kind, name))
    assert runs.first.actions() == [*range(20)]
    assert runs.first.result is not None
    assert runs.first.result.elapsed_ns == 0


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_a_sample_in_a_process_plays_as_in_the_loop(tmp_path: Path, kind: Any):
    journals = [tmp_path / f"{name}.jsonl" for name in ("loop", "elsewhere", "again")]
    for journal, at in zip(journals, ("task", kind, kind), strict=True):
        flagfall.run(
            ["micro1", "micro2"], "random", host=at, clock="virtual", steps=400, seed=7, journal=journal
        )
    assert journals[1].read_bytes() == journals[2].read_bytes()
    in_loop, elsewhere = (
        [line for line in journal.read_text().splitlines() if '"event":"seal"' not in line]
        for journal in journals[:2]
    )
    assert [line.replace('"host":"task"', f'"host":"{kind}"') for line in in_loop] == elsewhere


def test_a_program_in_any_language(tmp_path: Path):
    command = shlex.join([sys.executable, str(BOT)])
    runs = Runs(tmp_path, CATALOG["micro1"], lambda: CommandHost(command, "bot"), steps=50, seed=3)
    assert runs.first.verdicts() == ["on time"] * 50


@pytest.mark.parametrize("scheme", ["tcp", "ws"])
def test_an_agent_that_connects(tmp_path: Path, port: int, scheme: str):
    server = ServerAddress.parse(f"{scheme}://127.0.0.1:{port}")
    echo = load_agent(f"{AGENTS}:echo")

    async def guest() -> None:
        await trio.to_thread.run_sync(connect_and_play, server, lambda: echo)

    runs = Runs(
        tmp_path,
        lambda: CountTask(20),
        lambda: NetworkHost(scheme, port, "127.0.0.1", JoinPolicy()),
        guests=[guest],
    )
    assert runs.first.actions() == [*range(20)]


LEARNER = """
import sys, zmq
pair = zmq.Context().socket(zmq.PAIR)
pair.connect(f"tcp://127.0.0.1:{sys.argv[-1]}")
pair.send(b"hello")
while True:
    pair.recv(), pair.recv()
    for reply in sys.argv[1]:
        pair.send(reply.encode())
"""


@pytest.mark.parametrize("replies", ["a", "ab"], ids=["one reply", "two replies"])
def test_a_learner_of_round_1(tmp_path: Path, port: int, replies: str):
    """Turns have no numbers there, so the order alone says which turn a reply answers."""
    script = tmp_path / "learner.py"
    script.write_text(LEARNER)
    command = shlex.join([sys.executable, str(script), replies])
    runs = Runs(
        tmp_path,
        CATALOG["micro1"],
        lambda: RemoteLearnerHost(port, command=command),
        steps=30,
        control="start=1s act=1s/2s",
    )
    assert bytes(runs.first.actions()) == (replies.encode() * 30)[:30]
    assert runs.first.dropped == []


def test_two_processes_compute_at_the_same_time(tmp_path: Path):
    """Each turn both sleep for 20 ms of real time: whichever answers first."""
    runs = Runs(
        tmp_path,
        lambda: TogetherTask(2, 10),
        lambda: host("process", "naps"),
        lambda: host("process", "slow"),
    )
    assert runs.first.verdicts(0) == runs.first.verdicts(1) == ["on time"] * 10


def test_a_duel_of_a_process_and_an_agent_in_the_loop(tmp_path: Path):
    order = [0, 1, 1, 0, 1, 0, 0, 1]
    runs = Runs(
        tmp_path, lambda: InTurnTask(order), lambda: host("process", "echo"), lambda: Sleeper(0.01, 0.05, 0.0)
    )
    assert runs.first.verdicts(1) == ["on time", "late", "on time", "on time"]
    assert runs.first.verdicts(0) == ["on time"] * 4


MODELS = {
    "late by model": "exponential(30ms)",
    "over the hard limit": "mixture(0.98 5ms, 0.02 2s)",
    "a network": "act=20ms network=uniform(1ms, 9ms) loss=0.05/30ms start=100ms",
}


@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS)
def test_models_of_latency_decide_as_in_the_loop(tmp_path: Path, text: str):
    """The agents compute in real time, and what that takes makes no difference."""
    model = SeatLatency.parse(text)
    found = []
    for kinds in (("task", "task"), ("process", "process"), ("thread", "task")):
        folder = tmp_path / kinds[0]
        folder.mkdir()
        runs = Runs(
            folder,
            lambda: TogetherTask(2, 200),
            *[partial(host, kind, "echo") for kind in kinds],
            think=[model, model],
        )
        found.append([event for event in runs.first.events if not isinstance(event, SeatReady)])
    assert found[0] == found[1] == found[2]
    assert {turn.verdict for turn in runs.first.turns} > {"on time"}


CRASHES = "def act(n):\n    return n if n < 7 else 1 / 0\n"


@pytest.mark.parametrize("seed", range(6))
def test_any_agents_anywhere_in_any_order(tmp_path: Path, seed: int):
    """Whichever answers first, whatever order trio runs its tasks in: the same events."""
    (tmp_path / "crashes.py").write_text(CRASHES)
    whim = random.Random(seed)
    specs = [
        *(f"{AGENTS}:{name}" for name in ("doubling", "skipping", "actor")),
        f"{tmp_path}/crashes.py:act",
    ]
    agents = [(whim.choice(["task", "thread", "process"]), whim.choice(specs)) for _ in range(3)]
    think = [whim.choice([None, *map(SeatLatency.parse, MODELS.values())]) for _ in agents]
    task: Callable[[], Any] = whim.choice(
        [lambda: TogetherTask(3, 20), lambda: InTurnTask([0, 1, 2, 2, 1, 0] * 5, 3)]
    )
    tick_ns = whim.choice([None, 20 * MS])
    found = []
    for order in range(RUNS):
        hosts = [hosted(kind, spec) for kind, spec in agents]
        main = partial(play_here, task(), *hosts, think=think, tick_ns=tick_ns, control=CONTROL)
        with shuffled_tasks(order):
            found.append(trio.run(main, clock=VirtualClock()).events)
    assert found[0] == found[1] == found[2]


def test_a_rest_in_real_time_takes_no_virtual_time(tmp_path: Path):
    runs = Runs(tmp_path, lambda: CountTask(3), lambda: host("process", "slow"))
    assert runs.seconds > RUNS * 0.1
    assert runs.first.verdicts() == ["on time"] * 3
    assert [turn.spent_ns for turn in runs.first.turns] == [0, 0, 0]


FALLS = {
    "Raises": ("crashed", "boom in act"),
    "RaisesInStart": ("not started", "boom in start"),
    "RaisesInResult": ("crashed", "boom in result"),
    "RaisesInClose": ("crashed", "boom in close"),
    "leaving": ("gone", "closed"),
}
GARBAGE = {
    "garbage": "not a message",
    "too_long": "4294967295",
    "flooding": f"more than {MAX_UNSOLICITED} messages",
}


@pytest.mark.parametrize("name", FALLS)
def test_agents_that_break_down(tmp_path: Path, name: str):
    reason, said = FALLS[name]
    hosts = [partial(host, "process", which) for which in (name, "echo")]
    runs = Runs(tmp_path, lambda: TogetherTask(2, 4), *hosts)
    assert runs.fall()[0] == reason
    assert said in runs.fall()[1]
    assert runs.first.verdicts(1) == ["on time"] * 4
    assert runs.first.reason == "finished"


@pytest.mark.parametrize("name", GARBAGE)
def test_agents_that_send_garbage(tmp_path: Path, name: str):
    """They go on afterwards, and are given the time for what they still print."""
    hosts = [partial(host, "process", which) for which in (name, "echo")]
    runs = Runs(tmp_path, lambda: TogetherTask(2, 4), *hosts, guard_seconds=6)
    assert runs.fall()[0] == "garbage"
    assert GARBAGE[name] in runs.fall()[1]
    assert "exit code" not in runs.fall()[1]
    assert runs.first.verdicts(1) == ["on time"] * 4


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("leaves_at_once", "(exit code 0)\nso long"),
        ("kills_itself", "(exit code -9)"),
        ("segfaults", "(exit code -11)"),
        ("Raises", "(exit code 1)"),
    ],
)
def test_the_end_of_a_process_is_its_own(tmp_path: Path, name: str, detail: str):
    assert Runs(tmp_path, lambda: CountTask(3), lambda: host("process", name)).fall()[1].endswith(detail)


def test_a_crash_in_the_middle(tmp_path: Path):
    agent = tmp_path / "agent.py"
    agent.write_text(CRASHES)
    runs = Runs(
        tmp_path,
        lambda: TogetherTask(2, 12),
        lambda: ProcessHost(f"{agent}:act", "a"),
        partial(Sleeper, 0.01),
    )
    assert runs.first.verdicts() == ["on time"] * 7 + ["disqualified"] + ["absent"] * 4
    assert "ZeroDivisionError" in runs.fall()[1]


@pytest.mark.parametrize("name", ["doubling", "skipping"])
@pytest.mark.parametrize("kind", ["thread", "process"])
def test_replies_that_answer_nothing(tmp_path: Path, kind: str, name: str):
    runs = Runs(tmp_path, lambda: CountTask(9), lambda: host(kind, name))
    if name == "doubling":
        assert [dropped.why for dropped in runs.first.dropped] == ["double"] * 8
    else:
        assert runs.first.verdicts() == ["on time", "late"] * 4 + ["on time"]


TALKER = """
import sys, threading
async def act(seat):
    async for turn in seat:
        print("before", turn.number)
        seat.reply(turn.number)
        print("after", turn.number, file=sys.stderr, flush=True)
"""


def test_prints_belong_to_the_end_of_the_match(tmp_path: Path):
    """What comes after an answer is read with it or with the next one, as the system has it."""
    agent = tmp_path / "agent.py"
    agent.write_text(TALKER)
    runs = Runs(tmp_path, lambda: CountTask(50), lambda: ProcessHost(f"{agent}:act", "talker"))
    assert runs.first.result is not None
    (part,) = runs.first.result.seats[0].printed
    assert part.turn == 50
    assert part.text.split("\n")[:3] == ["before 0", "after 0", "before 1"]
    assert part.text.count("\n") == 100


def test_a_flood_of_prints_is_read_in_real_time(tmp_path: Path):
    """After the first MiB there are pauses. Were they virtual, an agent that waits for room would hang."""
    agent = tmp_path / "agent.py"
    agent.write_text("def act(n):\n    print('x' * 500_000)\n    return n\n")
    runs = Runs(tmp_path, lambda: CountTask(6), lambda: ProcessHost(f"{agent}:act", "a"))
    assert runs.first.verdicts() == ["on time"] * 6
    assert runs.first.result is not None
    assert runs.first.result.elapsed_ns == 0


def test_a_thread_that_never_comes_back(tmp_path: Path):
    release: list[None] = []
    made = partial(ThreadHost, lambda seen: seen if seen < 2 else _wait(release), "hangs")
    runs = Runs(tmp_path, lambda: TogetherTask(2, 4), made, partial(Sleeper, 0.01), guard_seconds=0.5)
    release.append(None)
    said = "it took 0.5 s of real time, for which the virtual clock stood still"
    assert runs.fall() == ("unresponsive", said)
    assert runs.first.verdicts(0) == ["on time", "on time", "disqualified", "absent"]
    assert runs.first.disqualified[0].at_ns == 20 * MS
    assert runs.first.result is not None
    assert runs.first.result.seats[0].lost_by == "unresponsive"


def _wait(release: list[None]) -> int:
    while not release:
        time.sleep(0.01)
    return 0


@pytest.mark.parametrize("name", ["sleeps", "ignores_terminate", "NeverStarts"])
def test_a_process_that_never_comes_back(tmp_path: Path, name: str):
    hosts = [partial(host, "process", which) for which in (name, "echo")]
    runs = Runs(tmp_path, lambda: TogetherTask(2, 4), *hosts, guard_seconds=5)
    assert runs.fall()[0] == "unresponsive"
    assert runs.first.verdicts(1) == ["on time"] * 4
    assert runs.first.result is not None
    assert runs.first.result.elapsed_ns == 0


def test_the_guard_is_for_each_answer(tmp_path: Path):
    """Together the answers take longer than the guard, none of them alone."""
    agent = tmp_path / "agent.py"
    agent.write_text("import time\ndef act(n):\n    time.sleep(0.25)\n    return n\n")
    main = partial(play_here, CountTask(8), ThreadHost(load_agent(f"{agent}:act"), "a"), control=CONTROL)
    assert trio.run(main, clock=VirtualClock(guard_seconds=1.5)).verdicts() == ["on time"] * 8


class Returning:
    """A client in a thread that loses its connection in the turns of these numbers, and comes back."""

    def __init__(self, port: int, lost_in: Sequence[int]) -> None:
        self._port = port
        self._lost_in = lost_in

    async def __call__(self) -> None:
        await trio.to_thread.run_sync(self._play)

    def _play(self) -> None:
        left = list(self._lost_in)
        while True:
            with self._connected() as line, line.makefile("rwb") as file:
                for message in ({"type": "join", "token": TOKEN}, None, {"type": "ready"}):
                    if message is None:
                        assert b"hello" in file.readline()
                    else:
                        file.write(json.dumps(message).encode() + b"\n")
                        file.flush()
                for ask in map(json.loads, file):
                    if ask["type"] == "bye":
                        return
                    if ask["number"] in left:
                        left.remove(ask["number"])
                        break
                    answer = {"type": "answer", "number": ask["number"], "action": ask["observation"]}
                    file.write(json.dumps(answer).encode() + b"\n")
                    file.flush()

    def _connected(self) -> socket.socket:
        while True:
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", self._port))
            time.sleep(0.01)


def test_an_agent_that_comes_back_loses_no_virtual_time(tmp_path: Path, port: int):
    policy = JoinPolicy(token=TOKEN, reconnect=True)
    runs = Runs(
        tmp_path,
        lambda: TogetherTask(2, 9),
        lambda: NetworkHost("tcp", port, "127.0.0.1", policy),
        partial(Sleeper, 0.01),
        guests=[Returning(port, (0, 4, 5))],
    )
    assert runs.first.actions(0) == [*range(9)]
    assert runs.first.verdicts(0) == ["on time"] * 9


def test_matches_of_one_loop_wait_for_each_other(tmp_path: Path):
    """One sleeps while the agent of the other computes: its times are as if it were alone."""
    journals = [tmp_path / "sleeper.jsonl", tmp_path / "process.jsonl"]

    async def both() -> None:
        async with trio.open_nursery() as nursery:
            for agent, journal in zip((Sleeper(0.03), host("process", "slow")), journals, strict=True):
                play = partial(play_here, CountTask(5), agent, control=CONTROL, sinks=[Journal(journal)])
                nursery.start_soon(play)

    found = set()
    for _ in range(RUNS):
        trio.run(both, clock=VirtualClock())
        found.add(tuple(journal.read_bytes() for journal in journals))
    assert len(found) == 1


PLAN = """
clock = "virtual"
host = "process"
seeds = [1, 2]
time_control = "start=1s act=40ms/1s"
[[agents]]
spec = "random"
[[agents]]
spec = "{agents}:echo"
think = "exponential(30ms)"
[[agents]]
spec = "cmd:{command}"
name = "bot"
[[tasks]]
task = "micro1"
steps = 40
"""


def test_a_tournament_and_the_verification_of_its_journals(tmp_path: Path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(agents=AGENTS, command=shlex.join([sys.executable, str(BOT)])))
    found = []
    for name in ("one", "two"):
        folder = tmp_path / name
        flagfall_program("tournament", plan, "-o", folder, "--quiet", "--fail-on-disqualified")
        found.append({file.name: file.read_bytes() for file in (folder / "journals").iterdir()})
        flagfall_program("verify", folder)
    assert len(found[0]) == 6
    assert found[0] == found[1]
    rows = json.loads(flagfall_program("results", folder, "--json"))["rows"]
    assert {row["agent"]: row["late"] > 0 for row in rows} == {"random": False, "echo": True, "bot": False}


def flagfall_program(*words: object) -> str:
    """Run a command to its end, which must be a good one, and return what it prints."""
    command = [sys.executable, "-m", "flagfall", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_a_loop_that_is_blocked_costs_nobody_its_seat():
    """Meanwhile the guard's time is over, and the answer lies unread."""

    def blocks(seen: int) -> int:
        time.sleep(1.5 if seen == 1 else 0)
        return seen

    main = partial(
        play_here, TogetherTask(2, 3), host("thread", "slow"), LoopHost(blocks, "blocks"), control=CONTROL
    )
    played = trio.run(main, clock=VirtualClock(guard_seconds=1))
    assert played.disqualified == []
    assert played.verdicts(0) == played.verdicts(1) == ["on time"] * 3


def test_nobody_connects(port: int):
    main = partial(play_here, CountTask(2), NetworkHost("tcp", port, "127.0.0.1"), control=CONTROL)
    played = trio.run(main, clock=VirtualClock(guard_seconds=0.2))
    assert [(fell.reason, fell.at_ns) for fell in played.disqualified] == [("not connected", 0)]


def test_agents_in_files_stay_in_the_loop_unless_a_host_is_named(tmp_path: Path):
    journal = tmp_path / "run.jsonl"
    cases: list[tuple[Any, bytes]] = [(None, b'"host":"task"'), ("process", b'"host":"process"')]
    for named, found in cases:
        flagfall.run("micro1", f"{AGENTS}:echo", host=named, clock="virtual", steps=2, journal=journal)
        assert found in journal.read_bytes()


@pytest.mark.parametrize(
    ("agent", "options", "said"),
    [
        (f"{AGENTS}:echo", {"isolation": "sandbox"}, "on the virtual clock agents run in the event loop"),
        ("gvgai:java Agent", {}, "plays in real time: leave clock out"),
        (f"{AGENTS}:echo", {"host": "process", "time_control": "act=1s clock=cpu"}, "clock=cpu counts real"),
    ],
)
def test_what_cannot_be_is_refused(agent: str, options: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        flagfall.run("micro1", agent, clock="virtual", **options)


class Thinking:
    """Takes up to 20 ms of its own for an answer."""

    def start(self, briefing: Any) -> None:
        self._dice = random.Random(briefing.seed)

    async def act(self, observation: Any) -> Any:
        await trio.sleep(self._dice.choice([0, 1, 5, 20]) / 1000)
        return observation


@pytest.mark.parametrize("seed", range(8))
def test_a_model_takes_the_same_time_of_an_agent_wherever_it_runs(seed):
    def turns(host: Any) -> list[Any]:
        player = Player(Thinking, host, think=SeatLatency.parse("exponential(10ms)"))
        request = MatchRequest(
            tasks="micro1", agents=(player,), time_control="start=1s init=1s act=10ms/1s result=1s", steps=20
        )
        events = simulate(request, seed=seed).events
        return [(turn.verdict, turn.spent_ns) for turn in events if isinstance(turn, TurnPlayed)]

    assert turns("task") == turns("process") == turns(None)
