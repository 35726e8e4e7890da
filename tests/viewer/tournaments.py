"""Folders of tournaments for tests of reports: real small ones, and stored results of any format."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from random import Random

import attrs
import trio

from flagfall.tournament.model import PlannedAgent, TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.store import Store

LEARNING = """
name = "small"
clock = "virtual"
jobs = 1
repeats = 3
time_control = "act=1s/5s"

[[agents]]
spec = "random"

[[agents]]
spec = "learner"

[[tasks]]
each = ["micro1", "micro2"]
steps = 400
score = "reward"
"""
"""A benchmark whose matches have several episodes."""

CRASHING = """
name = "falls"
repeats = 2
time_control = "start=20s act=5s"
jobs = 1

[[agents]]
spec = "silent"

[[agents]]
name = "broken"
spec = "broken.py:Broken"

[[tasks]]
task = "micro1"
steps = 8
"""
"""A tournament in real time with an agent that ends with an error."""

SLEEPERS = """
from random import Random

import trio

class Sleeper:
    mean = 0.004

    async def start(self, briefing):
        self._random = Random(briefing.seed)

    async def act(self, observation):
        await trio.sleep(self._random.lognormvariate(0, 0.6) * self.mean)
        return 0

class Slow(Sleeper):
    mean = 0.012
"""
"""Agents that take random times on the virtual clock."""

SLEEPING = """
name = "limits"
clock = "virtual"
jobs = 1
repeats = 20
time_control = "act=40ms/1s"

[[agents]]
name = "quick"
spec = "sleepers.py:Sleeper"

[[agents]]
name = "slow"
spec = "sleepers.py:Slow"

[[tasks]]
task = "vgdl:windfall#0"
steps = 150
"""
"""A benchmark of agents that sometimes are late."""

HOSTILE = (
    "<b>\u202egnp\x1b[31m\x00</b> <script>document.title = 'owned'</script></pre><img src=x onerror=alert(1)>"
)
"""Text that would be a script, a change of direction, and control sequences."""

BROKEN = f"""
import sys

class Broken:
    def reply(self, byte, reward):
        sys.stderr.write({HOSTILE!r} + "\\n")
        sys.stderr.flush()
        raise RuntimeError("it broke on purpose")
"""


def play(text: str, folder: Path, base: Path = Path(), *, results: Path | None = None) -> Path:
    """Play a tournament, and return its folder."""
    plan = parse_plan(text, folder=base, title="small")
    results = results or folder / "results"
    trio.run(partial(run_tournament, plan, results))
    return results


def play_crashing(folder: Path) -> Path:
    """Play a tournament in which an agent ends with an error, and return its folder."""
    (folder / "broken.py").write_text(BROKEN)
    return play(CRASHING, folder, folder)


def play_sleeping(folder: Path, text: str = SLEEPING) -> Path:
    """Play a tournament of agents that take random times, and return its folder."""
    (folder / "sleepers.py").write_text(SLEEPERS)
    return play(text, folder, folder)


def store(folder: Path, plan: TournamentPlan, records: Iterable[MatchRecord]) -> Path:
    """Store results, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Store(folder, "make")
    made.begin(plan)
    made.put(*records)
    made.close()
    return folder


def renamed(plan: TournamentPlan, names: dict[str, str]) -> TournamentPlan:
    """Return a plan with other names of agents; names that no plan file may have, too."""
    return attrs.evolve(
        plan,
        agents=tuple(attrs.evolve(agent, name=names.get(agent.name, agent.name)) for agent in plan.agents),
        tasks=tuple(
            attrs.evolve(task, agents=tuple(names.get(name, name) for name in task.agents))
            for task in plan.tasks
        ),
    )


def agents(count: int) -> tuple[PlannedAgent, ...]:
    return tuple(PlannedAgent(name=f"a{number}", spec="random") for number in range(count))


def shuffled(records: Iterable[MatchRecord], seed: int) -> list[MatchRecord]:
    found = list(records)
    Random(seed).shuffle(found)
    return found
