"""Client that `benchmarks.gvgai` starts: parses every state, and plays at random."""

from __future__ import annotations

import json
import random
import socket
import sys
import time

from flagfall.gvgai.states import decode_state


def main(port: int) -> None:
    """Play a session, and print its ticks, its seconds and the bytes of its states as JSON.

    Args:
        port: of the server on this machine.
    """
    link = socket.create_connection(("127.0.0.1", port))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    heard = link.makefile("rb", buffering=1 << 18)
    dice = random.Random(1)
    ticks = size = 0
    began = 0.0
    while True:
        number, _, payload = heard.readline().partition(b"#")
        if payload == b"START\n":
            word = "START_DONE"
        elif payload in {b"FINISH\n", b""}:
            break
        else:
            state = decode_state(payload)
            if state.phase == "ACT":
                began = began or time.perf_counter()
                ticks += 1
                size += len(payload)
                word = dice.choice(state.available_actions)
            else:
                word = "INIT_DONE" if state.phase == "INIT" else "5"
        link.sendall(b"%s#%s#JSON\n" % (number, word.encode()))
    print(json.dumps({"ticks": ticks, "seconds": time.perf_counter() - began, "bytes": size}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
