"""Worker process: plays the matches that it is sent, one after another.

    python -m flagfall.tournament.run.worker RUNNER

It reads frames from its standard input, first the plan and then attempts, and answers each attempt with a
frame. All of them are pickles: both ends are this program, and no other has access to the pipe. The worker
ends at the end of its input, and is killed when its runner ends in any way (`PR_SET_PDEATHSIG`; supervisors
then end its agents). After each match it kills all processes that the match has left; the server that forks
its agents stays for the next one.
"""

from __future__ import annotations

__all__ = ["MAX_MESSAGE_BYTES", "main"]

import ctypes
import gc
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from flagfall.agents.process.forking import FORK_SERVERS
from flagfall.agents.process.supervisor import KILL_SECONDS, descendants
from flagfall.agents.wire.worker import take_standard_streams
from flagfall.errors import UsageError
from flagfall.kernel.channels.framing import NEED_MORE, Framer, frame
from flagfall.tournament.run.match import play_attempt
from flagfall.tournament.run.peers import set_subreaper

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024
"""Longest message: a plan may contain tasks with all their worlds; a record has some kilobytes."""

READ_BYTES: Final = 64 * 1024
_PR_SET_PDEATHSIG: Final = 1
_REAP_SECONDS: Final = 0.001
"""Time between killing processes and checking that they have ended."""


def main(runner: int) -> int:
    """Play the matches that arrive on standard input, and return an exit code.

    Args:
        runner: id of the runner's process; the worker must not outlive it.
    """
    for number in (signal.SIGINT, signal.SIGHUP):  # the runner handles them
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != runner:  # it ended before the signal was requested
        return 1
    set_subreaper(on=True)
    read_fd, write_fd = take_standard_streams()
    messages = _messages(read_fd)
    plan, folder = next(messages)
    gc.freeze()
    with FORK_SERVERS.keep():
        for attempt in messages:
            try:
                answer: Any = play_attempt(plan, attempt, Path(folder))
            except UsageError as error:
                answer = error
            _end_orphans()
            _write(write_fd, frame(pickle.dumps(answer), MAX_MESSAGE_BYTES))
    return 0


def _end_orphans() -> None:
    """End the processes of a match that outlived their supervisor, which an agent may have killed."""
    end = time.monotonic() + KILL_SECONDS
    while time.monotonic() < end:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        left = [pid for pid in descendants(os.getpid()) if pid not in FORK_SERVERS.pids()]
        if not left:
            return
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_REAP_SECONDS)


def _messages(fd: int) -> Iterator[Any]:
    framer = Framer(MAX_MESSAGE_BYTES)
    while data := os.read(fd, READ_BYTES):
        framer.feed(data)
        while (payload := framer.next_frame()) is not NEED_MORE:
            yield pickle.loads(payload)  # noqa: S301 - the other end is our own runner


def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
