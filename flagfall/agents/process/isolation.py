"""Isolation of an agent's process from this machine, as a frozen value.

| kind | the agent has |
|---|---|
| `none` | the environment of the host, no limits; it is still killed with all that it started |
| `process` | an environment of a few variables, limits, a private temporary folder |
| `sandbox` | the same, and by bubblewrap: no network, no rights, few system calls, only its code to read |
"""

from __future__ import annotations

__all__ = ["DEFAULT_ISOLATION", "NO_ISOLATION", "Isolation", "IsolationKind"]

import os
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from flagfall.agents.process.limits import UNLIMITED, Limits
from flagfall.agents.process.visible import shown_paths
from flagfall.errors import UsageError, suggest

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

_PASSED_ENDS: Final = ("_NUM_THREADS",)
_PASSED_STARTS: Final = ("LC_",)


@attrs.frozen
class Isolation:
    """The isolation of a process.

    Attributes:
        kind: `none`, `process` or `sandbox`, see above.
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
        if self.limits.cores and (absent := set(self.limits.cores) - _cores()):
            raise UsageError(
                f"limits: cores: {min(absent)} is not a core of this machine; its cores: {sorted(_cores())}"
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
            kind: `none`, `process` or `sandbox`.
            limits: text form of `Limits`.
            env: names of variables.
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
        passed = {name: value for name, value in os.environ.items() if self._passes(name)}
        return {**passed, **self.own_variables(folder)}

    def own_variables(self, folder: str) -> Mapping[str, str]:
        """Return the environment variables that no other agent has: those that name its folder.

        Args:
            folder: as for `environment`.
        """
        if self.kind == "none":
            return {}
        return dict.fromkeys((*_OF_FOLDER, *(("HOME",) if self.kind == "sandbox" else ())), folder)

    def _passes(self, name: str) -> bool:
        default = name in _PASSED or name.startswith(_PASSED_STARTS) or name.endswith(_PASSED_ENDS)
        return default or name in self.env


def _cores() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


DEFAULT_ISOLATION: Final = Isolation()
NO_ISOLATION: Final = Isolation("none")
