"""When the input of a pipe or a socket has arrived, by the time that the kernel keeps."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import pytest
import trio

from flagfall.kernel.channels import pipes
from flagfall.kernel.channels.pipes import PipeStream, TcpStream, open_stamped_pipe

PAUSE_SECONDS = 0.1
ERROR_NS = 20_000_000  # ticks of the kernel's clock, on an idle machine some of them

Pair: TypeAlias = tuple[PipeStream, int]


@contextmanager
def pipe() -> Iterator[Pair]:
    reading, writing = open_stamped_pipe()
    stream = PipeStream(reading)
    try:
        yield stream, writing
    finally:
        stream.close()
        os.close(writing)


@contextmanager
def tcp() -> Iterator[Pair]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = TcpStream(socket.create_connection(server.getsockname()))
        theirs, _ = server.accept()
    try:
        with theirs:
            yield stream, theirs.fileno()
    finally:
        stream.close()


def age_ns(pair: Pair, write: Callable[[int], object]) -> tuple[int | None, int]:
    """Return the age of what is written and read a while later, and the longest that it can be."""
    stream, descriptor = pair
    began_ns = time.perf_counter_ns()
    write(descriptor)
    time.sleep(PAUSE_SECONDS)
    assert stream.read_nowait()
    found = stream.age_ns()
    return found, time.perf_counter_ns() - began_ns


@pytest.mark.parametrize("line", [pipe, tcp])
async def test_input_that_was_read_late_has_the_age_of_its_arrival(line: Any):
    with line() as pair:
        age_ns(pair, lambda descriptor: os.write(descriptor, b"x"))  # the kernel begins to stamp packets soon
        for _ in range(3):
            found, longest_ns = age_ns(pair, lambda descriptor: os.write(descriptor, b"answer"))
            assert found is not None
            assert PAUSE_SECONDS * 1e9 - ERROR_NS <= found <= longest_ns + ERROR_NS


async def test_the_time_of_a_write_cannot_be_set_back():
    def backdated(descriptor: int) -> None:
        os.write(descriptor, b"answer")
        os.utime(descriptor, ns=(0, 0))

    with pipe() as pair:
        found, longest_ns = age_ns(pair, backdated)
    assert found is not None
    assert found <= longest_ns + ERROR_NS


@pytest.mark.skipif(not pipes._HAS_FINE_STAMPS, reason="this kernel stamps files by its ticks alone")
@pytest.mark.parametrize("first", [b"half an ans", b"an answer to another turn"])
async def test_what_is_not_written_has_no_age(first: bytes):
    """An agent may write something at once, and splice its answer in later: that changes no time."""
    with pipe() as pair, tempfile.TemporaryFile() as file:
        stream, writing = pair
        assert age_ns(pair, lambda descriptor: os.write(descriptor, b"a late answer"))[0] is not None
        os.write(writing, first)
        assert stream.read_nowait() == first
        file.write(b"answer")
        file.seek(0)
        await trio.sleep(PAUSE_SECONDS)
        os.splice(file.fileno(), writing, 6)
        assert stream.read_nowait() == b"answer"
        assert stream.age_ns() is None
        assert age_ns(pair, lambda descriptor: os.write(descriptor, b"the next"))[0] is not None
