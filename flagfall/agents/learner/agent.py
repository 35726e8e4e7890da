"""`LearningAgent`: a byte agent that learns what is asked of it, from bytes and rewards alone.

It is not told which task it plays, nor where one ends and the next begins. Three parts do the work:

- `learner_turns`: when is it my turn? Learned by staying silent and watching when silence is punished.
- `learner_answers`: what do I say? Facts, feedback, programs and guesses, chosen by how they did before.
- `learner_programs`: small programs that make an answer from the words of a question, found from examples;
  and `learner_relations`, for questions that have but two answers.

This file ties them together, one byte at a time. One *round* is: a text of the teacher, which ends with a
question; the answer, while the teacher is silent; a reward, with the first byte of the next text; and, in the
beginning of that text, perhaps feedback.
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
"""An answer that is not taken for complete is closed again every so many bytes."""

_LONGEST_ANSWER: Final = 4096
"""Bytes of an answer that are remembered: a world may go silent for good."""


@attrs.frozen
class _Round:
    """A question that was answered, and what the answer earned."""

    question: bytes
    said: bytes
    reward: float


class LearningAgent:
    """Learns when to speak and what to say, from bytes and rewards alone."""

    def __init__(self) -> None:
        self._begin(0)

    def start(self, briefing: Briefing) -> None:
        """Begin anew, with the seed of the match."""
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
        """The next byte to say; a space is silence."""
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
        """The teacher waits: learn from what it said about the last answer, then find the next one."""
        feedback, self._question = self._ear.split()
        self._closing = closing = self._ear.closing()
        last, self._last = self._last, None
        if last is not None and last.reward <= 0 and feedback:
            self._answers.told(last.question, feedback, closing)
        self._answer = self._answers.answer(self._question, closing)
        self._speaking = True
        self._said.clear()

    def _say(self) -> int:
        """The next byte of the answer; beyond its end, close it and wait, again and again."""
        at = len(self._said)
        if at < len(self._answer):
            byte = self._answer[at]
        else:
            byte = SILENCE if (at - len(self._answer)) % _CLOSE_EVERY else self._closing[0]
        if at < _LONGEST_ANSWER:
            self._said.append(byte)
        return byte

    def _finish(self, reward: float) -> None:
        """The answer is over, since the teacher speaks again or has paid for it."""
        self._speaking = False
        # What was added to an answer that seemed too short may have made it right, but not wrong.
        said = bytes(self._said if reward > 0 else self._said[: len(self._answer)])
        self._ear.judged(reward)
        self._answers.judged(self._question, said, reward, self._closing)
        self._last = _Round(self._question, said, reward)
        self._ear.text.clear()

    def _hear_silence_judged(self, reward: float) -> None:
        """A reward though nobody spoke: silence was the answer, so the text was over.

        A good one in the middle of a text, after an answer that earned nothing, is for that answer.
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
