"""Steps per second of vector environments: two processes, one process, and those of Gymnasium.

A row compares two vector environments of 64 environments in turn, by the clock on the wall, so it needs a
machine with two free cores. The actions are drawn before, and nothing is done with the observations.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import functools
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import gymnasium
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from benchmarks.measure import ROUNDS, Row, beside, reduced
from benchmarks.suites import Suite, by_name
from flagfall.environments.langroom_env import LangRoomVectorEnv
from flagfall.environments.process_vector_env import ProcessVectorEnv, make_process_vec

ENVS: Final = 64
FEWEST_ENVS: Final = 4
ACTIONS: Final = 50


def rate(env: VectorEnv[Any, Any, Any], steps: int) -> float:
    """Return the steps per second of all environments together.

    Args:
        env: was reset.
        steps: number of steps of each environment.
    """
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(ACTIONS)]
    began = time.perf_counter()
    for step in range(steps):
        env.step(actions[step % ACTIONS])
    return env.num_envs * steps / (time.perf_counter() - began)


def compare(
    ours: VectorEnv[Any, Any, Any],
    others: Mapping[str, VectorEnv[Any, Any, Any]],
    steps: int,
    targets: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Row]:
    """Measure a vector environment beside others, and close all.

    Args:
        ours: the vector environment.
        others: those to compare with, by the names of the rows.
        steps: number of steps of one measurement.
        targets: texts by the names of the rows.
    """
    try:
        for env in (ours, *others.values()):
            env.reset(seed=0)
            rate(env, reduced(steps, 10))
        for name, other in others.items():
            best, baseline, ratio = beside(
                functools.partial(rate, ours, steps), functools.partial(rate, other, steps)
            )
            yield Row(name, f"{best:,.0f}/s", f"{baseline:,.0f}/s", f"{ratio:.2f}x", targets.get(name, ""))
            if name in targets:
                yield _bound(name, ours, ours.num_envs / baseline, steps)
    finally:
        for env in (ours, *others.values()):
            env.close()


def _bound(name: str, ours: VectorEnv[Any, Any, Any], whole: float, steps: int) -> Row:
    """Return the bound that the parent sets by Amdahl's law: all of its CPU time counts as serial.

    Args:
        name: of the row with the ratio.
        ours: the vector environment, with two processes.
        whole: seconds of a step with one process.
        steps: number of steps of one measurement.
    """
    costs = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        rate(ours, steps)
        costs.append((time.thread_time() - began) / steps)
    serial = min(costs)
    bound = 1 / (serial / whole + (1 - serial / whole) / 2)
    return Row(f"{name}, bound", f"{bound:.2f}x", f"{serial * 1e6:.0f} of {whole * 1e6:,.0f} µs are serial")


def cases(name: str, env_id: str, options: dict[str, Any], steps: int, scale: int) -> Iterator[Row]:
    """Measure environments in two processes beside the same in one, in none, and in one for each.

    Args:
        name: of the rows.
        env_id: an id of Gymnasium.
        options: of the environment.
        steps: number of steps of one measurement, at scale 1.
        scale: divides the amount of work.
    """
    count = reduced(ENVS, scale, FEWEST_ENVS)
    make = functools.partial(gymnasium.make, env_id, **options)
    many = functools.partial(make_process_vec, env_id, count, **options)
    others = {
        f"{name}: 2 processes, beside 1": many(processes=1),
        f"{name}: 2 processes, beside SyncVectorEnv": SyncVectorEnv([make] * count),
        f"{name}: 2 processes, beside AsyncVectorEnv": AsyncVectorEnv([make] * count),
    }
    targets = {f"{name}: 2 processes, beside 1": ">= 1.8x"}
    yield from compare(many(processes=2), others, reduced(steps, scale), targets)


def planes(scale: int) -> Iterator[Row]:
    """Measure a VGDL game with a short tick and one with a longer tick, with planes.

    Args:
        scale: divides the amount of work.
    """
    for game, steps in (("causeway", 200), ("windfall", 80)):
        yield from cases(f"{game}, planes", "flagfall/VGDL-v0", {"game": game}, steps, scale)


def pictures(scale: int) -> Iterator[Row]:
    """Measure a VGDL game with pictures.

    Args:
        scale: divides the amount of work.
    """
    options = {"game": "causeway", "observation": "image"}
    yield from cases("causeway, pictures", "flagfall/VGDL-v0", options, 200, scale)


def rooms(scale: int) -> Iterator[Row]:
    """Measure LangRoom, one room at a time.

    Args:
        scale: divides the amount of work.
    """
    yield from cases("LangRoom", "flagfall/LangRoom-v0", {}, 400, scale)


def batches(scale: int) -> Iterator[Row]:
    """Measure a batch of LangRooms in each of two processes, beside one process and beside none.

    Args:
        scale: divides the amount of work.
    """
    for count in (ENVS, 8 * ENVS):
        name = f"LangRoom, {count} in batches"
        many = functools.partial(ProcessVectorEnv, LangRoomVectorEnv, count)
        others = {
            f"{name}: 2 processes, beside 1": many(processes=1),
            f"{name}: 2 processes, beside no worker": LangRoomVectorEnv(count),
        }
        yield from compare(many(processes=2), others, reduced(80_000 // count, scale))


SUITE = Suite(
    f"steps of vector environments of {ENVS} environments",
    by_name(planes, pictures, rooms, batches),
)
