"""The dialogue of the mini-tasks: a description, a string, and the question whether it fits.

Rule 1: the first dot ends the answer, wherever it is said: a dot said into the description is a wrong answer.
    Other bytes said while the teacher speaks are blanked out and cost nothing.
Rule 2: the answer is right if what was heard ends with it; anything may come before it.
Rule 3: the result stands with that dot. The teacher says what is unsaid and a closing sentence, then one
    silence; the reward comes with the first byte of whatever is next.
Rule 4: time runs out only in silence; the byte heard then is dropped, and the result is `False`.
Rule 5: a world hears every byte before the task does, up to the last but one of the closing sentence. Its
    answer is said if nothing of the task's is unsaid.
"""

from __future__ import annotations

__all__ = ["CONGRATULATIONS", "MAX_TIME", "Example", "MakeExample", "MiniTask"]

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from flagfall.tasks.commai.byte_task import SILENCE, ByteTask, Script

if TYPE_CHECKING:
    from collections.abc import Generator

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
        example: what the present instance is about.
    """

    example: Example

    def __init__(
        self, task_id: str, make_example: MakeExample, *, max_time: int = MAX_TIME, world: World | None = None
    ) -> None:
        self.id = task_id
        self.max_time = max_time
        self.world = world
        self._make_example = make_example
        self._timed_out = False

    def script(self, rng: Random) -> Script:
        """One instance: description, answer, closing sentence, silence."""
        self.example = example = self._make_example(rng)
        self._timed_out = False
        heard = bytearray()
        unsaid = yield from self._until_dot(
            f"description: {example.description}; verify: {example.string}.", heard
        )
        answer = b"true." if example.fits else b"false."
        success = not self._timed_out and heard.endswith(answer)
        closing = rng.choice(CONGRATULATIONS) if success else b"Wrong. The right answer is: " + answer
        yield from self._say_last(unsaid + closing, heard)
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

    def _say_last(self, text: bytes, heard: bytearray) -> Generator[int, int, None]:
        """Say a text that nothing can change any more; only the world listens."""
        for byte in text[:-1]:
            heard[-1] = SILENCE
            heard.append((yield byte))
            if self.world is not None:
                self.world.hear(heard.decode("latin-1"))
        yield text[-1]

    def metrics(self) -> dict[str, Any]:
        """Length and reward of the instance, what it was about, and whether time ran out."""
        return super().metrics() | self.example._asdict() | {"timed_out": self._timed_out}
