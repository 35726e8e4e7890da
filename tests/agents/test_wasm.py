"""Agents in WebAssembly: their time in fuel, their verdicts, and what they get of this machine."""

from __future__ import annotations

import importlib.util
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import trio
from gymnasium import spaces

from flagfall.agents.hosts.registry import Player
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.process.limits import Limits
from flagfall.agents.spec import AgentSpec
from flagfall.errors import HostFault, UsageError
from flagfall.kernel.outcomes import StepResult
from flagfall.timing import MS, S, VirtualClock
from flagfall.timing.latency import SeatLatency
from tests.fakes import CountTask, Played, TogetherTask, play, play_here

pytest.importorskip("wasmtime")
pytest.importorskip("componentize_py")

from wasmtime import wat2wasm

from flagfall.agents.wasm import building, engine, host, wasi
from flagfall.agents.wasm.host import WasmHost

AGENTS = Path(__file__).parent / "wasm_agents"
EXAMPLES = Path(__file__).parents[2] / "examples"
FUEL = SeatLatency.parse("fuel(1G/s)")

# A module in the text form of WebAssembly. A message lies at 65536, what an answer is returned by at 16.
MODULE = """(module
  {imports}
  (memory (export "memory") 2)
  (data (i32.const 1024) "{ready}")
  (data (i32.const 2048) "{answer}")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
  (func (export "start") (param i32 i32) (result i32)
    {start}
    (i32.store (i32.const 16) (i32.const 1024))
    (i32.store (i32.const 20) (i32.const {ready_size}))
    (i32.const 16))
  (func $act (export "act") (param i32 i32) (result i32)
    (local $left i32)
    {act}
    (i32.store8 (i32.const {digit}) (i32.load8_u (i32.add (i32.const 65536) (i32.const {number}))))
    (i32.store (i32.const 16) (i32.const 2048))
    (i32.store (i32.const 20) (i32.const {answer_size}))
    (i32.const 16))
  (func (export "result") (param i32 i32) (result i32) (call $act (local.get 0) (local.get 1))))
"""


def module(folder: Path, *, act: str = "", start: str = "", imports: str = "", blanks: int = 0) -> str:
    """Write a module that answers 1 in its first ten turns, and blanks; return its text as an agent."""
    ready, answer = b'{"type":"ready"}', b'{"type":"answer","number":0,"action":1}' + b" " * blanks
    fields = {
        "ready": _escaped(ready),
        "ready_size": len(ready),
        "answer": _escaped(answer),
        "answer_size": len(answer),
        "digit": 2048 + answer.index(b"0"),
        "number": len('{"type":"ask","number":'),
        "act": act,
        "start": start,
        "imports": imports,
    }
    file = folder / "agent.wasm"
    file.write_bytes(wat2wasm(MODULE.format(**fields)))
    return str(file)


def _escaped(text: bytes) -> str:
    return "".join(f"\\{byte:02x}" for byte in text)


def works(rounds: int) -> str:
    """Return instructions that go through a loop so often."""
    return f"""(local.set $left (i32.const {rounds}))
      (loop $again (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))"""


def bot(name: str) -> WasmHost:
    return WasmHost(AgentSpec.parse(f"{AGENTS / 'bots.py'}:{name}"), name)


def of(text: str) -> WasmHost:
    return WasmHost(AgentSpec.parse(text), "agent")


def played(*hosts: WasmHost, task: Any = None, fuel: SeatLatency | None = FUEL, **options: Any) -> Played:
    think = [] if fuel is None else [fuel] * len(hosts)
    return play(task or CountTask(8), *hosts, think=think, **options)


# Time.


def test_the_time_of_a_turn_is_the_fuel_that_it_used(tmp_path):
    short, long = (played(of(module(tmp_path, act=works(rounds)))) for rounds in (1_000, 1_001))
    (spent,), (more,) = ({turn.spent_ns for turn in found.turns} for found in (short, long))
    per_round = more - spent
    assert 2 <= per_round <= 10
    answered = spent - len('{"type":"answer","number":0,"action":1}') * wasi.ANSWER_UNITS
    assert 1_000 * per_round < answered < 1_000 * per_round + 100
    slow = SeatLatency.parse("fuel(1M/s)")
    (slower,) = {turn.spent_ns for turn in played(of(module(tmp_path, act=works(1_000))), fuel=slow).turns}
    assert slower == 1_000 * spent


def test_an_endless_loop_is_judged_late_and_ends_at_its_hard_limit_to_the_nanosecond(tmp_path):
    agent = of(module(tmp_path, act="(loop $again (br $again))"))
    found = played(agent, task=CountTask(5), control="act=40ms/70ms")
    assert found.verdicts() == ["late", "disqualified"]
    assert [(one.reason, one.at_ns) for one in found.disqualified] == [
        ("late", found.events[1].at_ns + 70 * MS)
    ]


@pytest.mark.parametrize("factor", ["0.5", "2"])
def test_the_work_of_a_faster_machine_ends_at_the_same_limit(factor: str, tmp_path):
    fuel = SeatLatency.parse(f"fuel(1G/s) cpu={factor}")
    agent = of(module(tmp_path, act="(loop $again (br $again))"))
    found = played(agent, task=CountTask(5), control="act=40ms/70ms", fuel=fuel)
    assert [(one.reason, one.at_ns) for one in found.disqualified] == [
        ("late", found.events[1].at_ns + 70 * MS)
    ]
    work = module(tmp_path, act=works(1_000))
    (spent,), (usual,) = (
        {turn.spent_ns for turn in played(of(work), fuel=one).turns} for one in (fuel, FUEL)
    )
    assert spent == float(factor) * usual


def test_other_seats_play_on_as_if_alone(tmp_path):
    endless = of(module(tmp_path, act="(loop $again (br $again))"))
    both = played(endless, bot("Lotto"), task=TogetherTask(2, 20), control="act=40ms/70ms")
    other = [turn.spent_ns for turn in both.turns if turn.seat == 1]
    assert both.verdicts(1) == ["on time"] * 20
    again = played(bot("Exits"), bot("Lotto"), task=TogetherTask(2, 20), control="act=40ms/70ms")
    assert [turn.spent_ns for turn in again.turns if turn.seat == 1] == other


def test_sleep_passes_on_the_clock_of_the_agent_and_costs_no_real_time():
    began = time.monotonic()
    found = played(bot("Sleeper"), task=CountTask(300), control="act=20ms start=1s")
    assert {turn.verdict for turn in found.turns} == {"on time"}
    assert all(10 * MS < turn.spent_ns < 12 * MS for turn in found.turns)
    assert time.monotonic() - began < 300 * 0.01 + 30  # and a busy machine


def test_moments_that_an_agent_has_waited_for_are_forgotten_and_others_are_bounded(monkeypatch):
    monkeypatch.setattr(wasi, "MAX_MOMENTS", 3)
    found = played(bot("Sleeper"), task=CountTask(20), control="untimed")
    assert found.verdicts() == ["on time"] * 20
    monkeypatch.setattr(wasi, "MAX_MOMENTS", 0)
    (out,) = played(bot("Sleeper"), control="untimed").disqualified
    assert (out.reason, "it keeps more than 0 moments to wait for" in out.detail) == ("crashed", True)


def test_an_endless_turn_without_a_limit_ends_after_the_most_fuel(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "MAX_UNITS", 10_000_000)
    endless = module(tmp_path, act="(loop $again (br $again))")
    for fuel in (FUEL, None):
        found = played(of(endless), fuel=fuel, control="start=1s")
        (one,) = found.disqualified
        assert (one.reason, one.detail) == (
            "unresponsive",
            "it used 10,000,000 units of fuel for one answer, which is the most",
        )


def test_without_a_rate_its_work_takes_no_time_on_the_virtual_clock():
    found = played(bot("Lotto"), fuel=None)
    assert {turn.spent_ns for turn in found.turns} == {0}


async def test_on_the_wall_clock_its_hard_limit_ends_a_call(tmp_path):
    endless = of(module(tmp_path, act="(loop $again (br $again))"))
    found = await play_here(CountTask(60), endless, control="start=60s act=50ms/300ms")
    assert [one.reason for one in found.disqualified] == ["late"]


# Verdicts on misbehaving agents: the reason, and the line that says why.


@pytest.mark.parametrize(
    ("name", "reason", "detail"),
    [
        ("EndlessLoop", "late", "busy for 1000.0 ms"),
        ("EndlessStart", "late", "busy for 1000.0 ms"),
        ("EndlessPrints", "late", "busy for 1000.0 ms"),
        ("EndlessMemory", "crashed", "MemoryError"),
        ("Raises", "crashed", "ValueError: the board is empty"),
        ("Exits", "crashed", "it ended itself (exit code"),
        ("Long", "garbage", "more than 3355443 bytes"),
        ("Open", "crashed", "No such file or directory: '/etc/passwd'"),
        ("Threads", "crashed", "can't start new thread"),
        ("NoStart", "not started", "ValueError: nothing to begin with"),
        ("Numpy", "not started", "No module named 'numpy'"),
        ("Async", "not started", "an agent in WebAssembly has plain methods"),
    ],
)
def test_a_misbehaving_agent_in_python(name: str, reason: str, detail: str):
    facts = []
    for _ in range(2):
        found = played(bot(name), task=CountTask(60))
        (one,) = found.disqualified
        assert one.reason == reason
        assert detail in one.detail
        facts.append([attrs.asdict(event) if attrs.has(type(event)) else event for event in found.events])
    assert facts[0] == facts[1]


def test_deep_recursion_is_a_trap():
    found = played(bot("Deep"), task=CountTask(4), control="start=1s act=1m")
    assert [(one.reason, one.detail) for one in found.disqualified] == [
        ("crashed", "wasm trap: call stack exhausted")
    ]


@pytest.mark.parametrize(
    ("act", "reason", "detail"),
    [
        ("unreachable", "crashed", "wasm trap: wasm `unreachable` instruction executed"),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", "crashed", "wasm trap: integer divide by zero"),
        ("(drop (i32.load (i32.const -8)))", "crashed", "wasm trap: out of bounds memory access"),
        ("(drop (call $act (i32.const 0) (i32.const 0)))", "crashed", "wasm trap: call stack exhausted"),
        ("(return (i32.const -4))", "garbage", "it gave the host an address outside of its memory"),
        (
            "(i32.store (i32.const 20) (i32.const 10000000)) (return (i32.const 16))",
            "garbage",
            "an answer of 10000000 bytes: 4194304 are the most",
        ),
        ("(i32.store8 (i32.const 2048) (i32.const 0))", "garbage", "not a message"),
        (
            "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1000)) (i32.const -1)))) unreachable",
            "crashed",
            "wasm trap: wasm `unreachable` instruction executed",
        ),
        ("(call $exit (i32.const 7))", "crashed", "it ended itself (exit code 7)"),
        ("(drop (call $open))", "crashed", "unknown import: `wasi_snapshot_preview1::path_open`"),
        (
            "(drop (call $random (i32.const 0) (i32.const 100000000)))",
            "crashed",
            "it asked for 100000000 random bytes at once; 65536 are the most",
        ),
        (
            "(drop (call $random (i32.const 0x7fffffff) (i32.const 8)))",
            "crashed",
            "it gave the host an address outside of its memory",
        ),
    ],
)
def test_a_misbehaving_module(act: str, reason: str, detail: str, tmp_path):
    imports = """(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
      (import "wasi_snapshot_preview1" "path_open" (func $open (result i32)))
      (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))"""
    found = played(of(module(tmp_path, act=act, imports=imports)), task=CountTask(4))
    assert [one.reason for one in found.disqualified] == [reason]
    assert detail in found.disqualified[0].detail
    assert "\n" not in found.disqualified[0].detail.strip()


def test_a_limit_of_memory_holds(tmp_path):
    grows = module(
        tmp_path, act="(if (i32.eq (memory.grow (i32.const 100)) (i32.const -1)) (then unreachable))"
    )
    limits = [Limits.parse("memory=8MB"), Limits.parse("memory=32MB")]
    players = [Player(grows, isolation=Isolation(limits=limit)) for limit in limits]
    small, large = (play(CountTask(4), player.seated(virtual=True), think=[FUEL]) for player in players)
    assert small.verdicts() == ["on time", "disqualified"]
    assert large.verdicts() == ["on time"] * 4


def spent_by(folder: Path, **parts: Any) -> int:
    """Return what a turn of a module costs, in units; each turn costs the same."""
    (spent,) = {turn.spent_ns for turn in played(of(module(folder, **parts))).turns}
    return spent


@pytest.mark.parametrize(
    ("name", "takes", "call", "carried"),
    [
        ("sched_yield", "", "", 0),
        ("random_get", "(param i32 i32)", "(i32.const 4096) (i32.const 100)", 100),
        # 100 bytes, which are written as the one part that is named at 32
        ("fd_write", "(param i32 i32 i32 i32)", " ".join(f"(i32.const {of})" for of in (1, 32, 1, 48)), 108),
    ],
)
def test_a_call_of_the_host_has_its_price(tmp_path: Path, name: str, takes: str, call: str, carried: int):
    imports = f'(import "wasi_snapshot_preview1" "{name}" (func $call {takes} (result i32)))'
    part = "(i32.store (i32.const 32) (i32.const 4096)) (i32.store (i32.const 36) (i32.const 100))"
    price = spent_by(tmp_path, act=f"{part} (drop (call $call {call}))", imports=imports) - spent_by(tmp_path)
    wanted = wasi.CALL_UNITS + carried * wasi.BYTE_UNITS
    assert wanted < price < wanted + 200


def test_the_bytes_of_an_answer_have_their_price(tmp_path: Path):
    """They may lie ready in the agent's memory; the host has to read them even so."""
    more = spent_by(tmp_path, blanks=50_000) - spent_by(tmp_path)
    assert more == 50_000 * wasi.ANSWER_UNITS


def test_an_answer_that_uses_up_the_fuel_is_late(tmp_path: Path):
    control = "start=1s act=100us/400us"
    found = played(of(module(tmp_path, blanks=50_000)), control=control)
    assert found.verdicts() == ["late", "late", "late", "disqualified"]


def test_a_machine_that_is_too_slow_voids_the_match(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "GUARD_SECONDS", 0.0)
    monkeypatch.setattr(engine, "SLOW_UNITS", 10**15)
    with pytest.raises(HostFault, match="this machine is too slow: the guard stopped a call"):
        played(of(module(tmp_path, act="(loop $again (br $again))")), control="start=1s act=1h")


@pytest.mark.release
def test_time_for_which_the_program_is_stopped_is_not_counted_by_the_guard(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "GUARD_SECONDS", 12.0)  # far more than the call takes
    monkeypatch.setattr(engine, "SLOW_UNITS", 10**15)
    code = "import os, signal, sys, time; time.sleep(1); os.kill(int(sys.argv[1]), signal.SIGSTOP)"
    code += "; time.sleep(13); os.kill(int(sys.argv[1]), signal.SIGCONT)"
    with subprocess.Popen([sys.executable, "-c", code, str(os.getpid())]) as stopping:
        busy = works(2**31 - 1)
        found = played(of(module(tmp_path, act=busy)), task=CountTask(1), control="start=1s act=1h")
        assert stopping.wait() == 0
    assert found.verdicts() == ["on time"]


def test_a_cancelled_match_ends_the_call(tmp_path):
    endless = of(module(tmp_path, act="(loop $again (br $again))"))

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: play_here(CountTask(3), endless, control="start=60s", think=[FUEL]))
            await trio.to_thread.run_sync(time.sleep, 0.5)
            nursery.cancel_scope.cancel()

    with VirtualClock().hold():
        trio.run(main, clock=VirtualClock())


# What an agent sees.


def test_arrays_are_lists():
    class Pictures(CountTask):
        observation_space = spaces.Box(-5, 5, (2, 3), np.float32)

        def is_legal(self, action: Any) -> bool:
            return isinstance(action, list)

        def step(self, action: Any) -> Any:
            assert action == [[0, 1, 2], [3, 4, 5]]
            return StepResult(np.arange(6, dtype=np.float32).reshape(2, 3), 0)

        def reset(self, seed: int) -> Any:
            super().reset(seed)
            return np.arange(6, dtype=np.float32).reshape(2, 3)

    found = played(bot("Arrays"), task=Pictures(4), steps=4)
    assert not found.disqualified


def test_prints_belong_to_their_turns():
    found = played(bot("Lotto"), task=CountTask(30), seed=4)
    assert found.result is not None
    printed = found.result.seats[0].printed
    assert printed[0].text.startswith("names: {")
    assert {part.turn for part in printed} > {0}
    assert printed == played(bot("Lotto"), task=CountTask(30), seed=4).result.seats[0].printed  # type: ignore[union-attr]


def test_randomness_follows_from_the_seed():
    first, same, other = (played(bot("Lotto"), task=CountTask(30), seed=seed) for seed in (1, 1, 2))
    assert first.events == same.events
    assert first.actions() != other.actions()


# The same journal everywhere.


@pytest.mark.parametrize("agent", ["python", "module"])
def test_journals_are_equal_by_bytes_in_any_process_under_any_load(agent: str, tmp_path):
    text = f"{AGENTS / 'bots.py'}:Lotto" if agent == "python" else module(tmp_path, act=works(12_345))
    journals = [tmp_path / f"{number}.jsonl" for number in range(3)]
    steps = 60 if agent == "python" else 10
    words = ["run", "--task", "micro1", "--agent", text, "--host", "wasm", "--clock", "virtual"]
    words += ["--think", "fuel(100M/s)", "--steps", str(steps), "--time-control", "start=1s act=10ms/1s"]
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        for number, journal in enumerate(journals):
            command = [sys.executable, "-m", "flagfall", *words, "--journal", str(journal)]
            environment = {**os.environ, "PYTHONHASHSEED": str(number)}
            subprocess.run(command, check=True, env=environment, capture_output=True)
            if number == 0:
                for burner in burners:
                    burner.kill()
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert len({journal.read_bytes() for journal in journals}) == 1
    text = journals[0].read_text()
    assert '"host":"wasm"' in text
    assert agent == "module" or '"late"' in text


# Texts, files and the cache.


def test_the_host_of_an_agent(tmp_path):
    file = module(tmp_path)
    assert Player(file).seated().kind == "wasm"
    assert Player(file).label == "agent.wasm"
    assert Player(f"{AGENTS / 'bots.py'}:Lotto", "wasm").seated().kind == "wasm"
    with pytest.raises(UsageError, match="it is a program of its own: leave host out"):
        Player(file, "process").check()
    with pytest.raises(UsageError, match="runs with host"):
        Player("random", "wasm").check()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a program in WebAssembly that is taken here"),
        (b"\0asm\1\0\0\0", "exports no memory"),
        (b"\0asm\x0d\0\1\0", "has no start of agent.wit"),
        (b"#!/bin/sh\n", "not a program in WebAssembly that is taken here"),
    ],
)
def test_a_file_that_is_no_agent(data: bytes, said: str, tmp_path):
    file = tmp_path / "bot.wasm"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=said) as caught:
        played(of(str(file)))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.wasm cannot be read: No such file"):
        of(str(tmp_path / "nowhere.wasm")).prepare()


def test_without_the_libraries_a_line_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    for name in ("wasmtime", "componentize_py"):
        with monkeypatch.context() as without:
            without.setattr(
                importlib.util, "find_spec", lambda one, name=name: None if one == name else find(one)
            )
            with pytest.raises(UsageError, match=rf"need {name}: pip install 'flagfall\[wasm\]'"):
                bot("Lotto")


def test_programs_are_compiled_once_into_a_private_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    agent = of(module(tmp_path, act=works(77)))
    before = agent.is_ready
    agent.prepare()
    assert (before, agent.is_ready) == (False, True)
    folder = tmp_path / "cache/flagfall"
    (compiled,) = folder.glob("*.cwasm")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(compiled.stat().st_mode) == 0o600
    made = compiled.stat().st_mtime_ns
    agent.prepare()
    assert compiled.stat().st_mtime_ns == made


def test_a_program_that_takes_too_long_to_compile(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(building, "MAX_BUILD_SECONDS", 0.01)  # less than Python takes to start
    with pytest.raises(UsageError, match=r"compiling agent: given up after 0\.01 s"):
        of(module(tmp_path, act=works(79))).prepare()


def test_a_damaged_program_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = module(tmp_path, act=works(80))
    of(text).prepare()
    (compiled,) = (tmp_path / "cache/flagfall").glob("*.cwasm")
    whole = compiled.read_bytes()
    compiled.unlink()  # which a process maps into its memory
    compiled.write_bytes(whole[:1000])
    compiled.chmod(0o600)
    building._load.cache_clear()
    assert not played(of(text)).disqualified
    assert len(compiled.read_bytes()) == len(whole)


@pytest.mark.parametrize("what", ["folder", "file", "link"])
def test_compiled_programs_of_others_are_refused(what: str, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    agent = of(module(tmp_path, act=works(78)))
    agent.prepare()
    (compiled,) = (tmp_path / "cache/flagfall").glob("*.cwasm")
    if what == "link":
        compiled.rename(tmp_path / "elsewhere")
        compiled.symlink_to(tmp_path / "elsewhere")
    else:
        (compiled if what == "file" else compiled.parent).chmod(0o777)
    with pytest.raises(UsageError, match="alone"):
        agent.prepare()


def test_nothing_beside_an_agent_is_executed_to_compile_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    agent = of(module(tmp_path, act=works(80)))
    for name in ("wasmtime", "pathlib", "flagfall"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w')\n")
    monkeypatch.chdir(tmp_path)
    agent.prepare()
    assert not (tmp_path / "executed").exists()


def test_a_component_that_takes_endless_memory_to_compile_is_refused(tmp_path):
    text = '(component $c0 (core module $m (func (export "f"))) (core instance (instantiate $m)))'
    for depth in range(1, 10):
        parts = f"(instance (instantiate $c{depth - 1})) " * 10
        text = f"(component $c{depth} {text} {parts})"
    file = tmp_path / "bomb.wasm"
    file.write_bytes(wat2wasm(f"(component {text} (instance (instantiate $c9)))"))
    assert file.stat().st_size < 1000
    with pytest.raises(UsageError, match="compiling agent needs more than 4 GB of memory") as caught:
        of(str(file)).prepare()
    assert "\n" not in str(caught.value)


def test_two_processes_may_compile_at_once(tmp_path):
    text = module(tmp_path, act=works(79))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = [
        "run",
        "--task",
        "micro1",
        "--agent",
        text,
        "--clock",
        "virtual",
        "--think",
        "fuel(1G/s)",
        "--steps",
        "5",
    ]
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "flagfall", *words], env=environment, stdout=subprocess.DEVNULL
        )
        for _ in range(3)
    ]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert len([*(tmp_path / "cache/flagfall").glob("*.cwasm*")]) == 1


def test_the_sample_in_c(tmp_path):
    pytest.importorskip("ziglang")
    words = ["-target", "wasm32-wasi", "-mexec-model=reactor", "-O2", "-Wall", "-Wextra", "-Werror"]
    source, made = EXAMPLES / "wasm/bot.c", tmp_path / "bot.wasm"
    subprocess.run([sys.executable, "-m", "ziglang", "cc", *words, "-o", made, source], check=True)
    found = played(of(str(made)), task=CountTask(40))
    seen = [turn.observation for turn in found.turns]
    assert found.actions() == [32, *seen[:-1]]
    assert max(turn.spent_ns for turn in found.turns) < S / 1000
