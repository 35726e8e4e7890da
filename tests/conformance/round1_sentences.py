"""What the sentences of micro-tasks 6 to 20 ask for, read from their text alone.

Written from the specification (6.4 to 6.6) and sharing no code with the tasks. A rule is told the
questions and answers of one instance in turn; it raises `ValueError` at whatever the instance cannot hold.
"""

from __future__ import annotations

__all__ = ["FORMS", "RULES", "SENTENCE_TASKS", "WORDS", "Asked", "Rule", "Vocabulary", "ask"]

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

from flagfall.tasks import commai

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
KEPT_OUT = (
    *("say", "print", "write", "and", "together with", "&", "also", "or", "alternative", "/"),
    *("after", "behind", "next", "union", "consolidate", "joint", "exclude", "prohibit", "ignore", "remove"),
)
CALLED = {
    **dict.fromkeys(["say", "print", "write"], "say"),
    **dict.fromkeys(["after", "behind", "next"], "after"),
    **dict.fromkeys(["union", "consolidate", "joint"], "union"),
    **dict.fromkeys(["exclude", "prohibit", "ignore", "remove"], "exclude"),
}
COUNTING = [
    "zero one two three four five six seven eight nine",
    "first second third fourth fifth sixth seventh eighth ninth",
    "ten twenty thirty forty fifty sixty seventy eighty ninety",
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
]


class Vocabulary:
    """A list of words and the parts of it that tasks use."""

    def __init__(self, words: list[str]) -> None:
        self.words = set(words)
        self.common = set(words[:200])
        free = [word for word in words if all(part not in word for part in KEPT_OUT)]
        self.free = set(free)
        self.new = set(free[200:400])


_FILE = Path(commai.__file__).with_name("words.txt")
WORDS = Vocabulary([line for line in _FILE.read_text().splitlines() if not line.startswith("#")])


class Asked(NamedTuple):
    """What a question wants: the right answers (with their dot) and what feedback to wrong ones may show."""

    right: Callable[[str], bool]
    hints: Collection[str]


def only(answer: str) -> Asked:
    return Asked(answer.__eq__, [answer])


# --- questions whose text tells all ------------------------------------------------------------------------

Solver = Callable[[re.Match[str], Collection[str]], "Asked | None"]


def copy(found: re.Match[str], words: Collection[str]) -> Asked | None:
    said = found[1].split(" ")
    return only(found[1] + ".") if all(word in words for word in said) else None


def squeeze(found: re.Match[str], _: Collection[str]) -> Asked:
    return only(re.sub(" +", " ", found[1]).lstrip() + ".")


def space_out(found: re.Match[str], words: Collection[str]) -> Asked | None:
    spaced = "".join(letter + " " for letter in found[1])
    return only(spaced + ".") if found[1] in words else None


def join_up(found: re.Match[str], words: Collection[str]) -> Asked | None:
    return only(re.sub(r"(?<=.)(?=.)", found[2], found[1]) + ".") if found[1] in words else None


def repeat_all(found: re.Match[str], words: Collection[str]) -> Asked | None:
    said = [part.strip() for part in found[0].rstrip(".").split("say: ")[1:]]
    return only(" ".join(said) + ".") if all(word in words for word in said) else None


def operation(found: re.Match[str], _: Collection[str]) -> Asked:
    a, b, c, d = list(found[1] + found[2])
    return only(
        {"reverse": f"{c}{d} {a}{b}.", "concatenate": f"{a}{b}{c}{d}.", "interleave": f"{a}{c}{b}{d}."}[
            found[3]
        ]
    )


def add_or_drop(found: re.Match[str], _: Collection[str]) -> Asked:
    kept = [letter for letter in found[1] if letter != found[2]]
    if found[3] == "exclude":
        return only("".join(kept) + ".")
    return only(found[1] + found[2] * (len(kept) == len(found[1])) + ".")


def both(found: re.Match[str], _: Collection[str]) -> Asked:
    """Any end of the answer will do (Q15)."""
    answer = found[1] + found[2] + "."
    return Asked(lambda heard: heard in {answer, answer[1:], "."}, [answer])


def either(found: re.Match[str], _: Collection[str]) -> Asked:
    a, b = found[1], found[2]
    return Asked([a + ".", b + ".", a + b + ".", b + a + "."].__contains__, [a + ".", b + "."])


def anything_but(found: re.Match[str], _: Collection[str]) -> Asked:
    return Asked(lambda answer: len(answer) > 1 and found[1] not in answer, set("abcde") - {found[1]})


def either_but(found: re.Match[str], words: Collection[str]) -> Asked | None:
    a, b, x = found.groups()
    right = either(found, words).right
    return Asked(lambda answer: right(answer) and x not in answer, {a, b} - {x}) if a != b else None


def all_or_any(found: re.Match[str], _: Collection[str]) -> Asked | None:
    tokens = found[1].split(" ")
    parts, links = tokens[::2], set(tokens[1::2])
    if any(len(set(part)) < len(part) for part in parts) or len(links) > 1:
        return None
    if links == {"and"}:
        return only("".join(parts) + ".")
    return Asked(lambda answer: any(part in answer for part in parts), parts)


def following(found: re.Match[str], _: Collection[str]) -> Asked:
    return only(ALPHABET[ALPHABET.index(found[1]) + 1] + ".")


CONFIRMING = "correct! {0}", "false! {0}"
SPELLING = "good job! {0}", "wrong! {0}"
CORRECTING = "good job! ", "wrong! {0}"
PAIR = "(ab|ac|ad|bc|bd|cd)"
PART = "[a-z]{1,3}"


class Form(NamedTuple):
    """How the questions of a task look (one pattern fits), what they ask for, how feedback sounds."""

    solvers: dict[str, Solver]
    feedback: tuple[str, str] = CORRECTING


FORMS = {
    "micro7.1": Form({r"say: ([a-z])\.": lambda found, _: only(found[1] + ".")}, CONFIRMING),
    "micro7.2": Form({r"say: (\w+)\.": copy}, CONFIRMING),
    "micro7.3": Form({r"say: (\w+ \w+)\.": copy}, CONFIRMING),
    "micro8": Form({r"say: ( {0,6}[a-z] {0,6}[a-z] {0,6})\.": squeeze}, CONFIRMING),
    "micro9.1": Form({r"spell: ([a-z])\.": lambda found, _: only(found[1] + " .")}, SPELLING),
    "micro9.2": Form({r"spell: (\w+)\.": space_out}, SPELLING),
    "micro9.3": Form({r"interleave: (\w+) by ([-#,])\.": join_up}, SPELLING),
    "micro10": Form({r"say: \w+( say: \w+){1,2}\.": repeat_all}),
    "micro11": Form({rf"say: {PAIR} say: {PAIR} (reverse|concatenate|interleave):\.": operation}),
    "micro12": Form({r"say: (abc|acd|adc|bcd|bda|cdb) say: ([a-d]) (union|exclude):\.": add_or_drop}),
    "micro13.1": Form(
        {
            r" say: ([a-e]) and ([a-e])\.": both,
            r" say: ([a-e]) or ([a-e])\.": either,
            r" say: anything and not ([a-e])\.": anything_but,
            r" say: ([a-e]) or ([a-e]) but not ([a-e])\.": either_but,
        }
    ),
    "micro13.2": Form({rf"say: ({PART}(?: (?:and|or) {PART}){{1,3}})\.": all_or_any}),
    "micro14": Form({r"after ([a-y]) comes what:\.": following}),
}
"""The tasks whose questions tell all that is needed to answer them."""


def ask(form: str, text: str, words: Collection[str]) -> Asked:
    """What a question of a form asks for; `words` are those that it may be about."""
    for pattern, solver in FORMS[form].solvers.items():
        found = re.fullmatch(pattern, text, re.ASCII)
        asked = solver(found, words) if found else None
        if asked is not None:
            return asked
    raise ValueError(f"{text!r} is no question of {form}")


# --- one instance ------------------------------------------------------------------------------------------


class Rule(Protocol):
    """The rules of one instance."""

    form: str | None
    """What later instances are held to, for tasks that take forms in turn."""

    @property
    def knows(self) -> bool:
        """Whether the learner should know by now."""

    def ask(self, text: str) -> None:
        """Take a question in."""

    def judge(self, heard: str, right: bool, feedback: str) -> None:
        """Take in what was answered, whether that was counted as right, and the feedback without its `;`."""


def judge(asked: Asked, style: tuple[str, str], heard: str, right: bool, feedback: str) -> None:
    """Hold a verdict and its feedback to what was asked."""
    if asked.right(heard) != right:
        raise ValueError(f"{heard!r} counted as right={right}")
    texts = {style[0].format(heard)} if right else {style[1].format(hint) for hint in asked.hints}
    if feedback not in texts:
        raise ValueError(f"feedback {feedback!r} instead of {sorted(texts)}")


@dataclass
class Plain:
    """Every question can be answered from its text; all of an instance have the form of the first."""

    vocabulary: Vocabulary
    forms: tuple[str, ...]
    form: str | None = None
    knows: bool = True

    def ask(self, text: str) -> None:
        self._ask(text, self.vocabulary.words)

    def judge(self, heard: str, right: bool, feedback: str) -> None:
        assert self.form
        judge(self.asked, FORMS[self.form].feedback, heard, right, feedback)

    def _ask(self, text: str, words: Collection[str]) -> None:
        candidates = [self.form] if self.form else self.forms
        for form in candidates:
            try:
                self.asked = ask(form, text, words)
            except ValueError:
                continue
            self.form = form
            return
        raise ValueError(f"{text!r} is no question of {' or '.join(candidates)}")


class Synonyms(Plain):
    """Micro-task 19: the words of instructions go by other names, one for each in a question."""

    def ask(self, text: str) -> None:
        names: dict[str, str] = {}
        tokens = re.findall(r"\w+|\W", text, re.ASCII)
        for at, token in enumerate(tokens):
            original = CALLED.get(token)
            if original:
                if names.setdefault(original, token) != token:
                    raise ValueError(f"{text!r} has two names for {original!r}")
                tokens[at] = original
        self._ask("".join(tokens), self.vocabulary.free)


class NewWords(Plain):
    """Micro-task 20: one word of every question goes by a new name, which is explained first."""

    def __init__(self, vocabulary: Vocabulary, forms: tuple[str, ...]) -> None:
        super().__init__(vocabulary, forms)
        self._names: dict[str, str] = {}
        self._kept_out: set[str] = set()
        self._free = vocabulary.free

    def ask(self, text: str) -> None:
        found = re.fullmatch(r"(\w+) is as (say|after|union|exclude) - (.*)", text, re.ASCII)
        if not found:
            raise ValueError(f"{text!r} explains no new word")
        new, original, question = found.groups()
        if new not in self.vocabulary.new or self._names.setdefault(original, new) != new:
            raise ValueError(f"{new!r} cannot stand for {original!r}")
        if len(set(self._names.values())) < len(self._names):
            raise ValueError(f"{new!r} stands for two words")
        tokens = re.findall(r"\w+|\W", question, re.ASCII)
        if original in tokens or new not in tokens:
            raise ValueError(f"{original!r} is not replaced everywhere in {text!r}")
        if new not in self._kept_out:
            self._kept_out.add(new)
            self._free = {word for word in self._free if new not in word}
        self._ask("".join(original if token == new else token for token in tokens), self._free)


class WordMap:
    """Micro-task 6: eight words stand for words, which only feedback tells."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.form: str | None = None
        self._words = vocabulary.common
        self._answers: dict[str, str | None] = {}
        self._not: dict[str, set[str]] = {}

    @property
    def knows(self) -> bool:
        return len(self._answers) == 8

    def ask(self, text: str) -> None:
        found = re.fullmatch(r"random_map: (\w+)\.", text, re.ASCII)
        if not found or found[1] not in self._words:
            raise ValueError(f"{text!r} is no question of micro6")
        self._key = found[1]
        self._answers.setdefault(self._key, None)
        if len(self._answers) > 8:
            raise ValueError(f"{self._key!r} is a ninth key")

    def judge(self, heard: str, right: bool, feedback: str) -> None:
        told = heard if right else feedback.removeprefix("wrong! ")
        answer = self._answers[self._key] or told
        self._answers[self._key] = answer
        if answer.removesuffix(".") not in self._words or not answer.endswith("."):
            raise ValueError(f"{answer!r} is no common word")
        known = [text for text in self._answers.values() if text]
        if len(set(known)) < len(known):
            raise ValueError(f"{answer!r} is the answer to two keys")
        judge(only(answer), CORRECTING, heard, right, feedback)


class Counting:
    """Micro-task 15: one hidden sequence, forwards or backwards."""

    def __init__(self, _: Vocabulary) -> None:
        self.form: str | None = None
        sequences = [line.split() for line in COUNTING]
        sequences += [sequence[::-1] for sequence in sequences]
        self._nexts = [dict(pairwise(sequence)) for sequence in sequences]
        self._asked: set[str] = set()

    @property
    def knows(self) -> bool:
        return any(self._asked == nexts.keys() for nexts in self._nexts)

    def ask(self, text: str) -> None:
        found = re.fullmatch(r"say next after: (\w+)\.", text, re.ASCII)
        if not found:
            raise ValueError(f"{text!r} is no question of micro15")
        self._key = found[1]
        self._asked.add(self._key)
        self._keep([nexts for nexts in self._nexts if self._key in nexts])

    def judge(self, heard: str, right: bool, feedback: str) -> None:
        told = heard if right else feedback.removeprefix("wrong! ")
        self._keep([nexts for nexts in self._nexts if nexts[self._key] + "." == told])
        judge(only(self._nexts[0][self._key] + "."), CORRECTING, heard, right, feedback)

    def _keep(self, nexts: list[dict[str, str]]) -> None:
        if not nexts:
            raise ValueError(f"no sequence goes on like this after {self._key!r}")
        self._nexts = nexts


TURNS = ("micro12", "micro11", "micro10", "micro14")

RULES: dict[str, Callable[[Vocabulary], Rule]] = {
    "micro6": WordMap,
    **{form: lambda words, form=form: Plain(words, (form,)) for form in FORMS},  # type: ignore[misc]
    "micro15": Counting,
    "micro16": lambda words: Plain(words, ("micro9.2", "micro12", "micro11", "micro10")),
    "micro19": lambda words: Synonyms(words, TURNS),
    "micro20": lambda words: NewWords(words, TURNS),
}
SENTENCE_TASKS = list(RULES)
