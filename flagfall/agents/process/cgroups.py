"""Control groups (cgroup v2) for the processes of an agent, where this program may create them.

A group holds every process of an agent, whatever it forked or became: one write kills them all, and the
kernel counts their CPU time together. Where the controllers are delegated, the kernel limits their memory and
their number. Where nothing is writable, agents have no group: the supervisor finds their processes one by
one.
"""

from __future__ import annotations

__all__ = ["controllers", "has_controller", "make_group", "usage_clock"]

import itertools
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from flagfall.agents.process.limits import Limits
from flagfall.timing import NowNs

_numbers: Final = itertools.count()


def make_group(limits: Limits) -> Path | None:
    """Create a group with limits; `rmdir` removes an empty one.

    Args:
        limits: the limits of memory and processes; the others are not enforced by groups.

    Returns:
        The folder of the group, or `None` if none can be created here.
    """
    parent = _parent(os.getpid())
    if parent is None:
        return None
    group = parent / f"flagfall-{os.getpid()}-{next(_numbers)}"
    try:
        group.mkdir()
    except OSError:
        return None
    for file, limit in (
        ("memory.max", limits.memory),
        ("memory.swap.max", None if limits.memory is None else 0),
        ("pids.max", limits.processes),
    ):
        if limit is not None:
            with suppress(OSError):  # the controller is not delegated
                (group / file).write_text(str(limit))
    return group


def has_controller(group: Path | None, name: str) -> bool:
    """Return true if a group has a controller, so that the kernel enforces its limit.

    Args:
        group: its folder; `None` for no group.
        name: the name of the controller, such as `memory`.
    """
    return group is not None and (group / f"{name}.max").exists()


def controllers(pid: int) -> frozenset[str]:
    """Return the controllers of the groups that a process can create.

    Args:
        pid: the pid of the process.
    """
    parent = _parent(pid)
    return frozenset() if parent is None else frozenset(_controllers(parent).split())


@cache
def _parent(pid: int) -> Path | None:
    """Return the group in which this process can create groups and move others into them.

    Groups that have controllers for their children hold no processes themselves, so the parent of this
    process's group is preferred.
    """
    try:
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        top = next(Path(words[1]) for words in map(str.split, mounts) if words[2] == "cgroup2")
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        own = next(line[3:] for line in lines if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    ours = top / own.lstrip("/")
    usable = [group for group in (ours.parent, ours) if group.is_relative_to(top) and _is_writable(group)]
    return min(usable, key=lambda group: "memory" not in _controllers(group), default=None)


def _is_writable(group: Path) -> bool:
    if not all(os.access(group / file, os.W_OK) for file in ("", "cgroup.procs")):
        return False
    probe = group / f"flagfall-{os.getpid()}-probe"
    try:
        probe.mkdir()
        kills = (probe / "cgroup.kill").exists()
        probe.rmdir()
    except OSError:
        return False
    return kills


def _controllers(group: Path) -> str:
    with suppress(OSError):
        return (group / "cgroup.subtree_control").read_text()
    return ""


def usage_clock(group: Path) -> NowNs:
    """Return a clock of the CPU time of all processes of a group, ended ones too; in whole microseconds.

    Args:
        group: its folder.
    """
    last = 0

    def used() -> int:
        nonlocal last
        with suppress(OSError):  # it was removed: the clock stands still
            first = (group / "cpu.stat").read_text().split(None, 2)
            last = int(first[1]) * 1000
        return last

    return used
