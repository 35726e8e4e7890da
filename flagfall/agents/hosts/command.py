"""Host of a program in any language, which speaks the agent protocol over its standard input and output.

It runs under a supervisor and isolated, as Python agents in processes do (`flagfall.agents.hosts.process`).
`docs/protocol.md` describes how to write one.
"""

from __future__ import annotations

__all__ = ["CommandHost"]

import shutil
from pathlib import Path

from flagfall.agents.command_line import split_command
from flagfall.agents.hosts.subprocess_session import play_in_subprocess
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.process.sandbox import check_sandbox_for
from flagfall.agents.process.visible import code_of_command
from flagfall.agents.spec import agent_name
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import Seat


class CommandHost:
    """Runs a program that speaks the agent protocol.

    Args:
        command: the program and its arguments, split as a shell would, without running one.
        name: for tables and records; by default that of the program.
        isolation: the isolation of the process. In a sandbox it can read the program and the files among its
            arguments, and what `isolation.readable` names.

    Raises:
        UsageError: there is no such program, or a sandbox is asked for that cannot be made here.
    """

    kind: HostKind = "process"

    def __init__(
        self, command: str, name: str | None = None, isolation: Isolation = DEFAULT_ISOLATION
    ) -> None:
        program, *arguments = split_command(command)
        self._words = [str(Path(shutil.which(program) or program).absolute()), *arguments]
        self.name = name or agent_name(f"cmd:{command}")
        self._isolation = isolation
        self._shown = code_of_command(self._words) if isolation.kind == "sandbox" else ()
        if isolation.kind == "sandbox":
            check_sandbox_for([*self._shown, *isolation.readable])

    async def run(self, seat: Seat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`.

        Args:
            seat: the seat to play.
            briefing: the information for the agent.
        """
        await play_in_subprocess(self._words, self._isolation, seat, briefing, shown=self._shown)
