"""The host's handle of an agent's process: started under a supervisor, read, ended for good."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from flagfall.agents.process import forking, supervisor
from flagfall.agents.process.enforcement import AgentReport, kill_below
from flagfall.agents.process.folders import remove_folder
from flagfall.agents.process.isolation import Isolation, show_hint
from flagfall.agents.process.limits import Limits, has_controller, make_group, usage_clock
from flagfall.agents.process.prints import Prints
from flagfall.agents.process.sandbox import MEMORY_FILES, TMP, Sandboxed, sandboxed
from flagfall.agents.process.seccomp import compile_filter, is_supported
from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.kernel.channels.pipes import READ_BYTES, PipeStream, open_stamped_pipe
from flagfall.kernel.outcomes import STDERR_BYTES, end_of
from flagfall.kernel.seat import HostSeat
from flagfall.timing import NowNs, process_cpu_clock
from flagfall.timing.clocks import real_limit, real_sleep
from flagfall.timing.durations import S

EXIT_GRACE_SECONDS: Final = 0.1
"""Grace period of a process that broke down to end by itself, so that its exit code is its own."""

FREE_STDERR_BYTES: Final = 1024**2
"""Size of an agent's standard error that is read as fast as it comes. After that `READ_BYTES` are read every
`STDERR_PAUSE_SECONDS`, some 13 MB a second, or a flood would occupy the event loop."""

STDERR_PAUSE_SECONDS: Final = 0.005

_REST_READS: Final = 16
"""Reads that empty a pipe: one by default, sixteen for a pipe as large as Linux allows."""

_AGAIN_SECONDS: Final = 0.005

SUPERVISOR_SECONDS: Final = 0.1
"""Grace period of a supervisor that is asked to end its agent: it needs some 10 ms, more on a loaded machine.
Then the host kills the agent itself, since the agent may have stopped its supervisor."""

_PATIENCE_SECONDS: Final = supervisor.KILL_SECONDS + 1
"""The time that a supervisor has afterwards to remove what the agent left on the disk."""

_RESOURCES: Final = {
    "memory": resource.RLIMIT_DATA,
    "address_space": resource.RLIMIT_AS,
    "files": resource.RLIMIT_NOFILE,
    "file_size": resource.RLIMIT_FSIZE,
}


async def open_supervised(
    command: Sequence[str],
    isolation: Isolation,
    *,
    shown: Sequence[str] = (),
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
) -> SupervisedProcess:
    """Start a program under a supervisor.

    Args:
        shown: files and folders that it can read in a sandbox besides the system, this Python and
            `isolation.readable`.
        stdin: as for `subprocess.Popen`, and `stdout` too.

    Raises:
        UsageError: a sandbox is asked for, and there can be none; or this is not Linux.
        HostFault: no more processes, descriptors, memory or room for a folder. No agent is disqualified for
            that.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("agents in processes need Linux; take host task or thread")
    group = None if isolation.kind == "none" else make_group(isolation.limits)
    folder = ""
    try:
        if isolation.kind == "process":
            folder = tempfile.mkdtemp(prefix="flagfall-")
        if stdin == stdout == subprocess.PIPE and _can_be_forked(command, isolation):
            forked = await _fork(command[len(forking.WORKER) :], isolation, folder, group)
            if forked is not None:
                return forked
        return await _execute(command, isolation, folder, group, shown, stdin, stdout)
    except BaseException as error:
        _remove(folder, group)
        if isinstance(error, OSError):
            raise HostFault(f"no process for an agent: {error}") from error
        raise


def _can_be_forked(command: Sequence[str], isolation: Isolation) -> bool:
    """Return whether a fork server can start a program.

    The libraries that it has imported count towards limits of memory, and have counted the cores already.
    """
    limits = isolation.limits
    is_limited = limits.memory is not None or limits.address_space is not None or limits.cores is not None
    is_worker = tuple(command[: len(forking.WORKER)]) == forking.WORKER
    return isolation.kind != "sandbox" and not is_limited and is_worker


async def prepare_fork_server(command: Sequence[str], isolation: Isolation) -> forking.ForkServerUse | None:
    """Return the use of a fork server that is ready; `None` where a program is not started by one."""
    if not _can_be_forked(command, isolation):
        return None
    use = _join_fork_server(isolation, isolation.own_variables(""))
    try:
        await use.wait_ready()
    except BaseException as error:
        # A match that is cancelled meanwhile leaves the server to the others.
        await use.end(is_broken=isinstance(error, forking.ForkServerError))
        if isinstance(error, forking.ForkServerError | OSError):
            return None
        raise
    return use


def _join_fork_server(isolation: Isolation, variables: Mapping[str, str]) -> forking.ForkServerUse:
    common = {name: value for name, value in isolation.environment("").items() if name not in variables}
    return forking.FORK_SERVERS.join(common)


async def _fork(
    arguments: Sequence[str], isolation: Isolation, folder: str, group: Path | None
) -> SupervisedProcess | None:
    """Start a Python agent by the fork server; return `None` if that is not possible now."""
    variables = isolation.own_variables(folder)
    use = _join_fork_server(isolation, variables)
    try:
        settings = _settings(isolation.limits, folder, group, None)
        process, report = await use.fork(settings, variables, arguments)
    except BaseException as error:
        await use.end(is_broken=isinstance(error, forking.ForkServerError))
        if isinstance(error, forking.ForkServerError):
            return None
        raise
    return SupervisedProcess(process, folder, group, report, use=use)


async def _execute(
    command: Sequence[str],
    isolation: Isolation,
    folder: str,
    group: Path | None,
    shown: Sequence[str],
    stdin: int,
    stdout: int,
) -> SupervisedProcess:
    """Start a program; the arguments are those of `open_supervised`, the private folder and the group."""
    words, sandbox, answers, output = [*command], None, -1, stdout
    with ExitStack() as afterwards, ExitStack() as on_failure:
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        afterwards.callback(os.close, writing)
        report = AgentReport(reading)
        on_failure.callback(report.close)
        if stdout == subprocess.PIPE:
            answers, output = open_stamped_pipe()
            afterwards.callback(os.close, output)
            on_failure.callback(os.close, answers)
        if isolation.kind == "sandbox":
            sandbox = sandboxed(words, [*shown, *isolation.readable], isolation.limits)
            afterwards.callback(sandbox.close)
            on_failure.callback(sandbox.release)
            words = sandbox.words
        settings = [*_settings(isolation.limits, folder, group, sandbox), f"report={writing}"]
        process = await trio.lowlevel.open_process(
            [sys.executable, "-I", "-S", supervisor.__file__, *settings, "--", *words],
            stdin=stdin,
            stdout=output,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(writing, *(sandbox.descriptors if sandbox else ())),
            env=isolation.environment(TMP if isolation.kind == "sandbox" else folder),
        )
        if answers >= 0:
            process.stdout = trio.lowlevel.FdStream(answers)
        on_failure.pop_all()
    return SupervisedProcess(process, folder, group, report, shown, sandbox)


async def run_supervised(
    command: Sequence[str],
    isolation: Isolation,
    seat: HostSeat,
    play: Callable[[SupervisedProcess, PipeStream], Awaitable[None]],
    *,
    shown: Sequence[str] = (),
) -> None:
    """Start a program, play with it, and end it with all that it started; raises as `supervise` does.

    Args:
        play: plays the match; called with the process, and its standard input and output as one stream.

    Raises:
        HostFault: the program could not be started.
        UsageError: a sandbox is asked for, and there can be none.
    """
    supervised = await open_supervised(command, isolation, shown=shown)

    async def play_over_pipe(stack: ExitStack) -> None:
        pipe = supervised.take_pipe()
        stack.callback(pipe.close)
        await play(supervised, pipe)

    await supervise(supervised, seat, play_over_pipe)


async def supervise(
    supervised: SupervisedProcess, seat: HostSeat, play: Callable[[ExitStack], Awaitable[None]]
) -> None:
    """Play with a program that was started, and end it afterwards with all that it started.

    Faults are raised as `play` raised them; an `AgentFault` with what the program wrote last.

    Args:
        play: plays the match; called with a stack for what is to be closed before the program is ended.
    """
    fault: AgentFault | HostFault | None = None
    supervised.keep_prints(seat)
    try:
        with ExitStack() as stack:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(supervised.read_stderr)
                nursery.start_soon(supervised.follow)
                try:
                    await play(stack)
                except (AgentFault, HostFault) as caught:
                    fault = caught
                    if isinstance(caught, AgentFault):
                        await supervised.wait_after(caught, seat)
                nursery.cancel_scope.cancel()
    finally:
        await supervised.end()
        seat.printed = supervised.prints.parts()
    if isinstance(fault, AgentFault):
        raise supervised.with_stderr_tail(fault) from fault
    if fault is not None:
        raise fault


def _settings(limits: Limits, folder: str, group: Path | None, sandbox: Sandboxed | None) -> list[str]:
    most = {what: value for name, what in _RESOURCES.items() if (value := getattr(limits, name)) is not None}
    if limits.cpu is not None:
        most[resource.RLIMIT_CPU] = limits.cpu // S
    settings: dict[str, Any] = {
        "folder": folder,
        "cgroup": group,
        "limits": ",".join(f"{what}:{value}" for what, value in most.items()),
        "cores": ",".join(map(str, limits.cores or ())),
        "processes": limits.processes,
        "disk": limits.disk if folder else None,
        "owner": sandbox.user if sandbox else 0,
        "memory": None if has_controller(group, "memory") else limits.memory,
        "memory_files": ":".join(MEMORY_FILES) if sandbox else "",
        "filter": "" if sandbox else _filter(limits).hex(),
    }
    return [f"host={os.getpid()}", *(f"{name}={value}" for name, value in settings.items() if value)]


def _filter(limits: Limits) -> bytes:
    """Return the filter of system calls by which limits hold without a sandbox, if any is needed."""
    if not is_supported() or not (limits.cores or limits.memory):
        return b""
    return compile_filter(sandbox=False, cores=bool(limits.cores), shared_memory=bool(limits.memory))


def _is_left(folder: str, group: Path | None) -> bool:
    return any(path and Path(path).exists() for path in (folder, group))


def _remove(folder: str, group: Path | None) -> None:
    if folder and Path(folder).exists():
        remove_folder(folder)
    end = time.monotonic() + supervisor.KILL_SECONDS
    while group is not None and group.exists() and time.monotonic() < end:
        with suppress(OSError):  # killed processes stay in it for a moment
            group.rmdir()
            return
        time.sleep(_AGAIN_SECONDS)


@attrs.define(eq=False)
class SupervisedProcess:
    """A program that runs under a supervisor.

    Args:
        process: the supervisor; it ends when the program has ended, and with the same status.
        folder: the private folder; empty if it has none.

    Attributes:
        prints: what it writes to its standard error.
    """

    process: trio.Process | forking.ForkedProcess
    _folder: str
    _group: Path | None
    _report: AgentReport
    _shown: Sequence[str] = ()
    _sandbox: Sandboxed | None = None
    _use: forking.ForkServerUse | None = None
    prints: Prints = attrs.field(factory=lambda: Prints(STDERR_BYTES), init=False)
    _own_code: int | None = attrs.field(default=None, init=False)

    def take_pipe(self) -> PipeStream:
        """Return its standard input and output as one stream; the streams of `process` are closed."""
        process = self.process
        assert isinstance(process.stdin, trio.lowlevel.FdStream)
        assert isinstance(process.stdout, trio.lowlevel.FdStream)
        reading, writing = os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno())
        process.stdin.close()  # which makes the pipe blocking again
        process.stdout.close()
        return PipeStream(reading, writing)

    def keep_prints(self, seat: HostSeat) -> None:
        """Keep what it writes to its standard error as the prints of the agent of a seat.

        When that is read depends on real time, so on the virtual clock all of it belongs to one turn.
        """
        turn = (lambda: 0) if seat.hold is not None else (lambda: seat.turn_number)
        self.prints = Prints(STDERR_BYTES, seat.number, turn)

    async def read_stderr(self) -> None:
        """Read its standard error as it comes, so that it never waits for room in the pipe for long."""
        assert self.process.stderr is not None
        read = 0
        async for chunk in self.process.stderr:
            self.prints.add(chunk)
            read += len(chunk)
            if read > FREE_STDERR_BYTES:
                await real_sleep(STDERR_PAUSE_SECONDS)

    async def follow(self) -> None:
        """Kill the agent if its supervisor ends before it: its limits would not be enforced any more."""
        await self.process.wait()
        await self._end_agent()

    async def _end_agent(self) -> None:
        if self._report.pid():  # it has outlived its supervisor, so it must have killed it
            await trio.to_thread.run_sync(self._report.kill_agent)

    def cpu_clock(self) -> NowNs:
        """Return a clock of the CPU time of the program and of all processes that it started.

        Without a control group, processes that start and end between two readings are not counted.
        """
        group = self._group
        if group is not None and (group / "cgroup.procs").read_text():  # the agent could move there
            return usage_clock(group)
        return _family_clock(self.process.pid)

    async def wait_for_exit(self, seconds: float, *, patient: bool = False) -> bool:
        """Wait for its end; return true if it has ended. See `flagfall.timing.clocks.real_limit`."""
        with real_limit(seconds, patient=patient):
            await self.process.wait()
        return self.process.returncode is not None

    async def wait_after(self, fault: AgentFault, seat: HostSeat) -> None:
        """Wait for a program that broke down to end by itself, so that its exit code is its own.

        One that sends garbage is ended at once; but on the virtual clock what it still prints must not depend
        on the moment.
        """
        if seat.hold is not None:
            seat.hold.renew()  # a fault is known by now
        elif fault.reason == "garbage":
            return
        await self.wait_for_exit(EXIT_GRACE_SECONDS, patient=True)

    async def end(self) -> None:
        """End it with all that it started, and remove what it left; cannot be cancelled."""
        process = self.process
        self._own_code = process.returncode
        with trio.CancelScope(shield=True):
            try:
                if process.returncode is None:
                    self._signal(signal.SIGTERM)
                    if not await self.wait_for_exit(SUPERVISOR_SECONDS):
                        await self._kill_below()
                        self._signal(signal.SIGCONT)
                        await self.wait_for_exit(_PATIENCE_SECONDS)
                await self._end_by_force()
            finally:
                self._report.close()
                if self._sandbox is not None:
                    self._sandbox.release()
                if isinstance(process, forking.ForkedProcess):
                    process.close()
                if self._use is not None:
                    await self._use.end()
                if process.stderr is not None:
                    self._take_rest(process.stderr)
                    await process.stderr.aclose()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            self.process.send_signal(number)

    async def _kill_below(self) -> None:
        process = self.process
        kill = partial(kill_below, process.pid, self._group)  # its pid is kept until it is waited for
        if isinstance(process, forking.ForkedProcess):
            kill = partial(kill, is_there=lambda: not process.has_ended())
        await trio.to_thread.run_sync(kill)

    async def _end_by_force(self) -> None:
        """Do what the supervisor should have done, if that was killed or stopped."""
        if self._group is not None and self._group.exists():
            with suppress(OSError):
                (self._group / "cgroup.kill").write_text("1")
        if self.process.returncode is None:
            self._signal(signal.SIGKILL)
            await self.process.wait()
        await self._end_agent()
        if _is_left(self._folder, self._group):
            await trio.to_thread.run_sync(_remove, self._folder, self._group)

    def _take_rest(self, stderr: trio.abc.ReceiveStream) -> None:
        """Read the rest of the pipe of an ended process, without waiting for others that hold it open."""
        assert isinstance(stderr, trio.lowlevel.FdStream)
        with suppress(OSError):  # BlockingIOError: there is no more
            for _ in range(_REST_READS):
                if not (chunk := os.read(stderr.fileno(), READ_BYTES)):
                    break
                self.prints.add(chunk)

    @property
    def stderr_tail(self) -> str:
        """The end of its standard error."""
        return end_of(self.prints.parts())

    def with_stderr_tail(self, fault: AgentFault) -> AgentFault:
        """Return a fault with the end of the standard error of the process, and its exit code.

        That of a process that was ended says nothing, and is left out.
        """
        code = self._own_code
        ended = "" if code is None else f" (exit code {code})"
        lines = [fault.detail + ended, self.stderr_tail, self.hint(fault.detail)]
        return AgentFault(fault.reason, "\n".join(filter(None, lines)))

    def hint(self, detail: str = "") -> str:
        """Return a line on what its sandbox should show, if a file was missing there; else nothing."""
        if not (self._sandbox and self._shown):
            return ""
        return show_hint(f"{self.stderr_tail}\n{detail}", self._shown)


def _family_clock(pid: int) -> NowNs:
    clocks: dict[int, NowNs] = {}

    def used() -> int:
        for member in supervisor.descendants(pid):
            if member not in clocks:
                clocks[member] = process_cpu_clock(member)
        return sum(clock() for clock in clocks.values())

    return used
