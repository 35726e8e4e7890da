"""Checks transcripts of the tasks of round 1 of the General AI Challenge against its rules.

Written from the specification alone: it shares no code with the tasks, knows none of their secrets and
infers what is hidden (targets, mappings, sizes of mappings) from what it sees. A transcript is accepted if
*some* hidden state explains every byte, reward and result of it.

A transcript is a series of records in the order of the match:

    {"event": "start", "task": "micro3"}
    {"t": 0, "env": "a", "reward": 0, "agent": " "}      one byte step; t counts them from 0
    {"event": "end", "task": "micro3", "result": true}   null only where the match was cut

The reward for the last answer of an instance comes with the first byte step of the next one.
"""

from __future__ import annotations

__all__ = ["MAX_TIME", "Violation", "check"]

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any, NamedTuple

from tests.conformance.round1_mini import CLOSING_IF_RIGHT, MINI_TASKS, closing_if_wrong, read_question
from tests.conformance.round1_sentences import RULES, SENTENCE_TASKS, WORDS, Rule, Vocabulary

MAX_TIME = 10_000
MINI_MAX_TIME = 3000
STREAK = 10
SILENCE = " "
_BYTES = frozenset(map(chr, range(256)))
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
DIGITS = frozenset("0123456789")
PUNCTUATION = frozenset(' !"?:.,;')
TARGETS = LETTERS | frozenset(letter.upper() for letter in LETTERS) | DIGITS | frozenset(" ,.!;?-")


class Violation(NamedTuple):
    """One thing that no hidden state explains: the step it shows at, the rule it breaks, the details."""

    t: int
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"t={self.t}: {self.rule}: {self.detail}"


class _Broken(Exception):
    def __init__(self, t: int, rule: str, detail: str) -> None:
        self.violation = Violation(t, rule, detail)
        super().__init__(str(self.violation))


class _RanOut(Exception):
    """The transcript of the instance ends here."""


class Step(NamedTuple):
    t: int
    env: str
    reward: float
    agent: str


@dataclass
class Instance:
    """One instance as recorded; `after` is the reward that came with the next one's first step."""

    task: str
    steps: list[Step] = field(default_factory=list)
    result: bool | None = None
    after: float | None = None
    last: bool = False


class Ending(NamedTuple):
    """How an instance must end: its result, and the reward with the first step of the next."""

    result: bool
    owed: float


# --- records -----------------------------------------------------------------------------------------------


def _instances(records: Iterable[Mapping[str, Any]]) -> Iterator[Instance]:
    """Read the records; every instance has one start, its steps and one end, and t never jumps."""
    current: Instance | None = None
    t = 0
    for number, record in enumerate(records):
        event = record.get("event", "step")
        if event == "start":
            if current is not None:
                raise _Broken(t, "record", f"record {number}: a start inside {current.task}")
            current = Instance(_known_task(t, record))
        elif current is None:
            raise _Broken(t, "record", f"record {number}: {event} outside every instance")
        elif event == "end":
            yield _ended(t, current, record)
            current = None
        elif event == "step":
            current.steps.append(_step(t, record))
            t += 1
        else:
            raise _Broken(t, "record", f"record {number}: unknown event {event!r}")
    if current is not None:
        raise _Broken(t, "record", f"{current.task} has no end")


def _known_task(t: int, record: Mapping[str, Any]) -> str:
    task = record.get("task")
    if task not in PLAYERS:
        raise _Broken(t, "record", f"unknown task {task!r}")
    return str(task)


def _ended(t: int, current: Instance, record: Mapping[str, Any]) -> Instance:
    if record.get("task") != current.task:
        raise _Broken(t, "record", f"the end of {record.get('task')!r} in {current.task}")
    result = record.get("result", "missing")
    if result is not None and type(result) is not bool:
        raise _Broken(t, "record", f"result {result!r}")
    current.result = result
    return current


def _step(t: int, record: Mapping[str, Any]) -> Step:
    number, reward = record.get("t"), record.get("reward")
    if type(number) is not int or number != t:
        raise _Broken(t, "record", f"step {number!r} instead of {t}")
    if type(reward) not in {int, float} or reward not in {-1, 0, 1}:
        raise _Broken(t, "reward", f"{reward!r} is not -1, 0 or 1")
    env, agent = record.get("env"), record.get("agent")
    if not (isinstance(env, str) and isinstance(agent, str) and env in _BYTES and agent in _BYTES):
        raise _Broken(t, "record", f"{env!r} and {agent!r} are not one byte each")
    return Step(t, env, reward, agent)


# --- reading one instance ----------------------------------------------------------------------------------


class Reader:
    """Goes through the steps of an instance; remembers how many.

    `earlier` are the notes on the instances of the same task before this one; `note` is that on this one.
    """

    def __init__(self, instance: Instance, max_time: int, earlier: list[str]) -> None:
        self.earlier = earlier
        self.note: str | None = None
        self._steps = instance.steps
        self._after = instance.after
        self._max_time = max_time
        self.at = 0

    @property
    def t(self) -> int:
        """The step last taken (or the first, before any)."""
        return self._steps[max(self.at - 1, 0)].t if self._steps else 0

    @property
    def out_of_time(self) -> bool:
        """Return whether the next call is the one of the timeout, if nothing is left unsaid.

        The reply to the step last taken is still heard in it (specification 1.2, 1.7).
        """
        return self.at >= self._max_time

    @property
    def ended(self) -> bool:
        """Return whether no step of the instance is left."""
        return self.at == len(self._steps)

    def take(self, reward: float | None = None) -> Step:
        """The next step, which must carry the given reward."""
        if self.at == len(self._steps):
            raise _RanOut
        step = self._steps[self.at]
        self.at += 1
        if reward is not None and step.reward != reward:
            self.fail("reward", f"{step.reward} instead of {reward}")
        return step

    def peek(self) -> Step:
        """The step after this one."""
        if self.at == len(self._steps):
            raise _RanOut
        return self._steps[self.at]

    def reward_after(self) -> float:
        """The reward for the reply just read, wherever it came."""
        reward = self.peek().reward if self.at < len(self._steps) else self._after
        if reward is None:
            raise _RanOut
        if reward not in {-1, 1}:
            raise _Broken(self.t + 1, "reward", f"{reward} for an answer")
        return reward

    def require(self, holds: bool, rule: str, detail: str) -> None:
        if not holds:
            self.fail(rule, detail)

    def fail(self, rule: str, detail: str) -> None:
        raise _Broken(self.t, rule, detail)


@dataclass
class Limits:
    """Streak, soft and hard limit of one instance (specification 5.2)."""

    asked: int = 0
    streak: int = 0
    soft: int | None = None
    hard: int | None = None
    times: int = 2

    def answered(self, reward: float, knows: bool) -> bool | None:
        self.asked += 1
        self.streak = self.streak + 1 if reward > 0 else 0
        if self.streak >= STREAK:
            return self.soft is None or self.asked <= self.soft
        if self.soft is None and knows:
            self.soft = self.asked + 50
        if self.hard is None and self.soft is not None and self.asked > self.soft:
            self.hard = self.times * self.asked
        return False if self.hard is not None and self.asked > self.hard else None


class Blocks:
    """Questions come in blocks of n * n, in which each of the same n keys occurs n times."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._left: Counter[str] = Counter()
        self._keys: set[str] = set()
        self._asked = 0

    def ask(self, reader: Reader, key: str) -> None:
        if self._asked % self._n**2 == 0:
            self._left.clear()
        self._asked += 1
        self._keys.add(key)
        self._left[key] += 1
        reader.require(len(self._keys) <= self._n, "block", f"{key!r} is key {self._n + 1} of {self._n}")
        reader.require(self._left[key] <= self._n, "block", f"{key!r} more than {self._n} times in a block")


# --- character tasks: one byte asked, one byte answered ----------------------------------------------------


class Echo:
    """Every character is its own answer."""

    knows = True

    def __init__(self) -> None:
        self._blocks = Blocks(4)

    def ask(self, reader: Reader, key: str) -> None:
        reader.require(key in LETTERS | PUNCTUATION, "alphabet", repr(key))
        self._blocks.ask(reader, key)

    def judge(self, reader: Reader, key: str, answer: str, reward: float) -> None:
        reader.require((reward > 0) == (answer == key), "judge", f"{answer!r} to {key!r} earned {reward}")


class Target:
    """One hidden character answers every key of the alphabet; punctuation may be echoed."""

    def __init__(self, base: frozenset[str], size: int, patience: int, echoed: frozenset[str]) -> None:
        self._base, self._size, self._left, self._echoed = base, size, patience, echoed
        self._blocks = Blocks(size + len(echoed)) if echoed else None
        self._seen: set[str] = set()
        self._candidates = set(base)
        self.knows = False

    def ask(self, reader: Reader, key: str) -> None:
        reader.require(key in self._base | self._echoed, "alphabet", repr(key))
        if self._blocks:
            self._blocks.ask(reader, key)
        if key not in self._echoed:
            self._seen.add(key)
            self._narrow(reader, self._candidates)

    def judge(self, reader: Reader, key: str, answer: str, reward: float) -> None:
        if key in self._echoed:
            reader.require((reward > 0) == (answer == key), "judge", f"{answer!r} to {key!r} earned {reward}")
        else:
            self._narrow(reader, self._candidates & {answer} if reward > 0 else self._candidates - {answer})
        self.knows |= self._left == 0 or (reward > 0 and key not in self._echoed)
        self._left -= reward < 0

    def _narrow(self, reader: Reader, candidates: set[str]) -> None:
        reader.require(len(self._seen) <= self._size, "alphabet", f"more than {self._size} characters")
        self._candidates = candidates & self._seen if len(self._seen) == self._size else candidates
        reader.require(bool(self._candidates), "judge", "no target explains the rewards")


class Permutation:
    """Four letters are permuted; punctuation is echoed."""

    _SIZE = 4

    def __init__(self) -> None:
        self._blocks = Blocks(self._SIZE + len(PUNCTUATION))
        self._images: dict[str, set[str]] = {}
        self._options: dict[str, int] = {}

    @property
    def knows(self) -> bool:
        return len(self._options) == self._SIZE and set(self._options.values()) == {1}

    def ask(self, reader: Reader, key: str) -> None:
        reader.require(key in LETTERS | PUNCTUATION, "alphabet", repr(key))
        self._blocks.ask(reader, key)
        if key in LETTERS:
            self._images.setdefault(key, set(LETTERS))
            self._options.setdefault(key, len(LETTERS))

    def judge(self, reader: Reader, key: str, answer: str, reward: float) -> None:
        if key in PUNCTUATION:
            reader.require((reward > 0) == (answer == key), "judge", f"{answer!r} to {key!r} earned {reward}")
            return
        images = self._images[key]
        self._images[key] = images & {answer} if reward > 0 else images - {answer}
        self._options[key] = 1 if reward > 0 else max(self._options[key] - 1, 1)
        reader.require(self._explained(), "judge", "no permutation explains the rewards")

    def _explained(self) -> bool:
        """Whether some permutation of four letters fits; `None` stands for a letter not seen yet."""
        seen = set(self._images)
        seen |= {next(iter(images)) for images in self._images.values() if len(images) == 1}
        if len(seen) > self._SIZE:
            return False
        alphabet: list[str | None] = [*seen, *[None] * (self._SIZE - len(seen))]
        keys = list(self._images)
        return any(
            all(self._fits(key, image, seen) for key, image in zip(keys, choice, strict=True))
            for choice in permutations(alphabet, len(keys))
        )

    def _fits(self, key: str, image: str | None, seen: set[str]) -> bool:
        return bool(self._images[key] - seen) if image is None else image in self._images[key]


def _play_characters(reader: Reader, rule: Echo | Target | Permutation) -> Ending:
    limits = Limits()
    while True:
        step = reader.take()
        rule.ask(reader, step.env)
        over = reader.out_of_time
        reward = reader.reward_after()
        rule.judge(reader, step.env, step.agent, reward)
        result = limits.answered(reward, rule.knows)
        if result is not None:
            return Ending(result, reward)
        if over:  # one question more, which cannot be answered
            rule.ask(reader, reader.take(reward).env)
            return Ending(result=False, owed=0)


# --- mappings with feedback --------------------------------------------------------------------------------


class Digits(NamedTuple):
    """A task of group 5 (specification 6.2): patterns of the texts, `a` the answer within the feedback."""

    key: str
    feedback: str
    longest_answer: int
    asks: str = "."
    tells: str = ";"
    permutation: bool = False
    feedback_if_wrong: str = ""
    sizes: range = range(10, 11)


FEEDBACK_BYTES = DIGITS | {"."}
LONGEST_TEXT = 12  # ten digits, a dot and a separator
DRAWN = range(1, 11)  # equal keys collapse, so a mapping may be smaller than the ten that were drawn

DIGIT_TASKS: Mapping[str, Digits] = {
    "micro5.1": Digits(r"\d", r"(?P<a>\d)", 1, asks="", tells="", permutation=True),
    "micro5.2": Digits(r"\d", r"(?P<a>\d);", 1, asks="", permutation=True),
    "micro5.3": Digits(r"\d", r"(?P<a>\d);", 1, permutation=True),
    "micro5.4": Digits(r"\d", r"(?P<a>\d\d);", 2),
    "micro5.5": Digits(r"\d", r"(?P<a>\d\.);", 2),
    "micro5.6": Digits(r"\d", r"(?P<a>\d);", 2, feedback_if_wrong=r"(?P<a>\d\.);"),
    "micro5.7": Digits(r"\d", r"(?P<a>\d{1,2}\.);", 3),
    "micro5.8": Digits(r"\d\d", r"(?P<a>\d\.);", 2, sizes=DRAWN),
    "micro5.9": Digits(r"\d{1,2}", r"(?P<a>\d\.);", 2, sizes=DRAWN),
    "micro5.10": Digits(r"\d", r"\d(?P<a>\d\.);", 2),
    "micro5.11": Digits(r"\d", r"\d?(?P<a>\d\.);", 2),
    "micro5.12": Digits(r"\d", r"(?P<a>\d{3,5}\.);", 6),
    "micro5.13": Digits(r"\d{3,5}", r"(?P<a>\d\.);", 2, sizes=DRAWN),
    "micro5.14": Digits(r"\d", r"\d{2,4}(?P<a>\d\.);", 2),
    "micro5.15": Digits(r"\d", r"(?P<a>\d{1,5}\.);", 6),
    "micro5.16": Digits(r"\d{1,5}", r"(?P<a>\d\.);", 2, sizes=DRAWN),
    "micro5.17": Digits(r"\d{1,5}", r"(?P<a>\d{1,5}\.);", 6, sizes=DRAWN),
    "micro5.18": Digits(r"\d{1,10}", r"(?P<a>\d{1,10}\.);", 11, sizes=DRAWN),
}


class Play:
    """One instance in which the teacher speaks texts; talking into them costs and breaks the streak."""

    def __init__(self, reader: Reader, times: int = 2) -> None:
        self._reader = reader
        self._limits = Limits(times=times)

    def _next(self, step: Step) -> Step:
        """The step after one that left something unsaid."""
        if step.agent == SILENCE:
            return self._reader.take(0)
        self._limits.streak = 0
        return self._reader.take(-1)

    def _spoken(self, step: Step, end: str, allowed: frozenset[str], longest: int) -> tuple[str, Step]:
        """A text of the teacher up to its end mark (one byte, where there is none), and its last step."""
        text = step.env
        while True:
            if step.env != end and step.env not in allowed:
                self._reader.fail("text", f"{step.env!r} in {text!r}")
            if not end or step.env == end:
                return text, step
            if len(text) >= longest:
                self._reader.fail("text", f"{text!r} does not end in {end!r}")
            step = self._next(step)
            text += step.env


class DigitPlay(Play):
    """One instance of a task of group 5, on the assumption that its mapping has `size` keys."""

    def __init__(self, reader: Reader, task: Digits, size: int) -> None:
        super().__init__(reader)
        self._task, self._size = task, size
        self._blocks = Blocks(size)
        self._answers: dict[str, str] = {}
        self._answered: set[str] = set()

    def play(self) -> Ending:
        step = self._reader.take()
        while True:
            key, step = self._question(step)
            heard = self._answer(key, step)
            if heard is None:
                return Ending(result=False, owed=0)
            over = self._reader.out_of_time
            step = self._reader.take()
            self._reader.require(step.reward in {-1, 1}, "reward", f"{step.reward} for an answer")
            self._answered.add(key)
            result = self._limits.answered(step.reward, len(self._answered) == self._size)
            right = step.reward > 0
            text, step = self._spoken(step, self._task.tells, FEEDBACK_BYTES, LONGEST_TEXT)
            self._feedback(text, key, heard, right)
            if result is not None:
                return Ending(result, owed=0)
            step = self._next(step)
            if over:
                self._question(step)
                return Ending(result=False, owed=0)

    def _question(self, step: Step) -> tuple[str, Step]:
        text, step = self._spoken(step, self._task.asks, DIGITS, LONGEST_TEXT)
        key = text.removesuffix(self._task.asks)
        self._reader.require(re.fullmatch(self._task.key, key, re.ASCII) is not None, "question", repr(text))
        self._blocks.ask(self._reader, key)
        return key, step

    def _answer(self, key: str, step: Step) -> str | None:
        """Return the learner's text until the teacher spoke again; `None` where time ran out before that."""
        heard = ""
        while True:
            heard += step.agent
            if self._reader.out_of_time and self._reader.ended:
                longest = len(self._answers.get(key, "?" * self._task.longest_answer))
                self._reader.require(len(heard) < longest, "end", f"{heard!r} was not judged")
                return None
            if self._reader.peek().env != SILENCE or len(heard) == self._task.longest_answer:
                return heard
            step = self._reader.take(0)

    def _feedback(self, text: str, key: str, heard: str, right: bool) -> None:
        reader = self._reader
        pattern = self._task.feedback if right else self._task.feedback_if_wrong or self._task.feedback
        match = re.fullmatch(pattern, text, re.ASCII)
        if match is None:
            raise _Broken(reader.t, "feedback", repr(text))
        answer = match["a"] + ("." if self._task.feedback_if_wrong and right else "")
        known = self._answers.setdefault(key, answer)
        reader.require(known == answer, "mapping", f"{key!r} gave {known!r} before and now {answer!r}")
        if self._task.permutation:
            distinct = len(set(self._answers.values())) == len(self._answers)
            reader.require(distinct, "mapping", f"{answer!r} is the answer to two keys")
        reader.require(len(heard) == len(answer), "judge", f"{heard!r} is not as long as {answer!r}")
        reader.require(right == (heard == answer), "judge", f"{heard!r} for {answer!r}: right is {right}")


# --- sentences ---------------------------------------------------------------------------------------------

SENTENCE_BYTES = LETTERS | frozenset(" :#,!;./-_")
LONGEST_SENTENCE = 200
LENIENT = {"micro6", "micro15", "micro19", "micro20"}
IN_TURN = {"micro19", "micro20"}
TURNS = 4


class SentencePlay(Play):
    """One instance of a task in sentences: a rule knows what they mean."""

    def __init__(self, reader: Reader, task: str, rule: Rule) -> None:
        super().__init__(reader, times=3 if task in LENIENT else 2)
        self._task, self._rule = task, rule

    def play(self) -> Ending:
        step = self._reader.take()
        while True:
            text, step = self._spoken(step, ".", SENTENCE_BYTES, LONGEST_SENTENCE)
            self._told("question", lambda text=text: self._rule.ask(text))  # type: ignore[misc]
            self._keep_turns()
            heard = self._answer(step)
            if heard is None:
                return Ending(result=False, owed=0)
            over = self._reader.out_of_time
            step = self._reader.take()
            self._reader.require(step.reward in {-1, 1}, "reward", f"{step.reward} for an answer")
            right = step.reward > 0
            result = self._limits.answered(step.reward, self._rule.knows)
            text, step = self._spoken(step, ";", SENTENCE_BYTES, LONGEST_SENTENCE)
            told = heard, right, text[:-1]
            self._told("judge", lambda told=told: self._rule.judge(*told))  # type: ignore[misc]
            if result is not None:
                return Ending(result, owed=0)
            step = self._next(step)
            if over:
                text, _ = self._spoken(step, ".", SENTENCE_BYTES, LONGEST_SENTENCE)
                self._told("question", lambda text=text: self._rule.ask(text))  # type: ignore[misc]
                return Ending(result=False, owed=0)

    def _answer(self, step: Step) -> str | None:
        """Return the learner's text to the first dot; `None` where time ran out before it."""
        heard = ""
        while True:
            heard += step.agent
            if step.agent == ".":
                return heard
            if self._reader.out_of_time:
                return None
            step = self._reader.take(0)
            self._reader.require(step.env == SILENCE, "text", f"{step.env!r} into an answer")

    def _told(self, rule: str, tell: Callable[[], None]) -> None:
        try:
            tell()
        except ValueError as error:
            self._reader.fail(rule, str(error))

    def _keep_turns(self) -> None:
        """Among each four instances of a task in turns no form comes twice."""
        if self._task not in IN_TURN or self._reader.note:
            return
        earlier = self._reader.earlier
        used = earlier[len(earlier) - len(earlier) % TURNS :]
        self._reader.require(self._rule.form not in used, "turn", f"{self._rule.form} again after {used}")
        self._reader.note = self._rule.form


# --- descriptions ------------------------------------------------------------------------------------------

LONGEST_QUESTION = 200


def _play_mini(reader: Reader, task: str) -> Ending:
    text, step, early = "", None, False
    while not text.endswith("."):
        early |= step is not None and step.agent == "."
        step = reader.take(0 if text else None)
        text += step.env
        reader.require(len(text) <= LONGEST_QUESTION, "question", repr(text))
    assert step is not None
    try:
        reader.note, fits = read_question(task, text, reader.earlier)
    except ValueError as error:
        reader.fail("question", str(error))
    right = "true." if fits else "false."
    heard, over = (".", False) if early else _said_to_dot(reader, step)
    success = heard.endswith(right)
    said = {closing_if_wrong(right) if over or not success else ""}
    if success:
        said = {before + praise for before in said for praise in CLOSING_IF_RIGHT}
    success = _closing(reader, said, closing_if_wrong(right) if success else "")
    reader.require(reader.take(0).env == SILENCE, "separator", "no silence after the last word")
    return Ending(success, owed=int(success))


def _said_to_dot(reader: Reader, step: Step) -> tuple[str, bool]:
    """Return the text from the end of the question to a dot or the timeout, and whether time ran out."""
    heard = ""
    while True:
        heard += step.agent
        if step.agent == "." or reader.out_of_time:
            return heard, reader.out_of_time
        step = reader.take(0)
        reader.require(step.env == SILENCE, "text", f"{step.env!r} into an answer")


def _closing(reader: Reader, texts: set[str], if_dot: str) -> bool:
    """Read one of some texts to its end; the result.

    A dot in any reply but the last turns success into failure, and `if_dot` is said as well (Q9). Without
    `if_dot` there is no success.
    """
    said, success = "", bool(if_dot)
    while True:
        step = reader.take(0)
        said += step.env
        texts = {text for text in texts if text.startswith(said)}
        reader.require(bool(texts), "closing", repr(said))
        if said in texts:
            return success
        if success and step.agent == ".":
            success = False
            texts = {text + if_dot for text in texts}


# --- whole transcripts -------------------------------------------------------------------------------------

Player = Callable[[Reader], Ending]


def _digit_players(task: Digits) -> list[Player]:
    return [lambda reader, size=size: DigitPlay(reader, task, size).play() for size in task.sizes]  # type: ignore[misc]


def _sentence_player(task: str, words: Vocabulary = WORDS) -> Player:
    return lambda reader: SentencePlay(reader, task, RULES[task](words)).play()


def _mini_player(task: str) -> Player:
    return lambda reader: _play_mini(reader, task)


PLAYERS: Mapping[str, list[Player]] = {
    "micro1": [lambda reader: _play_characters(reader, Target(TARGETS, 10, 69, frozenset()))],
    "micro2": [lambda reader: _play_characters(reader, Target(LETTERS, 4, 26, PUNCTUATION))],
    "micro3": [lambda reader: _play_characters(reader, Permutation())],
    "micro4": [lambda reader: _play_characters(reader, Echo())],
    **{name: _digit_players(task) for name, task in DIGIT_TASKS.items()},
    **{name: [_sentence_player(name)] for name in SENTENCE_TASKS},
    **{name: [_mini_player(name)] for name in MINI_TASKS},
}
"""For each task the ways to play it, one for each thing that has to be assumed; one must explain all."""


def check(
    records: Iterable[Mapping[str, Any]],
    *,
    max_time: int | None = None,
    words: Vocabulary | None = None,
) -> list[Violation]:
    """What is wrong with a transcript; an empty list where nothing is.

    Args:
        records: see the top of this module.
        max_time: steps after which an instance times out, if not as usual.
        words: what the sentences are made of, if not the usual words.
    """
    players = dict(PLAYERS)
    if words is not None:
        players |= {name: [_sentence_player(name, words)] for name in SENTENCE_TASKS}
    try:
        instances = list(_instances(records))
    except _Broken as broken:
        return [broken.violation]
    found: list[Violation] = []
    owed: float | None = 0
    notes: dict[str, list[str]] = defaultdict(list)
    for at, instance in enumerate(instances):
        instance.last = at == len(instances) - 1
        instance.after = None if instance.last else _first_reward(instances[at + 1])
        came = _first_reward(instance)
        if owed is not None and came is not None and came != owed:
            found.append(Violation(instance.steps[0].t, "reward", f"{came} instead of {owed} at the start"))
        outcome = _check_instance(instance, players[instance.task], max_time, notes[instance.task])
        if isinstance(outcome, Violation):
            found.append(outcome)
        owed = outcome.owed if isinstance(outcome, Ending) else None
    return found


def _first_reward(instance: Instance) -> float | None:
    return instance.steps[0].reward if instance.steps else None


def _check_instance(
    instance: Instance, players: list[Player], max_time: int | None, notes: list[str]
) -> Ending | Violation | None:
    """The ending of an instance, `None` where the match cut it, or the violation that came latest."""
    afters = [instance.after]
    if instance.after is None and instance.result is not None:
        afters = [1, -1]  # a verdict was reached on the last answer, whose reward nobody has recorded
    violations = []
    usual = MINI_MAX_TIME if instance.task in MINI_TASKS else MAX_TIME
    for player, after in product(players, afters):
        instance.after = after
        reader = Reader(instance, usual if max_time is None else max_time, notes)
        outcome = _play(player, instance, reader)
        if reader.note:
            notes.append(reader.note)
        if not isinstance(outcome, Violation):
            return outcome
        violations.append(outcome)
    return max(violations, key=lambda violation: violation.t)


def _play(player: Player, instance: Instance, reader: Reader) -> Ending | Violation | None:
    cut = instance.last and instance.result is None
    try:
        ending = player(reader)
    except _RanOut:
        return None if cut else Violation(reader.t, "end", f"{instance.task} ended too early")
    except _Broken as broken:
        return broken.violation
    if reader.at < len(instance.steps):
        return Violation(reader.t, "end", f"{instance.task} should have ended with {ending.result}")
    if instance.result is not ending.result and not cut:
        return Violation(reader.t, "result", f"{instance.result} instead of {ending.result}")
    return ending
