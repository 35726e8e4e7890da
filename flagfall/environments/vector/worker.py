"""The program of a worker: builds its environments, and steps all of them at each command.

It reads commands from one pipe and answers on another one. It ends when its parent does, however that
happens: the kernel kills it when the lifeline, a pipe that only the parent can write to, is closed.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import IntEnum
from struct import Struct
from typing import Any, Final, NamedTuple

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import CloudpickleWrapper

from flagfall.environments.vector.layout import copied
from flagfall.environments.vector.memory import SharedMemory
from flagfall.environments.vector.share import BatchShare, EnvShare, SubEnvironmentError
from flagfall.errors import UsageError

_HEADER: Final = Struct("=BBQ")
"""Kind of the message, number of the buffer for observations, and bytes of the values that follow."""

_READ_BYTES: Final = 2**16
"""Bytes of one read: the capacity of a pipe."""


class Command(IntEnum):
    """Request to a worker."""

    BUILD = 0
    ATTACH = 1
    RESET = 2
    STEP = 3
    INFOS = 4
    CALL = 5
    SET = 6
    CLOSE = 7


class Reply(IntEnum):
    """Answer of a worker."""

    DONE = 0
    FAILED = 1


class Failure(NamedTuple):
    """Error in a worker.

    Attributes:
        number: of the environment in the worker; `None` if no single one is responsible.
        is_usage_error: the caller is responsible: it was a `UsageError`.
        message: class and text of the error; the text alone of a `UsageError`.
    """

    number: int | None
    is_usage_error: bool
    message: str
    trace: str


def pack(value: Any, *, by_value: bool = False) -> bytes:
    """Encode a value.

    Args:
        by_value: encode functions and classes of the main program by their code: the other process does not
            have that program.
    """
    if not by_value:
        try:
            return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001, S110 - classes of the main program, which are encoded by their code
            pass
    return pickle.dumps(CloudpickleWrapper(value), pickle.HIGHEST_PROTOCOL)


def unpack(payload: bytes) -> Any:
    """Decode a value.

    Args:
        payload: from `pack`, of a process of the same user that this one has started or was started by.
    """
    value = pickle.loads(payload)  # noqa: S301 - see above
    return value.fn if isinstance(value, CloudpickleWrapper) else value


def send(descriptor: int, kind: int, buffer: int = 0, payload: bytes = b"") -> None:
    """Write a message.

    Raises:
        BrokenPipeError: the other process does not read any more.
    """
    message = memoryview(_HEADER.pack(kind, buffer, len(payload)) + payload)
    while message:
        message = message[os.write(descriptor, message) :]


def receive(descriptor: int) -> tuple[int, int, bytes]:
    """Read a message: kind, buffer and encoded values.

    Args:
        descriptor: of the pipe; the other end sends no second message before the first one is answered.

    Raises:
        EOFError: the other process has closed the pipe.
    """
    data = _read(descriptor, _READ_BYTES)
    while len(data) < _HEADER.size:
        data += _read(descriptor, _READ_BYTES)
    kind, buffer, size = _HEADER.unpack_from(data)
    parts, missing = [data[_HEADER.size :]], size + _HEADER.size - len(data)
    while missing:
        parts.append(_read(descriptor, min(missing, _READ_BYTES)))
        missing -= len(parts[-1])
    return kind, buffer, b"".join(parts)


def _read(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size)
    if not data:
        raise EOFError
    return data


AWAKE_SECONDS: Final = 100e-6
"""Time that a worker looks for the next command before it sleeps: twice what it takes to be woken on another
CPU and to go on with cold caches. So parents that step again at once pay for neither."""


class Plan(NamedTuple):
    """The share of a worker.

    Attributes:
        last: the environment after its last one.
        total: number of environments of all workers.
        makers: a function for each environment; or one that makes a vector environment of any number.
        stays_awake: look for the next step for `AWAKE_SECONDS` before sleeping; for workers with a CPU each.
    """

    first: int
    last: int
    total: int
    autoreset_mode: AutoresetMode
    copy: bool
    makers: Sequence[Callable[[], gymnasium.Env[Any, Any]]] | Callable[[int], VectorEnv[Any, Any, Any]]
    stays_awake: bool

    def build(self) -> EnvShare | BatchShare:
        """Make the environments."""
        if callable(self.makers):
            count = self.last - self.first
            return BatchShare(self.makers(count), count)
        return EnvShare(self.makers, self.autoreset_mode)


class Worker:
    """A share of environments under commands."""

    def __init__(self, memory: int) -> None:
        self._descriptor = memory
        self._plan: Plan
        self._share: EnvShare | BatchShare | None = None
        self._memory: SharedMemory
        # By command, the method of its name.
        self._does: dict[int, Callable[[int, bytes], bytes]] = {
            command: getattr(self, f"_{command.name.lower()}") for command in Command
        }

    def serve(self, commands: int, replies: int) -> None:
        """Follow commands until the one to close, or until the parent closes the pipe."""
        command = -1
        ready = select.poll()
        ready.register(commands, select.POLLIN)
        while command != Command.CLOSE:
            if command == Command.STEP and self._plan.stays_awake:
                _await(ready)
            command, buffer, payload = receive(commands)
            try:
                answer = self._does[command](buffer, payload)
            except Exception as error:  # noqa: BLE001 - environments are foreign code; the parent raises it
                send(replies, Reply.FAILED, 0, pack(_failure(error)))
            else:
                send(replies, Reply.DONE, 0, answer)

    def end(self) -> None:
        """Close the environments of a worker that was given up."""
        if self._share is not None:
            self._share.close()

    def _build(self, _buffer: int, payload: bytes) -> bytes:
        self._plan = unpack(payload)
        share = self._share = self._plan.build()
        return pack(
            (share.metadata, share.render_mode, share.single_observation_space, share.single_action_space)
        )

    def _attach(self, _buffer: int, _payload: bytes) -> bytes:
        plan, share = self._plan, self._ready()
        memory = self._memory = SharedMemory(
            self._descriptor,
            share.single_observation_space,
            share.single_action_space,
            plan.total,
            copy=plan.copy,
        )
        os.close(self._descriptor)
        self._results = [memory.results(number, plan.first, plan.last) for number in range(memory.buffers)]
        self._actions = memory.actions_of(plan.first, plan.last)
        return b""

    def _reset(self, buffer: int, payload: bytes) -> bytes:
        seeds, options, mask = unpack(payload)
        return self._answer(self._ready().reset(seeds, options, mask, self._results[buffer]))

    def _step(self, buffer: int, payload: bytes) -> bytes:
        share = self._ready()
        # A copy, because environments may keep their action, and the next step overwrites the memory.
        actions = unpack(payload) if payload else copied(self._actions)
        return self._answer(share.step(actions, self._results[buffer]))

    def _answer(self, observations: Any) -> bytes:
        columns = self._ready().columns()
        return b"" if columns == {} and observations is None else pack((columns, observations))

    def _infos(self, _buffer: int, _payload: bytes) -> bytes:
        return pack(self._ready().infos())

    def _call(self, _buffer: int, payload: bytes) -> bytes:
        return pack(self._ready().call(*unpack(payload)))

    def _set(self, _buffer: int, payload: bytes) -> bytes:
        self._ready().set(*unpack(payload))
        return b""

    def _close(self, _buffer: int, _payload: bytes) -> bytes:
        share, self._share = self._share, None
        if share is not None:
            share.close()
        return b""

    def _ready(self) -> EnvShare | BatchShare:
        assert self._share is not None
        return self._share


def _await(ready: select.poll) -> None:
    """Look for a message for some time; whatever else can run on this CPU runs first."""
    end = time.perf_counter() + AWAKE_SECONDS
    while not ready.poll(0) and time.perf_counter() < end:
        os.sched_yield()


def _failure(error: Exception) -> Failure:
    index = None
    if isinstance(error, SubEnvironmentError) and isinstance(error.__cause__, Exception):
        index, error = error.index, error.__cause__
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, UsageError):
        return Failure(index, is_usage_error=True, message=str(error), trace=trace)
    message = traceback.format_exception_only(error)[-1].strip()
    return Failure(index, is_usage_error=False, message=message, trace=trace)


def _die_with_parent(lifeline: int) -> None:
    """Have the kernel kill this process when the other end of a pipe is closed.

    A signal of the parent's death would come with the end of the thread that started this process.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # it was closed before
        os.kill(os.getpid(), signal.SIGKILL)


def main(commands: int, replies: int, lifeline: int, memory: int) -> None:
    """Run a worker.

    Args:
        lifeline: descriptor of the pipe that is closed when the parent ends.
    """
    for descriptor in (commands, replies, lifeline, memory):
        os.set_inheritable(descriptor, False)
    _die_with_parent(lifeline)
    worker = Worker(memory)
    with suppress(EOFError, BrokenPipeError):  # the parent gave this worker up
        worker.serve(commands, replies)
    worker.end()
