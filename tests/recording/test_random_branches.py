"""Random branches of random matches, in which what is recorded is played on: nothing may differ."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from flagfall.agents.hosts.registry import Player
from flagfall.errors import UsageError
from flagfall.events import Event, MatchStarted, TurnPlayed
from flagfall.kernel.roles import SchedulerRole
from flagfall.playing import MatchRequest, branch_request, play_request
from flagfall.recording.branching import BranchPoint
from flagfall.recording.journal.format import encode
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.recorded_host import RecordedHost
from flagfall.recording.verify import verify
from flagfall.tasks.building import build_scheduler
from flagfall.timing import MS, VirtualClock
from tests.fakes import CountTask, InTurnTask, ListScheduler, TogetherTask

BRANCHES = int(os.environ.get("FLAGFALL_BRANCHES", "1000"))
"""Each costs 10 ms of the processor; `FLAGFALL_BRANCHES=10000` for a longer run by hand."""

TIMES_MS = (0, 0, 1, 10, 39, 40, 41, 50, 90)
CONTROLS = (
    "act=40ms/1s",
    "act=40ms/80ms",
    "act=40ms late=out",
    "bank=100ms+10ms",
    "act=20ms bank=200ms+5ms",
    "act=40ms/1s total=3s",
)
SOLO: tuple[tuple[str, ...], ...] = (
    ("micro1", "micro4"),
    ("mini1",),
    ("vgdl:cinders#0",),
    ("langroom",),
)


class Hasty:
    """An agent that is quick, slow, late, wrong, and in the end broken, by a seed."""

    def __init__(self, seed: int, *, actions: Sequence[Any], waits: Sequence[int]) -> None:
        self._random = random.Random(seed)
        self._actions = actions
        self._waits = waits
        self._left = self._random.randrange(3, 60)

    async def _wait(self) -> None:
        await trio.sleep(self._random.choice(self._waits) / 1000)

    async def act(self, _observation: Any) -> Any:
        await self._wait()
        self._left -= 1
        if not self._left:
            raise ValueError("broken")
        return self._random.choice(self._actions)


class Moody(Hasty):
    """It also takes its time before and after a task; at real-time pace no record tells how long."""

    async def init(self, _observation: Any) -> None:
        await self._wait()

    async def result(self, _observation: Any, _reward: Any) -> int:
        await self._wait()
        return self._random.randrange(3)


@attrs.frozen
class Case:
    """A match of a seed, which is made anew as often as it is wanted."""

    seed: int

    def build(self) -> SchedulerRole:
        """Return its task scheduler, with new tasks."""
        kind = self.seed % 6
        order = random.Random(self.seed).choices(range(3), k=20)
        made: list[Any] = [
            [CountTask(10), CountTask(7), CountTask(5)],
            [CountTask(10, continuous=True), CountTask(7, continuous=True), CountTask(2)],
            [TogetherTask(3, 8), TogetherTask(3, 8, continuous=True), TogetherTask(3, 5)],
            [InTurnTask(order, 3), InTurnTask(order, 3)],
        ]
        if kind < len(made):
            return ListScheduler(made[kind])
        ids = SOLO[self.seed // 6 % len(SOLO)] if kind == 4 else ("duel:heaps",)
        return build_scheduler(ids, None, 60)[0]

    def header(self) -> dict[str, Any]:
        """Return nothing: `build` makes its tasks again."""
        return {"config": "{}"}

    @property
    def request(self) -> MatchRequest:
        """The match, with new agents."""
        dice = random.Random(self.seed)
        kind = self.seed % 6
        tick_ms = dice.choice([None, None, 30]) if kind < 4 else None
        control = dice.choice(CONTROLS[:1] if tick_ms else CONTROLS)
        waits = (0, 0, 10, 20, 40) if tick_ms else TIMES_MS
        actions = [0, 1, 2, 3, "x", [1], None] if kind < 4 else [0, 1, 2, 32, 97, "wrong"]
        seats = (1, 1, 3, 3, 1, 2)[kind]
        kind_of_agent = Hasty if tick_ms else Moody
        agents = [kind_of_agent(self.seed * 10 + seat, actions=actions, waits=waits) for seat in range(seats)]
        return MatchRequest(
            tasks=self,
            agents=tuple(map(Player, agents)),
            time_control=control,
            clock="virtual",
            seed=self.seed,
            steps=60 if kind >= 4 else dice.choice([None, None, 13]),
            tick_ns=tick_ms and tick_ms * MS,
        )


def played(request: MatchRequest, journal: Path) -> list[Event]:
    trio.run(play_request, attrs.evolve(request, journal=journal), clock=VirtualClock())
    return list(read_journal(journal))


def branches(case: Case, folder: Path, most: int) -> int:
    """Branch one match at random turns, compare each branch with it, and return the number of branches."""
    parent, child = folder / "parent.jsonl", folder / "child.jsonl"

    def rebuild(_header: MatchStarted) -> SchedulerRole:
        return case.build()

    before = played(case.request, parent)
    assert verify(parent, rebuild).ok
    turns = sorted({event.turn for event in before if isinstance(event, TurnPlayed)})[1:]
    wanted = list(map(encode, before[1:]))  # with arrays as bytes
    dice = random.Random(case.seed)
    chosen = dice.sample(turns, min(most, len(turns)))
    count = 0
    for turn in chosen:
        try:
            point = BranchPoint.find(parent, turn, rebuild)
            hosts = [Player(RecordedHost(point, seat)) for seat in range(len(point.header.agents))]
        except UsageError as error:
            assert "was on its way" in str(error) or "at its tick" in str(error)  # noqa: PT017 - at pace only
            continue
        after = played(branch_request(point, hosts), child)
        assert list(map(encode, after[1:])) == wanted, (case, turn)
        if count % 10 == 0:
            assert verify(child, rebuild).ok, (case, turn)
        count += 1
    return count


@pytest.mark.parametrize("seed", range(24))
def test_what_is_recorded_is_played_on(seed: int, tmp_path: Path):
    branches(Case(seed), tmp_path, 12)


@pytest.mark.release
@pytest.mark.parametrize("part", range(10))
def test_many_branches(part: int, tmp_path: Path):
    seed, count = 1000 * part + 100, 0
    while count < BRANCHES / 10:
        count += branches(Case(seed), tmp_path, 20)
        seed += 1
