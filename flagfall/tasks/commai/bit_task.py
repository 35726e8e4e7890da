"""Byte tasks played in bits: one step is one bit each way, most significant bit first.

The task inside receives the learner's byte when its last bit is there, in the step that sends the first bit
of the teacher's next byte; so no byte is ever cut. Text beyond ASCII is UTF-8, byte by byte.

Conversations have settings of their own for bits: their time limits count bits, and a new text replaces
what is still unsent (see `conversation.BIT_CHANNEL`). Micro-tasks have none: their limits count bytes, and
feedback is sent before the next question.

Scrambling is for bit mode, as in round 1. In the byte tasks of the challenge single letters are the matter to
learn, and a pseudo-letter would be a wrong question. Only conversations can be scrambled, because a whole
word must be known before its first letter is sent.
"""

from __future__ import annotations

__all__ = ["BitTask"]

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.spaces import whole_numbers
from flagfall.tasks.commai.byte_task import is_whole
from flagfall.tasks.commai.conversation import BIT_CHANNEL, ConversationTask
from flagfall.tasks.commai.wrapped_task import WrappedTask

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from flagfall.tasks.commai.byte_task import ByteTask
    from flagfall.tasks.commai.scrambling import Scrambler

_LAST_PLACE: Final = 7


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
        self._said = self._heard = SILENCE
        self._place = _LAST_PLACE

    @property
    def action_space(self) -> Space[Any]:
        """`Discrete(2)`: the bit of the learner."""
        return _bit_space()

    @property
    def observation_space(self) -> Space[Any]:
        """`Discrete(2)`: the bit of the teacher."""
        return _bit_space()

    @property
    def plain_spaces(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both spaces without Gymnasium; see `flagfall.kernel.roles.TaskDefaults`."""
        return whole_numbers(2), whole_numbers(2)

    def is_legal(self, action: Any) -> bool:
        """Return whether an action is 0 or 1.

        Args:
            action: any object; see `is_whole`.
        """
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
