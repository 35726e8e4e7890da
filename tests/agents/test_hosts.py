"""The same agents in threads and in processes: what they may do, and what becomes of it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

import flagfall
from flagfall.agents.hosts.process import CommandHost, ProcessHost
from flagfall.agents.hosts.thread import ThreadHost
from flagfall.agents.process.forking import FORK_SERVERS
from flagfall.agents.process.supervisor import descendants
from flagfall.agents.registry import check_agent_file, load_agent
from flagfall.errors import UsageError
from flagfall.events import SeatReady
from flagfall.kernel.outcomes import STDERR_BYTES
from flagfall.timing import MS
from tests.children import open_descriptors
from tests.fakes import NIL, CountTask, ListScheduler, Played, Sleeper, TogetherTask, play_here

AGENTS = Path(__file__).parent / "some_agents.py"
CONTROL = "start=20s init=5s act=2s/20s result=5s"
KINDS = ["thread", "process"]


def host(kind: str, name: str) -> Any:
    spec = f"{AGENTS}:{name}"
    return ProcessHost(spec, name) if kind == "process" else ThreadHost(load_agent(spec), name)


def children() -> set[int]:
    """The living processes of this session's making, zombies too."""
    found: set[int] = set()
    for listed in Path("/proc/self/task").glob("*/children"):  # each thread has its own
        with suppress(OSError):
            found.update(map(int, listed.read_text().split()))
    return found


def threads() -> set[str]:
    return {t.name for t in threading.enumerate() if not t.name.startswith("Trio thread")}


@pytest.fixture(scope="module", autouse=True)
def kept_server() -> Iterator[None]:
    """One fork server for all tests, up before the first; `test_fork_server.py` has its start and its end."""
    with FORK_SERVERS.keep():
        trio.run(partial(play_here, CountTask(1), host("process", "echo"), control=CONTROL))
        yield


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No process, thread or descriptor outlives its match."""
    before = len(open_descriptors()), children(), threads()
    yield
    assert children() <= before[1]
    end = time.monotonic() + 2  # a thread closes its end of the wire a moment later
    while time.monotonic() < end and (
        len(open_descriptors()) > before[0] or not threads() <= before[2] | BLOCKED
    ):
        time.sleep(0.01)
    assert len(open_descriptors()) <= before[0]
    assert threads() <= before[2] | BLOCKED


BLOCKED = {"slow to die"}
"""Threads that nobody can stop."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["echo", "trio_echo", "AsyncioEcho", "actor", "AsyncioActor"])
async def test_agents_of_every_kind(kind: str, name: str):
    played = await play_here(CountTask(5), host(kind, name), control=CONTROL)
    assert played.reason == "finished"
    assert played.actions() == [0, 1, 2, 3, 4]
    assert played.disqualified == []
    ready = next(e for e in played.events if isinstance(e, SeatReady))
    assert ready.host == kind
    assert ready.spent_ns > 0


@pytest.mark.parametrize("kind", KINDS)
async def test_replies_that_answer_nothing(kind: str):
    played = await play_here(CountTask(4), host(kind, "doubling"), control=CONTROL)
    assert played.actions() == [0, 1, 2, 3]
    assert {d.why for d in played.dropped} == {"double"}
    played = await play_here(CountTask(4), host(kind, "flooding"), control=CONTROL)
    assert played.actions() == [0, 1, 2, 3]
    assert len(played.dropped) == 100
    played = await play_here(CountTask(4), host(kind, "skipping"), control="start=20s act=50ms/20s")
    assert played.actions() == [0, NIL, 2, NIL]


@pytest.mark.parametrize("kind", KINDS)
async def test_phases_and_answers_travel(kind: str):
    scheduler = ListScheduler([CountTask(1)])
    await play_here(scheduler, host(kind, "Phases"), control=CONTROL)
    assert [tuple(seen) for seen in scheduler.outcomes[0].answers[0]] == [
        ("start", 0),
        ("init", 0),
        ("act", 0),
        ("result", 1, 0),
    ]


@pytest.mark.parametrize("kind", KINDS)
async def test_late_answers_are_stale_and_the_agent_is_told(kind: str):
    played = await play_here(CountTask(4), host(kind, "slow"), control="start=20s act=50ms/20s")
    assert played.verdicts()[1] == "late"
    assert played.actions()[0] == 0
    assert played.actions()[-1] in {3, NIL}
    assert 1 not in played.actions()
    assert {d.why for d in played.dropped} == {"stale"}
    played = await play_here(CountTask(12), host(kind, "Told"), control="start=20s act=70ms/20s")
    assert played.actions()[:2] == [41, NIL]
    assert 50 in played.actions()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["Start", "Init", "Act", "Result", "Close"])
async def test_exceptions_are_told_with_the_agents_traceback(kind: str, where: str):
    played = await play_here(CountTask(1), host(kind, f"RaisesIn{where}"), control=CONTROL)
    assert played.reason == ("finished" if where in {"Result", "Close"} else "seats")
    assert [f.reason for f in played.disqualified] == ["not started" if where == "Start" else "crashed"]
    assert f"boom in {where.lower()}" in played.disqualified[0].detail
    assert "some_agents.py" in played.disqualified[0].detail


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "reason", "said"),
    [("exits", "crashed", "SystemExit: 3"), ("leaving", "gone", ""), ("nonsense", "crashed", "object")],
)
async def test_ways_to_go(kind: str, name: str, reason: str, said: str):
    played = await play_here(TogetherTask(2, 3), host(kind, name), Sleeper(0.001), control=CONTROL)
    assert [(f.seat, f.reason) for f in played.disqualified] == [(0, reason)]
    assert said in played.disqualified[0].detail
    assert played.reason == "finished"
    assert played.verdicts(1) == ["on time"] * 3


@pytest.mark.parametrize(
    ("name", "reason", "said"),
    [
        ("leaves_at_once", "gone", "so long"),
        ("leaves_at_once", "gone", "exit code 0"),
        ("kills_itself", "gone", "exit code -9"),
        ("segfaults", "gone", "exit code -11"),
        ("closes_its_pipes", "gone", "closed"),
        ("half_a_frame", "gone", "closed"),
        ("garbage", "garbage", ""),
        ("too_long", "garbage", "4294967295"),
    ],
)
async def test_ways_for_a_process_to_go(name: str, reason: str, said: str):
    began = time.perf_counter()
    played = await play_here(CountTask(3), host("process", name), control=CONTROL)
    assert (played.reason, played.disqualified[0].reason) == ("seats", reason)
    assert said in played.disqualified[0].detail
    assert time.perf_counter() - began < 5


async def test_what_an_agent_prints_does_not_break_the_wire_and_is_bounded():
    played = await play_here(CountTask(3), host("process", "Talking"), control=CONTROL)
    assert played.actions() == [0, 1, 2]
    assert STDERR_BYTES < 10_000


def orphans() -> set[Path]:
    """Agent processes without a parent."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            parent = int(entry.with_name("stat").read_text().rpartition(")")[2].split()[1])
            if parent == 1 and b"flagfall.agents" in entry.read_bytes():
                found.add(entry)
    return found


async def ended_within_ms(name: str, control: str) -> float:
    """How long after the hard limit the match was over, with the process gone."""
    played = await play_here(CountTask(30), host("process", name), control=control)
    assert played.reason == "seats"
    assert played.disqualified[0].reason == "late"
    assert played.result is not None
    return (played.result.elapsed_ns - played.disqualified[0].at_ns) / MS


@pytest.mark.parametrize("name", ["spins", "spins_with_a_child", "ignores_terminate", "sleeps"])
async def test_a_process_is_stopped_with_its_children(name: str):
    before = orphans()
    after_ms = await ended_within_ms(name, "start=20s act=40ms/150ms")
    assert after_ms < 200  # 20 ms is what is promised on a machine with time to spare
    with trio.fail_after(20):
        while orphans() - before:  # noqa: ASYNC110 - other tests kill hosts, whose agents end a moment later
            await trio.sleep(0.1)


async def test_a_process_that_never_starts_is_out_in_time():
    played = await play_here(CountTask(3), host("process", "NeverStarts"), control="start=1s")
    assert (played.reason, played.disqualified[0].reason) == ("seats", "late")


async def test_on_the_cpu_clock_a_process_is_charged_for_computing_only():
    control = "start=20s act=40ms/10s clock=cpu"
    played = await play_here(CountTask(4), host("process", "naps"), control=control)
    assert played.verdicts() == ["on time"] * 4
    played = await play_here(CountTask(4), host("process", "burns"), control=control)
    assert played.verdicts()[:2] == ["on time", "late"]
    played = await play_here(
        CountTask(4), host("process", "sleeps"), control="start=20s act=20ms late=out clock=cpu"
    )
    assert played.disqualified[0].reason == "late"
    assert played.disqualified[0].at_ns - played.events[2].at_ns < 1000 * MS
    played = await play_here(CountTask(3), host("thread", "naps"), control=control)
    assert played.verdicts() == ["on time"] * 3


def test_agents_of_one_process_share_no_helper_by_its_name(tmp_path: Path):
    for name, answer in (("first", 1), ("second", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shared_by_name.py").write_text(f"ANSWER = {answer}\n")
        (tmp_path / name / "bot.py").write_text(
            "from shared_by_name import ANSWER\ndef act(observation):\n    return ANSWER\n"
        )
    assert load_agent(f"{tmp_path}/first/bot.py:act")(0) == 1
    with pytest.raises(
        UsageError, match=r"it imports shared_by_name\.py beside it, and the module"
    ) as caught:
        load_agent(f"{tmp_path}/second/bot.py:act")
    assert "\n" not in str(caught.value)
    assert load_agent(f"{tmp_path}/first/bot.py:act")(0) == 1
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    assert load_agent(f"{tmp_path}/copy/bot.py:act")(0) == 1


async def test_helper_modules_stand_beside_the_agents_file(tmp_path: Path):
    (tmp_path / "my_helper.py").write_text("def answer(observation):\n    return observation + 10\n")
    (tmp_path / "bot.py").write_text(
        "from my_helper import answer\ndef act(observation):\n    return answer(observation)\n"
    )
    played = await play_here(CountTask(3), ProcessHost(f"{tmp_path / 'bot.py'}:act", "bot"), control=CONTROL)
    assert played.actions() == [10, 11, 12]


@pytest.mark.parametrize("host", [None, "task", "thread", "process"])
def test_an_agent_that_its_file_does_not_have_is_refused_before_the_match(tmp_path: Path, host: Any):
    file = tmp_path / "bot.py"
    file.write_text("class Bot:\n    def act(self, observation):\n        return 1\n")
    for text, message in {
        f"{file}:Bat": f"{file} has no 'Bat'; nearest: Bot",
        f"{tmp_path}/bat.py:Bot": f"no such agent file: {tmp_path}/bat.py; nearest: bot.py",
    }.items():
        with pytest.raises(UsageError, match=re.escape(message)):
            flagfall.run("micro1", text, host=host)


@pytest.mark.parametrize(
    "code",
    [
        "from math import *",
        "globals().update(Bot=print)",
        "def __getattr__(name):\n    return print",
        "import math as Bot",
        "for Bot in (print,):\n    pass",
        "if True:\n    Bot = print",
        "exec('Bot = print')",
        "this is no Python",
    ],
)
def test_a_file_that_may_have_the_agent_is_left_to_its_process(tmp_path: Path, code: str):
    file = tmp_path / "bot.py"
    file.write_text(code)
    check_agent_file(f"{file}:Bot")


async def test_an_agent_that_cannot_be_loaded_is_told_why(tmp_path: Path):
    (tmp_path / "bot.py").write_text("import nothing_of_the_kind\n")
    for spec in (f"{tmp_path / 'bot.py'}:act", f"{tmp_path / 'none.py'}:act", "no_such_module:act"):
        played = await play_here(CountTask(3), ProcessHost(spec, "bot"), control=CONTROL)
        assert played.disqualified[0].reason == "not started"
        assert played.disqualified[0].detail


async def test_a_thread_that_never_comes_back_is_left_behind():
    release = threading.Event()

    def stuck(_observation: int) -> int:
        release.wait(20)
        return 1

    played = await play_here(
        CountTask(30), ThreadHost(stuck, "slow to die"), control="start=20s act=10ms/50ms"
    )
    assert (played.reason, played.disqualified[0].reason) == ("seats", "late")
    release.set()


@pytest.mark.parametrize("kind", KINDS)
async def test_both_kinds_at_several_seats(kind: str):
    played = await play_here(
        TogetherTask(3, 5),
        host(kind, "echo"),
        host("process", "spins"),
        host("thread", "echo"),
        control="start=20s act=100ms/250ms",
    )
    assert played.actions(0) == played.actions(2) == [0, 1, 2, 3, 4]
    assert played.verdicts(1)[0] == "late"
    assert played.verdicts(1)[-1] == "absent"


@pytest.mark.release
@pytest.mark.parametrize(("kind", "name"), [("thread", "naps"), ("process", "naps"), ("process", "sleeps")])
async def test_cancelling_at_any_moment_leaves_nothing(kind: str, name: str):
    for after in (0.0, 0.01, 0.05, 0.2, 0.35):
        into = Played()
        with trio.move_on_after(after):
            await play_here(CountTask(10**6), host(kind, name), control=CONTROL, into=into)
        if into.events:
            assert type(into.events[-1]).__name__ == "MatchEnded"


async def test_killing_the_agents_process_from_outside():
    async def kill_supervisor() -> None:
        below: list[int] = []
        while len(below) < 2:
            await trio.sleep(0.01)
            below = [pid for server in FORK_SERVERS.pids() for pid in descendants(server)]
        await trio.sleep(0.4)
        os.kill(below[0], signal.SIGKILL)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(kill_supervisor)
        played = await play_here(CountTask(10**6), host("process", "naps"), control=CONTROL)
    assert (played.reason, played.disqualified[0].reason) == ("seats", "gone")
    assert "-9" in played.disqualified[0].detail


NEVER_READS = """
import json, os, sys, time
os.read(0, 65536)
os.write(1, json.dumps({"type": "ready"}).encode() + b"\\n")
time.sleep(600)
"""


class LongTask(CountTask):
    """Shows more than a pipe holds."""

    def reset(self, _seed: int) -> Any:
        return "x" * 1_000_000


async def test_a_program_that_never_reads_a_long_turn_does_not_hold_up_the_loop(tmp_path: Path):
    (tmp_path / "program.py").write_text(NEVER_READS)
    program = CommandHost(f"{sys.executable} {tmp_path}/program.py", "program")
    with trio.fail_after(60):
        played = await play_here(LongTask(5), program, control="start=20s act=50ms/200ms")
    assert [fall.reason for fall in played.disqualified] == ["late"]
