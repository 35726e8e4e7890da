"""Agents that work as much as their observation says, and answer it: natively and in WebAssembly.

The file imports nothing but Python's library. `work_agent.c` does the same work, and more of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable

_NUMBERS = 400
_state = 1


def _next() -> int:
    global _state  # noqa: PLW0603 - as a program in C has it
    _state = (_state * 1103515245 + 12345) % 2**32
    return _state


def _arithmetic() -> None:
    total = 0
    for number in range(4000):
        total = (total ^ number) * 31 % 1000003


def _sorting() -> None:
    sorted(_next() for _ in range(_NUMBERS))


def _texts() -> None:
    json.loads(json.dumps([{"number": _next(), "text": "some words"} for _ in range(_NUMBERS // 4)]))


def _agent(work: Callable[[], None]) -> Callable[[int], int]:
    def act(observation: int) -> int:
        for _ in range(observation):
            work()
        return observation

    return act


arithmetic = _agent(_arithmetic)
sorting = _agent(_sorting)
texts = _agent(_texts)
