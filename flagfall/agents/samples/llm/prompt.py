"""Prompts of a language model: templates with fields, and the two that are used by default.

A template is text for `string.Template`: `$rules` and `${rules}` are replaced, `$$` is a dollar sign, and
nothing in it is executed. A line whose fields are all empty is left out. What stands above a line `---` is
the system message.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

import attrs

from flagfall.errors import UsageError, suggest

MAX_TEMPLATE_BYTES: Final = 64 * 1024
"""Longest template: several times the longest rules."""

FIELDS: Final = (
    "system", "task", "player", "rules", "observation", "reward", "lateness", "time", "budget",
    "actions", "form",
)  # fmt: skip
"""The fields of templates, which `docs/language-models.md` explains."""

_SEPARATOR: Final = "---"


@attrs.frozen
class PromptTemplate:
    """A template of the messages of a turn.

    Attributes:
        system: of the first message of each request.
        question: of the last one.
    """

    system: tuple[str, ...]
    question: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, where: str) -> PromptTemplate:
        """Parse a template.

        Args:
            where: names the text in messages.

        Raises:
            UsageError: a field is unknown, or a dollar sign begins none.
        """
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            template = Template(line)
            if not template.is_valid():
                raise UsageError(f"{where}, line {number}: a $ begins no field: write $$ for a dollar sign")
            for name in template.get_identifiers():
                if name not in FIELDS:
                    hint = suggest(name, FIELDS)
                    raise UsageError(f"{where}, line {number}: unknown field ${name}{hint}")
        if _SEPARATOR not in lines:
            return cls(("$system",), tuple(lines))
        place = lines.index(_SEPARATOR)
        return cls(tuple(lines[:place]), tuple(lines[place + 1 :]))

    @classmethod
    def read(cls, path: Path) -> PromptTemplate:
        """Return the template in a file.

        Raises:
            UsageError: the file cannot be read, or is no template.
        """
        try:
            if path.exists() and not path.is_file():  # a pipe would block
                raise UsageError(f"template {path}: it is not a regular file")
            with path.open("rb") as file:
                data = file.read(MAX_TEMPLATE_BYTES + 1)
            text = data.decode()
        except (OSError, ValueError) as error:
            raise UsageError(f"template {path}: {getattr(error, 'strerror', None) or error}") from None
        if len(data) > MAX_TEMPLATE_BYTES:
            raise UsageError(f"template {path}: it has more than {MAX_TEMPLATE_BYTES} bytes")
        return cls.parse(text, f"template {path}")


def fill(lines: tuple[str, ...], values: Mapping[str, str]) -> str:
    """Return a part of a template with its fields replaced.

    Args:
        values: a text for each of `FIELDS`.
    """
    kept = []
    for line in map(Template, lines):
        names = line.get_identifiers()
        if not names or any(values[name] for name in names):
            kept.append(line.substitute(values))
    return "\n".join(kept).encode("utf-8", "replace").decode()  # a task may show what no JSON holds


GAME_SYSTEM: Final = "You play a game, one turn at a time. Answer with one JSON object and nothing else."

GAME: Final = PromptTemplate.parse(
    """\
$system
Game: $task
You are: $player
$rules
---
You see:
$observation
Reward for your last action: $reward
$lateness
You have $time to answer.
Left for the match: $budget
Choose one of these actions: $actions
$form
""",
    "the prompt of games",
)

SPEECH_SYSTEM: Final = (
    "A teacher talks to you, character by character, and you talk to the teacher. It rewards what is right by"
    " a positive number and what is wrong by a negative one; find out what it wants. Answer with one JSON"
    " object and nothing else."
)

SPEECH: Final = PromptTemplate.parse(
    """\
$system
---
The teacher says:
$observation
$lateness
You have $time to answer.
Left for the match: $budget
$form
""",
    "the prompt of byte tasks",
)
