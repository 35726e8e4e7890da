"""Agents that speak the wire badly, each in one way: bad.py WAY."""

# ruff: noqa: T201 - it speaks by printing

import json
import os
import sys
import time
from typing import Any

READY = {"type": "ready"}


def say(message: object) -> None:
    print(json.dumps(message), flush=True)


def hello() -> dict[str, Any]:
    greeting: dict[str, Any] = json.loads(sys.stdin.readline())
    return greeting


def answer_all(**changes: object) -> None:
    for line in sys.stdin:
        ask = json.loads(line)
        if ask["type"] == "bye":
            return
        say({"type": "answer", "number": ask["number"], "action": ask["observation"], **changes})


way = sys.argv[1]
if way == "speaks first":  # before the greeting is there: nothing wrong with that
    say(READY)
    hello()
    answer_all()
greeting = hello()
if way == "prints":
    print("Loading the model...", flush=True)
elif way == "another version":
    say({**READY, "version": 99})
elif way == "answers first":
    say({"type": "answer", "number": 0, "action": 1})
elif way == "fails":
    say({"type": "failed", "reason": "out of cheese", "detail": "line 7"})
elif way == "half a line":
    say(READY)
    os.write(1, b'{"type":"answ')
    os._exit(0)
elif way == "a long line":
    say(READY)
    os.write(1, b"x" * 5_000_000)
elif way == "frames unasked":
    say(READY)
    os.write(1, b"\x00\x00\x00\x01\xc0\n")
elif way == "carriage returns":
    sys.stdout.write(json.dumps(READY) + "\r\n")
    sys.stdout.flush()
    answer_all()
elif way == "texts for numbers":
    say(READY)
    answer_all(action="1")
elif way == "arrays":
    say(READY)
    answer_all(action={"$ndarray": "|u1", "shape": [2], "data": "AQI="})
elif way == "counts spaces":  # nothing bad in that
    say(READY)
    told = greeting["spaces"]
    for line in sys.stdin:
        ask = json.loads(line)
        if ask["type"] == "bye":
            break
        told = ask.get("spaces", told)
        say({"type": "answer", "number": ask["number"], "action": told["action"]["n"]})
elif way == "all phases":
    say({**READY, "wants": ["act", "init", "result"]})
    answer_all()
time.sleep(
    30 if way not in {"carriage returns", "texts for numbers", "arrays", "all phases", "counts spaces"} else 0
)
