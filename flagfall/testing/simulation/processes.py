"""The simulated process of an agent and its supervisor, as their host sees them."""

from __future__ import annotations

import signal
from typing import Any, Final

import trio

from flagfall.agents.process.enforcement import AgentReport
from flagfall.agents.process.supervised import SupervisedProcess
from flagfall.agents.process.supervisor import TERM_SECONDS
from flagfall.agents.wire.worker import serve_in_loop
from flagfall.testing.faults import Fault
from flagfall.testing.simulation.injection import Injection
from flagfall.testing.simulation.links import AgentsPipe, Inbox, Link
from flagfall.timing import NowNs
from flagfall.timing.durations import S

_TERM_NS: Final = round(TERM_SECONDS * S)


class SimulatedProcess:
    """The process of a supervisor, and below it that of an agent.

    It behaves as `flagfall.agents.process.supervisor` describes it: it ends as the agent does, and when it is
    asked to (SIGTERM), it ends the agent before.

    Args:
        agent: the agent, of any kind that the event loop plays.
        link: its standard input and output.

    Attributes:
        returncode: how the supervisor ended; `None` while it runs.
        agent_runs: the agent's process has not ended.
        agent_ended: set when it has.
        stderr: what the agent prints.
        pid: 0, as there is no process.
    """

    pid = 0
    stdin = stdout = None

    def __init__(self, agent: Any, link: Link, injection: Injection) -> None:
        self.returncode: int | None = None
        self.agent_runs: bool = True
        self._agent = agent
        self._link = link
        self._injection = injection
        self._ended = trio.Event()
        self._scope = trio.CancelScope()
        self._is_stopped = self._is_asked = False
        self.stderr: _Prints = _Prints(injection.now)
        self.agent_ended: trio.Event = trio.Event()

    async def run(self) -> None:
        """Run the agent's program; its end is that of the supervisor, if that still runs."""
        code = 0
        with self._scope:
            failed = await serve_in_loop(AgentsPipe(self._link.agents_end), self._agent, self._injection.now)
            code = int(failed is not None)
        self._end_agent(-signal.SIGKILL if self._scope.cancelled_caught else code)

    def _end_agent(self, code: int) -> None:
        if self.agent_runs:
            self.agent_runs = False
            self._link.agents_end.close()
            self.stderr.inbox.close()
            self.agent_ended.set()
            if not self._is_stopped:
                self._end(code)

    def _end(self, code: int) -> None:
        if self.returncode is None:
            self.returncode = code
            self._ended.set()

    async def wait(self) -> int:
        """Wait for the end of the supervisor."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, sig: signal.Signals) -> None:
        """Do what the supervisor does when it gets a signal."""
        if self.returncode is not None:
            raise ProcessLookupError
        if sig == signal.SIGKILL:
            self._end(-signal.SIGKILL)
        elif sig == signal.SIGCONT:
            self._is_stopped = False
            if not self.agent_runs:
                self._end(-signal.SIGKILL)
        elif sig == signal.SIGTERM:
            self._is_asked = True
        if self._is_asked and not self._is_stopped:
            self._injection.do_at(self._injection.now() + _TERM_NS, self.kill_agent)

    def kill_agent(self) -> None:
        """Kill the agent, and what it started."""
        self._scope.cancel()

    def strike(self, fault: Fault) -> None:
        """Let a fault of the process happen."""
        self._injection.count(fault)
        match fault.kind:
            case "exit":
                self._end_agent(fault.amount)
                self._scope.cancel()
            case "supervisor dies":
                self._end(-signal.SIGKILL)
            case "supervisor stops":
                self._is_stopped = True
            case "prints":
                self.stderr.inbox.put(b"x" * fault.amount)


class _Report(AgentReport):
    """The report of a supervisor on its program, which it makes when it starts it."""

    def __init__(self, process: SimulatedProcess) -> None:
        super().__init__(-1)
        self._process = process

    def pid(self) -> int:
        return int(self._process.agent_runs)

    def close(self) -> None:
        """Do nothing: there is no descriptor."""


class SimulatedSupervised(SupervisedProcess):
    """The host's handle of a simulated process: the real one, which kills by other means."""

    def __init__(self, process: SimulatedProcess) -> None:
        super().__init__(process, "", None, _Report(process))  # type: ignore[arg-type]  # it has what is used
        self._simulated = process

    async def _kill_below(self) -> None:
        await trio.lowlevel.checkpoint()
        self._simulated.kill_agent()

    async def _end_agent(self) -> None:
        if self._simulated.agent_runs:  # it has outlived its supervisor
            await self._kill_below()
            await self._simulated.agent_ended.wait()

    def _take_rest(self, stderr: trio.abc.ReceiveStream) -> None:  # noqa: ARG002 - it is that of the process
        self.prints.add(self._simulated.stderr.take())


class _Prints(trio.abc.ReceiveStream):
    """What an agent prints."""

    def __init__(self, now: NowNs) -> None:
        self.inbox = Inbox(now)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:  # noqa: ARG002 - all that is there
        return await self.inbox.read()

    def take(self) -> bytes:
        return self.inbox.take()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()
