"""Choice of an answer: known facts, feedback, programs for sentences, and guesses.

The ways to an answer, the most reliable first:

1. a fact: this answer to this question was rewarded before;
2. the feedback after the last wrong answer to the question;
3. for questions with two possible answers, the one that fits their words (`relations`); for others, a program
   that worked for questions of this shape (`programs`);
4. for questions of a single character, the kind of guess that was right most often: the character itself, the
   right answer to another question, or a new character.

A fact that is refuted means that the rules have changed: then all facts are dropped, but not the scores of
guesses, programs and readings of feedback, so that the next rules are learned faster.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import takewhile
from random import Random
from typing import Final, TypeAlias

import attrs

from flagfall.agents.learner.programs import ProgramLibrary, Sentence

# Answers to questions with two possible answers, such as `true` and `false`.
#
# No program can make such an answer from the words of the question; it depends on relations among them. So a
# question is reduced to a few relations between its last word and the others (containment, and whether it is
# made of them), and the right answers for questions with the same relations are counted. No word has a given
# meaning: that `anything` allows more and `not` forbids is learned from the answers.

Features: TypeAlias = tuple[object, ...]

_ANSWERS: Final = 2
"""Number of possible answers."""

_RECENT_ANSWERS: Final = 32
"""Recent questions from which the number of possible answers is estimated."""

_ENOUGH: Final = 4
"""Minimum number of those questions."""

_NEARLY_ALL: Final = 0.9
"""Minimum share of the two most frequent answers; the others may be errors."""

_MOST_KNOWN: Final = 4096
"""Kinds of questions that are kept; beyond it, all are dropped."""


def relate(sentence: Sentence) -> Features:
    """Return the relations of the last word to the others.

    Words written like the last one (in capitals, or not) are parts that it may contain; the others are
    *particles*, and a part is known by the particle before it. For the parts after each particle: does the
    last word contain any of them, and all? And is it made of the parts that it contains, without a gap?
    """
    *words, last = sentence.slots
    parts: dict[bytes, list[bytes]] = {}
    particle = b""
    particles = set()
    for word in words:
        if word.isupper() == last.isupper():
            parts.setdefault(particle, []).append(word)
        else:
            particle = word
            particles.add(word)
    found = {key: [part in last for part in some] for key, some in parts.items()}
    held = {key: (any(some), all(some)) for key, some in found.items()}
    every = [part for some in parts.values() for part in some]
    return (frozenset(particles), frozenset(held.items()), _is_made_of(last, every))


def _is_made_of(word: bytes, parts: list[bytes]) -> bool:
    """Return whether every byte of the word lies in one of the parts, which may overlap."""
    covered: set[int] = set()
    for part in parts:
        at = word.find(part)
        while at >= 0:
            covered.update(range(at, at + len(part)))
            at = word.find(part, at + 1)
    return len(covered) == len(word)


class Relations:
    """Counts of the right answers for each set of relations."""

    def __init__(self) -> None:
        self._recent: dict[Features, deque[bytes]] = {}
        self._right: dict[Features, Counter[bytes]] = {}

    def answer(self, sentence: Sentence) -> bytes | None:
        """Return the answer that was right for the same relations, or most often.

        `None` where there are more than two possible answers.
        """
        commands = _commands(sentence)
        recent = self._recent.get(commands, ())
        if len(recent) < _ENOUGH:
            return None
        usual = Counter(recent).most_common(_ANSWERS)
        if sum(count for _, count in usual) < _NEARLY_ALL * len(recent):
            return None
        known = self._right.get((*commands, *relate(sentence)), Counter())
        return max(usual, key=lambda answer: (known[answer[0]], answer[1]))[0]

    def learn(self, sentence: Sentence, answer: bytes) -> None:
        """Take the right answer to a question."""
        if max(len(self._right), len(self._recent)) > _MOST_KNOWN:
            self._right.clear()
            self._recent.clear()
        commands = _commands(sentence)
        self._recent.setdefault(commands, deque(maxlen=_RECENT_ANSWERS)).append(answer)
        if self.answer(sentence) is not None:
            self._right.setdefault((*commands, *relate(sentence)), Counter())[answer] += 1


def _commands(sentence: Sentence) -> Features:
    return tuple(word for word in sentence.shape if word != b"*")


_MOST_FACTS: Final = 4096
"""Questions that are kept; beyond it, the oldest is dropped."""

_MOST_SYMBOLS: Final = 16
"""Characters recently heard or rewarded, from which a new guess is taken first."""

_PRINTABLE: Final = tuple(bytes([code]) for code in range(0x20, 0x7F))

_LONGEST_END: Final = 4
"""Maximum length of the end of a feedback that may be the answer, with noise before it."""

_RECENT: Final = 6
"""Feedback texts that are compared for a common beginning."""

_FORGETTING: Final = 0.2
"""Weight of the newest outcome against all before it."""

_DOUBT: Final = 0.02
"""Weight of each wrong answer against the scores of the ways to read feedback."""

_UNKNOWN: Final = 0.5
"""Score of a way without outcomes."""

_ABOUT: Final = 0.2
"""Difference below which two scores count as equal."""


class Scores:
    """Recent success of each way, from 0 to 1."""

    def __init__(self, ways: dict[str, float]) -> None:
        self.expected = ways

    def update(self, way: str, right: bool) -> None:
        """Take the outcome of a way."""
        self.expected[way] += _FORGETTING * (right - self.expected[way])

    def doubt(self) -> None:
        """Move all scores a little towards the initial one, so that a way without success is given up."""
        for way, expected in self.expected.items():
            self.expected[way] += _DOUBT * (_UNKNOWN - expected)


@attrs.define(eq=False)
class Fact:
    """Knowledge about one question.

    Attributes:
        feedback: the text after the last wrong answer.
    """

    right: bytes | None = None
    feedback: bytes = b""
    wrong: set[bytes] = attrs.Factory(set)


class FeedbackReader:
    """Reader of the right answer in the feedback after a wrong one.

    Words with which all such texts begin (`wrong! `) are left out. Of the rest, all may be the answer, or
    only its end, with noise before it. This is decided when the same question comes again: its answer is
    still the same, the noise is not.
    """

    def __init__(self) -> None:
        ends = (str(length) for length in range(_LONGEST_END, 0, -1))
        self._scores = Scores(dict.fromkeys(("0", *ends), _UNKNOWN))
        self._recent: deque[bytes] = deque(maxlen=_RECENT)
        self._label = b""

    def read(self, feedback: bytes, closing: bytes) -> bytes:
        """Return the answer in a feedback: of the ways with about the best score, the one that takes most.

        What comes after the byte that closes an answer is not a part of it.
        """
        expected = self._scores.expected
        good_enough = max(expected.values()) - _ABOUT
        told = self._ending(feedback, next(way for way in expected if expected[way] >= good_enough))
        answer, closed, _ = told.partition(closing)
        return answer + closed

    def heard(self, feedback: bytes) -> None:
        """Take a feedback text, for the common beginning, and for the wrong answer before it."""
        self._scores.doubt()
        self._recent.append(feedback)
        texts = [text.split()[:-1] for text in dict.fromkeys(self._recent)]  # the last word is no label
        if len(texts) > 1:
            shared = takewhile(lambda words: len(set(words)) == 1, zip(*texts, strict=False))
            self._label = b"".join(words[0] + b" " for words in shared)
        elif not feedback.startswith(self._label):
            self._label = b""

    def check(self, feedback: bytes, answer: bytes) -> None:
        """Score the ways to read a feedback whose right answer is known now."""
        for way in self._scores.expected:
            self._scores.update(way, self._ending(feedback, way) == answer)

    def refute(self, feedback: bytes, answer: bytes) -> None:
        """Score the ways by which a feedback gave a wrong answer."""
        for way in self._scores.expected:
            if self._ending(feedback, way) == answer:
                self._scores.update(way, right=False)

    def compare(self, earlier: bytes, later: bytes) -> None:
        """Score the ways by two feedback texts with the same answer."""
        for way in self._scores.expected:
            self._scores.update(way, self._ending(earlier, way) == self._ending(later, way))

    def _ending(self, feedback: bytes, way: str) -> bytes:
        told = feedback.removeprefix(self._label)
        return told[-int(way) :]  # the last 0 bytes are all of them


class Guesses:
    """Guesses at the answer to a single character."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._scores: dict[str, Scores] = {}
        self._offered: dict[str, bytes | None] = {}
        self._kind = ""
        self._rewarded: bytes | None = None
        self._symbols: dict[bytes, None] = {}
        self._failures: Counter[bytes] = Counter()

    def guess(self, question: bytes, wrong: set[bytes], taken: set[bytes]) -> bytes:
        """Return the best guess."""
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
        """Return the recently heard character that failed least; of equals the newest."""
        options = [symbol for symbol in self._symbols if symbol not in wrong]
        options = [symbol for symbol in options if symbol not in taken] or options
        if options:
            return min(reversed(options), key=self._failures.__getitem__)
        unheard = [symbol for symbol in _PRINTABLE if symbol not in wrong]
        return self._random.choice(unheard) if unheard else None

    def judged(self, said: bytes, right: bool) -> None:
        """Take the outcome of a guess, for all ways that led to it."""
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
    """Answers to questions, learned from rewards and feedback."""

    def __init__(self, random: Random) -> None:
        self._facts: dict[bytes, Fact] = {}
        self._reader = FeedbackReader()
        self._guesses = Guesses(random)
        self._programs = ProgramLibrary()
        self._relations = Relations()
        self._guessed = False

    def answer(self, question: bytes, closing: bytes) -> bytes:
        """Return the best answer."""
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
        """Learn from the reward for an answer."""
        if self._guessed:
            self._guesses.judged(said, reward > 0)
        fact = self._facts.get(question)
        if reward > 0:
            fact = fact or self._remember(question)
            if fact.right is None:
                if fact.feedback:
                    self._reader.check(fact.feedback, said)
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

    def take_feedback(self, question: bytes, feedback: bytes, closing: bytes) -> None:
        """Learn from the feedback after a wrong answer."""
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
        """Learn programs and relations from the answer to a sentence."""
        if (sentence := Sentence.parse(question)) is None:
            return
        answer = answer.removesuffix(closing)
        self._relations.learn(sentence, answer)
        if self._relations.answer(sentence) is None:
            self._programs.learn(sentence, answer)
