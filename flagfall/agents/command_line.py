"""Splitting of command lines, as a shell would, without running one."""

from __future__ import annotations

__all__ = ["split_command"]

import shlex
import shutil

from flagfall.errors import UsageError


def split_command(command: str) -> list[str]:
    """Return the words of a command.

    Args:
        command: a program and its arguments.

    Raises:
        UsageError: the command is empty, a quotation mark is missing, or there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"command {command!r}: {error}") from None
    if not words:
        raise UsageError("the command is empty: write a program, with its arguments")
    if shutil.which(words[0]) is None:
        raise UsageError(f"command {command!r}: there is no program {words[0]!r} to run")
    return words
