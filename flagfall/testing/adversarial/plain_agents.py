"""Misbehaving agents that need nothing but Python, so that they play on every host, in WebAssembly too.

The file imports no other of flagfall. The agents do as those of `flagfall.testing.adversarial.agents`.
"""

# ruff: noqa: ARG002 - signatures are an agent's

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

TURN: Final = 2
"""The turn in which they misbehave."""

DONE: Final = 90
"""Answer of an agent whose attempt succeeded."""

REFUSED: Final = 91
"""Answer of an agent whose attempt failed."""

BLOCKING_S: Final = 0.8
"""A time beyond the hard limit for which an agent blocks its loop; its own step is never credited to it."""

LONG_S: Final = 20.0

MAX_MEMORY_BYTES: Final = 600_000_000
MAX_FLOOD_BYTES: Final = 2_000_000_000
LONG_BYTES: Final = 10_000_000

OPPONENTS_FILE: Final = "FLAGFALL_OPPONENTS_FILE"
"""Environment variable with the path of a file of an opponent."""


def bad_from(bad: Callable[[], Any]) -> Callable[[int], Any]:
    """Return an agent that calls a function in turn `TURN`, and answers with the result, if there is one."""

    def act(observation: int) -> Any:
        if observation != TURN:
            return observation
        said = bad()
        return observation if said is None else said

    return act


def _spin() -> None:
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        pass


def _flood(fd: int) -> None:
    data = b"a flood without end " * 3000
    for _ in range(MAX_FLOOD_BYTES // len(data)):
        os.write(fd, data)


def _eat_memory() -> None:
    eaten = [b"x" * 10_000_000 for _ in range(MAX_MEMORY_BYTES // 10_000_000)]
    time.sleep(LONG_S)
    del eaten


def _recurse() -> None:
    _recurse()


def _read_the_opponents_file() -> int:
    try:
        Path(os.environ.get(OPPONENTS_FILE, "/etc/hosts")).read_bytes()
    except OSError:
        return REFUSED
    return DONE


spins: Final = bad_from(_spin)
sleeps_in_c: Final = bad_from(lambda: time.sleep(LONG_S))
blocks: Final = bad_from(lambda: time.sleep(BLOCKING_S))
floods_stdout: Final = bad_from(lambda: _flood(1))
floods_stderr: Final = bad_from(lambda: _flood(2))
answers_at_length: Final = bad_from(lambda: "x" * LONG_BYTES)
eats_memory: Final = bad_from(_eat_memory)
recurses: Final = bad_from(_recurse)
raises_system_exit: Final = bad_from(lambda: sys.exit(0))
reads_its_opponents_files: Final = bad_from(_read_the_opponents_file)


class _Raising:
    """Raises in one of its methods."""

    where = ""

    def _maybe(self, where: str) -> None:
        if where == self.where:
            raise ValueError(f"bad in {where}")

    def start(self, briefing: Any) -> None:
        self._maybe("start")

    def init(self, observation: int) -> None:
        self._maybe("init")

    def act(self, observation: int) -> int:
        if observation == TURN:
            self._maybe("act")
        return observation

    def result(self, observation: int, reward: float) -> None:
        self._maybe("result")

    def close(self) -> None:
        self._maybe("close")


def _raising_in(where: str) -> type[_Raising]:
    return type("Raising", (_Raising,), {"where": where})


RaisesInStart: Final = _raising_in("start")
RaisesInInit: Final = _raising_in("init")
RaisesInAct: Final = _raising_in("act")
RaisesInResult: Final = _raising_in("result")
RaisesInClose: Final = _raising_in("close")
