"""Sandboxes by bubblewrap: no network, a read-only system of which little is seen, a `/tmp` of its own.

Visible are the system's programs and libraries, this Python with its packages, and the agent's own code: the
folder of its file, or its package. Home folders, the temporary files of others and other agents are not,
unless they are in one of these; so give each agent a folder of its own.
"""

from __future__ import annotations

__all__ = ["check_sandbox", "sandboxed", "shown_for"]

import importlib.machinery
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from flagfall.agents.limits import Limits
from flagfall.agents.samples import SAMPLES
from flagfall.errors import UsageError

TMP: Final = "/tmp"  # noqa: S108 - a new one for each sandbox
"""Where an agent in a sandbox has its temporary files; in memory, and gone with it."""

_SYSTEM: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nix",
    "/etc/ssl",
    "/nix/store",
)
"""What programs of the system need; nothing in it is secret."""

_NAMESPACES: Final = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
_SHARED_MEMORY_BYTES: Final = 64 * 1024**2
_PROBE_SECONDS: Final = 10


def sandboxed(command: Sequence[str], shown: Iterable[str], limits: Limits) -> list[str]:
    """The command as it runs in a sandbox.

    Args:
        command: a program and its arguments.
        shown: the files and folders that it can read, besides the system and this Python.
        limits: `disk` is the size of its `/tmp`.

    Raises:
        UsageError: there is no bubblewrap, or it may not make sandboxes here.
    """
    check_sandbox()
    return [*_wrapper(shown, limits), "--", *command]


@cache
def check_sandbox() -> None:
    """Whether there can be sandboxes here; looks once.

    Raises:
        UsageError: there can be none; says why.
    """
    if shutil.which("bwrap") is None:
        raise UsageError("isolation sandbox needs bubblewrap: install it (package bubblewrap, program bwrap)")
    try:
        tried = subprocess.run(  # noqa: S603 - a fixed command
            [*_wrapper((), Limits()), "--", sys.executable, "-I", "-S", "-c", ""],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"isolation sandbox: bubblewrap does not work here: {error}") from error
    if tried.returncode:
        raise UsageError(
            f"isolation sandbox: bubblewrap does not work here: {tried.stderr.strip()}; where user namespaces"
            " are forbidden (in most containers), take isolation process"
        )


def _wrapper(shown: Iterable[str], limits: Limits) -> list[str]:
    size = [] if limits.disk is None else ["--size", str(limits.disk)]
    words = ["bwrap", *_NAMESPACES]
    words += ["--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", TMP]
    words += ["--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108 - new ones, too
    for path in _without_inner([*_SYSTEM, *_python_places(), *shown]):
        words += ["--ro-bind-try", path, path]
    here = str(Path.cwd())
    return [*words, "--dir", here, "--remount-ro", "/", "--chdir", here]


def _python_places() -> list[str]:
    """Where this Python and what it imports for an agent are."""
    named = (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(Path(__file__).parents[1]))
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [str(Path(place).absolute()) for place in (*named, *filter(None, path))]


def _without_inner(paths: Iterable[str]) -> list[str]:
    """The paths, shortest first, without those that are in another one."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: (len(Path(path).parts), path)):
        if not any(Path(path).is_relative_to(outer) for outer in kept):
            kept.append(path)
    return kept


def shown_for(spec: str) -> tuple[str, ...]:
    """The files and folders that hold an agent's own code.

    Args:
        spec: see `flagfall.agents.specs`; one that names nothing has none, and fails when it is loaded.
    """
    place = spec.rpartition(":")[0]
    if spec in SAMPLES or not place:
        return ()
    if place.endswith(".py"):
        file = Path(place).absolute()
        folder = file.parent
        common = folder in {Path("/"), Path(tempfile.gettempdir()), Path.home()}
        return (str(file if common else folder),)
    found = importlib.machinery.PathFinder.find_spec(place.partition(".")[0], [str(Path.cwd()), *sys.path])
    if found is None:
        return ()
    return tuple(found.submodule_search_locations or ([found.origin] if found.origin else ()))
