"""Clients of the learning track as programs of their own, from the protocol alone: no flagfall in them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CLIENT = r'''
import json, os, socket, sys, time

if sys.argv[1] == "pipe":
    reads, writes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
else:
    link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reads, writes = link.makefile("rb"), link.makefile("wb", buffering=0)
log = open(sys.argv[2], "w", buffering=1)

def raw(data):
    writes.write(data)

def say(number, word, kind="JSON"):
    log.write("C %d#%s\n" % (number, word))
    raw(("%d#%s#%s\n" % (number, word, kind)).encode())

def hear():
    line = reads.readline()
    if not line:
        log.write("closed\n")
        sys.exit(0)
    assert line.endswith(b"\n"), line
    number, _, payload = line.rstrip(b"\r\n").partition(b"#")
    if payload in (b"START", b"FINISH"):
        log.write("S %d#%s\n" % (int(number), payload.decode()))
        return int(number), payload.decode(), None
    state = json.loads(payload)
    log.write("S %d#%s\n" % (int(number), payload.decode()))
    return int(number), state["phase"], state

def start():
    number, phase, _ = hear()
    assert (number, phase) == (0, "START"), (number, phase)
    say(0, "START_DONE")

def play(act=lambda n, s: say(n, "ACTION_RIGHT"), end=lambda n, s: say(n, "END_TRAINING"),
         init=lambda n, s: say(n, "INIT_DONE")):
    """Answer everything to the end."""
    answers = {"INIT": init, "ACT": act, "END": end, "ABORT": end}
    while True:
        number, phase, state = hear()
        if phase == "FINISH":
            sys.exit(0)
        answers[phase](number, state)

'''


class Client:
    """A program in a file, and what it heard and said."""

    def __init__(self, folder: Path, behaviour: str, name: str = "client") -> None:
        self.path = folder / f"a {name}.py"  # with a space: commands are split as a shell would
        self.log = folder / f"{name}.log"
        self.path.write_text(CLIENT + behaviour)

    def words(self, where: int | str) -> list[str]:
        """The command that runs it."""
        return [sys.executable, str(self.path), str(where), str(self.log)]

    @contextmanager
    def connected(self, port: int) -> Iterator[subprocess.Popen[bytes]]:
        """The program, playing; it must end by itself."""
        with subprocess.Popen(self.words(port), stderr=subprocess.PIPE) as process:
            try:
                yield process
            finally:
                process.kill()

    @property
    def lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def states(self) -> list[tuple[int, dict[str, Any]]]:
        """Every state that it heard, with its number."""
        found = []
        for line in self.lines:
            if line.startswith("S ") and "#{" in line:
                number, _, payload = line[2:].partition("#")
                found.append((int(number), json.loads(payload)))
        return found

    @property
    def told(self) -> list[str]:
        """The session in short: `S 1#INIT`, `C 1#INIT_DONE`, ..."""
        return [_short(line) for line in self.lines]


def _short(line: str) -> str:
    head, found, payload = line.partition("#{")
    return f"{head}#{json.loads('{' + payload)['phase']}" if found else line


def numbers(told: Sequence[str], who: str) -> list[int]:
    return [int(line[2:].partition("#")[0]) for line in told if line.startswith(f"{who} ")]
