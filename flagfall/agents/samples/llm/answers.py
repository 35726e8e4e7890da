"""Answers of a model: the form that is requested, and its strict reader. Pure.

An answer is one JSON object with one field and nothing else: an action, or what to say.
"""

from __future__ import annotations

__all__ = [
    "MAX_SPEECH_CHARS",
    "AnswerForm",
    "InvalidAnswer",
    "action_form",
    "read_move",
    "read_speech",
    "speech_form",
]

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
        example: an example for the prompt.
        schema: JSON Schema of the object.
        read: returns the action in a text; raises `InvalidAnswer`.
    """

    example: str
    schema: dict[str, Any]
    read: Callable[[str], Any]


def action_form(legal: Sequence[int]) -> AnswerForm:
    """Return the form of an answer that is one of some numbers.

    Args:
        legal: the legal actions; at least one.
    """
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
    return {
        "type": "object",
        "properties": {name: values},
        "required": [name],
        "additionalProperties": False,
    }


def read_move(text: str, legal: Sequence[int]) -> int:
    """Return the action in an answer.

    Args:
        text: the answer.
        legal: the legal actions.

    Raises:
        InvalidAnswer: there is none.
    """
    action: int = _read(text, _Move).action
    if action not in legal:
        raise InvalidAnswer(f"{action} is not one of the actions")
    return action


def read_speech(text: str) -> str:
    """Return the text that the model says, one byte for each character.

    Args:
        text: the answer.

    Raises:
        InvalidAnswer: there is none, or it is too long.
    """
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
