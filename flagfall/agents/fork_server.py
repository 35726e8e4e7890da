"""Fork server: a process that has imported what every Python agent needs, and forks the agents' processes.

    python -m flagfall.agents.fork_server CONTROL HOST [--without-numpy]

A fork takes some milliseconds, where starting Python and importing the same takes two hundred. Each request
on the control socket carries four descriptors: the standard input, output and error of an agent, and a socket
to the host. The server forks a supervisor (`flagfall.agents.process.supervisor`), which receives the settings
over that socket and forks the agent. So the server itself never holds anything of a match or of an agent, and
no agent inherits anything of another. It cannot be traced or read by other processes of the user.

A process that forks must have one thread. The linear algebra of numpy starts threads when it is imported; it
ends them before a fork, and starts them again in the child when it needs them. Where threads are left after a
first fork, the server starts anew without numpy.

What forks share: the layout of addresses, and the seed of Python's hashes of texts. Generators of random
numbers are seeded anew in each agent.

It ends when its host has closed the control socket or has ended, whichever comes first.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from flagfall.agents.process import supervisor
from flagfall.agents.wire import worker

DESCRIPTORS: Final = 4
"""Number of descriptors of a request."""

READY: Final = b"r"
"""Message of a server that has imported everything."""

MAX_SETTINGS_BYTES: Final = 1024 * 1024
"""Maximum size of the settings of one agent: a filter of system calls takes some kilobytes."""

_READ_BYTES: Final = 64 * 1024
_WITHOUT_NUMPY: Final = "--without-numpy"
_FAILED: Final = 1
_NO_DESCRIPTOR: Final = os.sysconf("SC_OPEN_MAX")
"""More than any descriptor of this process, before an agent's own limit is set."""

_STANDARD: Final = 3
"""Number of the standard descriptors."""


def main(arguments: list[str]) -> int:
    """Run the server; return its exit code, or that of an agent in the process of an agent.

    Args:
        arguments: the descriptor of the control socket, the pid of the host, and perhaps `--without-numpy`.
    """
    supervisor.keep_secret()
    if arguments[2:] != [_WITHOUT_NUMPY]:
        _import_numpy()
    control, host = socket.socket(fileno=int(arguments[0])), int(arguments[1])
    control.set_inheritable(False)
    if os.getppid() != host:  # it is gone already
        return _FAILED
    host_fd = os.pidfd_open(host)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):  # its host handles them
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes its children when they end
    gc.collect()
    generators = [found for found in gc.get_objects() if isinstance(found, random.Random)]
    gc.freeze()  # or the first collection in each agent would copy the pages of all objects
    control.send(READY)
    descriptors = _wait_for_requests(control, host_fd)
    if descriptors is None:
        os._exit(0)
    control.detach()  # its number is the agent's now: closed with the object, a file of the agent would be
    work = _supervise(descriptors, host_fd)
    for generator in generators:
        generator.seed()
    return _play(work)


def _import_numpy() -> None:
    """Import numpy; where its threads outlive a fork, start this program anew without it."""
    try:
        importlib.import_module("numpy")
    except ImportError:
        return
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    if len(supervisor.threads_of(os.getpid())) > 1 or "numpy.random" in sys.modules:
        os.execv(sys.executable, [*sys.orig_argv, _WITHOUT_NUMPY])  # noqa: S606 - no shell is wanted


def _wait_for_requests(control: socket.socket, host_fd: int) -> list[int] | None:
    """Fork a process for each request; return its descriptors in that process, `None` at the end."""
    poll = select.poll()
    for descriptor in (control.fileno(), host_fd):
        poll.register(descriptor, select.POLLIN)
    while True:
        if any(descriptor == host_fd for descriptor, _ in poll.poll()):
            return None
        request, descriptors, _, _ = socket.recv_fds(control, 1, DESCRIPTORS)
        if not request:
            return None
        if len(descriptors) == DESCRIPTORS:
            with suppress(OSError):  # no more processes: the host sees the end of the agent's socket
                if os.fork() == 0:
                    return descriptors
        for descriptor in descriptors:
            os.close(descriptor)


def _supervise(descriptors: list[int], host_fd: int) -> list[str]:
    """Become the supervisor of a new process; return the worker's arguments in that process only."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, descriptor in enumerate(descriptors[:_STANDARD]):
            os.dup2(descriptor, number)
        session = descriptors[_STANDARD]
        _close_all_but({session, host_fd})
        request = _receive_settings(session)
        settings = supervisor.Settings(request["settings"])
        settings.report = session
        os.environ.update(request["variables"])
        status = supervisor.supervise(settings, host_fd)
        if status is not None:
            os._exit(0)  # the report has its status
        _close_all_but(set())
        return list(request["arguments"])
    except BaseException as error:
        supervisor.refuse_start("the agent", error)
        raise


def _receive_settings(session: int) -> Any:
    """Report this process to the host, and return the settings that it sends; end where it sends none."""
    own = os.getpid()
    with socket.socket(fileno=os.dup(session)) as connection:
        process = os.pidfd_open(own)
        socket.send_fds(connection, [str(own).encode()], [process])
        os.close(process)
    received = b""
    while not received.endswith(b"\n"):
        data = os.read(session, _READ_BYTES)
        if not data or len(received) > MAX_SETTINGS_BYTES:  # the host has given up
            os._exit(_FAILED)
        received += data
    return json.loads(received)


def _close_all_but(kept: Iterable[int]) -> None:
    """Close all descriptors but the standard ones and these; needs none, as an agent may have few."""
    first = _STANDARD
    for number in sorted(kept):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, _NO_DESCRIPTOR)


def _play(arguments: list[str]) -> int:
    """Play an agent as `python -m flagfall.agents` does; return its exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as at the start of Python
        signal.signal(number, signal.SIG_IGN)
    sys.argv = [str(Path(__file__).with_name("__main__.py")), *arguments]
    return worker.main(arguments)


if __name__ == "__main__":
    worker.end_process(main(sys.argv[1:]))
