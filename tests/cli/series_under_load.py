"""Play many series of matches over TCP beside busy processes, and count the matches that were lost.

    python -m tests.cli.series_under_load SERIES SECONDS

Each series is a real `flagfall run --matches 4` and a real `flagfall agent serve --matches 4`, started at the
same time. It ends after a number of series or seconds and prints one line. Exit code 1: a match was lost.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time

MATCHES = 4
FLAGFALL = [sys.executable, "-m", "flagfall"]
BURN = "while True: pass"


def play_series(folder: str) -> list[str]:
    """Play one series; return why matches were lost."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    run = f"run -t micro4 --steps 20 --matches {MATCHES} --time-control start=10s -q --json -a {url}"
    serve = f"agent serve repeating --matches {MATCHES} --connect {url}"
    with (
        subprocess.Popen([*FLAGFALL, *run.split()], cwd=folder, stdout=subprocess.PIPE) as host,
        subprocess.Popen([*FLAGFALL, *serve.split()], cwd=folder, stderr=subprocess.PIPE) as agent,
    ):
        output, _ = host.communicate()
        _, errors = agent.communicate()
    seats = [match["seats"][0] for match in json.loads(output)["matches"]]
    lost = [f"{seat['disqualified']}: {seat['detail']}" for seat in seats if seat["disqualified"] is not None]
    if len(seats) != MATCHES or agent.returncode:
        lost.append(f"{len(seats)} matches, exit code {agent.returncode}: {errors.decode().strip()}")
    return lost


def main(series: int, seconds: float) -> int:
    """Play; return the exit code."""
    burners = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(os.cpu_count() or 1)]
    lost: list[str] = []
    played = 0
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            while played < series and time.monotonic() - began < seconds:
                lost += play_series(folder)
                played += 1
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    spent = time.monotonic() - began
    print(f"{played} series of {MATCHES} beside {len(burners)} burners in {spent:.0f} s; lost: {len(lost)}")  # noqa: T201
    for why in lost:
        print(f"    {why}")  # noqa: T201
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
