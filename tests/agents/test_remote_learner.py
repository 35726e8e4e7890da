"""A remote learner over ZeroMQ: the wire of round 1 to the letter, and the verdict on every way to break it.

The learners here are programs of their own, written from the specification alone: they import no flagfall.
"""

from __future__ import annotations

import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.zmq.host import MAX_DROPPED, RemoteLearnerHost, _LearnerSession
from flagfall.agents.zmq.pair_socket import BadReply, LearnerConnection, read_reply, reward_text, token_text
from flagfall.agents.zmq.zmtp import message
from flagfall.errors import HostFault, UsageError
from flagfall.events import MatchEnded
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.script import run_plain
from flagfall.tasks.commai.catalog import CATALOG
from flagfall.timing import MS, TimeControl
from tests.children import children, open_descriptors
from tests.fakes import ActorTask, CountTask, ListScheduler, Played, play, play_here

CLIENT = """
import os, subprocess, sys, time
import zmq

pair = zmq.Context().socket(zmq.PAIR)
pair.connect(f"tcp://127.0.0.1:{sys.argv[-1]}")
log = open(sys.argv[0] + ".heard", "wb", buffering=0)

def say(*frames):
    pair.send_multipart(frames)

def hear():
    frames = pair.recv_multipart()
    log.write(b"|".join(frames) + b"\\n")
    return frames[0]

def turn(*replies):
    reward, token = hear(), hear()
    for reply in replies:
        say(reply)
    return reward, token

def go_on(reply=b"a"):
    while True:
        turn(reply)

"""
GENEROUS = "start=20s act=10s/10s"
A = ord("a")
GREETING = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PAIR"
NIL = 0x20


class Spelling(CountTask):
    """Shows a, b, c, ...; pays 1 for an `a`, else takes 1. As in a byte task, the last reward is owed."""

    id = "spelling"
    nil_action = NIL

    def __init__(self, steps: int = 4) -> None:
        super().__init__(steps, continuous=True)

    def is_legal(self, action: Any) -> bool:
        return type(action) is int and 0 <= action <= 255

    def reset(self, seed: int) -> int:
        super().reset(seed)
        return A

    def step(self, action: Any) -> StepResult:
        self.taken.append(action)
        done = len(self.taken) >= self.steps
        return StepResult(A + len(self.taken), 1 if action == A else -1, terminated=done)


class Learner:
    """The source of a learner, as a program in a file."""

    def __init__(self, path: Path, port: int) -> None:
        self.path = path
        self.port = port

    def __call__(self, behaviour: str) -> str:
        """The command that runs it."""
        self.path.write_text(CLIENT + behaviour)
        return shlex.join([sys.executable, str(self.path)])

    def host(self, behaviour: str) -> RemoteLearnerHost:
        return RemoteLearnerHost(self.port, command=self(behaviour))

    @property
    def heard(self) -> list[str]:
        return Path(f"{self.path}.heard").read_text(encoding="utf-8").split("\n")[:-1]


@pytest.fixture
def learner(tmp_path: Path, port: int) -> Learner:
    return Learner(tmp_path / "a learner.py", port)  # with a space: the command is split as a shell would


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No descriptor, no thread of ZeroMQ's and no process stays when the match is over."""
    before, processes = open_descriptors(), children()
    yield
    assert open_descriptors() == before
    assert not zmq_threads()
    assert children() <= processes


def zmq_threads() -> list[str]:
    names = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            names.append(task.joinpath("comm").read_text())
    return [name for name in names if name.startswith("ZMQbg")]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def played(task: Any, host: RemoteLearnerHost, control: str = GENEROUS, **options: Any) -> Played:
    """The match, which must end by itself."""
    with trio.fail_after(60):
        return await play_here(task, host, control=control, **options)


def fall(match: Played) -> tuple[str, str]:
    assert match.reason == "seats"
    (fell,) = match.disqualified
    return fell.reason, fell.detail


# The wire.


async def test_a_session_begins_as_in_round_1(learner: Learner):
    host = learner.host("say(b'hello'); go_on(b'a')")
    task = CATALOG["micro1"]()
    match = await played(task, host, steps=6, seed=1)
    heard = learner.heard
    assert heard[0] == "0"
    assert heard[2::2] == ["-1"] * (len(heard[2::2]))  # `a` is right nowhere here
    assert [len(token) for token in heard[1::2]] == [1] * 6
    assert heard[1::2] == [chr(turn.observation) for turn in match.turns]
    assert match.actions() == [A] * 6


SOLVER = """
say(b"hello")
keys = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.!;?-"
i = 0
hear(), hear()
while True:
    say(keys[i].encode())
    if int(hear()) < 0:
        i += 1
    hear()
"""
KEYS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.!;?-"


def solver(heard: list[str]) -> Callable[[Any, Any], int]:
    """What the learner above does, as a function that notes what a learner would hear."""
    i = -1

    def act(byte: int, reward: float) -> int:
        nonlocal i
        heard.extend([str(reward), chr(byte)])
        if i < 0 or reward < 0:
            i += 1
        return ord(KEYS[i])

    return act


async def test_a_whole_micro_task_is_played_as_a_function_plays_it(learner: Learner):
    expected: list[str] = []
    outcomes: list[Any] = []
    turns = run_plain(ListScheduler([CATALOG["micro1"]()]), solver(expected), seed=3, report=outcomes.append)
    match = await played(CATALOG["micro1"](), learner.host(SOLVER), seed=3)
    assert match.reason == "finished"
    assert match.result is not None
    assert match.result.turns == turns
    assert match.result.tasks[0].solved == outcomes[0].result is True
    assert learner.heard == [*expected, "1"]  # the last reward, for which no byte follows
    assert match.dropped == []


async def test_a_learner_that_somebody_else_starts_can_come_first(learner: Learner):
    command = [*shlex.split(learner("say(b'hello'); go_on()")), str(learner.port)]
    host = RemoteLearnerHost(learner.port)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(trio.run_process, command, check=False))
        match = await played(Spelling(), host)
        nursery.cancel_scope.cancel()
    assert match.verdicts() == ["on time"] * 4
    assert match.reason == "finished"


async def test_a_host_plays_one_match_after_another(learner: Learner):
    host = learner.host("say(b'hello'); go_on()")
    for _ in range(2):
        assert (await played(Spelling(), host)).actions() == [A] * 4


async def test_the_reward_of_a_task_that_ended_comes_with_the_next_byte(learner: Learner):
    tasks = [Spelling(2), Spelling(2)]
    for task in tasks:
        task.continuous = False  # its last reward is told apart, in the phase `result`
    match = await played(tasks, learner.host("say(b'hello'); go_on()"))
    assert learner.heard == ["0", "a", "1", "b", "1", "a", "1", "b", "1"]
    assert match.reason == "finished"


@pytest.mark.parametrize(
    ("reward", "text"),
    [
        (0, "0"),
        (1, "1"),
        (-1, "-1"),
        (True, "1"),
        (False, "0"),
        (2.0, "2"),
        (-0.5, "-0.5"),
        (10**20, "1" + "0" * 20),
    ],
)
def test_a_reward_is_decimal_text(reward: Any, text: str):
    assert reward_text(reward) == text.encode()


@pytest.mark.parametrize("byte", [0, 97, 233, 255])
def test_a_byte_is_one_character_of_utf_8(byte: int):
    assert token_text(byte).decode() == chr(byte)
    assert read_reply([token_text(byte)]) == byte


@pytest.mark.parametrize("observation", [None, 256, -1, "a", 1.0])
def test_nobody_but_the_task_pays_for_what_is_no_byte(observation: Any):
    with pytest.raises(HostFault, match="byte tasks"):
        token_text(observation)


# Bad replies.


@pytest.mark.parametrize(
    ("frames", "what"),
    [
        ([b""], "0 characters: b''"),
        ([b"ab"], "2 characters: b'ab'"),
        (["\u0101".encode()], r"code 257: b'\xc4\x81'"),
        ([b"\xe9"], r"not UTF-8: b'\xe9'"),
        ([b"\xed\xa0\x80"], r"not UTF-8: b'\xed\xa0\x80'"),
        ([b"a", b"b"], "2 frames: b'a'"),
        ([b"x" * 1000], "1000 characters: " + repr(b"x" * 40) + "..."),
    ],
)
def test_what_a_bad_reply_was_is_shown(frames: list[bytes], what: str):
    assert read_reply(frames) == BadReply(what)


async def test_a_bad_reply_is_an_illegal_action_and_the_match_goes_on(learner: Learner):
    replies = [b"", b"ab", "\u0101".encode(), b"\xff", b"x" * 1000, "\u00e9".encode(), b"\0"]
    behaviour = f"say(b'hello')\nfor reply in {replies!r}: turn(reply)\nturn(); say(b'a', b'b'); go_on()"
    match = await played(Spelling(9), learner.host(behaviour))
    bad, good = "illegal", "on time"
    assert match.verdicts() == [bad, bad, bad, bad, bad, good, good, bad, good]
    assert match.actions() == [NIL, NIL, NIL, NIL, NIL, 0xE9, 0, NIL, A]
    assert match.reason == "finished"


async def test_a_reply_beyond_all_measure_ends_the_connection(learner: Learner):
    match = await played(Spelling(), learner.host("say(b'hello'); turn(b'x' * 5000); go_on()"))
    assert fall(match)[0] == "gone"


# What answers what.


async def hesitant(referee: Any) -> None:
    """Shows a and b, and takes its time before each."""
    for byte in b"ab":
        await trio.sleep(0.4)
        await referee.ask(byte, 0)


async def test_a_second_reply_is_dropped_and_not_taken_for_the_next_turn(learner: Learner):
    task = ActorTask(hesitant)
    behaviour = "say(b'hello'); say(b'x'); turn(b'a', b'b'); turn(b'c'); go_on()"
    match = await played(task, learner.host(behaviour))
    assert match.actions() == [ord("a"), ord("c")]
    assert [(drop.turn, drop.why) for drop in match.dropped] == [(-1, "double"), (0, "double")]


async def test_a_late_reply_is_waited_for_and_then_dropped(learner: Learner):
    behaviour = "say(b'hello'); turn(); time.sleep(2); say(b'z'); go_on()"
    match = await played(Spelling(5), learner.host(behaviour), "start=20s act=800ms/10s")
    assert match.verdicts()[:2] == ["late", "late"]  # the second one was never shown
    assert match.verdicts()[-1] == "on time"
    assert set(match.actions()) == {NIL, A}
    assert [(drop.turn, drop.why) for drop in match.dropped] == [(0, "stale")]
    assert learner.heard[1:4:2] == ["a", "c"]


async def test_a_learner_that_floods_replies_plays_on_and_holds_up_nothing(learner: Learner):
    """Its newest message is always there already, so the host cannot read until nothing is left."""
    match = await played(Spelling(10), learner.host("say(b'hello')\nwhile True: say(b'a')"))
    assert match.reason == "finished"
    assert match.actions() == [A] * 10
    assert match.stats().dropped <= 12 * MAX_DROPPED


class Endless:
    """The connection of a learner that sends faster than it is read, for ever."""

    def __init__(self, unit: bytes) -> None:
        self.reads = 0
        self._unit = unit

    def read_nowait(self) -> bytes:
        self.reads += 1
        assert self.reads < 1000, "it is read without a bound"
        return (GREETING + READY if self.reads == 1 else b"") + self._unit * 1000

    async def read(self) -> bytes:
        await trio.lowlevel.checkpoint()
        return self.read_nowait()

    def age_ns(self) -> int:
        return 0

    async def write(self, data: bytes) -> None:
        """Nothing of it is ever read."""

    def write_nowait(self, data: bytes) -> None:
        """Nothing of it is ever read."""

    def close(self) -> None:
        """There is nothing to close."""


class EndlessHost:
    """Plays with a learner that has stayed from an earlier match and floods replies."""

    kind = "task"
    name = "endless"

    def __init__(self) -> None:
        self.connection = Endless(message(b"a"))

    async def run(self, seat: Any, _briefing: Any) -> None:
        start = await seat.agent.turn()
        link = LearnerConnection(self.connection, -1)  # type: ignore[arg-type]  # it has all that is used
        link.was_kept = True
        talk = _LearnerSession(seat, start.number)
        await talk.start(link, None)
        await talk.answer_turns(link)


def test_what_is_read_of_a_flood_is_bounded_for_each_turn():
    host = EndlessHost()
    match = play([Spelling(5), Spelling(5)], host)
    assert match.reason == "finished"
    assert match.actions() == [A] * 10
    assert match.stats().dropped == 10 * MAX_DROPPED
    assert host.connection.reads <= 12 * (MAX_DROPPED // 1000 + 1)


def test_commands_without_end_are_read_once_at_a_time():
    link = LearnerConnection(Endless(b"\x04\x00"), -1)  # type: ignore[arg-type]
    assert [link.receive_nowait() for _ in range(3)] == [None] * 3


# Coming, staying away, and going.


async def test_a_learner_that_stalls_is_late_and_then_out(learner: Learner):
    host = learner.host("say(b'hello'); turn(b'a'); time.sleep(60)")
    match = await played(Spelling(9), host, "start=20s act=200ms/600ms")
    assert fall(match)[0] == "late"
    assert match.verdicts()[:3] == ["on time", "late", "late"]


@pytest.mark.parametrize(
    ("ending", "sign"),
    [
        ("pair.close(); time.sleep(60)", "it disconnected"),
        ("import signal; os.kill(os.getpid(), signal.SIGKILL)", "exit code -9"),
        ("raise ValueError('lost for words')", "ValueError: lost for words"),
    ],
    ids=["disconnects", "kills itself", "raises"],
)
async def test_a_learner_that_goes_is_gone_at_once(learner: Learner, ending: str, sign: str):
    host = learner.host(f"say(b'hello'); turn(b'a'); turn(b'b'); turn(); {ending}")
    match = await played(Spelling(9), host, "start=20s act=60s")
    reason, detail = fall(match)
    assert reason == "gone"
    assert sign in detail
    assert match.verdicts() == ["on time", "on time", "disqualified"]
    assert match.actions()[:2] == [ord("a"), ord("b")]


async def test_a_last_reply_before_going_still_counts(learner: Learner):
    # `sys.exit` does more between the end of the connection and its own: too much on a busy machine.
    ending = "pair.close(); pair.context.term(); os._exit(3)"
    host = learner.host(f"say(b'hello'); turn(b'a'); turn(b'b'); {ending}")
    match = await played(Spelling(9), host, "start=20s act=60s")
    assert match.actions()[:2] == [ord("a"), ord("b")]
    assert fall(match)[0] == "gone"
    assert "exit code 3" in match.disqualified[0].detail


async def test_a_learner_that_says_something_else_than_hello_is_garbage(learner: Learner):
    match = await played(Spelling(), learner.host("say(b'hallo'); go_on()"), "start=1s act=1s")
    assert fall(match)[0] == "garbage"
    assert "b'hallo'" in match.disqualified[0].detail


async def test_a_learner_that_never_says_hello_is_silent(learner: Learner):
    match = await played(Spelling(), learner.host("time.sleep(60)"), "start=1s act=1s")
    assert fall(match)[0] == "silent"
    assert f"a client connected to 127.0.0.1:{learner.port} and sent nothing" in match.disqualified[0].detail


async def test_nobody_comes(port: int):
    match = await played(Spelling(), RemoteLearnerHost(port), "start=100ms act=1s")
    assert fall(match) == ("not connected", f"no client connected to 127.0.0.1:{port}")


async def test_a_program_that_ends_before_hello_was_not_started(learner: Learner):
    match = await played(Spelling(), learner.host("sys.exit('no such model')"), "act=60s")
    assert fall(match)[0] == "not started"
    assert "no such model" in match.disqualified[0].detail


INTRUDER = """
import sys, zmq
pair = zmq.Context().socket(zmq.PAIR)
pair.connect(f"tcp://127.0.0.1:{sys.argv[2]}")
pair.send(b"hello")
for _ in range(100):
    pair.send(b"z")
stolen = pair.recv()
open(sys.argv[1], "wb").write(stolen)
"""


async def test_a_second_client_hears_nothing_and_nobody_hears_it(learner: Learner, tmp_path: Path):
    script, stolen = tmp_path / "intruder.py", tmp_path / "stolen"
    script.write_text(INTRUDER)
    command = [sys.executable, str(script), str(stolen)]
    behaviour = (
        f"say(b'hello'); turn(b'a'); subprocess.Popen({command!r} + sys.argv[-1:]); time.sleep(0.8)\n"
        "turn(b'b'); turn(b'c'); turn(); pair.close(); time.sleep(60)"
    )
    match = await played(Spelling(9), learner.host(behaviour))
    assert match.actions()[:3] == [ord("a"), ord("b"), ord("c")]
    assert match.dropped == []
    assert fall(match)[0] == "gone"  # though another one waits to be let in
    assert not stolen.exists()


async def test_a_learner_that_comes_back_is_not_let_in(learner: Learner):
    again = (
        "pair.close(); pair = zmq.Context().socket(zmq.PAIR); pair.connect(f'tcp://127.0.0.1:{sys.argv[-1]}')"
    )
    behaviour = f"say(b'hello'); turn(b'a'); {again}; say(b'hello'); go_on(b'z')"
    match = await played(Spelling(9), learner.host(behaviour))
    assert fall(match)[0] == "gone"
    assert ord("z") not in match.actions()


async def test_the_learner_ends_with_the_match_and_all_it_started(learner: Learner, tmp_path: Path):
    pids = tmp_path / "pids"
    behaviour = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "below = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{below.pid}}')\n"
        "say(b'hello'); go_on()"
    )
    match = await played(Spelling(), learner.host(behaviour))
    assert match.reason == "finished"
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())


async def test_a_match_that_is_cancelled_leaves_nothing(learner: Learner):
    host = learner.host("say(b'hello'); turn(b'a'); time.sleep(60)")
    with trio.move_on_after(1):
        await play_here(Spelling(), host, control="untimed")


# What cannot be.


@pytest.fixture
def taken(port: int) -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        yield port


def test_a_port_that_is_taken_is_told_before_anything_is_played(taken: int):
    with pytest.raises(UsageError, match=f"port {taken} .* in use"):
        RemoteLearnerHost(taken)


async def test_a_port_that_is_taken_meanwhile_voids_the_match(port: int):
    host, into = RemoteLearnerHost(port), Played()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(HostFault, match=f"port {port} .* in use"):
            await played(Spelling(), host, into=into)
    assert isinstance(into.events[-1], MatchEnded)
    assert into.turns == []


async def test_only_what_can_be_told_byte_by_byte_can_be_played(learner: Learner):
    class Numbers(Spelling):
        def reset(self, seed: int) -> int:
            return super().reset(seed) + 1000

    with pytest.raises(HostFault, match="byte tasks"):
        await played(Numbers(), learner.host("say(b'hello'); go_on()"))


async def test_the_cpu_clock_counts_what_the_command_uses(learner: Learner):
    behaviour = (
        "say(b'hello'); turn(); time.sleep(0.4); say(b'a')\n"
        "turn(); end = time.process_time() + 1\n"
        "while time.process_time() < end: pass\n"
        "say(b'b'); go_on()"
    )
    match = await played(Spelling(3), learner.host(behaviour), "start=20s act=300ms/14s clock=cpu")
    assert match.verdicts()[:2] == ["on time", "late"]
    assert match.turns[0].spent_ns < 300 * MS


async def test_the_cpu_clock_needs_a_command(port: int):
    host = RemoteLearnerHost(port)
    control = "act=1s clock=cpu"
    with pytest.raises(UsageError, match="let flagfall start the agent"):
        host.check(TimeControl.parse(control))
    with pytest.raises(UsageError, match="let flagfall start the agent"):
        await played(Spelling(), host, control)


@pytest.mark.parametrize("port", [0, -1, 65536, True, "5556"])
def test_a_port_that_cannot_be(port: Any):
    with pytest.raises(UsageError, match="1 to 65535"):
        RemoteLearnerHost(port)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "empty"),
        ("'open", "quotation"),
        ("no-such-program-here --x", "no program 'no-such-program-here'"),
    ],
)
def test_a_command_that_cannot_be(port: int, command: str, message: str):
    with pytest.raises(UsageError, match=message):
        RemoteLearnerHost(port, command=command)


async def test_a_program_that_is_none_is_the_learners_fault(port: int, tmp_path: Path):
    script = tmp_path / "learner"
    script.write_text("no program at all")
    script.chmod(0o755)
    match = await played(Spelling(), RemoteLearnerHost(port, command=str(script)))
    assert fall(match)[0] == "not started"


def test_texts_for_the_command_line(port: int):
    for text in (f"zmq:{port}", f"zmq://localhost:{port}", f"zmq://*:{port}"):
        host = host_agent(text)
        assert (host.name, host.kind) == (text, "remote")
    started = host_agent(f"zmq:{port}", name="R. Daneel", learner_command="true")
    assert (started.name, started.kind) == ("R. Daneel", "process")


@pytest.mark.parametrize(
    "text",
    [
        "zmq:",
        "zmq:x",
        "zmq://",
        "zmq://5556",
        "zmq://:5556",
        "zmq:-1",
        "zmq:\u0661",
        "zmq://host.invalid:5556",
    ],
)
def test_texts_that_mean_no_remote_learner(text: str):
    with pytest.raises(UsageError, match="invalid address"):
        host_agent(text)
