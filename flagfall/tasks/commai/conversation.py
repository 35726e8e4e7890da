r"""Conversations with a learner in whole texts: the interface for authors of tasks.

A task is a function of a conversation and a random generator; it runs one instance from the teacher's side.
Its return value is the result and the reward: `True` pays 1; `None` judges nothing.

    def repeat(talk, rng):
        word = rng.choice(["apple", "banana"])
        talk.say(f"say {word}.")                      # queued; sent one byte per step while listening
        if not (yield from talk.hear(r"\.$")):         # until the learner ends a sentence
            talk.say("too late.")                     # the time limit is reached
            return False
        if not talk.heard.endswith(f"{word}."):
            talk.say("wrong.")
            return False
        talk.say("correct.")                          # sent completely before the reward is paid
        return True

    task = ConversationTask("repeat", repeat, max_time=1000)

Rule 1: texts are queued, and no queued text is dropped. A text is refused while another one of a higher
    priority is being sent (the teacher's have 1, a world's answers have 0), or while too much is queued.
Rule 2: a task hears the learner at any time. If it `forgets`, a byte that arrives while the teacher speaks is
    heard once and blank afterwards, so no question is answered before it is complete. The reply to the
    last byte of a text counts as a reply in silence.
Rule 3: when the time is up, the queue is sent and nothing more is heard, so that no learner can talk for
    ever. The byte received then is dropped.
Rule 4: the result is final when the script returns. Then the queue is sent, and one space; only the world
    still listens, but its answers are dropped. The reward comes with the first byte of the next task, and the
    last two bytes of the learner are dropped. With an empty queue the reward comes at once.
Rule 5: the world hears the learner first, and the task sees the world in its state after that. The world's
    answer comes before the task's, unless the task speaks `instead`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator
from functools import partial
from random import Random
from string import ascii_letters, digits
from typing import Any, Final, TypeAlias

import attrs

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.commai.words import Scrambler
from flagfall.tasks.commai.world import GridWorld, World

SEARCHED_BYTES: Final = 1000
"""Length of the end of the learner's text that is searched for a pattern. The longest answer, ten properties
of an object with `, and ` between them, has about 150 bytes."""

MAX_UNSAID_BYTES: Final = 1000
"""A text is refused while more than this is queued. Openings, the longest texts, have about 200 bytes; only a
learner that ends sentences all the time, where the teacher asks again each time, reaches the limit."""

_WORD_CHARACTERS: Final = frozenset(f"{ascii_letters}{digits}_")

_TASK_PRIORITY: Final = 1
_WORLD_PRIORITY: Final = 0


@attrs.frozen
class TextChannel:
    """Settings of the transmission of texts.

    Attributes:
        steps_per_byte: steps that one byte counts in the time limits of tasks.
        overwrites: whether a new text replaces the queue instead of being appended.
        scrambler: translates every text; a word of the learner is then heard with the character after it.
    """

    steps_per_byte: int = 1
    overwrites: bool = False
    scrambler: Scrambler | None = None


BYTE_CHANNEL: Final = TextChannel()
"""One byte per step."""

BIT_CHANNEL: Final = TextChannel(steps_per_byte=8, overwrites=True)
"""One bit per step, as in round 1 for these tasks: their limits are in bits."""


@attrs.define(eq=False)
class Conversation:
    """The dialogue of teacher and learner in one instance of a task.

    Text beyond ASCII is sent as UTF-8. The learner's text has one character for each byte, 0 to 255.

    Attributes:
        pay: pays a reward with the next byte; a second one in the same step replaces the first.
        max_time: time limit in steps.
        world: a world that also hears the learner; `None` for none.
        forgets: see rule 2.
        time: steps so far.
        heard: the learner's text so far, with its silences.
        spoken: the teacher's text so far, with its silences.
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
        """The queued text."""
        return self._unsaid.decode("latin-1")

    @property
    def silent(self) -> bool:
        """True if the queue holds nothing but spaces."""
        return not self._unsaid.strip()

    def say(self, text: str, priority: int = _TASK_PRIORITY, *, instead: bool = False) -> bool:
        """Queue a text.

        Args:
            priority: must not be below that of the last queued text, unless the queue is empty.
            instead: drop the pending answer of the world.

        Returns:
            whether the text was queued.
        """
        if instead:
            self._answer = None
        self._let_world_answer()
        return self._queue(text, priority)

    def listen(self) -> Generator[int, int, bool]:
        """Send the next byte, or silence, and hear one.

        Returns:
            `False` if the time is up; then nothing was heard.
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
        """Listen until a regular expression matches in the last `SEARCHED_BYTES` of the learner's text.

        A pattern without `$` that has matched once matches again with every byte.

        Args:
            pattern: the regular expression; `^` stands for the beginning of the instance.

        Returns:
            the match; `None` if the time is up.
        """
        search = re.compile(pattern).search
        while (yield from self.listen()):
            found = search(self.heard, max(0, len(self.heard) - SEARCHED_BYTES))
            if found is not None:
                return found
        return None

    def wait(self, condition: Callable[[], object]) -> Generator[int, int, bool]:
        """Listen until a condition is true.

        Returns:
            `False` if the time is up.
        """
        while (yield from self.listen()):
            if condition():
                return True
        return False

    def finish(self) -> Generator[int, int, None]:
        """Send the queue and one space that separates it from the next task; nothing if the queue is empty.

        Scripts that clean up after their last text call it themselves.
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
        """Take a byte of the learner; return whether `heard` has grown."""
        if self.channel.scrambler is None:
            self.heard += chr(byte)
        else:
            self._word.append(byte)
            if chr(byte) in _WORD_CHARACTERS:  # the scrambler translates it together with the next one
                return False
            self.heard += self.channel.scrambler.unscramble(self._word.decode("latin-1"))
            self._word.clear()
        if self.world is not None:
            self._answer = self.world.hear(self.heard)
        return True


DialogueScript: TypeAlias = Callable[[Conversation, Random], Script]
"""Runs one instance of a task from the teacher's side; returns the result."""


@attrs.define(eq=False, repr=False, slots=False)
class ConversationTask(ByteTask):
    """A task that is a conversation.

    Attributes:
        max_time: time limit in steps.
        forgets: see rule 2.
        channel: how texts are sent, from the next instance on.
        conversation: the conversation of the current instance, or of the last one.
    """

    instructions = (
        f"{ByteTask.instructions}\n\n"
        "The teacher speaks in sentences, and hears yours: end each with a full stop."
    )

    id: str = attrs.field(alias="task_id")
    _play: DialogueScript
    max_time: float = attrs.field(kw_only=True)
    forgets: bool = attrs.field(default=False, kw_only=True)
    world: World | None = attrs.field(default=None, kw_only=True)
    channel: TextChannel = attrs.field(default=BYTE_CHANNEL, init=False)
    conversation: Conversation = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.conversation = Conversation(self.pay, self.max_time)

    def script(self, rng: Random) -> Script:
        """Run one instance: the script of the task, and its last texts."""
        self.conversation = talk = Conversation(
            self.pay, self.max_time, self.world, self.forgets, self.channel
        )
        result = yield from self._play(talk, rng)
        yield from talk.finish()
        self.pay(self._reward + bool(result))
        return result

    def metrics(self) -> dict[str, Any]:
        """Return length and reward of the instance, and whether its time was up."""
        return super().metrics() | {"timed_out": self.conversation.timed_out}


WorldScript: TypeAlias = Callable[[GridWorld, Conversation, Random], Script]
"""The script of a task in the grid world."""


@attrs.frozen
class TaskSpec:
    """Specification of a task without a world.

    Attributes:
        max_time: time limit in steps.
        forgets: whether text that interrupts the teacher is forgotten.
    """

    play: DialogueScript
    max_time: float
    forgets: bool = True

    def task(self, task_id: str) -> ConversationTask:
        """Make a task."""
        return ConversationTask(task_id, self.play, max_time=self.max_time, forgets=self.forgets)


@attrs.frozen
class WorldTaskSpec:
    """Specification of a task in the grid world."""

    play: WorldScript
    max_time: float
    forgets: bool = True

    def task(self, task_id: str, world: GridWorld | None = None) -> ConversationTask:
        """Make a task."""
        place = GridWorld() if world is None else world
        play = partial(self.play, place)
        return ConversationTask(task_id, play, max_time=self.max_time, forgets=self.forgets, world=place)
