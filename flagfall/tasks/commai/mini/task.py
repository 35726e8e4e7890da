"""The dialogue of the mini-tasks: a description, a string, and the question whether it fits.

Rule 1: the first dot ends the answer, also while the teacher speaks: a dot during the description is a wrong
    answer. Other bytes sent while the teacher speaks are blanked and cost nothing.
Rule 2: the answer is right if the learner's text ends with it; anything may come before it.
Rule 3: after that dot the teacher sends the rest of its text and a closing sentence, then one silence; the
    reward comes with the first byte of the next task. A dot during a congratulation is judged again: it turns
    success into failure, and the sentence for failure follows. A failure is final.
Rule 4: the time runs out only in silence, and the teacher sends the sentence for failure. If the byte
    received then completes the right answer, a congratulation follows, and the result is `True`.
Rule 5: a world hears every byte before the task does, up to the last but one of the closing sentence. Its
    answer is sent if no text of the task is pending.

With `fixes` the result is final with the first dot (rule 3), and the byte received when the time runs out is
dropped (rule 4).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from random import Random
from string import ascii_uppercase
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.commai.mini import descriptions, former_strings
from flagfall.tasks.commai.mini.descriptions import ANYTHING, Description, Join
from flagfall.tasks.commai.world import World
from flagfall.tasks.task import ROUND1, revision_of, unknown_revision

MAX_TIME: Final = 3000
"""Time limit in steps; an instance fails at the first silence after it."""

CONGRATULATIONS: Final = (b"good job.", b"bravo.", b"congratulations.", b"nice work.", b"correct.")

_FORMER: Final = 2
"""The revision of the rules of which `former_examples` draws the strings."""

_DOT: Final = ord(".")
_SUCCESS: Final = 1
_FAILURE: Final = 0


class Example(NamedTuple):
    """The content of an instance."""

    description: str
    string: str
    fits: bool


MakeExample: TypeAlias = Callable[[Random], Example]


@attrs.define(eq=False, repr=False, slots=False)
class MiniTask(ByteTask):
    """A mini-task of round 1: does the string fit the description?

    Args:
        former_examples: draws examples as revision 2 of the rules did, so that journals of it can be
            verified; `None` if they cannot.

    Attributes:
        world: a world that also hears the learner; `None` for none. A `WorldSwitch` resets it.
        fixes: repair the quirks of the original that `docs/round1.md` lists (Q9, Q10). The quirk of the
            examples (Q29) belongs to `make_example`.
    """

    id: str = attrs.field(alias="task_id")
    _make_example: MakeExample
    _former_examples: MakeExample | None = attrs.field(default=None, kw_only=True)
    max_time: int = attrs.field(default=MAX_TIME, kw_only=True)
    world: World | None = attrs.field(default=None, kw_only=True)
    fixes: bool = attrs.field(default=False, kw_only=True)
    example: Example = attrs.field(init=False)
    _timed_out: bool = attrs.field(default=False, init=False)

    def script(self, rng: Random) -> Script:
        """Run one instance: description, answer, closing sentence, silence."""
        self.example = example = self._make_example(rng)
        self._timed_out = False
        heard = bytearray()
        text = yield from self._until_dot(
            f"description: {example.description}; verify: {example.string}.", heard
        )
        answer = b"true." if example.fits else b"false."
        failure = b"Wrong. The right answer is: " + answer
        success = heard.endswith(answer) and not (self._timed_out and self.fixes)
        if self._timed_out or not success:
            text += failure
        if success:
            text += rng.choice(CONGRATULATIONS)
        if (yield from self._say_last(text, failure if success and not self.fixes else b"", heard)):
            success = False
        yield SILENCE
        self.pay(_SUCCESS if success else _FAILURE)
        return success

    def _until_dot(self, question: str, heard: bytearray) -> Generator[int, int, bytes]:
        """Speak and listen up to the first dot or the time limit; return the text not sent yet."""
        saying, at = question.encode(), 0
        task_speaks = True  # otherwise the world speaks, or there is silence
        while True:
            heard.append((yield saying[at] if at < len(saying) else SILENCE))
            at += 1
            silent = at >= len(saying)
            if silent and self._num_steps_taken >= self.max_time:
                self._timed_out = True
                if self.world is not None and not self.fixes:  # the task speaks next, so an answer is dropped
                    self.world.hear(heard.decode("latin-1"))
                return b""
            task_speaks = task_speaks and not silent
            if self.world is not None:
                reply = self.world.hear(heard.decode("latin-1"))
                if reply and not task_speaks:
                    saying, at, silent = saying[at:] + reply.encode(), 0, False
            if heard[-1] == _DOT:
                return saying[at:]
            if not silent:
                heard[-1] = SILENCE

    def _say_last(self, text: bytes, if_dot: bytes, heard: bytearray) -> Generator[int, int, bool]:
        """Send the last texts; the world listens, and the task for one dot at most.

        Args:
            if_dot: text to append when a dot is received; empty if a dot has no effect.

        Returns:
            whether a dot was received and `if_dot` was appended.
        """
        spoilt = False
        at = 0
        while at < len(text) - 1:
            heard[-1] = SILENCE
            heard.append((yield text[at]))
            at += 1
            if self.world is not None:
                self.world.hear(heard.decode("latin-1"))
            if heard[-1] == _DOT and if_dot and not spoilt:
                spoilt = True
                text += if_dot
        yield text[-1]
        return spoilt

    def follow_rules(self, revisions: Mapping[str, int]) -> str | None:
        """Take the rules of a recorded match.

        Revisions 1 and 2 drew other strings. Those of revision 2 are drawn again by `former_examples`.
        """
        revision = revision_of(revisions, ROUND1)
        if revision == _FORMER and self._former_examples is not None:
            self._make_example = self._former_examples
        elif revision in {1, _FORMER}:
            why = f"it was played by revision {revision} of the rules of {ROUND1}"
            return f"{why}, which drew other strings for mini-tasks"
        return unknown_revision(revisions, ROUND1)

    def metrics(self) -> dict[str, Any]:
        """Return length and reward of the instance, its content, and whether its time ran out."""
        return super().metrics() | self.example._asdict() | {"timed_out": self._timed_out}


# Mini-tasks 0 to 5: distributions of their descriptions and strings.
#
# Probabilities and sizes are those of round 1 of the General AI Challenge; the tasks differ only in them.


class Strings(NamedTuple):
    """Two functions that draw strings from a description, a length and a source of random numbers."""

    right: Callable[[Description, int, Random], str]
    wrong: Callable[[Description, int, Random], str]


_STRINGS: Final = Strings(descriptions.right_string, descriptions.wrong_string)

FORMER_STRINGS: Final = Strings(former_strings.right_string, former_strings.wrong_string)
"""The strings of revision 2 of the rules."""

_LETTERS_PER_RUN: Final = (1, 3)
_LETTERS_PER_KIND: Final = 13
"""In a set with barred runs: number of letters for the wanted runs, and for the barred ones."""


@attrs.frozen(kw_only=True)
class ExampleSet:
    """The parameters of one of mini-tasks 1 to 4.

    Attributes:
        most_runs: greatest number of runs; the least is one.
        just_anything: probability that the description is `anything` and nothing else.
        and_anything: probability that `anything` is added; it always is if a run is barred.
        barred: probability of each run to be barred.
        longest: greatest length asked for; the least is one, and strings may be a little longer.
    """

    join: Join = "and"
    most_runs: int = 3
    just_anything: float = 0
    and_anything: float = 0
    barred: float = 0
    longest: int


MINI_SETS: Final[Mapping[str, ExampleSet]] = {
    "mini1": ExampleSet(most_runs=1, longest=10),
    "mini2": ExampleSet(join="or", just_anything=0.05, longest=10),
    "mini3": ExampleSet(and_anything=0.5, longest=30),
    "mini4": ExampleSet(and_anything=0.5, barred=0.5, longest=30),
}
"""The tasks, by id."""


def make_example(
    rng: Random, *, row: ExampleSet, fixes: bool = False, strings: Strings = _STRINGS
) -> Example:
    """Draw a description of a set, and a string that fits it or does not with equal probability.

    Every string fits `anything`. As in the original, the empty string represents one that does not.

    Args:
        fixes: repair that quirk (Q29): the answer to `anything` is always yes.
    """
    description = _describe(rng, row)
    length = rng.randint(1, row.longest)
    fits = rng.random() < 0.5  # noqa: PLR2004 - a coin
    if description.items == (ANYTHING,) and not fits:
        if not fixes:
            return Example(ANYTHING, "", fits)
        fits = True
    string = (strings.right if fits else strings.wrong)(description, length, rng)
    return Example(str(description), string, fits)


def any_of(
    rng: Random, *, rows: Sequence[ExampleSet], fixes: bool = False, strings: Strings = _STRINGS
) -> Example:
    """Draw an example of one of several sets, chosen uniformly: mini-task 5."""
    return make_example(rng, row=rng.choice(rows), fixes=fixes, strings=strings)


def _describe(rng: Random, row: ExampleSet) -> Description:
    if rng.random() < row.just_anything:
        return Description((ANYTHING,), row.join)
    wanted_letters, barred_letters = _alphabets(rng, row)
    items = []
    for _ in range(rng.randint(1, row.most_runs)):
        if rng.random() < row.barred:
            items.append(f"not {_run(rng, barred_letters)}")
        else:
            items.append(_run(rng, wanted_letters))
    if rng.random() < row.and_anything or any(item.startswith("not ") for item in items):
        items.append(ANYTHING)
    items = list(dict.fromkeys(items))
    rng.shuffle(items)
    return Description(tuple(items), row.join)


def _alphabets(rng: Random, row: ExampleSet) -> tuple[str, str]:
    """Return the letters of wanted runs and those of barred runs, which are disjoint."""
    if not row.barred:
        return ascii_uppercase, ""
    wanted = rng.choices(ascii_uppercase, k=_LETTERS_PER_KIND)
    others = [letter for letter in ascii_uppercase if letter not in wanted]
    return "".join(wanted), "".join(rng.choices(others, k=_LETTERS_PER_KIND))


def _run(rng: Random, letters: str, lengths: tuple[int, int] = _LETTERS_PER_RUN) -> str:
    return "".join(rng.choices(letters, k=rng.randint(*lengths)))


class WarmUp:
    """Mini-task 0: a single run, the same for ten instances; longer runs after many instances.

    Instances are counted over the life of the task, regardless of their results.
    """

    SAME: Final = 10
    """Number of instances with one description."""

    LAST_SHORT: Final = 1000
    """The last instance, counted from 0, with runs and strings of the first size."""

    _ATTEMPTS: Final = 3

    def __init__(self, strings: Strings = _STRINGS) -> None:
        self.instances: int = 0
        self._strings = strings
        self._description = Description(("A",))

    def __call__(self, rng: Random) -> Example:
        """Return the example of the next instance."""
        size = 1 if self.instances <= self.LAST_SHORT else 2
        if self.instances % self.SAME == 0:
            self._description = Description((_run(rng, ascii_uppercase, (size, size)),))
        self.instances += 1
        length = rng.randint(size, 3 * size - 1)
        fits = rng.random() < 0.5  # noqa: PLR2004 - a coin
        string = self._strings.right(self._description, length, rng) if fits else self._wrong(length, rng)
        return Example(str(self._description), string, fits)

    def _wrong(self, length: int, rng: Random) -> str:
        """Return a string that does not fit: mostly random letters, of exactly the given length."""
        for _ in range(self._ATTEMPTS):
            string = _run(rng, ascii_uppercase, (length, length))
            if not self._description.accepts(string):
                return string
        return self._strings.wrong(self._description, length, rng)


def _warm_up(_fixes: bool, strings: Strings = _STRINGS) -> MakeExample:
    return WarmUp(strings)


def _set(row: ExampleSet, fixes: bool, strings: Strings = _STRINGS) -> MakeExample:
    return partial(make_example, row=row, fixes=fixes, strings=strings)


def _all_sets(fixes: bool, strings: Strings = _STRINGS) -> MakeExample:
    return partial(any_of, rows=tuple(MINI_SETS.values()), fixes=fixes, strings=strings)


MINI_EXAMPLES: Final[Mapping[str, Callable[..., MakeExample]]] = {
    "mini0": _warm_up,
    **{task_id: partial(_set, row) for task_id, row in MINI_SETS.items()},
    "mini5": _all_sets,
}
"""Makers of the example sources of mini-tasks by task id, from `fixes` and, if others are wanted, `strings`.

Each call is for one task.
"""
