"""Hosts of agents in processes of their own: Python code, and programs in any language.

Its parent is a supervisor (`flagfall.agents.process.supervisor`), which ends it with all that it started. Its
isolation is described in `flagfall.agents.process.isolation`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import trio

from flagfall.agents.process.forking import WORKER, ForkServerUse
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation, code_of_command, code_of_spec
from flagfall.agents.process.sandbox import check_sandbox_for
from flagfall.agents.process.supervised import SupervisedProcess, prepare_fork_server, run_supervised
from flagfall.agents.spec import AgentSpec, agent_name, split_command
from flagfall.agents.wire.session import CLOSE_SECONDS, ProtocolChannel, WireSession
from flagfall.kernel.channels.pipes import ByteStream, FramedStream
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import HostSeat


class SubprocessHost:
    """Runs a program that speaks the agent protocol.

    Args:
        find_code: returns the files and folders that a sandbox shows, besides those of `isolation`.

    Raises:
        UsageError: a sandbox is asked for that cannot be made here, or could not read the agent.
    """

    kind: HostKind = "process"

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        isolation: Isolation,
        find_code: Callable[[], Sequence[str]],
        agent: str = "",
    ) -> None:
        self.name = name
        self._command = command
        self._isolation = isolation
        self._agent = agent
        self._shown: Sequence[str] = ()
        # One for each match that has warmed up and not ended; it makes no difference which of them it ends.
        self._server_uses: list[ForkServerUse] = []
        if isolation.kind == "sandbox":
            self._shown = find_code()
            check_sandbox_for([*self._shown, *isolation.readable])

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        try:
            await seat.agent.turn()
        except trio.EndOfChannel:
            return
        else:
            play = partial(self._play, seat, briefing)
            await run_supervised(self._command, self._isolation, seat, play, shown=self._shown)
        finally:
            if self._server_uses:
                await self._server_uses.pop().end()

    async def _play(
        self, seat: HostSeat, briefing: Briefing, supervised: SupervisedProcess, pipe: ByteStream
    ) -> None:
        channel, session = ProtocolChannel(FramedStream(pipe)), WireSession(seat, briefing, self._agent)
        await session.start(channel)
        if seat.hold is None:
            seat.clock.use_arrivals(channel.age_ns)
        if seat.budget.control.clock == "cpu":
            seat.clock.cpu_clock = supervised.cpu_clock()
        await session.play(channel)
        await session.end(channel)
        channel.close()
        await supervised.wait_for_exit(CLOSE_SECONDS, patient=True)

    async def warm_up(self) -> None:
        """Wait for the fork server that starts the agent; see `flagfall.kernel.hosting.SharingHost`."""
        use = await prepare_fork_server(self._command, self._isolation)
        if use is not None:
            self._server_uses.append(use)


class CommandHost(SubprocessHost):
    """Runs a program in any language that speaks the agent protocol (`docs/protocol.md`) over its pipes.

    Args:
        command: the program and its arguments, split as a shell would, without running one.
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


class ProcessHost(SubprocessHost):
    """Runs a Python agent in a process.

    Raises:
        UsageError: a sandbox is asked for that cannot be made here, or could not read the agent.
    """

    def __init__(self, spec: str, name: str, isolation: Isolation = DEFAULT_ISOLATION) -> None:
        found = AgentSpec.parse(spec).in_folder(Path.cwd()).text  # a sandbox has another working folder
        super().__init__(name, WORKER, isolation, partial(code_of_spec, found), found)
