"""The loop of every micro-task: ask, listen, reward, give feedback, ask again.

Rule 1: a byte other than a space, sent while more than spaces remains to be sent, costs 1 and is not part of
    the answer. The reply to the last byte of a text is the first byte of the answer; there is no time to
    think.
Rule 2: feedback and the next question are one stream, and the reward comes with its first byte.
Rule 3: the result is final when the last question is judged. Feedback is still sent to its end, and
    interrupting it still costs; the reply to its last byte is dropped.
Rule 4: the time runs out only in silence, and the result is `False`. The byte received then is still judged:
    if it ends an answer, the reward is paid, and feedback and one more question are sent, which cannot be
    answered; if it completes the streak, the result is `True`. With `fixes` that byte is dropped.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias

import attrs

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.commai.micro.questions import QuestionSource
from flagfall.tasks.commai.words import Vocabulary, default_vocabulary
from flagfall.tasks.task import ROUND1, revision_of, unknown_revision

# End of an instance of a micro-task: the streak to reach, and the limits on the number of questions.
#
# The rules and figures are those of round 1 of the General AI Challenge. A learner succeeds by a streak of
# right answers. As soon as it should know the answers, the streak has a soft limit of questions; after that
# it fails, at the latest at the hard limit.

REQUIRED: Final = 10
"""Rewards in a row that solve an instance."""

SUCCESS_TOLERANCE: Final = 4.0
"""The soft limit allows `REQUIRED` more questions, plus this many times that number."""

FAILED_TASK_TOLERANCE: Final = 1.0
"""The hard limit is the number of questions at the soft limit, plus this many times that number."""

MAX_TIME: Final = 10_000
"""Time limit in steps; an instance fails at the first silence after it."""


@attrs.frozen
class MicroRules:
    """The constants of one task.

    Attributes:
        required: rewards in a row that solve an instance.
        success_tolerance: see `SUCCESS_TOLERANCE`.
        failed_task_tolerance: see `FAILED_TASK_TOLERANCE`; some sentence tasks allow 2.0.
        max_time: see `MAX_TIME`, in steps.
    """

    required: int = REQUIRED
    success_tolerance: float = SUCCESS_TOLERANCE
    failed_task_tolerance: float = FAILED_TASK_TOLERANCE
    max_time: int = MAX_TIME


DEFAULT_RULES: Final = MicroRules()
LENIENT_RULES: Final = MicroRules(failed_task_tolerance=2.0)


@attrs.define(eq=False)
class Progress:
    """The state of the limits in one instance.

    Attributes:
        asked: number of questions answered, rightly or wrongly.
        streak: number of rewards since the last punishment.
        soft_limit: the last question at which success counts; `None` until the learner should know.
        hard_limit: the last possible question; `None` before the soft limit is passed.
    """

    rules: MicroRules = DEFAULT_RULES
    asked: int = 0
    streak: int = 0
    soft_limit: float | None = None
    hard_limit: float | None = None

    def answered(self, reward: float, should_know: bool) -> bool | None:
        """Count one question.

        Args:
            reward: the reward of the answer; 0 leaves the streak unchanged.
            should_know: whether the learner has seen everything it needs for right answers.

        Returns:
            the result, if the instance ends with this question; else `None`.
        """
        self.asked += 1
        if reward > 0:
            self.streak += 1
            if self.streak >= self.rules.required:
                return self.soft_limit is None or self.asked <= self.soft_limit
        elif reward < 0:
            self.streak = 0
        return self._over_limit(should_know)

    def _over_limit(self, should_know: bool) -> bool | None:
        """Update the limits; return `False` beyond the hard one, else `None`."""
        if self.soft_limit is None:
            if not should_know:
                return None
            self.soft_limit = self.asked + self.rules.required * (1 + self.rules.success_tolerance)
        if self.hard_limit is None:
            if self.asked <= self.soft_limit:
                return None
            self.hard_limit = self.asked * (1 + self.rules.failed_task_tolerance)
        return False if self.asked > self.hard_limit else None


SourceFactory: TypeAlias = Callable[[Random], QuestionSource]
"""Makes the questions of one instance; everything random in them comes from the argument."""

MAX_DRAWN: Final = 10_000
"""The greatest number of items that a task draws and keeps; typical are 2 to 10."""

_PUNISHMENT = -1
RULES: Final = tuple(field.name for field in attrs.fields(MicroRules))
"""Constants of every micro-task."""

_IN_CALL = inspect.Parameter.KEYWORD_ONLY


class MicroTask(ByteTask):
    """A micro-task of round 1: questions until the learner answers a streak of them or fails.

    Attributes:
        id: the name of the task, such as `micro5.18`.
        fixes: repair the quirks of the original that `docs/round1.md` lists (Q10, Q15); read at each reset.
    """

    source: QuestionSource

    def __init__(
        self,
        task_id: str,
        make_source: SourceFactory,
        rules: MicroRules = DEFAULT_RULES,
        *,
        fixes: bool = False,
    ) -> None:
        self.id = task_id
        self.rules = rules
        self.fixes: bool = fixes
        self.progress: Progress = Progress(rules)
        self._make_source = make_source
        self._timed_out = False

    def script(self, rng: Random) -> Script:
        """Run one instance: questions until the streak, the limits or the time end it."""
        self.source = source = self._make_source(rng)
        source.fixes = self.fixes
        self.progress = progress = Progress(self.rules)
        self._timed_out = False
        max_time = self.rules.max_time
        heard = bytearray()
        text = source.draw()
        while True:
            # Trailing spaces count as silence: the learner may answer into them.
            loud = text.rstrip(b" ")[:-1] if len(text) > 1 else b""
            if loud:
                yield from self._say_over(loud)
            heard.clear()
            byte = text[len(loud)]
            verdict = None
            while verdict is None:
                heard.append((yield byte))
                if self._num_steps_taken >= max_time:
                    self._timed_out = True
                    verdict = None if self.fixes else source.judge(heard)
                    if verdict is None:
                        return False
                    break
                verdict = source.judge(heard)
                byte = SILENCE
            correct, self._reward = verdict
            # A soft limit is never withdrawn, so with one the source need not be asked.
            known = progress.soft_limit is not None or source.should_know(correct)
            result = progress.answered(self._reward, known)
            text = source.feedback(correct)
            if result is None:
                text += source.draw()
                result = False if self._timed_out else None
            if result is not None:
                yield from self._close(text)
                return result

    def _say_over(self, text: bytes) -> Generator[int, int, None]:
        """Send a text that has a continuation; replies to it cost 1 and break the streak."""
        for byte in text:
            if (yield byte) != SILENCE:
                self._reward = _PUNISHMENT
                self.progress.streak = 0

    def _close(self, text: bytes) -> Generator[int, int, None]:
        """Send the last feedback, if any, after the result is final."""
        streak = self.progress.streak
        if text:
            yield from self._say_over(text[:-1])
            yield text[-1]
        self.progress.streak = streak  # the deciding one; replies to the feedback do not count

    def follow_rules(self, revisions: Mapping[str, int]) -> str | None:
        """Take the rules of a recorded match.

        Revision 1 always had the repairs.
        """
        self.fixes = self.fixes or revision_of(revisions, ROUND1) == 1
        return unknown_revision(revisions, ROUND1)

    def metrics(self) -> dict[str, Any]:
        """Return length and reward of the instance, and the state of its limits."""
        progress = self.progress
        return super().metrics() | {
            "asked": progress.asked,
            "streak": progress.streak,
            "soft_limit": progress.soft_limit,
            "hard_limit": progress.hard_limit,
            "timed_out": self._timed_out,
        }


@attrs.frozen
class MicroRow:
    """A micro-task as catalog and configurations know it.

    Attributes:
        source: called for each instance with the words, if it `has_words`, and a generator of random
            numbers; or a class, called with the words once for each task.
        settings: the least and the greatest value of each setting of the questions, `None` for no limit; the
            arguments of `source` by keyword, all of them.
        has_words: the questions have words of a vocabulary.

    Raises:
        TypeError: arguments of `source` are missing in the settings, or the other way round.
    """

    source: Callable[..., Any]
    settings: Mapping[str, tuple[int, int | None]] = attrs.field(factory=dict, kw_only=True)
    rules: MicroRules = attrs.field(default=DEFAULT_RULES, kw_only=True)
    has_words: bool = attrs.field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        parameters = inspect.signature(self.source).parameters
        given = self.source.keywords if isinstance(self.source, partial) else {}
        taken = {name for name in parameters if parameters[name].kind is _IN_CALL} - given.keys()
        if taken != self.settings.keys():
            raise TypeError(f"{self.source}: settings {sorted(self.settings)}, arguments {sorted(taken)}")

    def questions(self, words: Vocabulary | None = None, **settings: Any) -> SourceFactory:
        """Return the source of the questions of one task.

        Args:
            settings: those that differ from the default.
        """
        if not self.has_words:
            return partial(self.source, **settings)
        words = words or default_vocabulary()
        is_class = isinstance(self.source, type)
        return self.source(words, **settings) if is_class else partial(self.source, words, **settings)

    def make(
        self, task_id: str, words: Vocabulary | None = None, *, fixes: bool = False, **settings: Any
    ) -> MicroTask:
        """Return a new task.

        Args:
            settings: settings of the questions and fields of `MicroRules` that differ from the default.
        """
        rules = {name: settings.pop(name) for name in RULES if name in settings}
        source = self.questions(words, **settings)
        return MicroTask(task_id, source, attrs.evolve(self.rules, **rules), fixes=fixes)
