"""Names of the agents in a Python file, found without importing it."""

from __future__ import annotations

__all__ = ["check_agent_file", "which_agent"]

import ast
from pathlib import Path
from typing import Final

from flagfall.agents.spec import AgentSpec
from flagfall.code_loader import check_file
from flagfall.errors import UsageError, suggest

MAX_FILE_BYTES: Final = 1024 * 1024
"""Longer files are not searched: the names are only for a message."""

_METHODS: Final = frozenset({"act", "reply", "next", "run"})
"""Methods of which an agent has at least one (`flagfall.agents.agent`)."""


_MAKERS_OF_NAMES: Final = frozenset(
    {"*", "__dict__", "__getattr__", "exec", "globals", "locals", "modules", "setattr", "vars"}
)
"""Names in a file that may give it objects whose names it does not contain."""


def check_agent_file(text: str) -> None:
    """Check that the file of an agent may have it; what it does when it is imported is not known.

    Args:
        text: the text of an agent, of any form; only one that names a file is checked.

    Raises:
        UsageError: there is no such file, or the name of the agent stands nowhere in it.
    """
    spec = AgentSpec.parse(text)
    if not spec.is_file:
        return
    path, name = Path(spec.target), spec.member.partition(".")[0]
    check_file(path, "agent")
    tree = _parsed(path)
    names = {name} if tree is None else {text for node in ast.walk(tree) for text in _names_of(node)}
    if name not in names and not names & _MAKERS_OF_NAMES:
        raise UsageError(f"{path} has no {name!r}{suggest(name, _agents_in(path))}")


def _names_of(node: ast.AST) -> list[str]:
    """Return the names that a node of a syntax tree contains itself."""
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    fields = (getattr(node, field, None) for field in ("id", "name", "attr", "rest"))
    return [text for text in fields if isinstance(text, str)]


def which_agent(file: str) -> str:
    """Return a hint how to name an agent of a file: with the names in it that look like agents.

    Args:
        file: a path that ends in `.py`.
    """
    names = _agents_in(Path(file))
    return f"write {' or '.join(f'{file}:{name}' for name in names or ['Name'])}"


def _agents_in(path: Path) -> list[str]:
    """Return the public classes with a method of an agent, and if there are none, the public functions."""
    tree = _parsed(path)
    if tree is None:
        return []
    public = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_"
    ]
    classes = [node.name for node in public if isinstance(node, ast.ClassDef) and _has_agent_method(node)]
    functions = [node.name for node in public if not isinstance(node, ast.ClassDef) and node.args.args]
    return classes or functions


def _parsed(path: Path) -> ast.Module | None:
    """Return the syntax tree of a file; `None` for one that is too long, or is no Python."""
    try:
        with path.open("rb") as source:
            text = source.read(MAX_FILE_BYTES + 1)
            return ast.parse(text) if len(text) <= MAX_FILE_BYTES else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _has_agent_method(node: ast.ClassDef) -> bool:
    methods = (part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(method.name in _METHODS for method in methods)
