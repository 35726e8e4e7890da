"""The step loop of round 1, written as specification 1.2 to 1.8 and 5.2 have it: channels, events, handlers.

A teacher plays one instance of a script. Unlike the tasks, which are straight programs, a script here is what
it was in the original: handlers of events that run on every token, also when the result is known already.
Drawing and judging are given from outside; what is checked is who hears what, when, and what is paid.
"""

from __future__ import annotations

__all__ = ["MicroScript", "MiniScript", "Teacher"]

from collections.abc import Callable
from typing import Any, Protocol

SILENCE = " "


class Script(Protocol):
    """Handlers of a task, one for each event."""

    def start(self, teacher: Teacher) -> None: ...
    def message(self, teacher: Teacher, token: str) -> None: ...
    def timeout(self, teacher: Teacher) -> None: ...


class Teacher:
    """One environment, from the switch to a task to the switch to the next."""

    def __init__(self, script: Script, max_time: int, *, skip_separator: bool = False) -> None:
        self._script, self._max_time, self._skip_separator = script, max_time, skip_separator
        self.heard = ""
        self._out = ""
        self._priority = 0
        self._time = 0
        self.ended = self._separator_sent = False
        self.result: Any = None
        self._end_reward: Any = None
        self._immediate: Any = None

    def begin(self) -> str:
        """Start the task; the first token."""
        self._script.start(self)
        return self._speak()

    def next(self, token: str) -> tuple[str | None, int]:
        """One call of the environment: its token (`None` for the first one of the next task) and reward."""
        if self.ended:
            return self._next_ended(token)
        if self._time >= self._max_time and not self._out:
            self._script.timeout(self)
            self.ended = True
        self._consume(token)
        if self.ended and not self._out:
            return None, self._paid(None)  # switched at once: the end reward is lost
        return self._speak(), self._paid(None)

    def _next_ended(self, token: str) -> tuple[str | None, int]:
        if self._out:
            self._consume(token)
        elif self._separator_sent or self._skip_separator:
            return None, self._paid(self._end_reward or 0)
        else:
            self._separator_sent = True
        return self._speak(), self._paid(None)

    def _consume(self, token: str) -> None:
        self.heard += token
        self._script.message(self, token)

    def _speak(self) -> str:
        self._time += 1
        token, self._out = (self._out or SILENCE)[0], self._out[1:]
        return token

    def _paid(self, reward: Any) -> int:
        if reward is None and self._immediate is not None:
            reward, self._immediate = self._immediate, None
        return int(reward or 0)

    # What scripts may do.

    @property
    def is_silent(self) -> bool:
        return not self._out.strip(SILENCE)

    def set_message(self, text: str, priority: int = 1) -> None:
        if not self._out or priority >= self._priority:
            self._priority = priority
            self._out += text

    def set_result(self, value: Any, text: str = "", *, as_reward: bool = True) -> None:
        if (self.result is True and value is True) or (self.result is False and value is False):
            return
        if as_reward:
            self._end_reward = value
        self.result = value
        self.ended = True
        self.set_message(text)

    def set_immediate_reward(self, value: int) -> None:
        self._immediate = value

    def ignore_last_char(self) -> None:
        self.heard = self.heard[:-1] + SILENCE


class MiniScript:
    """A mini-task: specification 8.1."""

    def __init__(
        self,
        description: str,
        string: str,
        answer: str,
        praise: Callable[[], str],
        world: Callable[[str], str | None] | None = None,
    ) -> None:
        self._question = f"description: {description}; verify: {string}."
        self._answer, self._praise, self._world = answer, praise, world

    def start(self, teacher: Teacher) -> None:
        teacher.set_message(self._question)

    def message(self, teacher: Teacher, token: str) -> None:
        text = teacher.heard
        reply = self._world(text) if self._world else None
        if reply:
            teacher.set_message(reply, priority=0)
        # The handlers of the task, in the order of their names: check_response, on_any_message.
        if "." in text:
            if text.endswith(f"{self._answer}."):
                teacher.set_result(True, "" if teacher.result is True else self._praise())
            else:
                teacher.set_result(False, self._failure)
        if not teacher.is_silent and token != SILENCE:
            teacher.ignore_last_char()

    def timeout(self, teacher: Teacher) -> None:
        teacher.set_result(False, self._failure)

    @property
    def _failure(self) -> str:
        return f"Wrong. The right answer is: {self._answer}."


class MicroScript:
    """A micro-task: specification 5.2, guard and all.

    Args:
        source: draws questions and judges answers.
        times: 1 + FAILED_TASK_TOLERANCE.
    """

    def __init__(self, source: Any, times: float) -> None:
        self._source, self._times = source, times
        self._asked = self._streak = 0
        self._soft: float | None = None
        self._hard: float | None = None
        self._known = False

    def start(self, teacher: Teacher) -> None:
        self._ask(teacher)
        self._guard = len(self._text)

    def _ask(self, teacher: Teacher) -> None:
        self._text = self._source.draw().decode()
        self._buffer = bytearray()
        teacher.set_message(self._text)

    def message(self, teacher: Teacher, token: str) -> None:
        self._guard -= 1
        if not teacher.is_silent:
            if token != SILENCE:
                self._reward(teacher, -1)
            return
        if self._guard > 1:
            return
        self._buffer.append(ord(token))
        verdict = self._source.judge(self._buffer)
        if verdict is None:
            return
        correct, reward = verdict
        self._reward(teacher, reward)
        self._asked += 1
        self._known = self._known or self._source.should_know(correct)
        teacher.set_message(self._source.feedback(correct).decode())
        if not self._check_end(teacher):
            self._ask(teacher)

    def _reward(self, teacher: Teacher, reward: int) -> None:
        self._streak = self._streak + 1 if reward > 0 else 0
        teacher.set_immediate_reward(reward)

    def _check_end(self, teacher: Teacher) -> bool:
        if self._streak >= 10:
            teacher.set_result(self._soft is None or self._asked <= self._soft, as_reward=False)
            return True
        if self._soft is None and self._known:
            self._soft = self._asked + 50
        if self._hard is None and self._soft is not None and self._asked > self._soft:
            self._hard = self._asked * self._times
        if self._hard is not None and self._asked > self._hard:
            teacher.set_result(False, as_reward=False)
            return True
        return False

    def timeout(self, teacher: Teacher) -> None:
        teacher.set_result(False, as_reward=False)
