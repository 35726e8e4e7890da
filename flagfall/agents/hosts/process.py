"""Host of a Python agent in a process of its own, which can be stopped whatever it does.

Its parent is a supervisor (`flagfall.agents.process.supervisor`), which ends it with all that it started. Its
isolation is described in `flagfall.agents.process.isolation`.
"""

from __future__ import annotations

__all__ = ["ProcessHost"]

from pathlib import Path

from flagfall.agents.hosts.subprocess_session import play_in_subprocess
from flagfall.agents.process.forking import WORKER
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.process.sandbox import check_sandbox_for
from flagfall.agents.process.visible import code_of_spec
from flagfall.agents.spec import AgentSpec
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import Seat


class ProcessHost:
    """Runs a Python agent in a process.

    Args:
        spec: the name of a sample, `module:Name` or `file.py:Name`, see `flagfall.agents.spec`.
        name: for tables and records.
        isolation: the isolation of the process.

    Raises:
        UsageError: a sandbox is asked for that cannot be made here, or could not read the agent.
    """

    kind: HostKind = "process"

    def __init__(self, spec: str, name: str, isolation: Isolation = DEFAULT_ISOLATION) -> None:
        self.name = name
        self._spec = AgentSpec.parse(spec).in_folder(Path.cwd()).text  # a sandbox has another working folder
        self._isolation = isolation
        self._shown = code_of_spec(self._spec) if isolation.kind == "sandbox" else ()
        if isolation.kind == "sandbox":
            check_sandbox_for([*self._shown, *isolation.readable])

    async def run(self, seat: Seat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`.

        Args:
            seat: the seat to play.
            briefing: the information for the agent.
        """
        await play_in_subprocess(WORKER, self._isolation, seat, briefing, agent=self._spec, shown=self._shown)
