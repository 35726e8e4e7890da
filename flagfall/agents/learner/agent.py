"""`LearningAgent`: a byte agent that learns tasks from bytes and rewards alone.

It gets no name of a task, and no sign of where one ends and the next begins. It has three parts:

- `turn_taking`: when to answer. Learned by staying silent and observing when silence is punished.
- `answers`: the answer to a question. Facts, feedback, programs and guesses compete by how they did before.
- `programs`: small programs that make an answer from the words of a question, found from examples; and
  `relations`, for questions with two possible answers.

This module connects them, one byte at a time. One *round* is: a text of the teacher, which ends with a
question; the answer, while the teacher is silent; a reward, with the first byte of the next text; and
possibly feedback, at the beginning of that text.
"""

from __future__ import annotations

__all__ = ["LearningAgent"]

from random import Random
from typing import Final

import attrs

from flagfall.agents.learner.answers import Answers
from flagfall.agents.learner.turn_taking import Ear
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.hosting import Briefing

_CLOSE_EVERY: Final = 4
"""An answer that the teacher does not take as complete is closed again after this many bytes."""

_LONGEST_ANSWER: Final = 4096
"""Bytes of an answer that are kept: a world may be silent forever."""


@attrs.frozen
class _Round:
    """A question, the answer that was given, and its reward."""

    question: bytes
    said: bytes
    reward: float


class LearningAgent:
    """Byte agent that learns when and what to answer, from bytes and rewards alone."""

    def __init__(self) -> None:
        self._begin(0)

    def start(self, briefing: Briefing) -> None:
        """Reset everything learned, and take the seed of the match.

        Args:
            briefing: the briefing of the match.
        """
        self._begin(briefing.seed)

    def _begin(self, seed: int) -> None:
        self._ear = Ear()
        self._answers = Answers(Random(seed))
        self._speaking = False
        self._question = b""
        self._answer = b""
        self._closing = b""
        self._said = bytearray()
        self._last: _Round | None = None

    def reply(self, byte: int, reward: float) -> int:
        """Return the next byte; a space is silence.

        Args:
            byte: the byte of the teacher.
            reward: the reward of the step before.
        """
        if self._speaking:
            if byte == SILENCE and not reward:
                return self._say()
            self._finish(reward)
        elif reward:
            self._hear_silence_judged(reward)
        if self._ear.hear(byte):
            self._take_turn()
            return self._say()
        return SILENCE

    def _take_turn(self) -> None:
        """Begin an answer: learn from the feedback on the last one, then find the next one."""
        feedback, self._question = self._ear.split()
        self._closing = closing = self._ear.closing()
        last, self._last = self._last, None
        if last is not None and last.reward <= 0 and feedback:
            self._answers.take_feedback(last.question, feedback, closing)
        self._answer = self._answers.answer(self._question, closing)
        self._speaking = True
        self._said.clear()

    def _say(self) -> int:
        """Return the next byte of the answer; beyond its end, close it and wait, repeatedly."""
        at = len(self._said)
        if at < len(self._answer):
            byte = self._answer[at]
        else:
            byte = SILENCE if (at - len(self._answer)) % _CLOSE_EVERY else self._closing[0]
        if at < _LONGEST_ANSWER:
            self._said.append(byte)
        return byte

    def _finish(self, reward: float) -> None:
        """End the answer: the teacher speaks again, or has given a reward."""
        self._speaking = False
        # What was added to an answer that seemed too short can have made it right, but not wrong.
        said = bytes(self._said if reward > 0 else self._said[: len(self._answer)])
        self._ear.judged(reward)
        self._answers.judged(self._question, said, reward, self._closing)
        self._last = _Round(self._question, said, reward)
        self._ear.text.clear()

    def _hear_silence_judged(self, reward: float) -> None:
        """Learn from a reward for silence: the text was over.

        A positive reward in the middle of a text, after an answer without a reward, is for that answer.
        """
        ear, last = self._ear, self._last
        self._last = None
        if reward > 0 and len(ear.text) > 1:
            if last is not None and last.reward == 0:
                self._answers.judged(last.question, last.said, reward, self._closing)
            ear.rewarded_late()
            return
        if ear.silence_was_judged():
            said = b" " * (len(ear.text) - len(ear.whole_text()) + 1)
            self._last = _Round(ear.split()[1], said, reward)
        ear.text.clear()
