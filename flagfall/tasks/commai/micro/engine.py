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

__all__ = ["MAX_DRAWN", "RULES", "MicroRow", "MicroTask", "SourceFactory"]

import inspect
from collections.abc import Callable, Generator, Mapping
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias

import attrs

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.commai.micro.limits import DEFAULT_RULES, MicroRules, Progress
from flagfall.tasks.commai.micro.questions import QuestionSource
from flagfall.tasks.commai.vocabulary import Vocabulary, default_vocabulary
from flagfall.tasks.rule_revisions import ROUND1, revision_of, unknown_revision

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
        rules: the constants of the task.
        fixes: repair the quirks of the original that `docs/round1.md` lists (Q10, Q15); read at each reset.
        source: the questions of the current instance.
        progress: the state of the limits in the current instance.
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
        """Run one instance: questions until the streak, the limits or the time end it.

        Args:
            rng: the source of everything random in the instance.
        """
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

        Args:
            revisions: the revisions in the journal, by family.

        Returns:
            why that is impossible; `None` if it is done.
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
        rules: the constants of the task.
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
            words: the vocabulary; `None` for the one shipped with flagfall.
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
            task_id: its id.
            words: the vocabulary; `None` for the one shipped with flagfall.
            fixes: see `MicroTask`.
            settings: settings of the questions and fields of `MicroRules` that differ from the default.
        """
        rules = {name: settings.pop(name) for name in RULES if name in settings}
        source = self.questions(words, **settings)
        return MicroTask(task_id, source, attrs.evolve(self.rules, **rules), fixes=fixes)
