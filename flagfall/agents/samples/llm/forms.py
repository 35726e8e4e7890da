"""Forms of a model's answers: what is asked for, as text and as JSON Schema, and the strict reader.

An answer is one JSON object with one field and nothing else: an action, or what to say. Actions are numbers,
which may have names, and lists and objects of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from flagfall.errors import FlagfallError, UsageError
from flagfall.kernel.descriptions import MAX_NAMED_ACTIONS

MAX_SPEECH_CHARS: Final = 200
"""Longest text that the model may say at once: 200 turns of a byte task."""

_BYTES: Final = 256


class InvalidAnswer(FlagfallError):
    """An answer that is not an action; the message goes into the next prompt."""


@attrs.frozen
class AnswerForm:
    """Form of an answer.

    Attributes:
        example: asks for it, with an example.
        schema: JSON Schema of the object.
        read: returns the action in a text; raises `InvalidAnswer`.
        choices: the actions as text; empty for a text to say.
        first: the first of the actions.
    """

    example: str
    schema: dict[str, Any]
    read: Callable[[str], Any]
    choices: str = ""
    first: Any = None


def speech_form() -> AnswerForm:
    """Return the form of an answer that is a text to say."""
    example = 'Answer such as {"say": "hello."}; with {"say": ""} you go on listening.'
    return AnswerForm(example, _object({"say": {"type": "string"}}), read_speech)


def action_form(
    space: Mapping[str, Any], legal: Sequence[int] | None = None, names: Sequence[str] = ()
) -> AnswerForm:
    """Return the form of an answer that is an action.

    Args:
        space: the action space, as `flagfall.kernel.spaces` describes it.
        legal: the numbers that may be played now; `None` for all.
        names: of numbered actions, from the first one on; those of the task.

    Raises:
        UsageError: the space has other parts than numbers.
    """
    values = _values_of(space, legal, names)
    return AnswerForm(
        f'Answer such as {{"action": {_json(values.example)}}}.',
        _object({"action": values.schema}),
        lambda text: values.read(_field(text, "action")),
        values.choices,
        values.read(values.example),
    )


@attrs.frozen
class _Values:
    """Values that a part of an action may have.

    Attributes:
        example: one of them, as the model is to write it.
        read: returns the value that the model wrote; raises `InvalidAnswer`.
    """

    choices: str
    schema: dict[str, Any]
    example: Any
    read: Callable[[Any], Any]


def _values_of(space: Mapping[str, Any], legal: Sequence[int] | None, names: Sequence[str]) -> _Values:
    match space:
        case {"type": "discrete", "start": start, "n": count}:
            numbers = range(start, start + count) if legal is None else legal
            return _numbers(numbers, {number: names[number - start] for number in numbers} if names else {})
        case {"type": "multi_discrete", "shape": [_], "nvec": counts}:
            return _list([_numbers(range(count), {}) for count in counts])
        case {"type": "dict", "spaces": parts}:
            return _mapping({key: _values_of(part, None, ()) for key, part in parts.items()})
    raise UsageError(
        "a language model plays byte tasks, and games whose actions have numbers, or are made of numbers"
    )


def _numbers(numbers: Sequence[int], names: Mapping[int, str]) -> _Values:
    if not numbers:
        raise UsageError("a language model has no legal action to choose from")
    by_name = {name: number for number, name in names.items()}
    if len(by_name) != len(numbers):  # two actions of one name
        by_name = {}

    def read(value: Any) -> int:
        number = by_name.get(value) if type(value) is str else value
        if type(number) is not int or number not in numbers:
            raise InvalidAnswer(f"{_json(value):.100} is not one of the actions")
        return number

    if not by_name and len(numbers) > MAX_NAMED_ACTIONS:
        least, most = min(numbers), max(numbers)
        schema = {"type": "integer", "minimum": least, "maximum": most}
        return _Values(f"{least} to {most}", schema, numbers[0], read)
    listed = list(by_name or numbers)
    schema = {"type": "string" if by_name else "integer", "enum": listed}
    return _Values(", ".join(map(str, listed)), schema, listed[0], read)


def _list(parts: Sequence[_Values]) -> _Values:
    def read(value: Any) -> list[Any]:
        if type(value) is not list or len(value) != len(parts):
            raise InvalidAnswer(f"{_json(value):.100} is not a list of {len(parts)} numbers")
        return [part.read(one) for part, one in zip(parts, value, strict=True)]

    size = len(parts)
    return _Values(
        "; ".join(f"{place}: {part.choices}" for place, part in enumerate(parts)),
        {"type": "array", "items": {"type": "integer"}, "minItems": size, "maxItems": size},
        [part.example for part in parts],
        read,
    )


def _mapping(parts: Mapping[str, _Values]) -> _Values:
    def read(value: Any) -> dict[str, Any]:
        if type(value) is not dict or value.keys() != parts.keys():
            raise InvalidAnswer(f"{_json(value):.100} is not an object with {', '.join(parts)} alone")
        return {key: part.read(value[key]) for key, part in parts.items()}

    return _Values(
        "; ".join(f"{key}: {part.choices}" for key, part in parts.items()),
        _object({key: part.schema for key, part in parts.items()}),
        {key: part.example for key, part in parts.items()},
        read,
    )


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object in the form that structured outputs take."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def read_speech(text: str) -> str:
    """Return the text that the model says, one byte a character; raises `InvalidAnswer` for other answers."""
    said = _field(text, "say")
    if type(said) is not str:
        raise InvalidAnswer("what it says is not a text")
    if len(said) > MAX_SPEECH_CHARS:
        raise InvalidAnswer(f"more than {MAX_SPEECH_CHARS} characters")
    if any(ord(char) >= _BYTES for char in said):
        raise InvalidAnswer("a character that is not a byte")
    return said


def _field(text: str, name: str) -> Any:
    """Return the only field of an answer."""
    try:
        found = msgspec.json.decode(text.strip().encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        found = None
    if type(found) is not dict or found.keys() != {name}:
        raise InvalidAnswer(f'it is not a JSON object with the field "{name}" alone')
    return found[name]
