"""What to answer: remembered facts, what feedback told, programs for sentences, and guesses.

Several ways to an answer compete, the surest first:

1. a fact: this answer to this question was rewarded before;
2. what the feedback told when the question was last answered wrongly;
3. for questions that have but two answers, the one that suits their words (`learner_relations`); for others,
   a program that worked for questions of this shape (`learner_programs`);
4. for questions of a single character, the guess whose kind was right most often: say the character itself,
   say what was right for another question, or try something new.

A fact that is refuted shows that the rules have changed: then all facts are forgotten, but not what kinds of
guesses, programs and feedback are worth, so that the next set of rules is learned sooner.
"""

from __future__ import annotations

__all__ = ["Answers"]

from collections import Counter, deque
from itertools import takewhile
from random import Random
from typing import Final

import attrs

from flagfall.agents.learner.programs import ProgramLibrary, Sentence
from flagfall.agents.learner.relations import Relations

_MOST_FACTS: Final = 4096
"""Questions remembered; then the oldest is forgotten."""

_MOST_SYMBOLS: Final = 16
"""Characters heard or rewarded lately, from which a new guess is taken first."""

_PRINTABLE: Final = tuple(bytes([code]) for code in range(0x20, 0x7F))

_LONGEST_END: Final = 4
"""How long the end of a feedback is at most that may be the answer, with noise before it."""

_RECENT: Final = 6
"""Feedback texts that are compared for what they have in common."""

_FORGETTING: Final = 0.2
"""How much the newest outcome weighs against all that went before it."""

_DOUBT: Final = 0.02
"""How much each wrong answer weighs against what is thought of the ways to read feedback."""

_UNKNOWN: Final = 0.5
"""The score of a way of which nothing is known."""

_ABOUT: Final = 0.2
"""Ways whose scores differ by less do about as well."""


class Scores:
    """How well each way has done lately, from 0 to 1.

    Args:
        ways: their names, with what to expect of them at first.
    """

    def __init__(self, ways: dict[str, float]) -> None:
        self.expected = ways

    def update(self, way: str, right: bool) -> None:
        """One more outcome."""
        self.expected[way] += _FORGETTING * (right - self.expected[way])

    def doubt(self) -> None:
        """Move a little towards not knowing, so that what is not confirmed is given up some day."""
        for way, expected in self.expected.items():
            self.expected[way] += _DOUBT * (_UNKNOWN - expected)


@attrs.define(eq=False)
class Fact:
    """What is known of one question.

    Attributes:
        right: the answer that was rewarded.
        feedback: what was said after the last wrong answer.
        wrong: answers that were punished.
    """

    right: bytes | None = None
    feedback: bytes = b""
    wrong: set[bytes] = attrs.Factory(set)


class FeedbackReader:
    """Finds the right answer in what is said after a wrong one.

    Words with which all such texts begin (`wrong! `) tell nothing and are left out. Of what remains, all may
    be the answer, or only its end, if there is noise before it. Which it is shows when the same question is
    asked again: the answer to it is still the same, the noise is not.
    """

    def __init__(self) -> None:
        ends = (str(length) for length in range(_LONGEST_END, 0, -1))
        self._scores = Scores(dict.fromkeys(("0", *ends), _UNKNOWN))
        self._recent: deque[bytes] = deque(maxlen=_RECENT)
        self._label = b""

    def read(self, feedback: bytes, closing: bytes) -> bytes:
        """What it takes for the answer: of ways that do about as well, the one that takes most.

        Nothing that comes after what closes an answer is a part of it.
        """
        expected = self._scores.expected
        good_enough = max(expected.values()) - _ABOUT
        told = self._ending(feedback, next(way for way in expected if expected[way] >= good_enough))
        answer, closed, _ = told.partition(closing)
        return answer + closed

    def heard(self, feedback: bytes) -> None:
        """Take note of a text, for what they have in common; and that it took a wrong answer to hear it."""
        self._scores.doubt()
        self._recent.append(feedback)
        texts = [text.split()[:-1] for text in dict.fromkeys(self._recent)]  # the last word is no label
        if len(texts) > 1:
            shared = takewhile(lambda words: len(set(words)) == 1, zip(*texts, strict=False))
            self._label = b"".join(words[0] + b" " for words in shared)
        elif not feedback.startswith(self._label):
            self._label = b""

    def check(self, feedback: bytes, answer: bytes) -> None:
        """The answer that this text told is known now."""
        for way in self._scores.expected:
            self._scores.update(way, self._ending(feedback, way) == answer)

    def refute(self, feedback: bytes, answer: bytes) -> None:
        """This was not the answer that the text told."""
        for way in self._scores.expected:
            if self._ending(feedback, way) == answer:
                self._scores.update(way, right=False)

    def compare(self, earlier: bytes, later: bytes) -> None:
        """Both texts told the same answer."""
        for way in self._scores.expected:
            self._scores.update(way, self._ending(earlier, way) == self._ending(later, way))

    def _ending(self, feedback: bytes, way: str) -> bytes:
        told = feedback.removeprefix(self._label)
        return told[-int(way) :]  # the last 0 bytes are all of them


class Guesses:
    """Guesses at the answer to a single character, where nothing tells."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._scores: dict[str, Scores] = {}
        self._offered: dict[str, bytes | None] = {}
        self._kind = ""
        self._rewarded: bytes | None = None
        self._symbols: dict[bytes, None] = {}
        self._failures: Counter[bytes] = Counter()

    def guess(self, question: bytes, wrong: set[bytes], taken: set[bytes]) -> bytes:
        """The best guess.

        Args:
            question: one character.
            wrong: what is no answer to it.
            taken: what is the answer to other questions.
        """
        self._notice(question)
        self._kind = kind = _kind(question)
        scores = self._scores.get(kind)
        if scores is None:
            scores = self._scores[kind] = Scores({"same": 0.5, "another": 0.4, "new": 0.3})
        self._offered = {"same": question, "another": self._rewarded, "new": self._new(wrong, taken)}
        options = [way for way, said in self._offered.items() if said is not None and said not in wrong]
        said = self._offered[max(options, key=scores.expected.__getitem__)] if options else None
        return said if said is not None else self._random.choice(_PRINTABLE)

    def _notice(self, symbol: bytes) -> None:
        self._symbols.pop(symbol, None)
        self._symbols[symbol] = None
        if len(self._symbols) > _MOST_SYMBOLS:
            del self._symbols[next(iter(self._symbols))]

    def _new(self, wrong: set[bytes], taken: set[bytes]) -> bytes | None:
        """The character heard lately that failed least; of equals the newest."""
        options = [symbol for symbol in self._symbols if symbol not in wrong]
        options = [symbol for symbol in options if symbol not in taken] or options
        if options:
            return min(reversed(options), key=self._failures.__getitem__)
        unheard = [symbol for symbol in _PRINTABLE if symbol not in wrong]
        return self._random.choice(unheard) if unheard else None

    def judged(self, said: bytes, right: bool) -> None:
        """The guess was right, or not: so were all ways that led to it."""
        scores = self._scores[self._kind]
        for way, offered in self._offered.items():
            if offered is not None and (right or offered == said):
                scores.update(way, right and offered == said)
        if right:
            self._rewarded = said
            self._failures.clear()
            return
        self._failures[said] += 1
        if said == self._rewarded:
            self._rewarded = None


def _kind(symbol: bytes) -> str:
    return "letter" if symbol.isalpha() else "digit" if symbol.isdigit() else "mark"


class Answers:
    """Answers questions, and learns from what they earn and what is said about them.

    Args:
        random: decides where nothing else does.
    """

    def __init__(self, random: Random) -> None:
        self._facts: dict[bytes, Fact] = {}
        self._reader = FeedbackReader()
        self._guesses = Guesses(random)
        self._programs = ProgramLibrary()
        self._relations = Relations()
        self._guessed = False

    def answer(self, question: bytes, closing: bytes) -> bytes:
        """The best answer.

        Args:
            question: without what ends it.
            closing: what may have to end the answer.
        """
        self._guessed = False
        fact = self._facts.get(question)
        if fact is not None:
            if fact.right is not None:
                return fact.right
            if fact.feedback and (told := self._reader.read(fact.feedback, closing)) not in fact.wrong:
                return told
        if len(question) == 1:
            self._guessed = True
            taken = {known.right for known in self._facts.values() if known.right is not None}
            return self._guesses.guess(question, set() if fact is None else fact.wrong, taken)
        sentence = Sentence.parse(question)
        if sentence is None:
            return closing
        made = self._relations.answer(sentence) or self._programs.answer(sentence)
        return closing if made is None else made + closing

    def judged(self, question: bytes, said: bytes, reward: float, closing: bytes) -> None:
        """What was said to the question earned this much."""
        if self._guessed:
            self._guesses.judged(said, reward > 0)
        fact = self._facts.get(question)
        if reward > 0:
            fact = fact or self._remember(question)
            if fact.feedback and fact.right is None:
                self._reader.check(fact.feedback, said)
            if fact.right is None:
                self._learn(question, said, closing)
            fact.right = said
        elif reward < 0:
            if fact is not None and fact.right is not None and fact.right.startswith(said):
                self._facts.clear()
                fact = None
            fact = fact or self._remember(question)
            if fact.feedback:
                self._reader.refute(fact.feedback, said)
            fact.wrong.add(said)
            if (sentence := Sentence.parse(question)) is not None:
                self._programs.refute(sentence, said.removesuffix(closing))

    def told(self, question: bytes, feedback: bytes, closing: bytes) -> None:
        """What was said after a wrong answer to the question."""
        self._reader.heard(feedback)
        fact = self._facts.get(question) or self._remember(question)
        if fact.feedback:
            self._reader.compare(fact.feedback, feedback)
        fact.feedback = feedback
        if answer := self._reader.read(feedback, closing):
            self._learn(question, answer, closing)

    def _remember(self, question: bytes) -> Fact:
        if len(self._facts) >= _MOST_FACTS:
            del self._facts[next(iter(self._facts))]
        fact = self._facts[question] = Fact()
        return fact

    def _learn(self, question: bytes, answer: bytes, closing: bytes) -> None:
        """Sentences teach more than what to answer to the same one."""
        if (sentence := Sentence.parse(question)) is None:
            return
        answer = answer.removesuffix(closing)
        self._relations.learn(sentence, answer)
        if self._relations.answer(sentence) is None:
            self._programs.learn(sentence, answer)
