"""Host of a Python agent in a process of its own, which can be stopped whatever it does.

Its parent is a supervisor (`flagfall.agents.process.supervisor`), which ends it with all that it started. Its
isolation is described in `flagfall.agents.process.isolation`.
"""

from __future__ import annotations

__all__ = ["ProcessHost"]

from functools import partial
from pathlib import Path

from flagfall.agents.hosts.subprocess_session import SubprocessHost
from flagfall.agents.process.forking import WORKER
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.process.visible import code_of_spec
from flagfall.agents.spec import AgentSpec


class ProcessHost(SubprocessHost):
    """Runs a Python agent in a process.

    Args:
        spec: the name of a sample, `module:Name` or `file.py:Name`, see `flagfall.agents.spec`.
        name: for tables and records.
        isolation: the isolation of the process.

    Raises:
        UsageError: a sandbox is asked for that cannot be made here, or could not read the agent.
    """

    def __init__(self, spec: str, name: str, isolation: Isolation = DEFAULT_ISOLATION) -> None:
        found = AgentSpec.parse(spec).in_folder(Path.cwd()).text  # a sandbox has another working folder
        super().__init__(name, WORKER, isolation, partial(code_of_spec, found), found)
