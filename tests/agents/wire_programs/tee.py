"""Runs an agent that speaks lines, writes down what is said, and holds one answer back.

tee.py LOG NUMBER SECONDS PROGRAM [ARGUMENT...]
"""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path


def main() -> None:
    log, number, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with (
        log.open("w") as written,
        subprocess.Popen(
            sys.argv[4:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        ) as agent,
    ):
        assert agent.stdin is not None
        assert agent.stdout is not None
        lock = threading.Lock()

        def note(mark: str, line: str) -> None:
            with lock:
                written.write(f"{mark} {line}")
                written.flush()

        def to_agent() -> None:
            for line in sys.stdin:
                note("host ", line)
                agent.stdin.write(line)  # type: ignore[union-attr]  # looked at above

        threading.Thread(target=to_agent, daemon=True).start()
        for line in agent.stdout:
            if json.loads(line).get("number") == number:
                time.sleep(seconds)
            note("agent", line)
            sys.stdout.write(line)
            sys.stdout.flush()


main()
