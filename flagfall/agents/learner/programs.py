"""Small programs that make an answer from the words of a question, found from examples.

`say: ab say: cd reverse:` -> `cd ab`. Words that end with a colon are commands, the others are *slots*,
counted from the end. A program makes an answer from slots: one of them, some of them joined, one spelled, two
of them mixed, and so on. There are a few hundred programs for a question; those that explain an example are
kept and counted, and the one that was right most often is used. Questions with the same commands and the same
number of slots (the same *shape*) share their programs; where no program serves a whole shape, a word in one
slot decides (`a and b`, `a or b`). Programs that served other shapes well are tried first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from types import MappingProxyType
from typing import Final, TypeAlias

import attrs

Slots: TypeAlias = list[bytes]
Program: TypeAlias = tuple[str, int, int]
"""The name of an operation, and two integers that select its slots."""

Key: TypeAlias = tuple[object, ...]

_MOST_SLOTS: Final = 10
"""Maximum number of slots: the number of programs grows with its square."""

_MOST_KEPT: Final = 24
"""Programs that are kept for a shape."""

_MOST_SHAPES: Final = 2048
"""Shapes that are kept; beyond it, all are dropped: this is not a language that can be learned here."""

_SERVES: Final = 0.7
"""Share of a shape's questions below which its best program is not enough, and single words decide."""


@attrs.frozen
class Sentence:
    """A question in its parts.

    Attributes:
        shape: its commands, with a star for every other word.
        rest: what follows the first command, spaces and all.
    """

    shape: tuple[bytes, ...]
    slots: Slots
    rest: bytes

    @classmethod
    def parse(cls, question: bytes) -> Sentence | None:
        """Return the parts of a question; `None` if it has less than two words, or too many."""
        words = question.split()
        slots = [word.rstrip(b";") for word in words if not word.endswith(b":")]
        if len(words) < 2 or not 0 < len(slots) <= _MOST_SLOTS:  # noqa: PLR2004 - a command and a slot
            return None
        shape = tuple(word if word.endswith(b":") else b"*" for word in words)
        return cls(shape, slots, question.partition(b": ")[2])


def _alternate(left: bytes, right: bytes) -> bytes | None:
    if len(left) != len(right):
        return None
    return bytes(byte for pair in zip(left, right, strict=True) for byte in pair)


def _united(left: bytes, right: bytes) -> bytes:
    return left + bytes(byte for byte in right if byte not in left)


def _without(left: bytes, right: bytes) -> bytes:
    return bytes(byte for byte in left if byte not in right)


def _following(word: bytes) -> bytes | None:
    return bytes([word[0] + 1]) if len(word) == 1 and word[0] < 0xFF else None  # noqa: PLR2004 - a byte


_WHOLE: Final[Mapping[str, Callable[[Sentence], bytes]]] = MappingProxyType(
    {
        "rest": lambda sentence: sentence.rest,
        "rest, spaces squeezed": lambda sentence: _squeezed(sentence.rest),
    }
)
_ONE: Final[Mapping[str, Callable[[bytes], bytes | None]]] = MappingProxyType(
    {
        "copy": lambda word: word,
        "spell": lambda word: b"".join(b"%c " % byte for byte in word),
        "next letter": _following,
        "backwards": lambda word: word[::-1],
    }
)
_TWO: Final[Mapping[str, Callable[[bytes, bytes], bytes | None]]] = MappingProxyType(
    {
        "unite": _united,
        "without": _without,
        "alternate": _alternate,
        "spell by": lambda word, joint: joint.join(b"%c" % byte for byte in word),
    }
)
_LAST: Final[Mapping[str, Callable[[Slots], bytes | None]]] = MappingProxyType(
    {
        "words": b" ".join,
        "concatenated": b"".join,
        "words reversed": lambda slots: b" ".join(slots[::-1]),
        "every other": lambda slots: b"".join(slots[::2]) if len(slots) % 2 else None,
        "first but not last": lambda slots: next((s for s in slots[::2] if s != slots[-1]), None),
    }
)


def _squeezed(text: bytes) -> bytes:
    """Replace runs of spaces by one, and remove those in front."""
    return b" ".join(text.split()) + (b" " if text.endswith(b" ") else b"")


def _programs(sentence: Sentence) -> Iterator[Program]:
    """Yield every program that fits a sentence, simple ones first."""
    count = len(sentence.slots)
    for name in _WHOLE:
        yield name, 0, 0
    for name in _ONE:
        for place in range(1, count + 1):
            yield name, place, 0
    for name in _LAST:
        for some in range(2, count + 1):
            yield name, some, 0
    for name in _TWO:
        for left, right in permutations(range(count, 0, -1), 2):
            yield name, left, right


def _execute(program: Program, sentence: Sentence) -> bytes | None:
    """Return the answer of a program to a sentence; `None` where it has none."""
    name, first, second = program
    slots = sentence.slots
    if name in _WHOLE:
        return _WHOLE[name](sentence)
    if max(first, second) > len(slots):
        return None
    if name in _ONE:
        return _ONE[name](slots[-first])
    if name in _LAST:
        return _LAST[name](slots[-first:])
    return _TWO[name](slots[-first], slots[-second])


@attrs.define(eq=False)
class _Record:
    """Counts of right and wrong answers of a program for a shape."""

    right: int = 0
    wrong: int = 0

    @property
    def rate(self) -> float:
        return (self.right + 0.5) / (self.right + self.wrong + 1)


class ProgramLibrary:
    """Known programs, and their record for each shape of question."""

    def __init__(self) -> None:
        self._known: dict[Key, dict[Program, _Record]] = {}
        self._served: Counter[Program] = Counter()

    def answer(self, sentence: Sentence) -> bytes | None:
        """Return the answer of the best program; `None` where none is known."""
        best: tuple[float, int] = (0.0, 0)
        answer = None
        for key in self._keys(sentence):
            for program, record in self._known.get(key, {}).items():
                rank = record.rate, self._served[program]
                if rank > best and (said := _execute(program, sentence)) is not None:
                    best, answer = rank, said
        return answer if answer is not None else self._borrowed(sentence)

    def _borrowed(self, sentence: Sentence) -> bytes | None:
        """Return the answer of the program that served best for other shapes."""
        for program, _ in self._served.most_common(3):
            if (said := _execute(program, sentence)) is not None:
                return said
        return None

    def learn(self, sentence: Sentence, answer: bytes) -> None:
        """Learn from the right answer to a sentence."""
        if len(self._known) > _MOST_SHAPES:
            self._known.clear()
        for key in self._keys(sentence):
            self._learn(key, sentence, answer)

    def refute(self, sentence: Sentence, answer: bytes) -> None:
        """Learn from a wrong answer to a sentence."""
        for key in self._keys(sentence):
            for program, record in self._known.get(key, {}).items():
                record.wrong += _execute(program, sentence) == answer

    def _keys(self, sentence: Sentence) -> Iterator[Key]:
        """Yield the keys of a sentence's programs: its shape, and its words where that is not enough."""
        shape = sentence.shape
        yield shape
        records = self._known.get(shape)
        if records and max(record.rate for record in records.values()) < _SERVES:
            for place, word in enumerate(sentence.slots):
                yield shape, place, word

    def _learn(self, key: Key, sentence: Sentence, answer: bytes) -> None:
        records = self._known.setdefault(key, {})
        explained = False
        for program, record in records.items():
            if _execute(program, sentence) == answer:
                explained = True
                record.right += 1
                self._served[program] += 1
            else:
                record.wrong += 1
        if not explained:
            self._search(records, sentence, answer)

    def _search(self, records: dict[Program, _Record], sentence: Sentence, answer: bytes) -> None:
        """Find programs for an example that no known one explains."""
        found = [p for p in _programs(sentence) if p not in records and _execute(p, sentence) == answer]
        missed = max((r.right + r.wrong for r in records.values()), default=1) - 1
        found.sort(key=self._served.__getitem__, reverse=True)  # stable: the simpler of equals first
        for program in found[:_MOST_KEPT]:
            records[program] = _Record(right=1, wrong=min(missed, 3))
        while len(records) > _MOST_KEPT:
            del records[min(records, key=lambda program: records[program].rate)]
