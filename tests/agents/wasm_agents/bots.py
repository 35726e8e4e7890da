"""Agents that are played in WebAssembly, good and bad."""

from __future__ import annotations

import os
import random
import sys
import time
from typing import Any

import helper  # type: ignore[import-not-found]  # it lies beside this file


class Lotto:
    """Draws numbers, and works for as long as the first of them says."""

    def start(self, briefing: Any) -> None:
        self.briefing = briefing
        print("names:", {"red", "green", "blue", "white"}, hash("red"), os.urandom(4).hex())

    def act(self, observation: int, reward: int, timer: Any) -> int:
        work = random.randrange(2_000)
        done = sum(helper.square(number) for number in range(work))
        self.briefing.note({"work": work})
        if work % 7 == 0:
            print(observation, reward, timer.elapsed_ns, time.time())
        return int(done % 3)


class Arrays:
    """Answers with what it sees, which has to be lists."""

    def act(self, observation: Any) -> Any:
        assert isinstance(observation, list), type(observation)
        return observation


class Sleeper:
    def act(self, observation: int) -> int:
        began = time.perf_counter_ns()
        time.sleep(0.01)
        assert time.perf_counter_ns() - began >= 10_000_000
        return 1


class EndlessLoop:
    def act(self, observation: int) -> None:
        while True:
            pass


class EndlessStart:
    def start(self, briefing: Any) -> None:
        while True:
            pass

    def act(self, observation: int) -> int:
        return 1


class EndlessPrints:
    def act(self, observation: int) -> None:
        while True:
            print("x" * 1000)


class EndlessMemory:
    def act(self, observation: int) -> None:
        kept = []
        while True:
            kept.append(bytearray(1 << 24))


class Deep:
    def act(self, observation: int) -> Any:
        sys.setrecursionlimit(10**8)
        return self.act(observation)


class Raises:
    def act(self, observation: int) -> None:
        raise ValueError("the board is empty")


class Exits:
    def act(self, observation: int) -> None:
        sys.exit(3)


class Long:
    def act(self, observation: int) -> str:
        return "x" * 10_000_000


class Open:
    def act(self, observation: int) -> None:
        open("/etc/passwd")  # noqa: PTH123, SIM115 - it is to fail


class Threads:
    def act(self, observation: int) -> None:
        import threading  # noqa: PLC0415

        threading.Thread(target=print).start()


class NoStart:
    def __init__(self) -> None:
        raise ValueError("nothing to begin with")

    def act(self, observation: int) -> int:
        return 1


class Numpy:
    def start(self, briefing: Any) -> None:
        import numpy  # noqa: ICN001, PLC0415

        print(numpy.zeros(3))

    def act(self, observation: int) -> int:
        return 1


class Async:
    async def act(self, observation: int) -> int:
        return 1
