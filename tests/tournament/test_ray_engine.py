"""The engine for many machines, on clusters that are started here; skipped without Ray.

Ray is imported in processes of its own: it starts threads, opens sockets and warns, which is its affair.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
import trio

from flagfall.tournament.plan.parser import load_plan
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.standings import compute_standings
from flagfall.tournament.store import Store
from tests.tournament.runs import journal_bytes, plan_text, stored

pytestmark = [
    pytest.mark.release,
    pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed"),
]

HEAD = """
import os, signal, sys, threading, time
from contextlib import suppress
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from functools import partial
from pathlib import Path
import ray, trio
from ray.cluster_utils import Cluster
from flagfall.agents.process.supervisor import descendants
from flagfall.tournament.plan.parser import load_plan
from flagfall.tournament.run.api import run_tournament

plan, out = load_plan(sys.argv[1]), Path(sys.argv[2])

def show(record):
    print(f"{os.linesep}{record.status}", flush=True)  # the test looks whether it goes on

def play(on_record=show, **options):
    options["on_record"] = on_record
    return trio.run(partial(run_tournament, plan, out, jobs=2, engine="ray", **options))
"""

ALONE = (
    HEAD
    + """
os.environ["RAY_ADDRESS"] = "local"  # a cluster of its own, whatever else runs on this machine
play()
"""
)

DISTURBED = (
    HEAD
    + """
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
second = cluster.add_node(num_cpus=1)
ray.init(address=cluster.address, log_to_driver=False)
played = voids = 0

def kill_workers():
    time.sleep(0.2)  # in the middle of matches that take longer
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            if b"play_on_ray" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

def lose_node():
    time.sleep(0.2)
    cluster.remove_node(second, allow_graceful=False)

def noticed(record):
    global played, voids
    show(record)
    played += record.status == "played"
    voids += record.status == "void"
    if record.status == "played" and played in harm:
        threading.Thread(target=harm[played]).start()

harm = {4: kill_workers, 12: lose_node}
play(on_record=noticed)
print(f"{os.linesep}void {voids}", flush=True)
ray.shutdown()
cluster.shutdown()
"""
)


PATIENCE_SECONDS = 240
"""Longest time without output: a script prints a line after each match, and Ray prints while it starts. All
matches together may take the time that a busy machine needs for them."""


def run_script(script: str, plan: Path, out: Path) -> str:
    output = out.with_suffix(".log")
    with output.open("wb") as log:
        program = subprocess.Popen([sys.executable, "-c", script, plan, out], stdout=log, stderr=log)
    size, silent_since = 0, time.monotonic()
    while program.poll() is None:
        time.sleep(0.05)
        if output.stat().st_size != size:
            size, silent_since = output.stat().st_size, time.monotonic()
        if time.monotonic() - silent_since > PATIENCE_SECONDS:
            program.kill()
            program.wait()
    text = output.read_text(errors="replace")
    assert program.returncode == 0, text[-4000:]
    return text


def same_as_local(plan: Path, out: Path, local: Path) -> None:
    loaded = load_plan(plan)
    trio.run(partial(run_tournament, loaded, local))
    assert stored(out) == stored(local)
    assert journal_bytes(out) == journal_bytes(local)
    assert compute_standings(loaded, stored(out)) == compute_standings(loaded, stored(local))


def test_a_lost_worker_and_a_lost_node_cost_only_their_matches(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(plan_text(6, steps=12_000))
    told = run_script(DISTURBED, plan, tmp_path / "out")
    [voids] = [
        int(line.split()[1]) for line in told.splitlines() if line.startswith("void ")
    ]  # Ray talks, too
    assert 1 <= voids <= 4, "one match for each worker that was killed, and that of the node"
    store = Store(tmp_path / "out")
    assert {record.why[:5] for record in store.records() if record.status == "void"} == {"lost:"}
    store.close()
    same_as_local(plan, tmp_path / "out", tmp_path / "local")
