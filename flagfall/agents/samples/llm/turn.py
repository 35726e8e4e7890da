"""One turn for which a model is asked, with its note, and what the turns of a match mean for it.

Rule: on the virtual clock a note has the answers of an endpoint, and neither its failures nor its latency. So
    the journal is the same at whatever speed it answers; what failed is in the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Literal, get_args

import attrs
import msgspec

from flagfall.agents.samples.llm.endpoint import Completion, EndpointError, Failure, FailureKind
from flagfall.agents.samples.llm.settings import ModelOptions
from flagfall.kernel.notes import MAX_NOTE_BYTES
from flagfall.kernel.usage import Usage
from flagfall.texts import counted

MAX_FAILED_TURNS: Final = 10
"""Turns without an answer after which a model that has never answered is taken to be unavailable."""

MAX_MODEL_CHARS: Final = 200
"""Longest name of a model in a note."""

_DIGEST_DIGITS: Final = 32

_KEYS_BYTES: Final = 512
"""Room for the names of the texts of a note, and for the numbers of `Usage.as_note`."""


def digest_of(messages: Sequence[Mapping[str, str]]) -> str:
    """Return the digest of the messages of a turn, by which its answer is found again.

    Args:
        messages: without what differs between two matches of one seed: the time that is left, and hints on
            invalid answers.
    """
    return sha256(msgspec.json.encode(messages)).hexdigest()[:_DIGEST_DIGITS]


@attrs.define(eq=False)
class AskedTurn:
    """The question of one turn, and what came of it.

    Attributes:
        question: as it is sent, with the time that is left.
        system: the system message, if no earlier note has it; else empty.
        action: the action in the answer; `None` if it is not valid.
        is_answered: it is valid.
        is_heard: the model has answered, in whatever form.
        failure: the last failure of the endpoint; `None` once the model has answered.
        usage: of all answers; `None` before the first.
    """

    question: str
    digest: str
    system: str = ""
    completion: Completion = attrs.field(factory=lambda: Completion(""))
    action: Any = None
    is_answered: bool = False
    is_heard: bool = False
    failure: Failure | None = None
    problem: str = ""
    usage: Usage | None = None
    is_virtual: bool = False
    counts: Counter[str] = attrs.Factory(Counter)

    @classmethod
    def from_note(cls, note: Mapping[str, Any]) -> AskedTurn:
        """Return a turn that is over, as far as its note tells of the endpoint."""
        is_heard = "answers" in note or "invalid_answers" in note
        asked = cls("", str(note["digest"]), is_heard=is_heard)
        if not is_heard:
            kind: FailureKind = next((kind for kind in get_args(FailureKind) if kind in note), "timed_out")
            asked.failure = Failure(kind, str(note.get("problem", "")))
        return asked

    def take(self, completion: Completion, options: ModelOptions) -> Usage:
        """Take an answer of the model, and return what all answers of the turn used."""
        self.completion = completion
        self.is_heard = True
        self.failure = None
        used = options.priced(completion.usage)
        self.usage = used if self.usage is None else self.usage + used
        return self.usage

    def succeed(self, action: Any) -> None:
        """Take the action of the last answer."""
        self.action = action
        self.is_answered = True
        self.counts["answers"] += 1

    def reject(self, problem: str) -> None:
        """Count the last answer as invalid."""
        self.problem = problem
        self.counts["invalid_answers"] += 1

    def fail(self, failure: Failure) -> None:
        """Count a failure of the endpoint."""
        self.failure = failure
        if not self.is_virtual:
            self.problem = failure.what
            self.counts[failure.kind] += 1

    def note(self, model: str, requests: int, seconds: float) -> dict[str, Any]:
        """Return the note of the turn: the answer in full if it fits, and as much else as there is room for.

        The numbers of `usage` are not in it: `Briefing.think` adds them.

        Args:
            model: its name; empty if that is not known.
            requests: requests of the turn, answered or not.
            seconds: their duration.
        """
        if not self.is_answered:
            self.counts["turns_without_answer"] += 1
        if self.is_virtual:
            requests = 0 if self.usage is None else self.usage.requests
        counts = {"requests": requests, "retries": requests - 1, **self.counts}
        known = {
            **({"model": model[:MAX_MODEL_CHARS]} if model else {}),
            "digest": self.digest,
            **{name: count for name, count in counts.items() if count > 0},
            **({} if self.is_virtual else {"seconds": round(seconds, 6)}),
        }
        found = self.completion
        texts = {"answer": found.text, "problem": self.problem}
        more = {"prompt": self.question, "system": self.system, "reasoning": found.reasoning}
        return _fitted(texts, more, found.tool_calls, known)


def _fitted(
    whole: Mapping[str, str], cut: Mapping[str, str], calls: Sequence[Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a note of at most `MAX_NOTE_BYTES`.

    Args:
        whole: texts that are cut only where nothing else has room; `answer_is_cut` tells of the answer.
        cut: texts of which each has half of the room that is left.
        calls: calls of functions, left out where they have no room.
    """
    texts: dict[str, Any] = {}
    room = MAX_NOTE_BYTES - len(msgspec.json.encode(known)) - _KEYS_BYTES
    for name, text in whole.items():
        texts[name] = _cut(text, room)
        room -= _size(texts[name])
    is_cut = texts["answer"] != _clean(whole["answer"])
    if calls and _size(calls) <= room // 2:
        texts["tool_calls"] = calls
        room -= _size(calls)
    for name, text in cut.items():
        texts[name] = _cut(text, room // 2)
        room -= _size(texts[name])
    order = ("prompt", "system", "reasoning", "tool_calls", "answer", "problem")
    note = {name: texts[name] for name in order if texts.get(name)}
    return {**note, **({"answer_is_cut": True} if is_cut else {}), **known}


def _clean(text: str) -> str:
    """Return a text without lone surrogates, which no JSON holds."""
    return text.encode("utf-8", "replace").decode()


def _cut(text: str, room: int) -> str:
    """Return the beginning of a text that takes at most so many bytes of JSON."""
    text = _clean(text)[: max(0, room)]
    while _size(text) > room and text:
        text = text[: len(text) * 3 // 4]
    return text


def _size(value: Any) -> int:
    return len(msgspec.json.encode(value))


@attrs.define(eq=False)
class Availability:
    """What came of the questions of a match, by which it may end for the agent.

    Attributes:
        on_failure: see `ModelOptions`.
        heard: the model has answered, in whatever form.
        turns: turns in which it was asked.
        failed: those in which the endpoint failed.
        last: the last failure of the endpoint.
        is_patient: it is waited for the endpoint for so long that a turn in which it fails is none of the
            model's: on the virtual clock.
    """

    on_failure: Literal["auto", "nil", "end"]
    heard: bool = False
    turns: int = 0
    failed: int = 0
    last: Failure | None = None
    is_patient: bool = False

    def add(self, asked: AskedTurn) -> None:
        """Add a turn; raises `EndpointError` if the match ends with it for the agent."""
        self.heard = self.heard or asked.is_heard
        self.turns += 1
        if asked.failure is None:
            return
        self.failed += 1
        self.last = asked.failure
        is_dead = self.last.permanent or self.failed >= MAX_FAILED_TURNS
        is_end = self.is_patient or (not self.heard and is_dead)
        if self.on_failure == "end" or (self.on_failure == "auto" and is_end):
            raise self._error(self.last)

    def close(self) -> None:
        """End the match; raises `EndpointError` if the model has never answered."""
        if self.on_failure == "auto" and not self.heard and self.last is not None:
            raise self._error(self.last)

    def _error(self, last: Failure) -> EndpointError:
        kind = last.kind.replace("_", " ")
        turns = counted(self.turns, "turn")
        return EndpointError(f"no answer in {self.failed} of {turns} ({kind}): {last.what}")
