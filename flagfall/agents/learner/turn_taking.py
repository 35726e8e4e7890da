"""Turn-taking: where the teacher's text ends and which part of it is the question, learned by listening.

A teacher sends feedback and the next question in one stream and punishes interruptions. So the learner must
know that it is its turn *before* the teacher is silent. The algorithm:

1. Stay silent. If silence is punished, it was taken as an answer: the text was over. If the teacher is silent
   for long, the text was over, too. Either way one whole text is known.
2. After a few texts choose the simplest `TurnRule` under which each of them ends at its last byte, and not
   before; answer whenever that rule finds an end.
3. A text that ends where the rule did not expect it is one more example: choose again. After many failures
   listen again, and less often each time that listening confirms the rule.
"""

from __future__ import annotations

__all__ = ["Ear", "TurnRule", "fit"]

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from flagfall.kernel.channels.codecs import SILENCE

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
        ending: the byte that ends the question.
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
        text: bytes of the current text.
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
            if self._doubt >= self._doubt_limit:
                self._listen_again()

    def _listen_again(self) -> None:
        self._doubted, self.rule = self.rule, None
        self._examples.clear()
        self._fresh = True
        self._doubt = 0.0
