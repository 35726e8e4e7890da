"""Names of the agents in a Python file, found without importing it."""

from __future__ import annotations

__all__ = ["which_agent"]

import ast
from pathlib import Path
from typing import Final

MAX_FILE_BYTES: Final = 1024 * 1024
"""Longer files are not searched: the names are only for a message."""

_METHODS: Final = frozenset({"act", "reply", "next", "run"})
"""Methods of which an agent has at least one (`flagfall.agents.agent`)."""


def which_agent(file: str) -> str:
    """Return a hint how to name an agent of a file: with the names in it that look like agents.

    Args:
        file: a path that ends in `.py`.
    """
    names = _agents_in(Path(file))
    return f"write {' or '.join(f'{file}:{name}' for name in names or ['Name'])}"


def _agents_in(path: Path) -> list[str]:
    """Return the public classes with a method of an agent, and if there are none, the public functions."""
    try:
        with path.open("rb") as source:
            tree = ast.parse(source.read(MAX_FILE_BYTES))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    public = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_"
    ]
    classes = [node.name for node in public if isinstance(node, ast.ClassDef) and _has_agent_method(node)]
    functions = [node.name for node in public if not isinstance(node, ast.ClassDef) and node.args.args]
    return classes or functions


def _has_agent_method(node: ast.ClassDef) -> bool:
    methods = (part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(method.name in _METHODS for method in methods)
