"""Host of a program in any language, which speaks the agent protocol over its standard input and output.

It runs under a supervisor and isolated, as Python agents in processes do (`flagfall.agents.hosts.process`).
`docs/protocol.md` describes how to write one.
"""

from __future__ import annotations

__all__ = ["CommandHost"]

import shutil
from functools import partial
from pathlib import Path

from flagfall.agents.command_line import split_command
from flagfall.agents.hosts.subprocess_session import SubprocessHost
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.process.visible import code_of_command
from flagfall.agents.spec import agent_name


class CommandHost(SubprocessHost):
    """Runs a program that speaks the agent protocol.

    Args:
        command: the program and its arguments, split as a shell would, without running one.
        name: for tables and records; by default that of the program.
        isolation: the isolation of the process. In a sandbox it can read the program and the files among its
            arguments, and what `isolation.readable` names.

    Raises:
        UsageError: there is no such program, or a sandbox is asked for that cannot be made here.
    """

    def __init__(
        self, command: str, name: str | None = None, isolation: Isolation = DEFAULT_ISOLATION
    ) -> None:
        program, *arguments = split_command(command)
        words = [str(Path(shutil.which(program) or program).absolute()), *arguments]
        name = name or agent_name(f"cmd:{command}")
        super().__init__(name, words, isolation, partial(code_of_command, words))
