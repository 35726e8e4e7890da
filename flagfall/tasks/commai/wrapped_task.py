"""Wrappers around byte tasks: bits for bytes, and limits on rewards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.spaces import whole_numbers
from flagfall.tasks.commai.byte_task import ByteTask, is_whole
from flagfall.tasks.commai.conversation import BIT_CHANNEL, ConversationTask
from flagfall.tasks.commai.words import Scrambler
from flagfall.tasks.task import Task

if TYPE_CHECKING:
    from gymnasium.spaces import Space


class WrappedTask(Task):
    """A task that forwards everything to the task inside; subclasses change parts of it.

    Args:
        task: the task inside: a `ByteTask`, or a wrapped one.
    """

    continuous = True

    def __init__(self, task: ByteTask | WrappedTask) -> None:
        self.task = task
        self.id: str = task.id
        self.nil_action: Any = task.nil_action
        self.max_steps: float = task.max_steps
        self.world: object = task.world
        self.instructions: Any = task.instructions

    @property
    def action_space(self) -> Space[Any]:
        """The action space of the task inside."""
        return self.task.action_space

    @property
    def observation_space(self) -> Space[Any]:
        """The observation space of the task inside."""
        return self.task.observation_space

    @property
    def plain_spaces(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The spaces of the task inside without Gymnasium; see `flagfall.kernel.roles.TaskRole`."""
        return self.task.plain_spaces

    def is_legal(self, action: Any) -> bool:
        """Return whether the task inside accepts an action."""
        return self.task.is_legal(action)

    def _reset(self, seed: int) -> Any:
        return self.task.reset(seed)

    def _step(self, action: Any) -> StepResult:
        return self.task.step(action)

    def reached_terminal_state(self) -> bool:
        """Return whether the task inside is over."""
        return self.task.reached_terminal_state()

    def result(self) -> bool | None:
        """Return the result of the task inside."""
        return self.task.result()

    def follow_rules(self, revisions: Mapping[str, int]) -> str | None:
        """Let the task inside take the rules of a recorded match."""
        return self.task.follow_rules(revisions)

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the task inside, with the length and the reward of this one."""
        return self.task.metrics() | super().metrics()

    def close(self) -> None:
        """Close the task inside."""
        self.task.close()


class RewardCap:
    """Stops the rewards of tasks at a limit, as in `[cap(task) for task in tasks]`.

    A reward is paid in full while the sum for the task's id is below the limit, so the last one may exceed
    it; punishments lower the sum. The last reward of an instance counts for the task that earned it, though
    it comes with the first byte of the next one.

    Attributes:
        paid: sum of the rewards paid so far, by task id.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.paid: dict[str, float] = {}

    def __call__(self, task: ByteTask | WrappedTask) -> WrappedTask:
        """Return the task under this cap."""
        return _CappedTask(task, self)

    def allow(self, task_id: str, reward: float) -> float:
        """Return the part of a reward that may be paid, and count it as paid."""
        paid = self.paid.get(task_id, 0)
        if not reward or paid >= self.most:
            return 0
        self.paid[task_id] = paid + reward
        return reward


class _CappedTask(WrappedTask):
    def __init__(self, task: ByteTask | WrappedTask, cap: RewardCap) -> None:
        super().__init__(task)
        self.cap = cap

    def _step(self, action: Any) -> StepResult:
        result = self.task.step(action)
        return result._replace(reward=self.cap.allow(self.id, result.reward))


# Byte tasks played in bits: one step is one bit each way, most significant bit first.
#
# The task inside receives the learner's byte when its last bit is there, in the step that sends the first
# bit of the teacher's next byte; so no byte is ever cut. Text beyond ASCII is UTF-8, byte by byte.
#
# Conversations have settings of their own for bits: their time limits count bits, and a new text replaces
# what is still unsent (see `conversation.BIT_CHANNEL`). Micro-tasks have none: their limits count bytes, and
# feedback is sent before the next question.
#
# Scrambling is for bit mode, as in round 1. In the byte tasks of the challenge single letters are the matter
# to learn, and a pseudo-letter would be a wrong question. Only conversations can be scrambled, because a
# whole word must be known before its first letter is sent.

_LAST_PLACE: Final = 7

_IN_BITS: Final = (
    "Bytes are sent bit by bit, the most significant bit first: in each step the teacher sends one bit, and "
    "you send one. Your byte answers the teacher's byte before it; eight steps are one byte of each of you."
)


@cache
def _bit_space() -> Space[Any]:
    from gymnasium.spaces import Discrete  # noqa: PLC0415 - takes 0.2 s, and few users need it

    return Discrete(2)


class BitTask(WrappedTask):
    """A byte task whose observations and actions are bits, the whole numbers 0 and 1.

    An absent learner is silent: `nil_action` is `None` and stands for the next bit of a space character.

    Args:
        task: the task inside; a conversation keeps its settings for bits from then on.
        scrambler: translates all words; share one object among the tasks of a match to share its vocabulary.

    Raises:
        UsageError: there is a scrambler, and the task is not a conversation.
    """

    def __init__(self, task: ByteTask, scrambler: Scrambler | None = None) -> None:
        super().__init__(task)
        self.nil_action: Any = None
        if isinstance(task, ConversationTask):
            task.channel = attrs.evolve(BIT_CHANNEL, scrambler=scrambler)
        elif scrambler is not None:
            raise UsageError(f"{task.id} cannot be scrambled: it is not a conversation")
        self.instructions = f"{task.instructions}\n\n{_IN_BITS}"
        self._said = self._heard = SILENCE
        self._place = _LAST_PLACE

    @property
    def action_space(self) -> Space[Any]:
        """`Discrete(2)`: the bit of the learner; of the teacher, as `observation_space`."""
        return _bit_space()

    observation_space = action_space

    @property
    def plain_spaces(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both spaces without Gymnasium; see `flagfall.kernel.roles.TaskDefaults`."""
        return whole_numbers(2), whole_numbers(2)

    def is_legal(self, action: Any) -> bool:
        """Return whether an action is 0 or 1."""
        return is_whole(action) and 0 <= action <= 1

    def _reset(self, seed: int) -> int:
        return self._first_bit(self.task.reset(seed))

    def _step(self, action: int | None) -> StepResult:
        bit = _bit(SILENCE, self._place) if action is None else action
        self._heard |= bit << self._place
        if self._place:
            self._place -= 1
            return StepResult(_bit(self._said, self._place))
        result = self.task.step(self._heard)
        if result.terminated:
            return result
        return result._replace(observation=self._first_bit(result.observation))

    def _first_bit(self, byte: int) -> int:
        self._said, self._heard, self._place = byte, 0, _LAST_PLACE
        return _bit(byte, _LAST_PLACE)


def _bit(byte: int, place: int) -> int:
    return byte >> place & 1
