"""`flagfall new`."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Final, Literal

from flagfall.errors import HostFault, UsageError

_TEMPLATES: Final = Path(__file__).parent.parent / "templates"
_ENDINGS: Final = {"agent": ".py", "task": ".py", "plan": ".toml"}
_NEXT: Final = {
    "agent": "flagfall run --task micro1 --steps 2000 --agent {file}:{name}",
    "task": "flagfall run --agent random --task {file}:{name}",
    "plan": "flagfall tournament {file}",
}


def new(kind: Literal["agent", "task", "plan"], name: Path, /) -> None:
    """Write a commented file to start from, and print the command that plays it.

    Args:
        kind: The kind of file.
        name: The file, such as `bot.py` or `cup.toml`; an extension that is left out is added. A file that is
            there is not overwritten. The class in it is named after the file.
    """
    ending = _ENDINGS[kind]
    path = name if name.suffix == ending else name.with_name(name.name + ending)
    stem = path.stem
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", stem) or keyword.iskeyword(stem):
        example = f"my_{kind}{ending}"
        raise UsageError(f"new {kind} {name}: write a name of letters, digits, _ and -, such as {example}")
    title = stem if kind == "plan" else "".join(part.capitalize() for part in re.split(r"[_-]", stem))
    words = {"file": str(path), "name": title}
    template = (_TEMPLATES / f"{kind}.txt").read_text()
    try:
        with path.open("x") as file:
            file.write(template.format(**words))
    except FileExistsError:
        raise UsageError(f"{path} exists: choose another name, or remove it first") from None
    except OSError as error:
        raise HostFault(f"{path} cannot be written: {error.strerror or error}") from error
    print(f"{path} is written. Play it with:\n    {_NEXT[kind].format(**words)}")
