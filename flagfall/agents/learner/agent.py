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

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

import attrs

from flagfall.agents.learner.answers import Answers
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.hosting import Briefing

# Turn-taking: where the teacher's text ends and which part of it is the question, learned by listening.
#
# A teacher sends feedback and the next question in one stream and punishes interruptions. So the learner
# must know that it is its turn *before* the teacher is silent. The algorithm:
#
# 1. Stay silent. If silence is punished, it was taken as an answer: the text was over. If the teacher is
# silent for long, the text was over, too. Either way one whole text is known. 2. After a few texts choose
# the simplest `TurnRule` under which each of them ends at its last byte, and not before; answer whenever
# that rule finds an end. 3. A text that ends where the rule did not expect it is one more example: choose
# again. After many failures listen again, and less often each time that listening confirms the rule.

_FULL_STOP: Final = b"."

_SEPARATORS: Final = b";|\n/!?,:"
"""Possible separators of feedback and question, the most distinctive first."""

_ENOUGH: Final = 3
"""Texts that are heard before a rule is chosen."""

_WINDOW: Final = 8
"""Texts kept as examples."""

_LONG_SILENCE: Final = b" " * 10
"""Spaces in a row that end a text; shorter gaps are taken as parts of it."""

_FIRST_DOUBT: Final = 8
"""Failures, less half of the successes, after which it listens again; doubled if that changes nothing."""

_LAST_DOUBT: Final = 512

_LONGEST_TEXT: Final = 4096
"""Bytes without an end after which a text is dropped: questions are much shorter."""


@attrs.frozen
class TurnRule:
    """Form of a text: feedback and a separator, if there is one, then the question.

    Attributes:
        separator: the byte after which the question begins; `None` where nothing marks it.
        length: its length, where no byte ends it.
    """

    separator: int | None = None
    ending: int | None = None
    length: int = 0

    def ends(self, text: bytes | bytearray) -> bool:
        """Return whether a text that did not end before ends with its last byte."""
        if self.ending is not None and text[-1] != self.ending:
            return False
        start = 0
        if self.separator is not None:
            start = text.find(self.separator) + 1
            if not start:
                return False
        return self.ending is not None or len(text) - start == self.length

    def explains(self, text: bytes) -> bool:
        """Return whether a text ends with its last byte, and not before."""
        return self.ends(text) and not any(self.ends(text[:n]) for n in range(1, len(text)))

    def split(self, text: bytes) -> tuple[bytes, bytes]:
        """Return feedback and question, without the separator."""
        if self.separator is not None:
            feedback, _, question = text.partition(bytes([self.separator]))
            return feedback, question
        if self.ending is not None:
            return b"", text
        return text[:-1], text[-1:]  # nothing marks it: take the shortest question there is


def fit(texts: Sequence[bytes]) -> TurnRule | None:
    """Return the simplest rule that explains all texts; `None` where there is none."""
    return next((rule for rule in _candidates(texts[-1]) if all(map(rule.explains, texts))), None)


def _candidates(text: bytes) -> Iterator[TurnRule]:
    """Yield the rules that explain a text, the simplest first."""
    if len(text) == 1:
        yield TurnRule(length=1)
    ending = text[-1] if _is_mark(text[-1]) else None
    for separator in _SEPARATORS:
        at = text.find(separator)
        if 0 <= at < len(text) - 1:
            if ending is not None:
                yield TurnRule(separator, ending)
            yield TurnRule(separator, length=len(text) - at - 1)
    if ending is not None:
        yield TurnRule(ending=ending)
    yield TurnRule(length=len(text))


def _is_mark(byte: int) -> bool:
    return not chr(byte).isalnum() and byte != SILENCE


class Ear:
    """Listener that collects texts and finds their ends.

    Attributes:
        rule: the current rule; `None` while it only listens.
    """

    def __init__(self) -> None:
        self.text: bytearray = bytearray()
        self.rule: TurnRule | None = None
        self._examples: deque[bytes] = deque(maxlen=_WINDOW)
        self._fresh = True  # the first text has no feedback, or its beginning was missed
        self._opening = b""  # the word with which questions begin, where the separator stands within them
        self._after_reward = False
        self._doubt = 0.0
        self._doubt_limit = _FIRST_DOUBT
        self._doubted: TurnRule | None = None

    def hear(self, byte: int) -> bool:
        """Take a byte of the teacher, and return whether it is the learner's turn now."""
        text = self.text
        text.append(byte)
        rule = self.rule
        if rule is not None and rule.ends(text):
            return True
        if len(text) > _LONGEST_TEXT:
            text.clear()
        elif byte == SILENCE and text.endswith(_LONG_SILENCE):
            self._surprised()
            return True
        return False

    def silence_was_judged(self) -> bool:
        """Learn that the text was over while both were silent, and return whether there is a rule now."""
        if not self.text:
            return False
        self._surprised()
        return self.rule is not None

    def _surprised(self) -> None:
        """Learn from a text that ended unexpectedly."""
        if self._fresh:
            self._fresh = False
            return
        self._examples.append(self.whole_text())
        texts = list(self._examples)
        self.rule = None
        self._opening = b""
        if len(texts) >= _ENOUGH:
            self.rule = fit(texts) or fit(texts[-_ENOUGH:])
        if self.rule is not None:
            confirmed = self.rule == self._doubted
            self._doubt_limit = min(2 * self._doubt_limit, _LAST_DOUBT) if confirmed else _FIRST_DOUBT
            self._doubt = 0.0

    def rewarded_late(self) -> None:
        """Take note of a reward in the middle of a text: what follows is not feedback."""
        self.text.clear()
        self._after_reward = True

    def split(self) -> tuple[bytes, bytes]:
        """Return the feedback and the question in the text, which is over."""
        text, rule = self.whole_text(), self.rule
        if rule is None:
            return b"", text
        if self._after_reward and rule.separator is not None and rule.separator in text:
            self._opening = text.partition(b" ")[0]
        self._after_reward = False
        before, opening, after = text.partition(self._opening) if self._opening else (text, b"", b"")
        feedback, question = (before, opening + after) if opening else rule.split(text)
        return feedback.rstrip(b" "), question if rule.ending is None else question[:-1]

    def closing(self) -> bytes:
        """Return the byte that may have to end an answer: that of the question, or a full stop."""
        if self.rule is not None:
            ending = self.rule.ending
        else:
            last = self.whole_text()[-1:]
            ending = last[0] if last and _is_mark(last[0]) else None
        return _FULL_STOP if ending is None else bytes([ending])

    def whole_text(self) -> bytes:
        """Return the text without the silence at its end (a single space may be a question)."""
        return bytes(self.text).rstrip(b" ") or bytes(self.text[:1])

    def judged(self, reward: float) -> None:
        """Learn from the reward for the answer."""
        if reward > 0:
            self._examples.append(self.whole_text())
            self._doubt = max(0.0, self._doubt - 0.5)
        elif reward < 0:
            self._doubt += 1
            if self._doubt >= self._doubt_limit:  # listen again
                self._doubted, self.rule = self.rule, None
                self._examples.clear()
                self._fresh = True
                self._doubt = 0.0


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
        """Reset everything learned, and take the seed of the match."""
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
        """Return the next byte; a space is silence."""
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
