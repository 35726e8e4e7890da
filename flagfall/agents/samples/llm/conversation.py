"""Conversation with a model: its input, of bounded length, and the strict reader of its answers.

An answer is one JSON object with one field and nothing else: an action, or what to say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import msgspec

from flagfall.errors import FlagfallError

MAX_SPEECH_CHARS: Final = 200
"""Longest text that the model may say at once: 200 turns of a byte task."""

_BYTES: Final = 256


class InvalidAnswer(FlagfallError):
    """An answer that is not an action; the message goes into the next prompt."""


class _Speech(msgspec.Struct, forbid_unknown_fields=True):
    say: str


class _Move(msgspec.Struct, forbid_unknown_fields=True):
    action: int


@attrs.frozen
class AnswerForm:
    """Form of an answer.

    Attributes:
        read: returns the action in a text; raises `InvalidAnswer`.
    """

    example: str
    schema: dict[str, Any]
    read: Callable[[str], Any]


def action_form(legal: Sequence[int]) -> AnswerForm:
    """Return the form of an answer that is one of some numbers."""
    values: dict[str, Any] = {"type": "integer", "minimum": min(legal), "maximum": max(legal)}
    if len(legal) <= _BYTES:
        values = {"type": "integer", "enum": list(legal)}
    example = f'Answer such as {{"action": {legal[0]}}}.'
    return AnswerForm(example, _schema("action", values), lambda text: read_move(text, legal))


def speech_form() -> AnswerForm:
    """Return the form of an answer that is a text to say."""
    example = 'Answer such as {"say": "hello."}; with {"say": ""} you go on listening.'
    return AnswerForm(example, _schema("say", {"type": "string"}), read_speech)


def _schema(name: str, values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: values}, "required": [name], "additionalProperties": False}


def read_move(text: str, legal: Sequence[int]) -> int:
    """Return the action in an answer; raises `InvalidAnswer` if there is none."""
    action: int = _read(text, _Move).action
    if action not in legal:
        raise InvalidAnswer(f"{action} is not one of the actions")
    return action


def read_speech(text: str) -> str:
    """Return the text that the model says, one byte a character; raises `InvalidAnswer` for other answers."""
    said: str = _read(text, _Speech).say
    if len(said) > MAX_SPEECH_CHARS:
        raise InvalidAnswer(f"more than {MAX_SPEECH_CHARS} characters")
    if any(ord(char) >= _BYTES for char in said):
        raise InvalidAnswer("a character that is not a byte")
    return said


def _read(text: str, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(text.strip().encode("utf-8", "replace"), type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError):
        wanted = msgspec.structs.fields(kind)[0].name
        raise InvalidAnswer(f'it is not a JSON object with the field "{wanted}" alone') from None


MAX_CHARS: Final = 32_000
"""Most characters of earlier questions and answers in a request: some 8,000 tokens."""

MAX_HEARD_CHARS: Final = 20_000
"""Most characters that a listener keeps; more than are heard between two questions."""

_SENTENCE_ENDS: Final = ".?!;\n"
_PAUSE: Final = 2
"""Silent bytes in a row that are a pause; a single one separates words."""
_REWARDS: Final = 2
"""Rewards after which an answer is due; a single one ends a task, and the next message follows."""


class Dialogue:
    """Earlier questions and answers, the newest of them."""

    def __init__(self, exchanges: int) -> None:
        self._kept: deque[tuple[str, str]] = deque(maxlen=exchanges)
        self._chars = 0

    def add(self, question: str, answer: str) -> None:
        """Add an exchange; the oldest ones are dropped where there is no room.

        Args:
            question: the question without hints on invalid answers.
        """
        if self._kept.maxlen == 0:
            return
        if len(self._kept) == self._kept.maxlen:
            self._drop()
        self._kept.append((question, answer))
        self._chars += len(question) + len(answer)
        while self._chars > MAX_CHARS:
            self._drop()

    def _drop(self) -> None:
        question, answer = self._kept.popleft()
        self._chars -= len(question) + len(answer)

    def messages(self, system: str, question: str) -> list[dict[str, str]]:
        """Return the messages of a request."""
        said = [("system", system)]
        for exchange in self._kept:
            said += zip(("user", "assistant"), exchange, strict=True)
        return [{"role": role, "content": text} for role, text in (*said, ("user", question))]


class Listener:
    """Collects the bytes of a teacher, and decides when an answer is due.

    An answer is due when the teacher pauses, after a sentence at once and otherwise after two silent bytes;
    at the second reward, as a teacher who pays while it talks expects answers while it talks; and in any case
    when `most` bytes were heard, as a teacher may never pause, or may wait in silence.
    """

    def __init__(self, silence: int, most: int) -> None:
        self._silence = silence
        self._most = most
        self._heard: deque[str] = deque(maxlen=MAX_HEARD_CHARS)
        self._bytes = 0
        self._silent = 0
        self._rewards = 0
        self._is_new = False
        self._last = ""

    def hear(self, byte: int, reward: float) -> None:
        """Take the next byte."""
        if reward:
            self._heard.append(f"\n[reward {reward:g}]\n")
            self._rewards += 1
        self._heard.append(chr(byte))
        self._bytes += 1
        if byte == self._silence:
            self._silent += 1
        else:
            self._silent, self._is_new, self._last = 0, True, chr(byte)

    def is_due(self) -> bool:
        """Return whether the model is to be asked now."""
        if self._bytes >= self._most or self._rewards >= _REWARDS:
            return True
        pause = 1 if self._last in _SENTENCE_ENDS else _PAUSE
        return self._is_new and self._silent >= pause

    def take(self) -> str:
        """Return what was heard since the last time."""
        text = "".join(self._heard)
        self._heard.clear()
        self._bytes = self._silent = self._rewards = 0
        self._is_new = False
        return text
