"""Worker process: plays the matches that it is sent, one after another.

    python -m flagfall.tournament.run.worker RUNNER

It reads frames from its standard input: first the plan, then batches of attempts, and `RECALL`, after which
it begins no further attempt of the current batch. It answers each attempt with a frame as soon as the match
has ended, and each batch with a last frame, `BATCH_ENDED`. So when a worker is lost, the runner knows which
match it was playing. The first frame is a pickle: both ends are this program, and no other has access to the
pipe; `flagfall.tournament.run.engine` describes the others.

The worker ends at the end of its input, and is killed when its runner ends in any way (`PR_SET_PDEATHSIG`;
supervisors then end its agents). After each match it kills all processes that the match has left;
the server that forks its agents stays for the next one.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from flagfall.agents.process.forking import FORK_SERVERS
from flagfall.agents.process.supervisor import KILL_SECONDS, descendants
from flagfall.agents.wire.worker import take_standard_streams
from flagfall.errors import UsageError
from flagfall.kernel.channels.framing import NEED_MORE, Framer, frame
from flagfall.tasks.catalog import add_pickled
from flagfall.tournament.run.engine import (
    BATCH_ENDED,
    MAX_MESSAGE_BYTES,
    RECALL,
    Answer,
    Attempt,
    decode_batch,
    encode_answer,
)
from flagfall.tournament.run.match import play_attempts
from flagfall.tournament.run.runtime_folder import set_subreaper

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
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        set_subreaper(on=True)
    if os.getppid() != runner:  # it ended before the signal was requested
        return 1
    read_fd, write_fd = take_standard_streams()
    runner_link = _Runner(read_fd, write_fd)
    families, start = pickle.loads(runner_link.receive())  # noqa: S301 - the other end is our own runner
    add_pickled(families)
    plan, folder, settings = pickle.loads(start)  # noqa: S301 - see above
    gc.freeze()
    with FORK_SERVERS.keep(), settings.opened() as logs, suppress(EOFError):
        play_attempts(plan, runner_link.attempts(), Path(folder), runner_link.answer, logs.sinks)
    return 0


class _Runner:
    """The runner at the other end: attempts of one batch after another, and the answers to them."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._framer = Framer(MAX_MESSAGE_BYTES)
        self._poll = select.poll()
        self._poll.register(read_fd, select.POLLIN)
        self._left: deque[Attempt] = deque()

    def attempts(self) -> Iterator[Attempt]:
        """Yield attempts; wait for a batch when there are none."""
        while True:
            message = self.receive()
            if message == RECALL:  # it arrived after the end of its batch
                continue
            self._left.extend(decode_batch(message))
            while self._left:
                yield self._left.popleft()
            self._send(BATCH_ENDED)

    def answer(self, answer: Answer, seconds: float) -> None:
        """Send the answer to an attempt; after an error, drop the rest of the batch."""
        _end_orphans()
        if isinstance(answer, UsageError) or self._has_message():
            self._left.clear()
        self._send(encode_answer(answer, seconds))

    def _has_message(self) -> bool:
        """Return whether a message, or the end of the input, has arrived since the last `receive`.

        While a batch is played the only message is `RECALL`.
        """
        return self._framer.buffered_bytes > 0 or bool(self._poll.poll(0))

    def receive(self) -> bytes:
        """Wait for the next message.

        Raises:
            EOFError: the runner has closed the pipe.
        """
        while (payload := self._framer.next_frame()) is NEED_MORE:
            if not (data := os.read(self._read_fd, READ_BYTES)):
                raise EOFError
            self._framer.feed(data)
        return payload

    def _send(self, payload: bytes) -> None:
        left = memoryview(frame(payload, MAX_MESSAGE_BYTES))
        while left:
            left = left[os.write(self._write_fd, left) :]


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


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
