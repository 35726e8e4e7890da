"""The loop of every micro-task: ask, listen, reward, give feedback, ask again.

Rule 1: whatever the learner says while something but spaces is still unsaid costs 1 and is no answer.
    What it replies to the last byte of a text is the first byte of its answer; there is no time to think.
Rule 2: feedback and the next question are one stream, and the reward comes with its first byte.
Rule 3: the result stands when the last question is judged. Feedback is still said to its end, and talking
    into it still costs; what is said to its last byte is dropped.
Rule 4: time runs out only in silence, and the result is `False`. The byte heard then is still judged: if it
    ends an answer, the reward is paid, and feedback and one question more are said, though nothing can answer
    it; if it completes the streak, the result is `True`. With `fixes` that byte is dropped.
"""

from __future__ import annotations

__all__ = ["MicroTask", "SourceFactory"]

from collections.abc import Callable, Generator, Mapping
from random import Random
from typing import Any, TypeAlias

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.commai.micro.limits import DEFAULT_RULES, MicroRules, Progress
from flagfall.tasks.commai.micro.questions import QuestionSource
from flagfall.tasks.rule_revisions import ROUND1, is_first_revision, unknown_revision

SourceFactory: TypeAlias = Callable[[Random], QuestionSource]
"""Makes the questions of one instance; all that is random in them comes from the argument."""

_PUNISHMENT = -1


class MicroTask(ByteTask):
    """A micro-task of round 1: questions from a source until the learner masters them or fails.

    Attributes:
        id: the name of the task, such as `micro5.18`.
        rules: the constants in force.
        fixes: repair the quirks of the original that `docs/round1.md` lists (Q10, Q15); read at each reset.
        source: the questions of the present instance.
        progress: how far the present instance has come.
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
        self.fixes = fixes
        self.progress = Progress(rules)
        self._make_source = make_source
        self._timed_out = False

    def script(self, rng: Random) -> Script:
        """One instance: questions until the limits, the streak or the time end it."""
        self.source = source = self._make_source(rng)
        source.fixes = self.fixes
        self.progress = progress = Progress(self.rules)
        self._timed_out = False
        max_time = self.rules.max_time
        heard = bytearray()
        text = source.draw()
        while True:
            # Trailing spaces are silence: the learner may answer into them, so listening says them.
            loud = text.rstrip(b" ")[:-1] if len(text) > 1 else b""
            if loud:
                yield from self._say_over(loud)
            heard.clear()
            byte = text[len(loud)]
            verdict = None
            while verdict is None:
                heard.append((yield byte))
                if self._steps >= max_time:
                    self._timed_out = True
                    verdict = None if self.fixes else source.judge(heard)
                    if verdict is None:
                        return False
                    break
                verdict = source.judge(heard)
                byte = SILENCE
            correct, self._reward = verdict
            # A soft limit stands for good, so once there is one nobody needs to ask what should be known.
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
        """Say a text with more to follow; talking into it costs and breaks the streak."""
        for byte in text:
            if (yield byte) != SILENCE:
                self._reward = _PUNISHMENT
                self.progress.streak = 0

    def _close(self, text: bytes) -> Generator[int, int, None]:
        """Say the last feedback, if any, when the result stands."""
        streak = self.progress.streak
        if text:
            yield from self._say_over(text[:-1])
            yield text[-1]
        self.progress.streak = streak  # the one that decided, whatever was said into the feedback

    def follow_rules(self, revisions: Mapping[str, int]) -> str | None:
        """Take the rules of a recorded match; returns why that is impossible.

        The first revision had the repairs, always.
        """
        self.fixes = self.fixes or is_first_revision(revisions, ROUND1)
        return unknown_revision(revisions, ROUND1)

    def metrics(self) -> dict[str, Any]:
        """Length and reward of the instance, and how it stood with the limits when it ended."""
        progress = self.progress
        return super().metrics() | {
            "asked": progress.asked,
            "streak": progress.streak,
            "soft_limit": progress.soft_limit,
            "hard_limit": progress.hard_limit,
            "timed_out": self._timed_out,
        }
