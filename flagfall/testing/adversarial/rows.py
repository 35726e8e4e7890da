"""Rows of the matrix: misbehaving agents, and the expected verdict of each at each place."""

from __future__ import annotations

__all__ = ["PLACES", "ROWS", "Place", "Row"]

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import attrs

Place: TypeAlias = Literal["task", "thread", "process", "sandbox"]

PLACES: Final[tuple[Place, ...]] = ("task", "thread", "process", "sandbox")
"""Places where agents run: the hosts, and the process host with a sandbox."""


@attrs.frozen
class Row:
    """A misbehaving agent, and its expected verdicts.

    Attributes:
        does: a description of its behaviour.
        agent: its name in `flagfall.testing.adversarial.agents`.
        verdicts: the possible verdicts, by place; at other places the behaviour does not apply.
        stays: its thread may run on for a while, or forever: a thread cannot be stopped.
        pinned: it may run on one processor core only.
        beside_records: its code is a file beside the records of a match, a common layout.
    """

    does: str
    agent: str
    verdicts: Mapping[Place, Sequence[str]]
    stays: bool = False
    pinned: bool = False
    beside_records: bool = False


def _everywhere(*verdicts: str) -> dict[Place, Sequence[str]]:
    return dict.fromkeys(PLACES, verdicts)


def _in_processes(*verdicts: str) -> dict[Place, Sequence[str]]:
    return {"process": verdicts, "sandbox": verdicts}


def _by_rights() -> dict[Place, Sequence[str]]:
    """Return the verdicts of an attempt that the rights of the host's user decide, without a sandbox."""
    return {"process": ("could", "could not"), "sandbox": ("could not",)}


ROWS: Final = (
    Row("is late by a little", "late_by_a_little", _everywhere("late")),
    Row("is late by a lot", "late_by_a_lot", _everywhere("disqualified: late")),
    Row("never answers", "never_answers", _everywhere("disqualified: late"), stays=True),
    Row("answers twice", "answers_twice", _everywhere("dropped: double")),
    Row("answers an old turn", "AnswersAnOldTurn", _everywhere("dropped: stale", "dropped: double")),
    Row("writes garbage bytes", "garbage", _in_processes("disqualified: garbage")),
    Row("writes half a message", "half_a_message", _in_processes("disqualified: late")),
    Row("writes a message of 100 MB", "huge_message", _in_processes("disqualified: garbage")),
    Row("floods its standard output", "floods_stdout", _in_processes("disqualified: late")),
    Row("floods its standard error", "floods_stderr", _in_processes("disqualified: late")),
    Row("floods the wire with answers", "floods_the_wire", _in_processes("disqualified: late")),
    Row("spins", "spins", _in_processes("disqualified: late")),
    Row("blocks its loop", "blocks", _everywhere("disqualified: late")),
    Row("sleeps in C", "sleeps_in_c", _in_processes("disqualified: late")),
    Row("ignores SIGTERM", "ignores_sigterm", _in_processes("disqualified: late")),
    Row("stops itself", "stops_itself", _in_processes("disqualified: late")),
    Row("leaves children in sessions of their own", "leaves_children", _in_processes("disqualified: gone")),
    Row(
        "forks without end",
        "fork_bomb",
        _in_processes("disqualified: gone", "disqualified: crashed", "disqualified: late"),
    ),
    Row(
        "eats memory",
        "eats_memory",
        _in_processes("disqualified: crashed", "disqualified: gone", "disqualified: late"),
    ),
    Row(
        "fills its disk",
        "fills_the_disk",
        _in_processes("disqualified: gone", "disqualified: crashed", "disqualified: late"),
    ),
    Row(
        "writes a huge file",
        "writes_a_huge_file",
        _in_processes("disqualified: crashed", "disqualified: gone"),
    ),
    Row("opens ten thousand files", "opens_many_files", _in_processes("disqualified: crashed")),
    # The program that makes the sandbox has the pipes open, too.
    Row(
        "closes its pipes",
        "closes_its_pipes",
        {"process": ("disqualified: gone",), "sandbox": ("disqualified: late",)},
    ),
    Row("exits with 0", "exits_with_0", _in_processes("disqualified: gone")),
    Row("raises SystemExit", "raises_system_exit", _everywhere("disqualified: crashed")),
    Row("segfaults", "segfaults", _in_processes("disqualified: gone")),
    Row(
        "kills its parent",
        "kills_its_parent",
        {
            "process": ("disqualified: gone", "disqualified: late"),
            "sandbox": ("disqualified: crashed", "disqualified: late"),
        },
    ),
    Row("raises in start", "RaisesInStart", _everywhere("disqualified: not started")),
    Row("raises in init", "RaisesInInit", _everywhere("disqualified: crashed")),
    Row("raises in act", "RaisesInAct", _everywhere("disqualified: crashed")),
    Row("raises in result", "RaisesInResult", _everywhere("disqualified: crashed")),
    Row("raises in close", "RaisesInClose", _everywhere("disqualified: crashed")),
    Row("swallows its cancellation", "swallows_cancellation", {"task": ("disqualified: late",)}),
    Row(
        "reads its opponent's files",
        "reads_its_opponents_files",
        {"process": ("could",), "sandbox": ("could not",)},
    ),
    Row("opens a socket", "opens_a_socket", {"process": ("could",), "sandbox": ("could not",)}),
    Row("opens files of the kernel for writing", "writes_kernel_files", _by_rights()),
    Row(
        "uses interfaces of the kernel for debuggers and administrators",
        "uses_kernel_interfaces",
        _by_rights(),
    ),
    Row(
        "reaches the records and the control socket beside it",
        "reaches_records",
        _by_rights(),
        beside_records=True,
    ),
    Row("stops its parent", "stops_its_parent", _in_processes("disqualified: late")),
    Row("traces its parent", "traces_its_parent", _in_processes("disqualified: late")),
    Row("leaves its processor cores", "leaves_its_cores", _in_processes("could not"), pinned=True),
    Row(
        "eats shared memory", "eats_shared_memory", _in_processes("disqualified: gone", "disqualified: late")
    ),
)
"""All rows of the matrix. On a slow machine the time limit of a turn may come before another limit."""
