"""Agents that break every rule at random, and the property that no journal of such a match may break.

Invariant: whatever agents do, the match is not void, and its journal verifies.

python -m tests.fuzz.unruly_agents 60 [FIRST_SEED]      # seconds to run
"""

# ruff: noqa: T201 - a program; and nothing here is a secret

from __future__ import annotations

import math
import sys
import tempfile
import time
from enum import IntEnum
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
import trio

from flagfall.kernel.outcomes import MatchResult
from flagfall.playing import run
from flagfall.recording.verify import Verification, verify
from flagfall.tasks.building import rebuild

SOLO = (
    "micro1",
    "micro5.18",
    "mini0",
    "langroom:echo:length=5",
    "vgdl:windfall#0",
    "gym:CartPole-v1",
    "gym:Pendulum-v1",
    "gym:Taxi-v4?action_mask=true",
)
TOGETHER = ("pettingzoo:classic/tictactoe_v3", "pettingzoo:classic/rps_v2")
CONTROLS = (
    "act=1h",  # not untimed: who asks for a turn without an answer would wait for ever
    "act=10ms",
    "act=10ms/30ms",
    "act=10ms late=out",
    "bank=80ms+5ms",
    "init=5ms act=5ms/20ms result=5ms total=200ms+10ms",
)
MOST_STEPS = 60


class Level(IntEnum):
    """A whole number of a class of its own."""

    ONE = 1


ACTIONS: tuple[Any, ...] = (
    *(0, 1, 2, 32, 65, 255, 256, -1, True, None, 0.0, 1.0, -0.5, math.nan, math.inf, 2**70, 10**5000),
    *(
        "",
        "1",
        "ACTION_LEFT",
        "\ud800",
        b"\x01",
        bytearray(b"1"),
        [1],
        (1,),
        [0.5],
        (),
        {},
        {"move": 1, "talk": 0},
    ),
    *({1: 2}, {"$ndarray": "<f4"}, {"$digest": "0", "bytes": 1}, set(), object(), Level.ONE, 1j, print),
    *(
        np.int64(1),
        np.float32(0.5),
        np.bool_(True),
        np.array([0.5], np.float32),
        np.array(1),
        np.zeros((3, 3)),
    ),
)
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, -2, -3, 7, 10**6, -(10**6), 2**53, 2**53 + 1, 2**63, -(2**70), 10**5000),
    *(None, "1", 1.0, math.nan, True, object(), np.int64(1), Level.ONE, b"", []),
)


class Unruly:
    """Replies late, twice, to turns that are not asked yet, with anything; asks again, crashes, leaves.

    Args:
        random: decides.
        rate: how often it does what it should not, from 0 to 1.
        slow: it sleeps at times.
    """

    def __init__(self, random: Random, rate: float, *, slow: bool = True) -> None:
        self._random = random
        self._rate = rate
        self._slow = slow

    async def run(self, seat: Any) -> None:
        async for turn in seat:
            await self._play(seat, turn)
            if self._random.random() < self._rate / 60:
                if self._random.random() < 0.5:
                    return
                raise ValueError("enough")

    async def _play(self, seat: Any, turn: Any) -> None:
        random = self._random
        if random.random() < self._rate / 2:
            self._babble(seat, turn.number)
        if self._slow and random.random() < self._rate / 3:
            await trio.sleep(random.choice((0.001, 0.005, 0.01, 0.02, 0.05)))
        if random.random() > self._rate / 4:
            seat.reply(self._action(), turn.number if random.random() < 0.5 else None)
        if random.random() < self._rate / 2:
            self._babble(seat, turn.number)

    def _babble(self, seat: Any, number: int) -> None:
        """Reply to turns of any number, near and far."""
        random = self._random
        for _ in range(random.randrange(1, 4)):
            near = number + random.randrange(-3, 40)
            seat.reply(self._action(), random.choice((near, near, *random.sample(NUMBERS, 2))))

    def _action(self) -> Any:
        random = self._random
        return random.choice(ACTIONS) if random.random() < self._rate else random.choice((0, 1, 1, 32, 65))


def play_and_verify(
    seed: int, folder: Path, *, clock: Literal["wall", "virtual"] = "virtual"
) -> tuple[MatchResult, Verification]:
    """Play a match that the seed describes, and verify its journal."""
    random = Random(seed)
    together = random.random() < 0.4
    tasks = [random.choice(TOGETHER)] if together else random.sample(SOLO, random.randrange(1, 3))
    rate = random.choice((0.05, 0.3, 0.9))
    path = folder / random.choice(("journal.jsonl", "journal.jsonl.zst"))
    result = run(
        tasks,
        [Unruly(Random(f"{seed}/{seat}"), rate) for seat in range(1 + together)],
        scheduler=random.choice((None, "random", "sequential:2")),
        time_control=random.choice(CONTROLS),
        seed=seed,
        steps=random.randrange(1, MOST_STEPS),
        tick_ns=random.choice((None, None, None, 10_000_000)),
        journal=path,
        clock=clock,
    )
    return result, verify(path, rebuild)


def main() -> None:
    """Look for a match whose journal does not verify."""
    until = time.monotonic() + float(sys.argv[1])
    seed = first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < until:
            result, found = play_and_verify(seed, Path(folder))
            if result.reason == "void" or not found.ok:
                print(f"seed {seed}: {result.reason}: {found}")
                raise SystemExit(1)
            seed += 1
    print(f"{seed - first} matches, all verified")


if __name__ == "__main__":
    main()
