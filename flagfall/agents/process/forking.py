"""Fork servers of this program: one for each environment that agents get, while agents use it.

`flagfall.agents.fork_server` is the server. Where it cannot be used, because it was killed, stopped or cannot
be started, an agent is started as a program of its own instead.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Self

import attrs
import trio
from trio.lowlevel import FdStream, wait_readable

from flagfall.agents.process.enforcement import AgentReport
from flagfall.agents.process.supervisor import status_of
from flagfall.errors import FlagfallError
from flagfall.kernel.channels.pipes import open_stamped_pipe
from flagfall.timing.clocks import real_limit, real_sleep

WORKER: Final = (sys.executable, "-m", "flagfall.agents")
"""The program that plays a Python agent; with `--check SPEC` it only loads one."""

START_SECONDS: Final = 30.0
"""Maximum time for a fork: the server imports for a third of a second first, on a busy machine for longer."""

LOOK_SECONDS: Final = 0.1
"""The interval at which a server that does not answer is checked for having been stopped or killed."""

RETRY_SECONDS: Final = 0.005
"""The pause before the next attempt while the queue of requests is full."""

_STOPPED: Final = frozenset("TtZX")
"""States of processes that were stopped or traced, or have ended."""

_PID_BYTES: Final = 32


class ForkServerError(FlagfallError):
    """The fork server started no process; nothing of the request was used."""


@attrs.define(eq=False)
class ForkedProcess:
    """A supervisor that a fork server started, with the part of `trio.Process` that its host uses.

    Args:
        descriptor: a descriptor of the process, closed with `close`.
    """

    pid: int
    _descriptor: int
    stdin: FdStream
    stdout: FdStream
    stderr: FdStream
    _report: AgentReport
    _returncode: int | None = attrs.field(default=None, init=False)
    _waiting: trio.Lock = attrs.field(factory=trio.Lock, init=False)

    @property
    def returncode(self) -> int | None:
        """Return the exit code of the agent, or minus a signal, once the supervisor has ended."""
        if self._returncode is None and self.has_ended():
            code = self._report.exit_code()
            self._returncode = -signal.SIGKILL if code is None else code  # no report: it was killed
        return self._returncode

    async def wait(self) -> int:
        """Wait for the end of the supervisor; return the exit code."""
        async with self._waiting:
            while (code := self.returncode) is None:
                await wait_readable(self._descriptor)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the supervisor, unless it has ended."""
        if self.returncode is None:
            signal.pidfd_send_signal(self._descriptor, number)

    def close(self) -> None:
        """Close the descriptor of the process, which has ended."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def has_ended(self) -> bool:
        """Return whether the supervisor has ended; from any thread."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(0))


class _Server:
    """One fork server.

    Args:
        environment: the variables of its agents, without those of each.

    Attributes:
        users: number of agents that were started by it and have not ended, or are being started.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.users = 0
        self._environment = environment
        self._control, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._starting = threading.Lock()

    @property
    def pid(self) -> int:
        """Return the pid of the process; 0 before it was started."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process, if it was not started yet; blocks. Raises `OSError` if resources are short."""
        with self._starting:
            if self._process is None:
                arguments = [str(self._theirs.fileno()), str(os.getpid())]
                self._process = subprocess.Popen(  # noqa: S603 - a fixed command
                    [sys.executable, "-m", "flagfall.agents.fork_server", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=(self._theirs.fileno(),),
                    env=self._environment,
                )
                self._theirs.close()

    def close(self) -> None:
        """End the process; blocks for a moment. What it has forked goes on."""
        with self._starting:
            self._control.close()
            self._theirs.close()
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    async def request(self, descriptors: Sequence[int]) -> None:
        """Request a fork; raises `ForkServerError` if the server is gone, or its queue stays full."""
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.send_fds(self._control, [b"f"], descriptors)
            except OSError as error:
                if not isinstance(error, BlockingIOError) or time.monotonic() > end:
                    raise ForkServerError(f"the fork server takes no request: {error}") from error
                self.check()
                await real_sleep(RETRY_SECONDS)
            else:
                return

    async def wait_ready(self) -> None:
        """Wait until the server has imported everything; raises `ForkServerError` if that fails."""
        end = time.monotonic() + START_SECONDS
        while not self._is_ready:
            with suppress(BlockingIOError):
                self._is_ready = bool(self._control.recv(1))
                if not self._is_ready:
                    raise ForkServerError("the fork server has ended")
            self.check()
            if time.monotonic() > end:
                raise ForkServerError("the fork server does not come up")
            await real_sleep(RETRY_SECONDS)

    async def wait_readable(self, connection: socket.socket) -> None:
        """Wait for the answer of a process that was requested; raises `ForkServerError` without one."""
        with real_limit(START_SECONDS):
            while True:
                with real_limit(LOOK_SECONDS):
                    await wait_readable(connection)
                    return
                self.check()
        raise ForkServerError("the fork server does not answer")

    def check(self) -> None:
        """Check that the server can run; raises `ForkServerError` if it was stopped, traced or ended."""
        if self.pid and status_of(self.pid)[0] in _STOPPED:
            raise ForkServerError("the fork server was stopped or killed")


class ForkServers:
    """The fork servers of this program, by the environment and the working directory of their agents."""

    def __init__(self) -> None:
        self._servers: dict[object, _Server] = {}
        self._lock = threading.Lock()
        self._is_kept = False

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Keep the newest server while the context lasts, for matches that are played one after another.

        It is for a program that plays nothing else, and one such context at a time.
        """
        self._is_kept = True
        try:
            yield
        finally:
            self._is_kept = False
            self._close_unused()

    def pids(self) -> frozenset[int]:
        """Return the pids of the servers that run."""
        with self._lock:
            return frozenset(server.pid for server in self._servers.values())

    def _close_unused(self) -> None:
        with self._lock:
            unused = [key for key, server in self._servers.items() if not server.users]
            closed = [self._servers.pop(key) for key in unused]
        for server in closed:
            server.close()

    def join(self, environment: Mapping[str, str]) -> ForkServerUse:
        """Return the use of a server, which is made if there is none for this environment."""
        # A copy of this program, by `os.fork`, is another host.
        here = os.stat(".")  # noqa: PTH116 - the folder itself, which may have been removed or made anew
        key = (os.getpid(), here.st_dev, here.st_ino, frozenset(environment.items()))
        if self._is_kept and key not in self._servers:
            self._close_unused()
        with self._lock:
            server = self._servers.get(key)
            if server is None:
                server = self._servers[key] = _Server(environment)
            server.users += 1
        return ForkServerUse(self, key, server)

    def leave(self, key: object, server: _Server, *, is_broken: bool) -> _Server | None:
        """End one use of a server; return the server if it must be closed."""
        with self._lock:
            server.users -= 1
            is_listed = self._servers.get(key) is server
            is_over = server.users == 0 and not self._is_kept
            if not is_listed or not (is_broken or is_over):
                return None
            del self._servers[key]
            return server


class ForkServerUse:
    """The use of a fork server by one agent."""

    def __init__(self, servers: ForkServers, key: object, server: _Server) -> None:
        self._servers, self._key = servers, key
        self._server: _Server | None = server

    async def end(self, *, is_broken: bool = False) -> None:
        """End the use; the server ends with its last use. Cannot be cancelled."""
        server, self._server = self._server, None
        if server is None:
            return
        closed = self._servers.leave(self._key, server, is_broken=is_broken)
        if closed is not None:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(closed.close)

    async def _started_server(self) -> _Server:
        server = self._server
        assert server is not None
        if not server.pid:
            await trio.to_thread.run_sync(server.start)
        return server

    async def wait_ready(self) -> None:
        """Wait until the server can fork; start it if it was not. Raises as `fork` does."""
        await (await self._started_server()).wait_ready()

    async def fork(
        self, settings: Sequence[str], variables: Mapping[str, str], arguments: Sequence[str]
    ) -> tuple[ForkedProcess, AgentReport]:
        """Fork a supervisor and its agent.

        Raises:
            ForkServerError: the server could not do it.
            OSError: no more descriptors or processes.
        """
        server = await self._started_server()
        request = {"settings": [*settings], "variables": dict(variables), "arguments": [*arguments]}
        with _Ends() as ends:
            await server.request(ends.theirs)
            ends.close_theirs()
            await server.wait_readable(ends.connection)
            pid, process = _receive_process(ends.connection)
            ends.ours.append(process)
            try:
                ends.connection.sendall(json.dumps(request).encode() + b"\n")
            except OSError as error:
                raise ForkServerError(f"a forked process does not take its settings: {error}") from error
            return ends.take(pid, process)


class _Ends:
    """The pipes and the socket of a new process, closed with the context unless they were taken."""

    def __init__(self) -> None:
        self.ours: list[int] = []
        self.theirs: list[int] = []

    def __enter__(self) -> Self:
        try:
            for is_input, is_stamped in ((True, False), (False, True), (False, False)):
                reading, writing = open_stamped_pipe() if is_stamped else os.pipe()
                self.ours.append(writing if is_input else reading)
                self.theirs.append(reading if is_input else writing)
            self.connection, theirs = socket.socketpair()
            self.theirs.append(theirs.detach())
            self.connection.setblocking(False)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_raised: object) -> None:
        self._close()

    def close_theirs(self) -> None:
        """Close the ends of the new process, which has them now."""
        while self.theirs:
            os.close(self.theirs.pop())

    def take(self, pid: int, process: int) -> tuple[ForkedProcess, AgentReport]:
        """Return the process with all that is open; nothing is closed with the context."""
        report = AgentReport(self.connection.detach())
        stdin, stdout, stderr = map(FdStream, self.ours[:3])
        self.ours.clear()
        return ForkedProcess(pid, process, stdin, stdout, stderr, report), report

    def _close(self) -> None:
        self.close_theirs()
        while self.ours:
            os.close(self.ours.pop())
        if hasattr(self, "connection"):
            self.connection.close()


def _receive_process(connection: socket.socket) -> tuple[int, int]:
    """Receive the pid and a descriptor of the process at the other end, or raise `ForkServerError`."""
    try:
        text, descriptors, _, _ = socket.recv_fds(connection, _PID_BYTES, 1)
    except OSError as error:
        raise ForkServerError(f"no process was forked: {error}") from error
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if not text or len(descriptors) != 1:
        raise ForkServerError("no process was forked")
    return int(text), descriptors[0]


FORK_SERVERS: Final = ForkServers()
"""The fork servers of this program."""
