"""Start, supervision and end of the workers, from the side of their parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from typing import Final

from flagfall.environments.vector.memory import memory_file
from flagfall.environments.vector.worker import Command, Failure, Plan, Reply, receive, send, unpack
from flagfall.errors import FlagfallError, HostFault, UsageError

CLOSE_SECONDS: Final = 30.0
"""Time for all environments to close; some end programs of their own. Then workers are killed."""

ABANDON_SECONDS: Final = 2.0
"""Time that workers have to end their step and to close, after an interrupt or the loss of another worker."""

_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[5:]; from flagfall.environments.vector import worker;"
    " worker.main(*map(int, sys.argv[1:5]))"
)
"""A worker can import what its parent can. It does not import the main program again."""


class Workers:
    """Worker processes, which all get the same command at the same time.

    Attributes:
        memory: descriptor of the shared memory; `release_memory` closes it.

    Raises:
        UsageError: an environment cannot be made as requested.
        HostFault: an environment cannot be made.
    """

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = plans
        self._owner = os.getpid()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._commands: list[int] = []
        self._replies: list[int] = []
        self._lifelines: list[int] = []
        self._handles: list[int] = []
        self._ended = ""
        self.memory: int = memory_file()
        try:
            for _ in plans:
                self._start()
        except BaseException:
            self._end(0, "they could not be started")
            raise
        self._poll = select.poll()
        for descriptor in (*self._replies, *self._handles):
            self._poll.register(descriptor, select.POLLIN)

    def _start(self) -> None:
        with ExitStack() as ends:
            command_end, commands = os.pipe()
            ends.callback(os.close, command_end)
            self._commands.append(commands)
            replies, reply_end = os.pipe()
            ends.callback(os.close, reply_end)
            self._replies.append(replies)
            # One for each, because processes that share the end of a pipe share the receiver of its signal.
            lifeline_end, lifeline = os.pipe()
            ends.callback(os.close, lifeline_end)
            self._lifelines.append(lifeline)
            inherited = (command_end, reply_end, lifeline_end, self.memory)
            options = [f"-W{option}" for option in sys.warnoptions]
            process = subprocess.Popen(  # noqa: S603 - this very interpreter
                [sys.executable, *options, "-c", _PROGRAM, *map(str, inherited), *sys.path],
                stdin=subprocess.DEVNULL,
                pass_fds=inherited,
                process_group=0,  # Ctrl-C reaches the parent alone, which decides
            )
        self._processes.append(process)
        self._handles.append(os.pidfd_open(process.pid))

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers."""
        return tuple(process.pid for process in self._processes)

    def release_memory(self) -> None:
        """Close the descriptor of the shared memory, which all processes have mapped."""
        os.close(self.memory)
        self.memory = -1

    def exchange(
        self, command: Command, buffer: int = 0, payloads: Sequence[bytes] | None = None
    ) -> list[bytes]:
        """Send a command to all workers, and return their answers.

        Args:
            payloads: the values for each worker; `None` for none.

        Raises:
            UsageError: an environment reports a `UsageError`, or this is a fork of the process that started
                the workers.
            HostFault: an environment failed, or a worker is lost; then the others end as well.
        """
        self._check()
        try:
            self._send(command, buffer, payloads)
            answers = self._receive(command)
        except BaseException as error:
            # Answers that are not read now would be taken for those to a later command.
            text = (
                str(error)
                if isinstance(error, FlagfallError)
                else f"{type(error).__name__} in {_name(command)}"
            )
            self._end(ABANDON_SECONDS, text)
            raise
        for plan, (kind, payload) in zip(self._plans, answers, strict=True):
            if kind == Reply.FAILED:
                raise _raised(command, plan, Failure(*unpack(payload)))
        return [payload for _, payload in answers]

    def close(self) -> None:
        """Close the environments and end the workers; one that does not end in time is killed.

        Raises:
            UsageError: as `HostFault`, if it is a `UsageError`.
            HostFault: an environment failed to close; all the same, no worker is left.
        """
        if self._ended or self._owner != os.getpid():
            return
        with suppress(_Lost):
            try:
                self._send(Command.CLOSE, 0, None)
                answers = self._receive(Command.CLOSE, time.monotonic() + CLOSE_SECONDS)
            finally:
                self._end(ABANDON_SECONDS, "it was closed")
            for plan, (kind, payload) in zip(self._plans, answers, strict=True):
                if kind == Reply.FAILED:
                    raise _raised(Command.CLOSE, plan, Failure(*unpack(payload)))

    def _check(self) -> None:
        if self._owner != os.getpid():
            raise UsageError(
                f"the workers belong to process {self._owner}, of which this one is a fork:"
                " create a vector environment here"
            )
        if self._ended:
            raise HostFault(f"the workers have ended ({self._ended}): create the vector environment again")

    def _send(self, command: Command, buffer: int, payloads: Sequence[bytes] | None) -> None:
        for number, descriptor in enumerate(self._commands):
            with suppress(BrokenPipeError):  # it has ended, which `_receive` finds
                send(descriptor, command, buffer, b"" if payloads is None else payloads[number])

    def _receive(self, command: Command, end: float | None = None) -> list[tuple[int, bytes]]:
        """Return kind and values of every answer; until a time of the monotonic clock, or without limit."""
        awaited = {descriptor: number for number, descriptor in enumerate(self._replies)}
        answers: list[tuple[int, bytes]] = [(Reply.DONE, b"")] * len(awaited)
        while awaited:
            ready = self._poll.poll(None if end is None else max(0.0, 1000 * (end - time.monotonic())))
            if not ready:
                raise _Lost(f"they did not close within {CLOSE_SECONDS:.0f} s")
            answered = [descriptor for descriptor, _ in ready if descriptor in awaited]
            for descriptor in answered:
                number = awaited.pop(descriptor)
                try:
                    kind, _, payload = receive(descriptor)
                except EOFError:
                    raise self._lost(command, number) from None
                answers[number] = kind, payload
            if not answered:
                self._take_end(command, ready[0][0], awaited.values())
        return answers

    def _take_end(self, command: Command, descriptor: int, awaited: Collection[int]) -> None:
        """Take note that a worker has ended, which one that has closed its environments does.

        Args:
            descriptor: of the worker's answers or of its process.

        Raises:
            HostFault: it is lost.
        """
        ends = self._handles if descriptor in self._handles else self._replies
        number = ends.index(descriptor)
        if command is not Command.CLOSE or number in awaited:
            raise self._lost(command, number)
        for known in (self._replies[number], self._handles[number]):
            self._poll.unregister(known)

    def _lost(self, command: Command, number: int) -> HostFault:
        """Return the error for a worker that has ended, or is about to."""
        with suppress(subprocess.TimeoutExpired):
            self._processes[number].wait(ABANDON_SECONDS)
        lost = [
            f"environments {plan.first} to {plan.last - 1}: worker process {process.pid} {_end_of(process)}"
            for plan, process in zip(self._plans, self._processes, strict=True)
            if process.poll() is not None or process is self._processes[number]
        ]
        return _Lost(f"lost in {_name(command)}: {'; '.join(lost)}; create the vector environment again")

    def _end(self, seconds: float, reason: str) -> None:
        """End all workers: they close their environments when their pipes close, and are killed later."""
        if self._ended:
            return
        self._ended = reason
        try:
            for descriptor in (*self._commands, *self._replies):
                os.close(descriptor)
            end = time.monotonic() + seconds
            for process in self._processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, end - time.monotonic()))
        finally:
            for process in self._processes:
                process.kill()
                process.wait()
            for descriptor in (*self._handles, *self._lifelines, self.memory):
                if descriptor >= 0:
                    os.close(descriptor)


class _Lost(HostFault):
    """A worker has ended, or does not answer in time."""


def _raised(command: Command, plan: Plan, failure: Failure) -> FlagfallError:
    """Return the error of an environment, with its traceback as a note."""
    place = (
        f"environments {plan.first} to {plan.last - 1}"
        if failure.number is None
        else f"environment {plan.first + failure.number}"
    )
    error: FlagfallError
    if failure.is_usage_error:
        error = UsageError(f"{place}: {failure.message}")
    else:
        error = HostFault(f"{place} failed in {_name(command)}: {failure.message}")
    error.add_note(f"In its worker process:\n{failure.trace}")
    return error


def _name(command: Command) -> str:
    return command.name.lower()


def _end_of(process: subprocess.Popen[bytes]) -> str:
    code = process.poll()
    if code is None:
        return "does not answer"
    if code >= 0:
        return f"ended with exit code {code}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"
