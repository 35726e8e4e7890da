"""Environments for tests of vector environments; a module, so that workers can import it."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from flagfall.errors import UsageError


class Uneven(gymnasium.Env[Any, Any]):
    """Episodes of random lengths, a nested observation, and infos that differ in every way."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 3}  # noqa: RUF012 - as Gymnasium has it
    render_mode = "ansi"

    def __init__(self, mixed: bool = True) -> None:
        self.mixed = mixed
        self.observation_space = spaces.Dict(
            {
                "place": spaces.Tuple((spaces.Discrete(50, start=-3), spaces.Box(-1, 1, (2, 3), np.float32))),
                "flags": spaces.MultiBinary(5),
            }
        )
        self.action_space = spaces.Dict(
            {"push": spaces.Box(-1, 1, (2,), np.float32), "turn": spaces.MultiDiscrete([3, 4])}
        )
        self.actions: list[Any] = []

    def _seen(self) -> dict[str, Any]:
        return {
            "place": (self.steps - 3, self.np_random.uniform(-1, 1, (2, 3)).astype(np.float32)),
            "flags": self.np_random.integers(0, 2, 5).astype(np.int8),
        }

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        self.length = int(self.np_random.integers(1, 12))
        return self._seen(), {"length": self.length, **({"options": options} if options else {})}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.actions.append(action)  # kept as it is: the memory it came from must not be used again
        self.steps += 1
        over = self.steps >= self.length
        info: dict[str, Any] = {"nested": {"steps": self.steps, "name": f"step {self.steps}"}}
        if self.steps % 2:
            info |= {"array": np.arange(3) * self.steps, "truth": over, "numpy": np.float32(0.5)}
        if self.mixed and self.np_random.random() < 0.2:
            info["mixed"] = [self.steps, self.steps + 0.5, np.int8(3), over][self.steps % 4]
        reward = float(action["push"].sum() + action["turn"].sum())
        return self._seen(), reward, over and self.length % 2 == 0, over and self.length % 2 == 1, info

    def render(self) -> str:
        return f"{self.steps} of {self.length}"

    def replies(self) -> list[float]:
        """The sums of all actions so far."""
        return [float(action["push"].sum()) for action in self.actions]


class Trouble(gymnasium.Env[Any, Any]):
    """Environment whose actions cause trouble."""

    FINE, ERROR, USAGE, DIE, SLEEP, SPIN, BAD = range(7)
    render_mode = None

    def __init__(self, fails: str = "", size: int = 2) -> None:
        self.fails = fails
        if fails == "make":
            raise ValueError("it cannot be made")
        self.observation_space = spaces.Box(0, 255, (size,), np.uint8)
        self.action_space = spaces.Discrete(7)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if options and options.get("fail"):
            raise ValueError("it cannot be reset")
        self.steps = 0
        return self._seen(), {}

    def _seen(self) -> Any:
        return np.full(self.observation_space.shape, self.steps % 256, np.uint8)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        match int(action):
            case self.ERROR:
                raise ValueError("an error in the middle")
            case self.USAGE:
                raise UsageError("that is no way to play")
            case self.DIE:
                os.kill(os.getpid(), signal.SIGKILL)
            case self.SLEEP:
                print("asleep", flush=True)  # noqa: T201 - for the test that waits for it
                time.sleep(3600)
            case self.SPIN:  # holds the GIL for longer than anyone waits
                re.match(r"(a*)*b", "a" * 60)
            case self.BAD:
                return np.zeros(99, np.uint8), 0.0, False, False, {}
        return self._seen(), 0.0, False, False, {}

    def close(self) -> None:
        if self.fails == "close slowly":
            time.sleep(0.5)
            raise ValueError("it was slow")
        if self.fails == "close":
            raise ValueError("it cannot be closed")

    @property
    def pid(self) -> int:
        """The process that it is in."""
        return os.getpid()
