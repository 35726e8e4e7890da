"""Base class of tasks that exchange one byte per step, written as generators.

In each step the teacher (the task) sends one byte and the learner (the agent) replies with one. A script is a
generator that yields the teacher's bytes and receives the learner's replies:

    def script(self, rng):
        yield from self.say(b"hello")     # five steps; the replies of the learner are dropped
        heard = yield SILENCE             # one more step, and the reply to it
        self.pay(1 if heard == ord("h") else -1)
        return heard == ord("h")          # the result for the task scheduler
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterable
from functools import cache
from numbers import Integral
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.spaces import whole_numbers
from flagfall.tasks.task import Task

if TYPE_CHECKING:
    from gymnasium.spaces import Space

Script: TypeAlias = Generator[int, int, bool | None]


def is_whole(action: Any) -> bool:
    """Return whether an action is a whole number of Python or numpy; booleans are not."""
    return type(action) is int or (isinstance(action, Integral) and not isinstance(action, bool))


def _ended() -> Script:
    """Return a script that asks for nothing."""
    yield from ()
    return None


@cache
def _byte_space() -> Space[Any]:
    from gymnasium.spaces import Discrete  # noqa: PLC0415 - takes 0.2 s, and few users need it

    return Discrete(256)


class ByteTask(Task):
    """A task whose observations and actions are single bytes, whole numbers 0 to 255.

    A subclass defines `script`. The reward of a step is what the script pays between receiving a reply and
    yielding the next byte; a reward paid just before the script ends comes with the first byte of the next
    task.
    """

    continuous = True
    nil_action = SILENCE
    instructions = (
        "A teacher and you exchange bytes: for each byte of the teacher you send one of yours. Bytes are "
        "characters; a space (32) is silence. The teacher sets one task after another, and may use a "
        "language that you have to learn. It pays a reward with its bytes: 1 for what was right, -1 for what "
        "was wrong, otherwise 0; a reward is for what you sent before it came. Nothing else tells you where "
        "a task ends and the next one begins. Collect as much reward as you can."
    )

    _script: Script
    _reward: float = 0
    _result: bool | None = None
    _over: bool = True

    @abstractmethod
    def script(self, rng: Random) -> Script:
        """Run one instance of the task from the teacher's side, and return its result."""

    @property
    def action_space(self) -> Space[Any]:
        """`Discrete(256)`: the byte of the learner; of the teacher, as `observation_space`."""
        return _byte_space()

    observation_space = action_space

    @property
    def plain_spaces(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both spaces without Gymnasium; see `flagfall.kernel.roles.TaskDefaults`."""
        return whole_numbers(256), whole_numbers(256)

    def is_legal(self, action: Any) -> bool:
        """Return whether an action is a whole number from 0 to 255."""
        return (type(action) is int or is_whole(action)) and 0 <= action <= 255  # noqa: PLR2004

    def pay(self, reward: float) -> None:
        """Pay a reward with the next byte; a second one in the same step replaces the first."""
        self._reward = reward

    def say(self, text: Iterable[int]) -> Generator[int, int, None]:
        """Send a text, ignoring the replies."""
        for byte in text:  # noqa: UP028 - `yield from` would send the answers to an iterator of bytes
            yield byte

    def _reset(self, seed: int) -> int:
        self._script = self.script(Random(seed))
        self._reward = 0
        self._result = None
        self._over = False
        return next(self._script)

    def step(self, action: int) -> StepResult:
        """Take the learner's byte and return the teacher's next one."""
        self._num_steps_taken += 1
        self._reward = 0
        try:
            byte = self._script.send(action if type(action) is int else int(action))
        except StopIteration as end:
            self._over = True
            self._result = end.value
            self._total_reward += self._reward
            return StepResult(None, self._reward, terminated=True)
        self._total_reward += self._reward
        return StepResult(byte, self._reward)

    def _step(self, action: Any) -> StepResult:
        return self.step(action)

    def close(self) -> None:
        """Drop the instance that was left in the middle: it holds the task, which holds it."""
        self._script = _ended()

    def reached_terminal_state(self) -> bool:
        """Return whether the script has ended."""
        return self._over

    def result(self) -> bool | None:
        """Return what the script returned; `None` before its end."""
        return self._result
