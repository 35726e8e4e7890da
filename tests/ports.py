"""TCP ports for tests that tell another program where to listen or to connect."""

from __future__ import annotations

import os
import random
import socket
from typing import Final

FIRST_PORT: Final = 10_000
"""Below it are ports of well-known services."""

LAST_PORT: Final = 32_767
"""Above it the system takes ports for connections that go out (`ip_local_port_range`). A free port of that
range may be taken by any program before it is used."""

MAX_WORKERS: Final = 64
"""Test processes of one run that share the range, each with ports of its own."""

_used: set[int] = set()
_random = random.SystemRandom()  # tests seed the common generator


def free_port() -> int:
    """Return a port that is free, and that no other test process of this run is given."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % MAX_WORKERS
    while True:
        block = _random.randrange(FIRST_PORT // MAX_WORKERS + 1, LAST_PORT // MAX_WORKERS)
        port = block * MAX_WORKERS + worker
        if port in _used:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:  # another program has it
                continue
        _used.add(port)
        return port
