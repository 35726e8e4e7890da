"""Limits on the resources of an agent's process, and the control groups that enforce them."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs

from flagfall.errors import UsageError, suggest
from flagfall.timing import NowNs
from flagfall.timing.durations import S, format_duration, parse_duration

UNITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "B": 1,
        **{f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)},
        **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)},
    }
)
"""The units of a written size, in bytes."""

_SIZE = re.compile(r"([0-9]{1,15})([A-Za-z]*)")
_COUNT = re.compile("[0-9]{1,15}")
_CORES = re.compile("([0-9]{1,4})(?:-([0-9]{1,4}))?")
_SPELLINGS: Final = {unit.lower(): unit for unit in UNITS}


def usable_cores() -> set[int]:
    """Return the processor cores that this process may use: all of them where the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def parse_size(text: str) -> int:
    """Return the bytes of a size such as `512MB` or `4GiB`; case is ignored.

    Args:
        text: a whole number and a unit of `UNITS`.

    Raises:
        UsageError: the text has another form.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].lower() not in _SPELLINGS:
        raise UsageError(f"{text!r} is not a size: write a number and a unit, such as 512MB or 4GiB")
    return int(match[1]) * UNITS[_SPELLINGS[match[2].lower()]]


def format_size(size: int) -> str:
    """Return the text of a size in bytes, in the largest unit of which it is a whole number."""
    fitting = [unit for unit, scale in UNITS.items() if size and size % scale == 0]
    unit = max(fitting, key=lambda unit: UNITS[unit], default="B")
    return f"{size // UNITS[unit]}{unit}"


def _parse_count(text: str) -> int:
    if _COUNT.fullmatch(text) is None or int(text) == 0:
        raise UsageError(f"{text!r} is not a count: write a whole number, at least 1")
    return int(text)


def _parse_cores(text: str) -> tuple[int, ...]:
    """Return the cores in a text such as `0`, `0-3` or `0+2+4-5`."""
    found: set[int] = set()
    for part in text.split("+"):
        numbers = _CORES.fullmatch(part)
        first, last = (0, -1) if numbers is None else (int(numbers[1]), int(numbers[2] or numbers[1]))
        if first > last:
            raise UsageError(f"{text!r} names no cores: write 0, 0-3 or 0+2")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def _positive(limits: Limits, attribute: attrs.Attribute[int | None], value: object) -> None:
    del limits
    if value is not None and (type(value) is not int or value <= 0):
        raise UsageError(f"limits: {attribute.name} is {value!r}: write a whole number above 0, or None")


def _limit(default: int | None = None) -> Any:
    return attrs.field(default=default, validator=_positive)


@attrs.frozen(kw_only=True)
class Limits:
    """Limits on the resources of an agent in a process; `None` is no limit.

    The text form is a list of words such as `memory=512MB processes=64 cpu=10m cores=0-1`, separated by
    spaces or commas; `memory=none` removes a limit, `none` alone all of them. Limits that are not named keep
    their defaults.

    Attributes:
        memory: bytes of memory. At once of each process, what it asked for and may write (`RLIMIT_DATA`;
            program code and reserved addresses do not count). Of all processes of the agent together, with
            shared memory: at once where the memory controller of cgroup v2 can be used, else within 100 ms.
        address_space: bytes of addresses of a process, used or not (`RLIMIT_AS`).
        cpu: nanoseconds of CPU time of a process, in whole seconds; then the system ends it.
        processes: processes and threads, all together.
        files: open files of a process.
        file_size: bytes of a file that a process writes.
        disk: bytes in the private temporary folder.
        cores: the numbers of the processor cores on which it may run; `None` for all. It cannot change that.

    Raises:
        UsageError: a value is invalid.
    """

    memory: int | None = _limit()
    address_space: int | None = _limit()
    cpu: int | None = _limit()
    processes: int | None = _limit(512)
    files: int | None = _limit(1024)
    file_size: int | None = _limit()
    disk: int | None = _limit(1024**3)
    cores: tuple[int, ...] | None = None

    def __attrs_post_init__(self) -> None:
        if self.cpu is not None and self.cpu % S:
            raise UsageError(f"limits: cpu is {format_duration(self.cpu)}: write whole seconds")

    def __str__(self) -> str:
        values = {field: getattr(self, field.name) for field in attrs.fields(Limits)}
        changed = {field.name: value for field, value in values.items() if value != field.default}
        words = (f"{n}={'none' if v is None else _FIELDS[n][1](v)}" for n, v in changed.items())
        return " ".join(words) or "default"

    @classmethod
    def parse(cls, text: str) -> Limits:
        """Parse the text form; `Limits.parse(str(limits)) == limits`.

        Raises:
            UsageError: a word is invalid; the message names it and the fix.
        """
        words = text.replace(",", " ").split()
        if words == ["none"]:
            return UNLIMITED
        values: dict[str, Any] = {}
        for word in words if words != ["default"] else ():
            name, equals, value = word.partition("=")
            if name not in _FIELDS or not equals:
                raise UsageError(f"limits: {word!r}{suggest(name, _FIELDS)}; write such as memory=512MB")
            if name in values:
                raise UsageError(f"limits: {name} is set a second time")
            try:
                values[name] = None if value == "none" else _FIELDS[name][0](value)
            except UsageError as error:
                raise UsageError(f"limits: {name}: {error}") from None
        return cls(**values)


def _format_cores(cores: tuple[int, ...]) -> str:
    return "+".join(map(str, cores))


_Read = Callable[[str], Any]
_Write = Callable[[Any], str]
_FIELDS: Final[Mapping[str, tuple[_Read, _Write]]] = {
    "memory": (parse_size, format_size),
    "address_space": (parse_size, format_size),
    "cpu": (parse_duration, format_duration),
    "processes": (_parse_count, str),
    "files": (_parse_count, str),
    "file_size": (parse_size, format_size),
    "disk": (parse_size, format_size),
    "cores": (_parse_cores, _format_cores),
}
"""The parser and the formatter of each field."""

UNLIMITED: Final = Limits(processes=None, files=None, disk=None)
"""Limits that allow everything."""


# Control groups (cgroup v2) for the processes of an agent, where this program may create them.
#
# A group holds every process of an agent, whatever it forked or became: one write kills them all, and the
# kernel counts their CPU time together. Where the controllers are delegated, the kernel limits their memory
# and their number. Where nothing is writable, agents have no group: the supervisor finds their processes one
# by one.

_numbers: Final = itertools.count()


def make_group(limits: Limits) -> Path | None:
    """Create a group with the limits of memory and processes; `None` if none can be created here."""
    parent = _parent(os.getpid())
    if parent is None:
        return None
    group = parent / f"flagfall-{os.getpid()}-{next(_numbers)}"
    try:
        group.mkdir()
    except OSError:
        return None
    swap = None if limits.memory is None else 0
    files = {"memory.max": limits.memory, "memory.swap.max": swap, "pids.max": limits.processes}
    for file, limit in files.items():
        if limit is not None:
            with suppress(OSError):  # the controller is not delegated
                (group / file).write_text(str(limit))
    return group


def has_controller(group: Path | None, name: str) -> bool:
    """Return true if a group has a controller, so that the kernel enforces its limit."""
    return group is not None and (group / f"{name}.max").exists()


def controllers(pid: int) -> frozenset[str]:
    """Return the controllers of the groups that a process can create."""
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
    """Return a clock of the CPU time of all processes of a group, ended ones too; in whole microseconds."""
    last = 0

    def used() -> int:
        nonlocal last
        with suppress(OSError):  # it was removed: the clock stands still
            first = (group / "cpu.stat").read_text().split(None, 2)
            last = int(first[1]) * 1000
        return last

    return used
