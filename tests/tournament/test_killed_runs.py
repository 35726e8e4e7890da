"""Runs that are killed, interrupted or out of disk, as real programs: each goes on as if nothing had been."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest
import trio

from flagfall.agents.process.supervisor import descendants
from flagfall.tournament.plan.parser import load_plan
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.standings import compute_standings, stored_standings
from flagfall.tournament.store import Store
from flagfall.tournament.verification import verify_folder
from tests.tournament.made_up import DEPEND, FORMATS, FOUR
from tests.tournament.made_up import plan as made_up_plan
from tests.tournament.runs import (
    count,
    has_come_to,
    is_gone,
    journal_bytes,
    plan_text,
    program,
    stored,
    wait_until,
    workers_of,
)

KILLS = int(os.environ.get("FLAGFALL_KILLS", "12"))
"""Each costs half a second of the processor; `FLAGFALL_KILLS=50` for a longer run by hand."""

GROWN = int(os.environ.get("FLAGFALL_GROWN", "1"))
"""Tournaments of each format; each costs four seconds of the processor."""

MATCHES = 48 * KILLS
"""So many that the last kill falls into the middle of the run."""


def write_plan(folder: Path, repeats: int, *, steps: int = 10) -> Path:
    path = folder / "plan.toml"
    path.write_text(plan_text(repeats, steps=steps))
    return path


def assert_same(plan: Path, disturbed: Path, undisturbed: Path) -> None:
    trio.run(partial(run_tournament, load_plan(plan), undisturbed))
    found, wanted = stored(disturbed), stored(undisturbed)
    assert found == wanted
    assert compute_standings(load_plan(plan), found) == compute_standings(load_plan(plan), wanted)
    void = {name for name in journal_bytes(disturbed) if "void" in name}
    assert journal_bytes(disturbed) == journal_bytes(undisturbed)
    assert not void
    assert not (disturbed / "running").exists()
    assert verify_folder(disturbed).ok


@pytest.mark.release
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    plan, out = write_plan(tmp_path, MATCHES // 4), tmp_path / "out"
    random = Random(1)
    runner, known, killed = None, set[int](), Counter[str]()
    for _ in range(KILLS):
        fresh = runner is None or runner.poll() is not None
        if runner is None or fresh:
            runner = program("tournament", plan, "--output", out, "--resume", "--jobs", 2, "--quiet")
        if fresh and random.random() < 0.3:
            time.sleep(random.uniform(0, 1))  # while it comes up
        else:
            goal = count(out) + random.randrange(20)
            wait_until(partial(has_come_to, out, goal, runner))
            time.sleep(random.uniform(0, 0.01))
        workers = workers_of(runner.pid)
        known.update(workers)
        if workers and random.random() < 0.6:
            with suppress(ProcessLookupError):
                os.kill(random.choice(workers), signal.SIGKILL)
                killed["worker"] += 1
            continue
        assert runner.poll() is None, runner.communicate()
        runner.kill()
        runner.communicate()
        killed["runner"] += 1
    assert runner is not None
    assert min(killed["runner"], killed["worker"]) > KILLS // 10, killed
    if runner.poll() is None:
        runner.kill()
        runner.communicate()
    wait_until(lambda: all(map(is_gone, known)))
    assert count(out) < MATCHES, "it was over before all was done to it"
    ended = program("tournament", plan, "--output", out, "--resume", "--jobs", 2)
    told, complaints = ended.communicate(timeout=120)
    assert ended.returncode == 0, complaints
    assert "Standings" in told
    assert_same(plan, out, tmp_path / "undisturbed")


def kill_in_play(words: list[object], folder: Path, random: Random, most: int) -> bool:
    """Start a run and kill its runner while it comes up or plays; return whether it was not over before."""
    runner = program("tournament", *words)
    if random.random() < 0.4:
        time.sleep(random.uniform(0.2, 1.5))  # its plan is read, and what is recorded gets its places
    else:
        goal = random.randrange(1, most)
        wait_until(partial(has_come_to, folder, goal, runner))
    killed = runner.poll() is None
    runner.kill()
    _, complaints = runner.communicate()
    assert killed or runner.returncode == 0, complaints
    return killed


@pytest.mark.release
@pytest.mark.parametrize("form", FORMATS)
def test_killed_tournaments_that_grow_end_as_if_they_had_had_their_plan_from_the_start(
    tmp_path: Path, form: str
) -> None:
    """Where pairings depend on results, an agent changes them: matches are set aside."""
    before, after = (tmp_path / name for name in ("before.toml", "after.toml"))
    before.write_text(made_up_plan(form, repeats=20).text)
    after.write_text(made_up_plan(form, FOUR[::-1], repeats=20).text)
    wanted = tmp_path / "wanted"
    trio.run(partial(run_tournament, load_plan(after), wanted))
    aside = ["--set-aside"] if form in DEPEND else []
    killed = Counter[str]()
    for number in range(GROWN):
        random, out = Random(f"{form} {number}"), tmp_path / str(number)
        words = ["--output", out, "--resume", "--jobs", 2, "--quiet", *aside]
        killed["before"] += kill_in_play([before, *words], out, random, 100)
        killed["after"] += kill_in_play([after, *words], out, random, 200)
        ended = program("tournament", after, *words)
        _, complaints = ended.communicate(timeout=120)
        assert ended.returncode == 0, complaints
        assert stored(out) == stored(wanted)
        assert journal_bytes(out) == journal_bytes(wanted)
        with closing(Store(out)) as one, closing(Store(wanted)) as other:
            stands = [stored_standings(store, load_plan(after)).as_data() for store in (one, other)]
        assert stands[0] == stands[1]
        found = verify_folder(out)
        assert (found.problems, found.unrecorded) == ((), ())
    assert sum(killed.values()) >= GROWN, killed


def test_nothing_of_a_killed_run_lives_on(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[[agents]]\nspec = "random"\n[[tasks]]\ntask = "micro1"\nsteps = 100000000\n')
    runner = program("tournament", plan, "--output", tmp_path / "out", "--quiet")
    wait_until(lambda: any(b"flagfall.agents" in command(pid) for pid in descendants(runner.pid)))
    family = descendants(runner.pid)
    runner.kill()
    runner.communicate()
    wait_until(lambda: all(map(is_gone, family)))


def agents_of(runner: int) -> list[int]:
    """The processes of agents: below the fork server and a supervisor, which they were forked from."""
    return [
        pid
        for pid in descendants(runner)
        if b"-m\0flagfall.agents" in command(pid)
        and b"supervisor" not in command(pid)
        and not descendants(pid)
    ]


@pytest.mark.release
def test_a_late_turn_in_a_stall_of_the_host_makes_the_match_void(tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(
        """
        time_control = "start=20s act=200ms"
        [[agents]]
        spec = "random"
        [[tasks]]
        task = "micro1"
        steps = 30000
        """
    )
    runner = program("tournament", plan, "--output", out)
    wait_until(lambda: bool(agents_of(runner.pid)))
    wait_until(lambda: any(file.stat().st_size > 5000 for file in (out / "running").iterdir()))  # turns, too
    stalled = [*agents_of(runner.pid), *workers_of(runner.pid)]
    assert len(stalled) == 2
    os.kill(stalled[0], signal.SIGSTOP)
    time.sleep(0.05)  # the worker waits for it now, and is not in the middle of a step of its own
    os.kill(stalled[1], signal.SIGSTOP)
    time.sleep(0.5)  # the machine passes over both of them,
    os.kill(stalled[1], signal.SIGCONT)
    time.sleep(0.5)  # and over the agent for longer than the kernel can see
    os.kill(stalled[0], signal.SIGCONT)
    _, complaints = runner.communicate(timeout=60)
    assert runner.returncode == 0, complaints
    assert "is void: stall: seat 0 was late in turn" in complaints
    store = Store(out)
    first, *_, last = store.records()
    store.close()
    assert (first.status, last.status, first.id) == ("void", "played", last.id)
    assert {path.name.split(".")[0] for path in (out / "journals").iterdir()} == {first.id}
    assert (out / (first.journal or "")).is_file()


def command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def test_ctrl_c_ends_what_is_played_and_says_how_to_go_on(tmp_path: Path) -> None:
    plan, out = write_plan(tmp_path, 60), tmp_path / "out"
    runner = program("tournament", plan, "--output", out, "--jobs", 2)
    wait_until(lambda: count(out) >= 5)
    runner.send_signal(signal.SIGINT)
    told, complaints = runner.communicate(timeout=60)
    assert runner.returncode == 130, complaints
    assert "ending after the running matches; Ctrl-C again to cancel at once" in complaints
    assert "Standings so far" in told
    (line,) = [line for line in told.splitlines() if line.startswith("go on:")]
    words = shlex.split(line.removeprefix("go on:"))
    assert words == ["flagfall", "tournament", str(plan), "--output", str(out), "--resume", "--jobs", "2"]
    ended = program(*words[1:])
    told, complaints = ended.communicate(timeout=120)
    assert ended.returncode == 0, complaints
    assert "go on:" not in told
    assert_same(plan, out, tmp_path / "undisturbed")


def test_the_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    plan, out = write_plan(tmp_path, 1, steps=100_000_000), tmp_path / "out"
    runner = program("tournament", plan, "--output", out)
    wait_until(lambda: bool(workers_of(runner.pid)) and (out / "running").exists())
    workers = workers_of(runner.pid)
    runner.send_signal(signal.SIGINT)
    assert runner.stderr is not None
    assert "ending after the running matches" in runner.stderr.readline()  # two at once may come as one
    runner.send_signal(signal.SIGINT)
    told, complaints = runner.communicate(timeout=60)
    assert runner.returncode == 130, complaints
    assert "go on:" in told
    wait_until(lambda: all(map(is_gone, workers)))
    assert stored(out) == {}


@pytest.mark.release
def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    plan, disk = write_plan(tmp_path, 60), tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs may be mounted here: {mounted.stderr.decode().strip()}")
    try:
        runner = program("tournament", plan, "--output", disk / "out", "--jobs", 2)
        told, complaints = runner.communicate(timeout=120)
        assert runner.returncode == 1, complaints
        assert "full" in complaints or "No space left" in complaints
        assert "go on:" in told
        before = stored(disk / "out")
        assert 0 < len(before) < 240
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        runner = program("tournament", plan, "--output", disk / "out", "--resume")
        _, complaints = runner.communicate(timeout=120)
        assert runner.returncode == 0, complaints
        assert before.items() <= stored(disk / "out").items()
        assert_same(plan, disk / "out", tmp_path / "undisturbed")
    finally:
        subprocess.run(["umount", disk], check=True)
