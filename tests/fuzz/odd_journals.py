"""Journals with true seals and odd contents: a file can be sealed anew after it was changed.

Invariant: `results`, `transcript`, `verify` and `gvgai results` end by themselves, with an exit code of their
own and one line where they fail; no traceback, whatever stands in the file.

python -m tests.fuzz.odd_journals 60 [FIRST_SEED]      # seconds to run
"""

# ruff: noqa: T201 - a program

from __future__ import annotations

import io
import json
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import attrs

from flagfall.cli import main as command
from flagfall.playing import run
from flagfall.recording.journal.format import Sealer
from flagfall.tasks.configs import config_of, load_config
from flagfall.tasks.vgdl.learning_track import TrackRules
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from tests.fuzz.unruly_agents import Unruly

COMMANDS = ("verify", "results", "transcript", "gvgai results")
MAX_SECONDS = 10
"""A command that takes longer on one of these journals, of some kilobytes, hangs."""

MAX_MEMORY_BYTES = 4 * 2**30
MOST_CHANGES = 3


@attrs.frozen
class Raw:
    """JSON text that encodes no Python value."""

    text: str


def _deep(depth: int, opening: str = "[", closing: str = "]", inside: str = "") -> Raw:
    return Raw(opening * depth + inside + closing * depth)


ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**53 + 1,
        2**63,
        2**64,
        -(2**63) - 1,
        10**30,
        0.5,
        -0.0,
        1e308,
        10**9,
    ),
    *(
        "",
        "\x1b[31m",
        "\x00",
        "a\nb",
        "x" * 100_000,
        "../../etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "{}",
        "[",
        "\U0001f600",
    ),
    *(
        [],
        {},
        [[]],
        [None],
        {"": None},
        {"a": 1},
        {"a": 1e308, "b": 1e308},
        {"a": {"b": []}},
        [1, "a", None],
        list(range(5000)),
    ),
    *({"$ndarray": "<f4"}, {"$ndarray": "<f4", "shape": [2], "data": "!!"}, {"$digest": 1, "bytes": []}),
    {"$ndarray": "|u1", "shape": [2**20, 2**20], "data": ""},
    {"$ndarray": "|u1", "shape": [-1], "data": ""},
    {"$ndarray": "|O8", "shape": [1], "data": "AAAAAAAAAAA="},
    {"$ndarray": "<f8", "shape": [1], "data": "AAAAAAAA8H8="},
    {"$ndarray": "<f8", "shape": [0] * 33, "data": ""},
    {"$digest": "0" * 32, "bytes": -1},
    *map(
        Raw,
        ("NaN", "Infinity", "1e999", "-1e999", '"\\ud800"', '"\\udfff\\ud800"', "9" * 5000, "-" + "9" * 400),
    ),
    *(
        _deep(300),
        _deep(1500),
        _deep(100_000),
        _deep(1500, '{"a":', "}", "1"),
        _deep(100_000, '{"a":', "}", "1"),
    ),
)
"""Values for any place."""

TEXTS: dict[str, tuple[Any, ...]] = {
    "tasks": (
        *(
            "micro1",
            "nothing",
            "",
            ":",
            "gym:",
            "gym:x:y",
            "gym:CartPole-v1",
            "vgdl:",
            "vgdl:windfall#99",
            "vgdl:/dev/zero",
        ),
        *(
            "vgdl:windfall#0:pixels=200:observation=image",
            "vgdl:windfall#0:block=99999999999999999999",
            "vgdl:a\x00.txt",
        ),
        *(
            "langroom:echo:length=2000000000",
            "langroom:echo:resolution=2000000000",
            "langroom:echo:vocab_size=2147483647",
        ),
        *("pettingzoo:", "pettingzoo:a.b", "pettingzoo:classic/chess_v6?x=1", "pettingzoo:.", "gym:::"),
        "gym:FrozenLake-v1?desc=" + json.dumps(["S" + "F" * 1998 + "G"] * 2000),
        "gym:FrozenLake-v1?map_name=" + "x" * 100_000,
        "gym:CartPole-v1?max_episode_steps=1000000000000000000000",
        "gym:CartPole-v1?render_mode=[[[[]]]]",
        "gym:CartPole-v1?nil=" + "[" * 50_000,
        "gym:CartPole-v1?" + "&".join(f"a{number}=1" for number in range(20_000)),
        "gym:CartPole-v1?sutton_barto_reward=" + "9" * 5000,
        "gym:flagfall/CommAI-v0?task=gym:flagfall/CommAI-v0",
        "gym:flagfall/CommAI-v0?config=/dev/zero",
        "gym:flagfall/LangRoom-v0?resolution=100000000",
        "gym:flagfall/VGDL-v0?game=windfall&pixels=1000000",
        "x" * 1_000_000,
    ),
    "scheduler": (
        *(
            "sequential:1000000000",
            "sequential:" + "9" * 5000,
            "consecutive:1000000000",
            "incremental:" + "9" * 30,
            ":",
            "",
        ),
        *(
            "random:1",
            "dependencies:",
            "dependencies:micro1>micro1",
            "dependencies:" + "a>" * 50_000 + "a",
            "sequential:\u0663",
        ),
        *(
            "sequential:-1",
            "sequential:rounds=0",
            "consecutive:success_threshold=;",
            "sequential" * 10_000,
            "\x1b[31m",
        ),
    ),
    "config": (
        *(
            "{}",
            "[]",
            "null",
            "",
            "{",
            "1",
            '"a"',
            "[" * 100_000,
            '{"a":' * 100_000,
            "9" * 100_000,
            "NaN",
            '{"python":"a.py:b"}',
        ),
        *(
            '{"gvgai":1}',
            '{"gvgai":{"game":"windfall","rules":{}}}',
            '{"gvgai":{"game":1,"rules":[]}}',
            '{"python":[[]]}',
        ),
        '{"scheduler":{"policy":"sequential","tasks":["micro1"],"rounds":1' + "0" * 5000 + "}}",
        '{"scheduler":{"policy":"sequential","tasks":["*"]},"words":"/dev/zero"}',
        '{"scheduler":{"policy":"sequential","tasks":["micro1"]},"words":["a"]}',
        '{"scheduler":{"policy":"sequential","tasks":' + json.dumps(["*"] * 100_000) + "}}",
        '{"scheduler":{"policy":"sequential","tasks":["micro3"]},"tasks":{"micro3":{"options":1000000000}}}',
        '{"scheduler":{"policy":"sequential","tasks":["micro5.1"]},"tasks":{"micro5.1":{"mapping_size":1000000000}}}',
        '{"scheduler":{"policy":"sequential","tasks":["micro1"]},"tasks":{"micro1":{"required":1000000000}}}',
        '{"scheduler":{"policy":"sequential","tasks":["micro1"]},"tasks":{"'
        + "*" * 60
        + 'a":{"type":"micro1"}}}',
    ),
    "time_control": (
        "",
        "act=9999999999999999999ns",
        "act=1ns",
        "x" * 10_000,
        "act=" + "9" * 5000 + "s",
        "\x1b[31m\n",
    ),
    "agents": ([], ["a"] * 100_000, [""], ["a", "b"], ["\x1b[31m"]),
    "steps": (0, 1, -1, 10**18),
    "schema": (0, 1, 2, 3, -1, 10**30),
}
"""Values for the fields of the header."""


def _families() -> dict[str, Callable[[Path], Any]]:
    """Return what records a journal of each family of tasks."""
    record = partial(run, clock="virtual", steps=40, seed=3)
    two = ["random", "random"]
    capped = config_of(["micro1", "micro3"], "sequential", {"bit_mode": True, "max_reward_per_task": 5})
    track = TrackSetup("windfall", TrackRules(games=2))
    unruly = Unruly(Random(1), 0.9)
    return {
        "bytes": lambda path: record(["micro1", "mini0"], "random", scheduler="consecutive:2", journal=path),
        "configured": lambda path: record(load_config("challenge"), "random", journal=path),
        "bits": lambda path: record(capped, lambda _bit: 1, journal=path),
        "rooms": lambda path: record("langroom:echo:length=9", "random", journal=path),
        "game": lambda path: record("vgdl:windfall#0", "random", journal=path),
        "track": lambda path: record(track, lambda _state: "ACTION_LEFT", journal=path),
        "gymnasium": lambda path: record("gym:CartPole-v1", "random", journal=path),
        "box": lambda path: record("gym:Pendulum-v1", "random", journal=path),
        "masked": lambda path: record("gym:Taxi-v4?action_mask=true", "random", journal=path),
        "in turn": lambda path: record("pettingzoo:classic/tictactoe_v3", two, journal=path),
        "together": lambda path: record("pettingzoo:classic/rps_v2", two, journal=path),
        "unruly": lambda path: record("micro1", unruly, time_control="act=10ms/30ms", journal=path),
    }


FAMILIES = tuple(_families())


def recorded(family: str, folder: Path) -> list[dict[str, Any]]:
    """Record a match of this family; return its lines as values, without seals."""
    path = folder / "good.jsonl"
    _families()[family](path)
    lines = map(json.loads, path.read_bytes().splitlines())
    return [line for line in lines if line["event"] != "seal"]


# Changes.


def _places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of a value."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], *path, key)
    elif isinstance(value, list):
        for at in range(min(len(value), 5)):
            yield from _places(value[at], *path, at)


def _changed(random: Random, line: dict[str, Any]) -> dict[str, Any]:
    """Change one place of a line."""
    if line["event"] == "match" and random.random() < 0.7:
        field = random.choice(tuple(TEXTS))
        value = random.choice(TEXTS[field])
        if field == "tasks" and random.random() < 0.8:
            value = [value, "micro1"][: random.randrange(1, 3)]
        return {**line, field: value}
    *parents, last = random.choice(list(_places(line)))
    line = json.loads(json.dumps(line))
    within: Any = line
    for key in parents:
        within = within[key]
    how = random.random()
    if how < 0.15:
        del within[last]
    elif how < 0.3 and isinstance(within, dict):
        within[random.choice(("seat", "turn", "answers", "verdict", "why", "x"))] = random.choice(ODD)
    else:
        within[last] = random.choice(ODD)
    return line


def _texts(value: Any) -> bytes:
    """Return the JSON of a line, with `Raw` as it is."""
    raw: list[str] = []

    def spliced(part: Any) -> Any:
        assert isinstance(part, Raw)
        raw.append(part.text)
        return f"@raw{len(raw) - 1}@"

    text = json.dumps(value, separators=(",", ":"), default=spliced)
    for number, instead in enumerate(raw):
        text = text.replace(f'"@raw{number}@"', instead)
    return text.encode() + b"\n"


def odd_journal(random: Random, lines: list[dict[str, Any]]) -> bytes:
    """Return the journal of these lines with some odd places, sealed."""
    lines = list(lines)
    for _ in range(random.randrange(1, MOST_CHANGES + 1)):
        at = 0 if random.random() < 0.4 else random.randrange(len(lines))
        how = random.random()
        if how < 0.05:
            lines.insert(at, random.choice(lines))
        elif how < 0.1 and len(lines) > 1:
            del lines[at]
        elif lines[at].get("event") is not None and not _has_raw(lines[at]):
            lines[at] = _changed(random, lines[at])
    texts = b"".join(map(_texts, lines))
    return texts + Sealer().seal(texts, len(lines), last=True)


def _has_raw(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_raw, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Raw)


# Commands.


def _too_long(*_: Any) -> None:
    raise KeyboardInterrupt


def complaint(line: str, path: Path) -> str | None:
    """Run a command on a journal; return what is wrong with its end, or `None`."""
    out, err = io.StringIO(), io.StringIO()
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = command([*line.split(), str(path)])
    except BaseException as error:  # noqa: BLE001 - this is what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"a traceback: {type(error).__name__}: {str(error)[:200]} ({place.filename}:{place.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    told = [said for said in err.getvalue().splitlines() if not said.startswith("flagfall: warning: ")]
    if code not in {0, 1, 2}:
        return f"it takes more than {MAX_SECONDS} s" if code == 130 else f"exit code {code}"
    if len(told) != (code == 2) or any(len(said) > 2000 for said in told):
        return f"exit code {code} and {len(told)} lines: {told[:3]!s:.400}"
    if line == "verify" and code != 2 and len(out.getvalue().splitlines()) != 1:
        return f"{out.getvalue()!r:.300} is not one line"
    if any(not (char.isprintable() or char == "\n") for char in err.getvalue()):
        return f"a terminal would obey it: {err.getvalue()!r:.300}"
    return None


def main() -> None:
    """Look for a journal that a command does not take."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    until = time.monotonic() + float(sys.argv[1])
    number = first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = {family: recorded(family, folder) for family in FAMILIES}
        while time.monotonic() < until:
            random = Random(number)
            family = random.choice(FAMILIES)
            path = folder / "odd.jsonl"
            path.write_bytes(odd_journal(random, good[family]))
            for line in COMMANDS:
                wrong = complaint(line, path)
                if wrong is not None:
                    found += 1
                    print(f"{number} ({family}) {line}: {wrong}", flush=True)
            number += 1
    print(f"{number - first} journals, {found} complaints")
    raise SystemExit(min(found, 1))


if __name__ == "__main__":
    main()
