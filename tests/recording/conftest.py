"""Small tasks, and matches of them, for the tests of this folder."""

import json
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import trio

from flagfall.agents.hosts.this_process import LoopHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import StepResult
from flagfall.recording.journal.format import BATCH_EVENTS
from flagfall.timing import TimeControl, VirtualClock

CONTROL = TimeControl.parse("act=40ms/1s start=1s init=1s result=1s")


class Tasks:
    """A task scheduler: each of some tasks once, or over and over."""

    def __init__(self, *tasks, rounds=1):
        self.queue = list(tasks) * rounds
        self.outcomes: list[Any] = []
        self.closed = 0

    def set_seed(self, seed):
        self.seed = seed

    def next_task(self):
        return self.queue.pop(0) if self.queue else None

    def report(self, outcome):
        self.outcomes.append(outcome)

    def close(self):
        self.closed += 1


class Echo:
    """Says random letters, and pays for each that is said back; the last reward is owed."""

    id = "echo"
    players: tuple[str, ...] = ("solo",)
    continuous = True
    nil_action: Any = 32

    def __init__(self, steps=5, breaks_at=None, strange_at=None):
        self.length = steps
        self.breaks_at = breaks_at
        self.strange_at = strange_at

    def is_legal(self, action):
        return type(action) is int and 0 <= action < 256

    def reset(self, seed: int) -> Any:
        self.random = Random(seed)
        self.steps = self.right = 0
        self.said = self.random.randrange(97, 123)
        return self.said

    def step(self, action):
        if self.steps == self.breaks_at:
            raise RuntimeError("it is broken")
        self.steps += 1
        paid = 0.5 if action == self.said else -1
        self.right += action == self.said
        self.said = self.random.randrange(97, 123)
        shown = object() if self.steps == self.strange_at else self.said
        return StepResult(shown, paid, terminated=self.steps == self.length)

    def result(self):
        return self.right == self.length

    def metrics(self) -> dict[str, Any]:
        return {"right": self.right, "share": self.right / 3}

    def close(self):
        pass


class Grid(Echo):
    """Shows one and the same array, changed in place; takes lists of arrays and tuples."""

    id = "grid"
    continuous = False

    def is_legal(self, action):
        return type(action) is tuple and len(action) == 2

    def reset(self, seed):
        super().reset(seed)
        self.array = np.zeros((2, 3), np.float32)
        self.array[0, 0] = np.float32(seed % 97) / 7
        return {"view": self.array, "name": "grün"}

    def step(self, action):
        _, paid, over, _, _ = super().step(int(action[0]))
        self.array += np.float32(0.1)
        return StepResult({"view": self.array, "name": "grün"}, np.float64(paid) / 3, over)

    nil_action = (0, 0)

    def metrics(self):
        return {"sum": self.array.copy()}


class Duel(Echo):
    """Two players; in odd steps only the second is asked."""

    id = "duel"
    players = ("left", "right")
    continuous = False

    def _shown(self):
        asked = self.players if self.steps % 2 == 0 else self.players[1:]
        return {player: self.random.randrange(9) for player in asked}

    def reset(self, seed):
        super().reset(seed)
        return self._shown()

    def step(self, actions):
        self.steps += 1
        paid = {player: action % 3 for player, action in actions.items()}
        return StepResult(self._shown(), paid, terminated=self.steps == self.length)


class Waiting(Echo):
    """Runs in an actor of its own."""

    id = "waiting"

    async def run(self, referee):
        for _ in range(self.length):
            await referee.ask(97, 0)


class PatientTasks(Tasks):
    """A task scheduler that waits for real things."""

    async def next_task(self):
        return super().next_task()


class Repeater:
    """Says what it hears."""

    def reply(self, byte, _reward):
        return byte


class Guesser:
    """Right now and then."""

    def start(self, briefing):
        self.random = Random(briefing.seed)

    def reply(self, byte, _reward):
        return byte if self.random.random() < 0.7 else 33


class Dreamer(Guesser):
    """Late now and then; takes time."""

    async def act(self, _observation):
        await trio.sleep(self.random.choice([0.001, 0.002, 0.05]))
        return 5


def pair(observation):
    return (int(observation["view"].sum()) + 90, 1)


async def match(journal, scheduler, *agents, seed=3, steps=None, sinks=(), stop=None, **more):
    hosts = [LoopHost(agent, f"agent {number}") for number, agent in enumerate(agents or [Guesser])]
    options = {
        "control": CONTROL,
        "seed": seed,
        "steps": steps,
        "stop": stop,
        "header": {"tasks": []},
        **more,
    }
    return await play_match(
        scheduler, hosts, sinks=[*([journal] if journal is not None else []), *sinks], **options
    )


def run(*args, virtual=True, **options):
    """Play one match; hanging fails the test."""

    async def main():
        with trio.fail_after(60 if not virtual else 1e9):
            return await match(*args, **options)

    return trio.run(main, clock=VirtualClock() if virtual else None)


def sealed(events):
    """The text of a journal of these lines (bytes or dicts), with true seals."""
    text, held, count = b"", [], 0
    lines = [
        line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() + b"\n"
        for line in events
    ]
    for number, line in enumerate(lines, 1):
        held.append(line)
        event = json.loads(line)
        count += len(event["at_ns"]) if event["event"] == "turns" else 1
        last = number == len(lines)
        if count >= BATCH_EVENTS or last:
            text += b"".join(held)
            digits = sha256(text).hexdigest()
            digits = digits if last else digits[:16]
            text += b'{"event":"seal","lines":%d,"sha256":"%s"}\n' % (len(held), digits.encode())
            held, count = [], 0
    return text


def lines_of(path: Path):
    """The events of a journal as dicts, as they stand in lines of their own."""
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [one for event in events if event["event"] != "seal" for one in alone(event)]


def alone(event):
    """Turns that stand together, each by itself; anything else as it is."""
    if event["event"] != "turns":
        return [event]
    columns = {**event, "at_ns": list(accumulate(event["at_ns"]))}
    names = ["at_ns", "observation", "reward", "action", "spent_ns"]
    rows = zip(*(columns[name] for name in names), strict=True)
    return [
        {"event": "turn", "turn": event["turn"] + number, **dict(zip(names, row, strict=True))}
        for number, row in enumerate(rows)
    ]


@pytest.fixture
def lab():
    return SimpleNamespace(
        Tasks=Tasks,
        PatientTasks=PatientTasks,
        Echo=Echo,
        Grid=Grid,
        Duel=Duel,
        SLOW=TimeControl.parse("act=20s/30s start=20s"),
        Waiting=Waiting,
        Repeater=Repeater,
        Guesser=Guesser,
        Dreamer=Dreamer,
        pair=pair,
        match=match,
        run=run,
        sealed=sealed,
        lines_of=lines_of,
        alone=alone,
    )
