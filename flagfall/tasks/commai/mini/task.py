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

__all__ = ["CONGRATULATIONS", "MAX_TIME", "Example", "MakeExample", "MiniTask"]

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.rule_revisions import ROUND1, revision_of, unknown_revision

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from flagfall.tasks.commai.world import World

MAX_TIME: Final = 3000
"""Time limit in steps; an instance fails at the first silence after it."""

CONGRATULATIONS: Final = (b"good job.", b"bravo.", b"congratulations.", b"nice work.", b"correct.")

_FORMER: Final = 2
"""The revision of the rules of which `former_examples` draws the strings."""

_DOT: Final = ord(".")
_SUCCESS: Final = 1
_FAILURE: Final = 0


class Example(NamedTuple):
    """The content of an instance.

    Attributes:
        description: the text of the description.
        string: the string to be judged.
        fits: whether it fits.
    """

    description: str
    string: str
    fits: bool


MakeExample: TypeAlias = Callable[[Random], Example]


class MiniTask(ByteTask):
    """A mini-task of round 1: does the string fit the description?

    Args:
        make_example: draws the content of each instance.
        former_examples: draws it as revision 2 of the rules did, so that journals of it can be verified;
            `None` if they cannot.

    Attributes:
        id: the name of the task, such as `mini3`.
        max_time: see `MAX_TIME`.
        world: a world that also hears the learner; `None` for none. A `WorldSwitch` resets it.
        fixes: repair the quirks of the original that `docs/round1.md` lists (Q9, Q10). The quirk of the
            examples (Q29) belongs to `make_example`.
        example: the content of the current instance.
    """

    example: Example

    def __init__(
        self,
        task_id: str,
        make_example: MakeExample,
        *,
        former_examples: MakeExample | None = None,
        max_time: int = MAX_TIME,
        world: World | None = None,
        fixes: bool = False,
    ) -> None:
        self.id = task_id
        self.max_time = max_time
        self.world = world
        self.fixes = fixes
        self._make_example = make_example
        self._former_examples = former_examples
        self._timed_out = False

    def script(self, rng: Random) -> Script:
        """Run one instance: description, answer, closing sentence, silence.

        Args:
            rng: the source of everything random in the instance.
        """
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
            text: the text to send.
            if_dot: text to append when a dot is received; empty if a dot has no effect.
            heard: the learner's text so far.

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

        Args:
            revisions: the revisions in the journal, by family.

        Returns:
            why that is impossible; `None` if it is done.
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
