"""Learners of every temper, and a match that lets them play and writes it down for the checker."""

from __future__ import annotations

__all__ = [
    "AGENTS",
    "Anything",
    "Chatty",
    "Noisy",
    "Pupil",
    "Record",
    "Records",
    "Repeating",
    "Silent",
    "Wavering",
    "match",
    "transcript",
]

from collections.abc import Iterator
from random import Random
from typing import Any

from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.catalog import CATALOG
from flagfall.tasks.commai.micro.engine import MicroTask
from flagfall.tasks.commai.micro.questions import TableQuestions
from flagfall.tasks.commai.micro.sentences import SentenceQuestions
from flagfall.tasks.commai.mini.task import MiniTask

Record = dict[str, Any]
Records = list[Record]
SPACE = ord(" ")


class Silent:
    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def begin(self, task: ByteTask) -> None:
        self.task = task

    def reply(self, said: int) -> int:  # noqa: ARG002
        return SPACE


class Noisy(Silent):
    ALPHABET = b"abcdefghijklmnopqrstuvwxyz0123456789   .,;!?:Z"

    def reply(self, said: int) -> int:  # noqa: ARG002
        return self.rng.choice(self.ALPHABET)


class Anything(Silent):
    def reply(self, said: int) -> int:  # noqa: ARG002
        return self.rng.randrange(256)


class Repeating(Silent):
    def reply(self, said: int) -> int:
        return said


class Pupil(Silent):
    """Reads the answers out of the task, keeps quiet while the teacher speaks, errs now and then."""

    RIGHT = 1.0

    def begin(self, task: ByteTask) -> None:
        self.task = task
        self.asks, self.tells = _marks(task)
        self.answer: list[int] | None = None
        self.listening = True

    def reply(self, said: int) -> int:
        if self.answer:
            return self._say()
        if not self.listening:
            self.listening = self.tells == b"" or said == ord(";")
        elif not self.asks or said == ord("."):
            right, wrong = _answers(self.task)
            self.answer = list(right if self.rng.random() < self.RIGHT else wrong)
            return self._say()
        return SPACE

    def _say(self) -> int:
        assert self.answer
        byte = self.answer.pop(0)
        if not self.answer:
            self.listening = self.tells is None
        return byte


class Wavering(Pupil):
    RIGHT = 0.7


class Chatty(Pupil):
    """Knows the answers and sometimes talks into the teacher."""

    def reply(self, said: int) -> int:
        byte = super().reply(said)
        return ord("q") if byte == SPACE and not self.answer and self.rng.random() < 0.04 else byte


AGENTS = [Silent, Noisy, Anything, Repeating, Pupil, Wavering, Chatty]


def _marks(task: ByteTask) -> tuple[bytes, bytes | None]:
    """What ends the questions and the feedback of a task; `None` where there is no feedback."""
    if task.id in {"micro1", "micro2", "micro3", "micro4"}:
        return b"", None
    asks = b"" if task.id in {"micro5.1", "micro5.2"} else b"."
    return asks, b"" if task.id == "micro5.1" else b";"


def _answers(task: ByteTask) -> tuple[bytes, bytes]:
    """A right answer to the present question, and one that is mostly wrong."""
    if isinstance(task, MiniTask):
        return (b"true.", b"false.") if task.example.fits else (b"false.", b"true.")
    assert isinstance(task, MicroTask)
    if isinstance(task.source, SentenceQuestions):
        right = task.source.question.answer.encode()
        return right, b"?" + right[1:]
    assert isinstance(task.source, TableQuestions)
    right = task.source.answer
    return right, right[:-1] + (b"!" if right.endswith(b"?") else b"?")


def match(tasks: list[str] | list[ByteTask], agent: Silent, steps: int, seed: int = 0) -> Iterator[Record]:
    """Plays tasks in turn with nothing but the interface of tasks."""
    made = [CATALOG[task]() if isinstance(task, str) else task for task in tasks]
    t, owed, index = 0, 0, 0
    while True:
        task = made[index % len(made)]
        said = task.reset(seed * 1000 + index)
        index += 1
        agent.begin(task)
        yield {"event": "start", "task": task.id}
        over = False
        while not over:
            answer = agent.reply(said)
            yield {"t": t, "env": chr(said), "reward": owed, "agent": chr(answer)}
            t += 1
            if t == steps:
                yield {"event": "end", "task": task.id, "result": None}
                return
            said, owed, over, _, _ = task.step(answer)
        yield {"event": "end", "task": task.id, "result": task.result()}


def transcript(tasks: list[str], agent: type[Silent], steps: int = 1500, seed: int = 0) -> Records:
    return list(match(tasks, agent(Random(seed)), steps, seed))
