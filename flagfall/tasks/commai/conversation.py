r"""Talking with a learner in whole texts: what authors of tasks write their scripts on.

A task is a function. It is given the conversation and a source of chance, and tells one instance from the
teacher's side. What it returns is the result and the reward: `True` pays 1; `None` judges nothing.

    def repeat(talk, rng):
        word = rng.choice(["apple", "banana"])
        talk.say(f"say {word}.")                      # queued: listening says it, one byte a step
        if not (yield from talk.hear(r"\.$")):         # until the learner ends a sentence
            talk.say("too late.")                     # the time was up
            return False
        if not talk.heard.endswith(f"{word}."):
            talk.say("wrong.")
            return False
        talk.say("correct.")                          # said to its end before the reward is paid
        return True

    task = ConversationTask("repeat", repeat, max_time=1000)

Rule 1: texts queue up; nothing that waits to be said is dropped. A text is refused while another of a higher
    priority is being said (the teacher's have 1, a world's answers have 0), or where too much waits.
Rule 2: a task hears the learner at any time. Where it `forgets`, what is said while the teacher speaks is
    heard once and is blank from then on, so nobody can answer before the question is out. What the learner
    replies to the last byte of a text is said into silence.
Rule 3: when time is up, the rest is said and nothing more is heard; so no learner can talk for ever. The
    byte heard then is dropped.
Rule 4: the result stands when the script returns. Then the rest is said, and one space; only the world still
    listens, but it answers no more. The reward comes with the first byte of the next task, and the last two
    bytes of the learner are dropped. With nothing left to say the reward comes at once.
Rule 5: the world hears the learner first, and what the task then sees is the world as it is after that. Its
    answer comes before the task's, unless the task speaks `instead`.
"""

from __future__ import annotations

__all__ = [
    "BIT_CHANNEL",
    "BYTE_CHANNEL",
    "MAX_UNSAID_BYTES",
    "SEARCHED_BYTES",
    "Conversation",
    "ConversationTask",
    "DialogueScript",
    "TextChannel",
]

import math
import re
from collections.abc import Callable, Generator
from random import Random
from string import ascii_letters, digits
from typing import Any, Final, TypeAlias

import attrs

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.commai.scrambling import Scrambler
from flagfall.tasks.commai.world import World

SEARCHED_BYTES: Final = 1000
"""How much of what was heard a pattern is looked for in. The longest answer, ten properties of an object with
`, and ` between them, has some 150 bytes."""

MAX_UNSAID_BYTES: Final = 1000
"""A text is refused while more than this is unsaid. Openings, the longest texts, have some 200 bytes; only a
learner who ends sentences all the time, to a teacher who asks again each time, makes so much wait."""

_WORD_CHARACTERS: Final = frozenset(f"{ascii_letters}{digits}_")

_TASK_PRIORITY: Final = 1
_WORLD_PRIORITY: Final = 0


@attrs.frozen
class TextChannel:
    """How texts travel.

    Attributes:
        steps_per_byte: what one byte counts for in the time limits of tasks.
        overwrites: a new text drops what is still unsaid instead of queueing behind it.
        scrambler: translates every text; a learner's word is then heard with the character after it.
    """

    steps_per_byte: int = 1
    overwrites: bool = False
    scrambler: Scrambler | None = None


BYTE_CHANNEL: Final = TextChannel()
"""A byte is a step."""

BIT_CHANNEL: Final = TextChannel(steps_per_byte=8, overwrites=True)
"""A bit is a step, as round 1 has it for these tasks: their limits are in bits."""


@attrs.define(eq=False)
class Conversation:
    """What teacher and learner say to each other in one instance of a task.

    Text beyond ASCII goes as UTF-8. What is heard is one character a byte, 0 to 255.

    Attributes:
        pay: pays a reward with the next byte; a second one in the same step replaces the first.
        max_time: after so many steps time is up.
        world: listens too.
        forgets: see rule 2.
        channel: how texts travel.
        time: steps so far.
        heard: what the learner said so far, silences and all.
        spoken: what the teacher said so far, silences and all.
        timed_out: whether time was up.
    """

    pay: Callable[[float], None]
    max_time: float = math.inf
    world: World | None = None
    forgets: bool = False
    channel: TextChannel = BYTE_CHANNEL
    time: int = attrs.field(default=0, init=False)
    heard: str = attrs.field(default="", init=False)
    spoken: str = attrs.field(default="", init=False)
    timed_out: bool = attrs.field(default=False, init=False)
    _unsaid: bytearray = attrs.field(factory=bytearray, init=False)
    _priority: int = attrs.field(default=_WORLD_PRIORITY, init=False)
    _answer: str | None = attrs.field(default=None, init=False)
    _word: bytearray = attrs.field(factory=bytearray, init=False)

    @property
    def unsaid(self) -> str:
        """What the teacher has still to say."""
        return self._unsaid.decode("latin-1")

    @property
    def silent(self) -> bool:
        """Whether nothing but spaces is left to say."""
        return not self._unsaid.strip()

    def say(self, text: str, priority: int = _TASK_PRIORITY, *, instead: bool = False) -> bool:
        """Queue a text behind what is still unsaid.

        Args:
            text: what to say.
            priority: must not be below that of the last text taken, unless all of that is said.
            instead: what the world was about to answer is not said.

        Returns:
            Whether the text was taken.
        """
        if instead:
            self._answer = None
        self._let_world_answer()
        return self._queue(text, priority)

    def listen(self) -> Generator[int, int, bool]:
        """Say the next byte, or silence, and hear one.

        Returns:
            `False` when time is up: then nothing was heard.
        """
        while True:
            self._let_world_answer()
            heard = yield self._next_byte()
            self.time += self.channel.steps_per_byte
            if self.time < self.max_time:
                if self._hears(heard):
                    return True
            elif not self._unsaid:
                self.timed_out = True
                return False

    def hear(self, pattern: str) -> Generator[int, int, re.Match[str] | None]:
        """Listen until a regular expression is found in what was heard, `SEARCHED_BYTES` back at most.

        A pattern without `$` that was found once is found again with every byte. `^` stands for the
        beginning of the instance.

        Returns:
            What was found; `None` when time is up.
        """
        search = re.compile(pattern).search
        while (yield from self.listen()):
            found = search(self.heard, max(0, len(self.heard) - SEARCHED_BYTES))
            if found is not None:
                return found
        return None

    def wait(self, condition: Callable[[], object]) -> Generator[int, int, bool]:
        """Listen until something holds.

        Returns:
            `False` when time is up.
        """
        while (yield from self.listen()):
            if condition():
                return True
        return False

    def finish(self) -> Generator[int, int, None]:
        """Say what is left and one space to part it from the next task; without anything left, nothing.

        Scripts that tidy up after their last word call it themselves.
        """
        self._let_world_answer()
        if not self._unsaid:
            return
        while self._unsaid:
            heard = yield self._next_byte()
            if self._unsaid:
                self._hears(heard)
        yield self._next_byte()

    def _queue(self, text: str, priority: int) -> bool:
        if self._unsaid and (priority < self._priority or len(self._unsaid) > MAX_UNSAID_BYTES):
            return False
        self._priority = priority
        if self.channel.overwrites and text:
            self._unsaid.clear()
        if self.channel.scrambler is not None:
            text = self.channel.scrambler.scramble(text)
        self._unsaid += text.encode()
        return True

    def _let_world_answer(self) -> None:
        if self._answer is not None:
            self._queue(self._answer, _WORLD_PRIORITY)
            self._answer = None

    def _next_byte(self) -> int:
        if self.forgets and not self.silent and self.heard:
            self.heard = self.heard[:-1] + " "
        byte = self._unsaid.pop(0) if self._unsaid else SILENCE
        self.spoken += chr(byte)
        return byte

    def _hears(self, byte: int) -> bool:
        """Take a byte in; whether there is something new to hear."""
        if self.channel.scrambler is None:
            self.heard += chr(byte)
        else:
            self._word.append(byte)
            if _in_a_word(byte):
                return False
            self.heard += self.channel.scrambler.unscramble(self._word.decode("latin-1"))
            self._word.clear()
        if self.world is not None:
            self._answer = self.world.hear(self.heard)
        return True


def _in_a_word(byte: int) -> bool:
    """Whether a scrambler would translate this together with what follows."""
    return chr(byte) in _WORD_CHARACTERS


DialogueScript: TypeAlias = Callable[[Conversation, Random], Script]
"""One instance of a task, spoken from the teacher's side; returns the result."""


class ConversationTask(ByteTask):
    """A task that is a conversation.

    Args:
        task_id: the name of the task.
        play: the script.
        max_time: after so many steps without an end time is up.
        forgets: see rule 2.
        world: where it is played; `None` for nowhere.

    Attributes:
        channel: how texts travel, from the next instance on.
        conversation: the conversation of the current instance, or of the last one.
    """

    channel: TextChannel = BYTE_CHANNEL

    conversation: Conversation

    def __init__(
        self,
        task_id: str,
        play: DialogueScript,
        *,
        max_time: float,
        forgets: bool = False,
        world: World | None = None,
    ) -> None:
        self.id = task_id
        self.max_time = max_time
        self.forgets = forgets
        self.world = world
        self._play = play
        self.conversation = Conversation(self.pay, max_time)

    def script(self, rng: Random) -> Script:
        """One instance: the play, and its last words."""
        self.conversation = talk = Conversation(
            self.pay, self.max_time, self.world, self.forgets, self.channel
        )
        result = yield from self._play(talk, rng)
        yield from talk.finish()
        self.pay(self._reward + bool(result))
        return result

    def metrics(self) -> dict[str, Any]:
        """Length and reward of the instance, and whether its time was up."""
        return super().metrics() | {"timed_out": self.conversation.timed_out}
