"""The dialogue of the mini-tasks: a description, a string, and the question whether it fits.

Rule 1: the first dot ends the answer, wherever it is said: a dot said into the description is a wrong answer.
    Other bytes said while the teacher speaks are blanked out and cost nothing.
Rule 2: the answer is right if what was heard ends with it; anything may come before it.
Rule 3: with that dot the teacher says what is unsaid and a closing sentence, then one silence; the reward
    comes with the first byte of whatever is next. A dot said into a congratulation is judged again: it turns
    success into failure, and the sentence for failure follows. A failure stands.
Rule 4: time runs out only in silence, and the teacher says the sentence for failure. If the byte heard then
    completes the right answer, a congratulation follows, and the result is `True`.
Rule 5: a world hears every byte before the task does, up to the last but one of the closing sentence. Its
    answer is said if nothing of the task's is unsaid.

With `fixes` the result stands with the first dot (rule 3), and the byte heard when time runs out is dropped
(rule 4).
"""

from __future__ import annotations

__all__ = ["CONGRATULATIONS", "MAX_TIME", "Example", "MakeExample", "MiniTask"]

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.rule_revisions import ROUND1, is_first_revision, unknown_revision

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from flagfall.tasks.commai.world import World

MAX_TIME: Final = 3000
"""Steps after which an instance fails at the next moment of silence."""

CONGRATULATIONS: Final = (b"good job.", b"bravo.", b"congratulations.", b"nice work.", b"correct.")

_DOT: Final = ord(".")
_SUCCESS: Final = 1
_FAILURE: Final = 0


class Example(NamedTuple):
    """What an instance is about.

    Attributes:
        description: the description, as it is written.
        string: the string to be judged.
        fits: whether it fits.
    """

    description: str
    string: str
    fits: bool


MakeExample: TypeAlias = Callable[[Random], Example]


class MiniTask(ByteTask):
    """A mini-task of round 1: does the string fit the description?

    Attributes:
        id: the name of the task, such as `mini3`.
        max_time: see `MAX_TIME`.
        world: who else hears the learner; `None` for nobody. Whoever shares it out also starts it.
        fixes: repair the quirks of the original that `docs/round1.md` lists (Q9, Q10). That of the examples
            (Q29) belongs to `make_example`.
        example: what the present instance is about.
    """

    example: Example

    def __init__(
        self,
        task_id: str,
        make_example: MakeExample,
        *,
        max_time: int = MAX_TIME,
        world: World | None = None,
        fixes: bool = False,
    ) -> None:
        self.id = task_id
        self.max_time = max_time
        self.world = world
        self.fixes = fixes
        self._make_example = make_example
        self._timed_out = False

    def script(self, rng: Random) -> Script:
        """One instance: description, answer, closing sentence, silence."""
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
        """Speak and listen up to the first dot or the end of time; what is unsaid then."""
        saying, at = question.encode(), 0
        task_speaks = True  # otherwise it is the world, or nobody
        while True:
            heard.append((yield saying[at] if at < len(saying) else SILENCE))
            at += 1
            silent = at >= len(saying)
            if silent and self._steps >= self.max_time:
                self._timed_out = True
                if self.world is not None and not self.fixes:  # the task speaks first, so it cannot answer
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
        """Say the last texts; only the world listens, and perhaps the task, for one dot.

        Args:
            text: what to say.
            if_dot: what is said as well once a dot is heard; empty where a dot changes nothing.
            heard: what the learner said so far.

        Returns:
            Whether a dot was heard, and `if_dot` said.
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
        """Return why a recorded match cannot be executed again; `None` where its rules are those of now.

        By the first revision other strings were drawn.
        """
        why = unknown_revision(revisions, ROUND1)
        if is_first_revision(revisions, ROUND1):
            why = f"it was played by revision 1 of the rules of {ROUND1}"
            why += ", which drew other strings for mini-tasks"
        return why

    def metrics(self) -> dict[str, Any]:
        """Length and reward of the instance, what it was about, and whether time ran out."""
        return super().metrics() | self.example._asdict() | {"timed_out": self._timed_out}
