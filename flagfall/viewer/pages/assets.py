"""Scripts and styles of the package: joined into one text for files that stand alone.

Rule 1: a module imports by name from a relative path, `import { a, b } from "./x.js";`, and exports
    declarations, `export function a`. So joining needs no parser of JavaScript.
Rule 2: the modules of a bundle share one scope; two that declare the same name at top level are refused.
"""

from __future__ import annotations

__all__ = ["STATIC", "AssetError", "bundle", "module_graph", "stylesheet"]

import re
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Final

STATIC: Final = Path(__file__).parent.parent / "static"
"""Folder of the scripts and styles; a server offers its files as `/static/...`."""

_IMPORT = re.compile(r'^import \{([\w$,\s]*)\} from "(\.\.?/[\w./-]+\.js)";\n', flags=re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|const\b|let\b)", flags=re.MULTILINE)
_UNJOINABLE = re.compile(r"^(?:import\b|export\b).*", flags=re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:(?:async )?function\*?|class|const|let|var)\s+(?:([\w$]+)|\{([^}]*)\}|\[([^\]]*)\])",
    flags=re.MULTILINE,
)
_ENDS_SCRIPT = re.compile(r"</script|<!--", flags=re.IGNORECASE)


class AssetError(ValueError):
    """A file of the package that cannot be part of a page: a defect of the package."""


@cache
def _source(name: str) -> str:
    path = STATIC / name
    if normpath(name) != name or name.startswith(("/", "..")) or not path.is_file():
        raise AssetError(f"{name}: no such file in {STATIC}")
    return path.read_text(encoding="utf-8")


def _imports(name: str) -> list[tuple[str, list[str]]]:
    """Return the modules that a module imports, each with the imported names."""
    return [
        (normpath(join(dirname(name), path)), [part.strip() for part in names.split(",") if part.strip()])
        for names, path in _IMPORT.findall(_source(name))
    ]


def _declared(source: str) -> set[str]:
    """Return the names that a module declares at top level: in lines that are not indented."""
    found: set[str] = set()
    for single, *several in _DECLARED.findall(source):
        found |= {single} if single else set(re.findall(r"[\w$]+", "".join(several)))
    return found


def module_graph(entry: str) -> list[str]:
    """Return an ES module and all that it imports, each after those that it imports.

    Args:
        entry: path of a module inside `STATIC`, such as `replay/main.js`.

    Raises:
        AssetError: a file is missing, or modules import each other in a circle.
    """
    done: list[str] = []
    open_: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if name in open_:
            raise AssetError(f"{name}: modules import each other: {', '.join(open_)}")
        open_.append(name)
        for imported, _ in _imports(name):
            visit(imported)
        open_.pop()
        done.append(name)

    visit(normpath(entry))
    return done


def _joined(name: str, exported: dict[str, set[str]]) -> str:
    """Return the text of one module without its imports and the word `export`."""
    source = _source(name)
    for path, names in _imports(name):
        if missing := set(names) - exported[path]:
            raise AssetError(f"{name}: {path} exports no {', '.join(sorted(missing))}")
    text = _EXPORT.sub("", _IMPORT.sub("", source))
    if bad := _UNJOINABLE.search(text):
        raise AssetError(f"{name}: this form of import or export cannot be joined: {bad[0]}")
    if bad := _ENDS_SCRIPT.search(text):
        raise AssetError(f"{name}: {bad[0]} would end the script in a page")
    return text


@cache
def bundle(entry: str) -> str:
    """Join an ES module and all that it imports into the text of one script.

    Args:
        entry: path of a module inside `STATIC`, such as `replay/main.js`.

    Raises:
        AssetError: a file is missing, holds a form of import or export that cannot be joined, imports a name
            that is not exported, or declares a top-level name that another module of the bundle has.
    """
    owner: dict[str, str] = {}
    exported: dict[str, set[str]] = {}
    parts: list[str] = []
    for name in module_graph(entry):
        source = _source(name)
        for declared in sorted(_declared(source)):
            if (other := owner.setdefault(declared, name)) != name:
                raise AssetError(f"{name}: {other} declares {declared} too")
        exported[name] = _declared("\n".join(re.findall(r"^export .*", source, flags=re.MULTILINE)))
        parts.append(f"// {name}\n{_joined(name, exported)}")
    return "\n".join(parts)


@cache
def stylesheet(*names: str) -> str:
    """Join style sheets into one text.

    Args:
        names: paths inside `STATIC`, such as `common/theme.css`, in the order in which they apply.

    Raises:
        AssetError: a file is missing, or loads another file.
    """
    text = "\n".join(_source(name) for name in names)
    if bad := re.search(r"@import|</style", text, flags=re.IGNORECASE):
        raise AssetError(f"{', '.join(names)}: {bad[0]} cannot stand in a page")
    return text
