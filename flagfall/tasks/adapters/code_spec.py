"""Texts that name a task's code: `mytask.py:MyTask`, `package.module:MyTask`, with options `?size=3`. Pure.

Such a text is recognised by its form alone; ids of `flagfall.tasks.catalog.FAMILIES` come first.
"""

from __future__ import annotations

__all__ = ["CodeSpec"]

from pathlib import Path

import attrs


@attrs.frozen
class CodeSpec:
    """A parsed text that names a task's code.

    Attributes:
        place: the module, or a path that ends in `.py`.
        member: the name of a class or function in it; dots lead into classes.
        options: the text after the question mark, with it; empty if there is none.
    """

    place: str
    member: str
    options: str = ""

    @classmethod
    def parse(cls, task_id: str) -> CodeSpec | None:
        """Return the parts of a text; `None` if it does not have this form.

        Args:
            task_id: the text of a task that is of no family.
        """
        name, mark, rest = task_id.partition("?")
        place, colon, member = name.rpartition(":")
        if not colon or not _is_dotted(member):
            return None
        return cls(place, member, mark + rest) if place.endswith(".py") or _is_dotted(place) else None

    @property
    def is_file(self) -> bool:
        """True for code that is named by its file."""
        return self.place.endswith(".py")

    def in_folder(self, folder: Path) -> str:
        """Return the text with an absolute path, where it names a file.

        Args:
            folder: the folder to which relative paths refer.
        """
        place = str((folder / self.place).resolve()) if self.is_file else self.place
        return f"{place}:{self.member}{self.options}"


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
