"""Attack the port of a match from several processes, and see whether an honest agent still gets in.

    python -m tests.agents.attack_on_door

One process keeps 1000 silent connections, the next sends a byte a second on each of 200, the next wrong
tokens as fast as it can, and the last one 1000 halves of a TLS handshake. Prints, for TCP, WebSocket over
TLS and ZeroMQ, how the match ended, the time from the start of the honest agent's program to the end of the
match, and how much memory the host had at most.
"""

from __future__ import annotations

import json
import resource
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import trustme

SILENT = 1000
SLOW = 200
HEADSTART_SECONDS = 5.0
FLAGFALL = [sys.executable, "-m", "flagfall"]
LEARNER = """
import sys, zmq
pair = zmq.Context().socket(zmq.PAIR)
pair.connect(f"tcp://127.0.0.1:{sys.argv[1]}")
pair.send(b"open sesame")
pair.send(b"hello")
while True:
    pair.recv(), pair.recv()
    pair.send(b"a")
"""


def connect(port: int) -> socket.socket | None:
    with suppress(OSError):
        return socket.create_connection(("127.0.0.1", port), timeout=1)
    return None


def hold(port: int, number: int, first: bytes, drip: bytes) -> None:
    """Keep `number` connections open, and open each anew that is closed."""
    held: list[socket.socket | None] = [None] * number
    while True:
        for place in range(number):
            try:
                connection = held[place] = held[place] or connect(port)
                if connection is not None:
                    connection.setblocking(False)
                    connection.sendall(first if drip == b"" else drip)
                    if connection.recv(1000) == b"":
                        raise ConnectionError
            except BlockingIOError:
                pass
            except OSError:
                if (lost := held[place]) is not None:
                    lost.close()
                held[place] = None
        time.sleep(1 if drip else 0.01)


def flood(port: int) -> None:
    """Send wrong tokens."""
    while True:
        with suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", port), timeout=1)
            connection.sendall(b'{"type":"join","token":"open barley"}\n')
            connection.recv(1000)
            connection.close()


def attack(role: str, port: int) -> None:
    """Run one attacker until it is killed."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    if role == "flood":
        flood(port)
    first = b"\x16\x03\x01\x02\x00\x01" if role == "half TLS" else b""
    hold(port, SLOW if role == "slow" else SILENT, first, b" " if role == "slow" else b"")


def peak_mib(pid: int) -> float:
    """The most memory that a process had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def play(scheme: str, folder: Path, roles: list[str]) -> str:
    """Play one match under attack; return a line on how it went."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"{scheme}://127.0.0.1:{port}"
    run = f"run -t micro4 --steps 500 -q --json --agent-token-file token --time-control start=40s -a {url}"
    run += " --agent-cert host.pem" if scheme == "wss" else ""
    serve = f"agent serve repeating --connect {url} --token-file token --wait 30s"
    serve += " --ca authority.pem" if scheme == "wss" else ""
    honest = (
        [sys.executable, "learner.py", str(port)] if scheme == "zmq" else [*FLAGFALL, *shlex.split(serve)]
    )
    with subprocess.Popen([*FLAGFALL, *run.split()], cwd=folder, stdout=subprocess.PIPE) as host:
        attackers = [
            subprocess.Popen([sys.executable, "-m", "tests.agents.attack_on_door", role, str(port)])
            for role in roles
        ]
        time.sleep(HEADSTART_SECONDS)
        began = time.monotonic()
        with subprocess.Popen(honest, cwd=folder) as agent:
            assert host.stdout is not None
            peak = 0.0
            while host.poll() is None:
                with suppress(OSError, IndexError):
                    peak = max(peak, peak_mib(host.pid))
                time.sleep(0.02)
            took = time.monotonic() - began
            for attacker in attackers:
                attacker.kill()
                attacker.wait()
            agent.kill()
        (match,) = json.loads(host.stdout.read())["matches"]
    (seat,) = match["seats"]
    ended = f"{match['reason']}, {match['turns']} turns, disqualified: {seat['disqualified']}"
    return f"{ended}; {took:.2f} s, peak {peak:.0f} MiB"


def main() -> None:
    """Play with and without attackers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(folder / "authority.pem"))
        ours = authority.issue_cert("127.0.0.1")
        ours.private_key_and_cert_chain_pem.write_to_path(str(folder / "host.pem"))
        (folder / "token").write_text("open sesame")
        (folder / "learner.py").write_text(LEARNER)
        for scheme in ("tcp", "wss", "zmq"):
            for roles in ([], ["silent", "slow", "flood", "half TLS"]):
                told = "attacked" if roles else "alone   "
                print(f"{scheme}  {told}  {play(scheme, folder, roles)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) > 1:
        attack(sys.argv[1], int(sys.argv[2]))
    else:
        main()
