"""Micro-tasks 6 to 16: instructions in sentences, answers that end with a dot, feedback in words.

The tasks differ in how a question is drawn and in the style of the feedback. Texts, alphabets and
probabilities are those of round 1 of the General AI Challenge; `docs/round1.md` lists its quirks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random
from string import ascii_lowercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import attrs

from flagfall.tasks.commai.micro.engine import LENIENT_RULES, MicroRow
from flagfall.tasks.commai.micro.questions import RIGHT, WRONG, AnswerVerdict, QuestionSource
from flagfall.tasks.commai.words import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAP_SIZE: Final = 8
"""Number of keys of micro-task 6."""

SEQUENCES: Final = (
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    ("ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
    (
        *("ten", "eleven", "twelve", "thirteen", "fourteen"),
        *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
    ),
)
"""The sequences of micro-task 15, used forwards or backwards."""

_DOT: Final = ord(".")
_BACKWARDS: Final = 2 / 3
_MAX_SPACES: Final = 6
_OPTIONS: Final = "abcde"
_PAIRS: Final = ("ab", "ac", "ad", "bc", "bd", "cd")
_TRIPLES: Final = ("abc", "acd", "adc", "bcd", "bda", "cdb")

# --- questions and feedback --------------------------------------------------------------------------------


class Question(NamedTuple):
    """One question.

    Attributes:
        answer: a right answer with its dot; the only one unless there is `accepts`.
        accepts: returns whether an answer, which ends with its only dot, is right.
        hint: shown by the feedback instead of the answer.
        slip: returns whether the original accepts this wrong answer, too.
    """

    text: str
    answer: str
    accepts: Callable[[str], bool] | None = None
    hint: str | None = None
    slip: Callable[[str], bool] | None = None


@attrs.frozen
class Style:
    """The wording of feedback.

    Attributes:
        right: the beginning after a right answer.
        wrong: the beginning after a wrong answer; the right one follows.
        confirms: whether the right answer also follows after a right answer.
    """

    right: str
    wrong: str
    confirms: bool

    def feedback(self, shown: str, correct: bool) -> bytes:
        """Return the whole feedback, with its separator.

        Args:
            shown: the right answer, or the hint.
        """
        if not correct:
            return f"{self.wrong}{shown};".encode()
        return f"{self.right}{shown if self.confirms else ''};".encode()


CONFIRMING: Final = Style("correct! ", "false! ", confirms=True)
SPELLING: Final = Style("good job! ", "wrong! ", confirms=True)
CORRECTING: Final = Style("good job! ", "wrong! ", confirms=False)

Word: TypeAlias = Callable[[], str]
"""Draws one word."""

Draw: TypeAlias = Callable[[Random, Word], Question]
"""Draws one question."""


class SentenceQuestions(QuestionSource):
    """Questions whose answers end with a dot.

    An answer is everything from the end of the question to the first dot. Silence before it is part of it and
    makes it wrong, unless the question only requires the answer to contain something.

    Args:
        to_ask: texts that must have been asked before the learner should know.
    """

    def __init__(self, draw: Callable[[], Question], style: Style, to_ask: Iterable[str] = ()) -> None:
        self.question: Question = Question("", "")
        self._draw = draw
        self._style = style
        self._answer = b""
        self._to_ask = set(to_ask)

    def draw(self) -> bytes:
        """Return the next question."""
        self.question = question = self._draw()
        self._answer = question.answer.encode()
        return question.text.encode()

    def judge(self, heard: bytearray) -> AnswerVerdict | None:
        """Judge an answer at its first dot."""
        if heard[-1] != _DOT:
            return None
        accepts, slip = self.question.accepts, self.question.slip
        right = heard == self._answer if accepts is None else accepts(heard.decode("latin-1"))
        if slip is not None and not self.fixes:
            right = right or slip(heard.decode("latin-1"))
        return RIGHT if right else WRONG

    def should_know(self, correct: bool) -> bool:  # noqa: ARG002 - only asking counts
        """Return whether every text has been asked that the learner must have seen."""
        self._to_ask.discard(self.question.text)
        return not self._to_ask

    def feedback(self, correct: bool) -> bytes:
        """Return the feedback in the style of the task, with the hint or the right answer."""
        question = self.question
        return self._style.feedback(question.answer if question.hint is None else question.hint, correct)


# --- copying and spelling ----------------------------------------------------------------------------------


def _letter(rng: Random, _: Word) -> Question:
    letter = rng.choice(ascii_lowercase)
    return Question(f"say: {letter}.", f"{letter}.")


def _one_word(_: Random, word: Word) -> Question:
    asked = word()
    return Question(f"say: {asked}.", f"{asked}.")


def _two_words(_: Random, word: Word) -> Question:
    asked = f"{word()} {word()}."
    return Question(f"say: {asked}", asked)


def _spaced_letters(rng: Random, _: Word) -> Question:
    """Draw two letters with spaces around; of several spaces in a row the answer keeps one."""
    before, between, after = (" " * rng.randint(0, _MAX_SPACES) for _ in range(3))
    first, second = rng.choices(ascii_lowercase, k=2)
    return Question(
        f"say: {before}{first}{between}{second}{after}.", f"{first}{between[:1]}{second}{after[:1]}."
    )


def _spell_letter(rng: Random, _: Word) -> Question:
    letter = rng.choice(ascii_lowercase)
    return Question(f"spell: {letter}.", f"{letter} .")


def spell(_: Random, word: Word) -> Question:
    """Draw a question of micro-task 9.2: a word, character by character, with the dot as one of them."""
    spelt = f"{word()}."
    return Question(f"spell: {spelt}", " ".join(spelt))


def _interleave(rng: Random, word: Word) -> Question:
    asked, joint = word(), rng.choice("-#,")
    return Question(f"interleave: {asked} by {joint}.", f"{joint.join(asked)}.")


def say_words(rng: Random, word: Word) -> Question:
    """Draw a question of micro-task 10: two or three words, each asked for."""
    words = [word() for _ in range(rng.choice((2, 3)))]
    return Question(" ".join(f"say: {asked}" for asked in words) + ".", " ".join(words) + ".")


# --- operations --------------------------------------------------------------------------------------------


def operate(rng: Random, _: Word) -> Question:
    """Draw a question of micro-task 11: two pairs of letters to combine."""
    first, second = rng.choice(_PAIRS), rng.choice(_PAIRS)
    operation = rng.choice(("reverse", "concatenate", "interleave"))
    if operation == "reverse":
        answer = f"{second} {first}."
    elif operation == "concatenate":
        answer = f"{first}{second}."
    else:
        answer = "".join(chain + other for chain, other in zip(first, second, strict=True)) + "."
    return Question(f"say: {first} say: {second} {operation}:.", answer)


def edit_letters(rng: Random, _: Word) -> Question:
    """Draw a question of micro-task 12: one letter to add to three or to remove from them."""
    letters, letter = rng.choice(_TRIPLES), rng.choice("abcd")
    operation = rng.choice(("union", "exclude"))
    if operation == "exclude":
        answer = letters.replace(letter, "")
    else:
        answer = letters if letter in letters else letters + letter
    return Question(f"say: {letters} say: {letter} {operation}:.", f"{answer}.")


def after_letter(rng: Random, _: Word) -> Question:
    """Draw a question of micro-task 14: the next letter of the alphabet."""
    letter, following = rng.choice(list(pairwise(ascii_lowercase)))
    return Question(f"after {letter} comes what:.", f"{following}.")


# --- and, or, not ------------------------------------------------------------------------------------------


def _choices(first: str, second: str) -> set[str]:
    """Return the right answers to `first or second`."""
    return {f"{first}.", f"{second}.", f"{first}{second}.", f"{second}{first}."}


def _both(rng: Random) -> Question:
    """Ask for both letters; the original also accepts an end of the right answer (Q15)."""
    first, second = rng.choices(_OPTIONS, k=2)
    answer = f"{first}{second}."
    return Question(f" say: {first} and {second}.", answer, slip=answer.endswith)


def _either(rng: Random) -> Question:
    first, second = rng.choices(_OPTIONS, k=2)
    answer = f"{rng.choice((first, second))}."
    return Question(f" say: {first} or {second}.", answer, _choices(first, second).__contains__)


def _anything_but(rng: Random) -> Question:
    barred, hint = rng.sample(_OPTIONS, 2)
    return Question(
        f" say: anything and not {barred}.",
        f"{hint}.",
        lambda answer: answer != "." and barred not in answer,
        hint,
    )


def _either_but(rng: Random) -> Question:
    first, second, *others = rng.sample(_OPTIONS, len(_OPTIONS))
    barred = rng.choice((first, second, rng.choice(others)))
    hint = rng.choice([letter for letter in (first, second) if letter != barred])
    right = {answer for answer in _choices(first, second) if barred not in answer}
    return Question(f" say: {first} or {second} but not {barred}.", f"{hint}.", right.__contains__, hint)


_LOGIC: Final = (_both, _either, _anything_but, _either_but)


def _logic(rng: Random, _: Word) -> Question:
    """Draw a question of micro-task 13.1: one of four forms, which start with a space as in the original."""
    return rng.choice(_LOGIC)(rng)


def _letters_joined(rng: Random, _: Word) -> Question:
    """Draw a question of micro-task 13.2: two to four groups of letters, all of them or any of them."""
    parts = ["".join(rng.sample(ascii_lowercase, rng.randint(1, 3))) for _ in range(rng.randint(2, 4))]
    if rng.random() < 0.5:  # noqa: PLR2004 - a coin
        return Question(f"say: {' and '.join(parts)}.", f"{''.join(parts)}.")
    hint = rng.choice(parts)
    return Question(
        f"say: {' or '.join(parts)}.", f"{hint}.", lambda answer: any(part in answer for part in parts), hint
    )


# --- one instance ------------------------------------------------------------------------------------------


def _simple(draw: Draw, style: Style, words: Vocabulary, rng: Random) -> SentenceQuestions:
    """Return questions that a learner can answer from the start."""
    return SentenceQuestions(partial(draw, rng, partial(rng.choice, words.all)), style)


def _asked_from(rng: Random, questions: list[Question]) -> SentenceQuestions:
    """Return questions from a list, all of which must have been asked before the learner should know."""
    texts = [question.text for question in questions]
    return SentenceQuestions(partial(rng.choice, questions), CORRECTING, texts)


def _map_words(words: Vocabulary, rng: Random) -> SentenceQuestions:
    """Return the questions of micro-task 6: a mapping of words to words."""
    keys, values = rng.sample(words.common, MAP_SIZE), rng.sample(words.common, MAP_SIZE)
    return _asked_from(
        rng,
        [Question(f"random_map: {key}.", f"{value}.") for key, value in zip(keys, values, strict=True)],
    )


def _count(_: Vocabulary, rng: Random) -> SentenceQuestions:
    """Return the questions of micro-task 15: the next word in one of the sequences."""
    sequence = rng.choice(SEQUENCES)
    if rng.random() < _BACKWARDS:
        sequence = sequence[::-1]
    return _asked_from(
        rng, [Question(f"say next after: {this}.", f"{following}.") for this, following in pairwise(sequence)]
    )


_SIMPLE: Final[Mapping[str, tuple[Draw, Style]]] = MappingProxyType(
    {
        "micro7.1": (_letter, CONFIRMING),
        "micro7.2": (_one_word, CONFIRMING),
        "micro7.3": (_two_words, CONFIRMING),
        "micro8": (_spaced_letters, CONFIRMING),
        "micro9.1": (_spell_letter, SPELLING),
        "micro9.2": (spell, SPELLING),
        "micro9.3": (_interleave, SPELLING),
        "micro10": (say_words, CORRECTING),
        "micro11": (operate, CORRECTING),
        "micro12": (edit_letters, CORRECTING),
        "micro13.1": (_logic, CORRECTING),
        "micro13.2": (_letters_joined, CORRECTING),
        "micro14": (after_letter, CORRECTING),
    }
)

_MIXED: Final = ("micro9.2", "micro10", "micro11", "micro12")


def _mixed(words: Vocabulary, rng: Random) -> SentenceQuestions:
    """Return the questions of micro-task 16: those of another task, drawn at random."""
    return _simple(*_SIMPLE[rng.choice(_MIXED)], words, rng)


SENTENCE_TASKS: Final = {
    "micro6": MicroRow(_map_words, rules=LENIENT_RULES, has_words=True),
    **{task_id: MicroRow(partial(_simple, *row), has_words=True) for task_id, row in _SIMPLE.items()},
    "micro15": MicroRow(_count, rules=LENIENT_RULES, has_words=True),
    "micro16": MicroRow(_mixed, has_words=True),
}
"""Micro-tasks 6 to 16, by id."""
