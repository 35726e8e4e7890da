"""Isolation of an agent's process from this machine, and the files that a sandbox shows it.

| kind | the agent has |
|---|---|
| `none` | the environment of the host, no limits; it is still killed with all that it started |
| `process` | an environment of a few variables, limits, a private temporary folder |
| `sandbox` | the same, and by bubblewrap: no network, no rights, few system calls, only its code to read |
"""

from __future__ import annotations

import importlib.machinery
import os
import re
import stat
import sys
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from flagfall.agents.process.limits import UNLIMITED, Limits, usable_cores
from flagfall.agents.spec import AgentSpec, split_command
from flagfall.errors import UsageError, suggest

MAX_COPIED_BYTES: Final = 64 * 1024**2
"""Size of a file that is copied into a sandbox because others may not read it: a copy takes memory."""

_HINTS: Final = (
    re.compile(r"No module named '([A-Za-z_][\w.]*)'"),
    re.compile(r"No such file or directory: '([^'\n]+)'"),
    re.compile(r"Cannot find module '([^'\n]+)'"),
)
"""Messages of Python and Node.js about something that was not found."""

_MODULE_FILES: Final = ("{}", "{}.py", "{}.js", "{}.so")


def code_of_spec(spec: str) -> tuple[str, ...]:
    """Return the file of an agent, or the folder of its package; of a sample, the files of its options.

    Args:
        spec: see `flagfall.agents.spec`. A module that is not found has no files; loading it fails later.

    Raises:
        UsageError: the text names no agent.
    """
    parsed = AgentSpec.parse(spec)
    if parsed.is_file:
        return (str(Path(parsed.target).absolute()),)
    if parsed.scheme != "python":
        return tuple(str(Path(name).absolute()) for name in parsed.files.values())
    package = parsed.target.partition(".")[0]
    found = importlib.machinery.PathFinder.find_spec(package, [str(Path.cwd()), *sys.path])
    if found is None:
        return ()
    return tuple(found.submodule_search_locations or ([found.origin] if found.origin else ()))


def code_of_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return the files among the words of a command: the program, its script, its data."""
    return tuple(str(Path(word).absolute()) for word in words if Path(word).is_file())


def shown_paths(texts: Iterable[str], folder: Path | None = None) -> tuple[str, ...]:
    """Return the whole paths of files and folders that a user wants a sandbox to show.

    Args:
        folder: where relative ones begin; by default the working directory.

    Raises:
        UsageError: there is no such file or folder.
    """
    base = folder or Path.cwd()
    paths = [(base / Path(text).expanduser()).absolute() for text in texts]
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path} to show in a sandbox")
    return tuple(map(str, paths))


def code_of(spec: str) -> tuple[str, ...]:
    """Return the files and folders with the code of any agent that is started here; see `code_of_spec`."""
    parsed = AgentSpec.parse(spec)
    if parsed.form.is_command:
        return code_of_command(split_command(parsed.target))
    return code_of_spec(spec)


def refuse_private(shown: Iterable[str], private: Path) -> None:
    """Refuse to show agents the records or the plan of their own matches, which have their seeds.

    Raises:
        UsageError: one of them is in the private folder or around it.
    """
    hidden = private.resolve()
    for path in shown:
        real = Path(path).resolve()
        if real.is_relative_to(hidden) or hidden.is_relative_to(real):
            raise UsageError(
                f"a sandbox must not show {path}: it contains or is in {private}, which no agent may see;"
                " show less of it, or write that elsewhere"
            )


def is_copied(path: str) -> bool:
    """Return true for a plain file that only its owner can read: it is copied for agents of other users."""
    mode = os.lstat(path).st_mode if os.path.lexists(path) else 0
    return stat.S_ISREG(mode) and not is_public(path)


def is_public(path: str) -> bool:
    """Return true if users other than the owner can read a file, or list and enter a folder."""
    mode = os.stat(path).st_mode  # noqa: PTH116 - it takes half the time
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return mode & wanted == wanted


def refuse_unreadable(shown: Iterable[str], user: int) -> None:
    """Refuse what the user of a sandbox could not read, and what is too large to be copied for it.

    Args:
        user: its number; the mode of the files is looked at, the access of other groups is not.

    Raises:
        UsageError: names the first such path.
    """
    for path in shown:
        if not Path(path).exists() or is_public(path):
            continue
        if not is_copied(path) or Path(path).stat().st_size > MAX_COPIED_BYTES:
            what = f"a sandbox runs as user {user} here, who cannot read {path}"
            raise UsageError(f"{what}: allow it with chmod -R o+rX {path}")


def show_hint(output: str, shown: Sequence[str]) -> str:
    """Return one line on what to show, where an agent looked for a file that only its sandbox lacks."""
    for pattern in _HINTS:
        for name in reversed(pattern.findall(output)):
            if found := _find_beside(name, shown):
                return f"the sandbox shows only {' and '.join(shown)}: add --show {found}"
    return ""


def _find_beside(name: str, shown: Sequence[str]) -> str:
    """Return the file or folder of this name beside the agent's code or in the working directory, if any.

    Elsewhere nothing is looked for: an agent could have its user advised to show it anything.
    """
    inner = name if "/" in name else name.partition(".")[0]
    for folder in [*(Path(path).parent for path in shown), Path.cwd()]:
        for pattern in _MODULE_FILES:
            for wanted in dict.fromkeys((name, inner)):
                path = Path(os.path.normpath(folder / pattern.format(wanted)))
                if not path.is_relative_to(folder) or path == folder:
                    continue
                if path.exists() and not any(path.is_relative_to(outer) for outer in shown):
                    return str(path)
    return ""


IsolationKind: TypeAlias = Literal["none", "process", "sandbox"]

KINDS: Final[tuple[str, ...]] = typing.get_args(IsolationKind)

_PASSED: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "CUDA_VISIBLE_DEVICES", "CUDA_HOME"),
    }
)
"""Variables that programs need to be found and to run. Keys and tokens are not among them."""

_OF_FOLDER: Final = ("TMPDIR", "TMP", "TEMP")


@attrs.frozen
class Isolation:
    """The isolation of a process.

    Attributes:
        limits: the limits of its resources; by default `Limits()`, and none with `none`.
        env: variables of the host's environment that it gets besides the default ones.
        readable: absolute paths of files and folders that it can read in a sandbox, besides its own code.

    Raises:
        UsageError: the kind is unknown; limits are given with `none`; a core is not available; a variable is
            not set.
    """

    kind: IsolationKind = "process"
    limits: Limits = attrs.field()
    env: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()

    @limits.default
    def _default_limits(self) -> Limits:
        return UNLIMITED if self.kind == "none" else Limits()

    def __attrs_post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"isolation {self.kind!r}{suggest(self.kind, KINDS)}")
        if self.kind == "none" and self.limits != UNLIMITED:
            raise UsageError("isolation none has no limits: take process or sandbox, or leave the limits out")
        if self.limits.cores and (absent := set(self.limits.cores) - usable_cores()):
            known = sorted(usable_cores())
            raise UsageError(
                f"limits: cores: {min(absent)} is not a core of this machine; its cores: {known}"
            )
        for name in self.env:
            if name not in os.environ:
                raise UsageError(f"the environment variable {name!r}, to be passed to an agent, is not set")

    @classmethod
    def from_options(
        cls,
        kind: IsolationKind | None,
        limits: str | None,
        env: Sequence[str] | None,
        show: Sequence[str] | None = None,
        folder: Path | None = None,
    ) -> Isolation:
        """Return an isolation from the options of a command line or a plan; `None` is the default.

        Args:
            show: files and folders that the agent can read in a sandbox besides its own code.
            folder: where relative paths begin; by default the working directory.

        Raises:
            UsageError: an option is invalid, or a file does not exist.
        """
        if show and kind != "sandbox":
            raise UsageError(
                "show is for isolation sandbox: with other isolation an agent can read all your files"
            )
        kept = cls(kind or "process", env=tuple(env or ()), readable=shown_paths(show or (), folder))
        return kept if limits is None else attrs.evolve(kept, limits=Limits.parse(limits))

    def environment(self, folder: str) -> Mapping[str, str]:
        """Return the environment variables of the agent.

        Args:
            folder: its private temporary folder; in a sandbox also its home.
        """
        if self.kind == "none":
            return os.environ
        wanted = _PASSED.union(self.env)
        passed = {
            name: value
            for name, value in os.environ.items()
            if name in wanted or name.startswith("LC_") or name.endswith("_NUM_THREADS")
        }
        return {**passed, **self.own_variables(folder)}

    def own_variables(self, folder: str) -> Mapping[str, str]:
        """Return the environment variables that no other agent has: those that name its folder."""
        if self.kind == "none":
            return {}
        return dict.fromkeys((*_OF_FOLDER, *(("HOME",) if self.kind == "sandbox" else ())), folder)


DEFAULT_ISOLATION: Final = Isolation()
NO_ISOLATION: Final = Isolation("none")
