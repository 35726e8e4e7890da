"""Enforcement of limits on this machine: by the kernel at once, by the supervisor's looks, or not at all."""

from __future__ import annotations

__all__ = ["advisory_line", "enforcement_of"]

import os
from collections.abc import Mapping
from typing import Final

import attrs

from flagfall.agents.process.cgroups import controllers
from flagfall.agents.process.isolation import Isolation, IsolationKind
from flagfall.agents.process.limits import Limits
from flagfall.agents.process.seccomp import is_supported
from flagfall.agents.process.supervisor import LOOK_SECONDS

BY_KERNEL: Final = "kernel"
BY_SUPERVISOR: Final = f"supervisor, every {LOOK_SECONDS * 1000:g} ms"
NOT_AT_ALL: Final = "advisory"


def enforcement_of(kind: IsolationKind) -> Mapping[str, str]:
    """Return how each limit is enforced here, by the name of the limit.

    Args:
        kind: the kind of isolation; with `none` there are no limits.
    """
    if kind == "none":
        return {}
    at_hand = controllers(os.getpid())
    files = "" if kind == "sandbox" else "; files in memory file systems such as /dev/shm do not count"
    return {
        "memory": BY_KERNEL if "memory" in at_hand else BY_SUPERVISOR + files,
        "address_space": BY_KERNEL,
        "cpu": BY_KERNEL,
        "processes": BY_KERNEL if "pids" in at_hand else BY_SUPERVISOR,
        "files": BY_KERNEL,
        "file_size": BY_KERNEL,
        "disk": BY_KERNEL if kind == "sandbox" else BY_SUPERVISOR,
        "cores": BY_KERNEL if is_supported() else f"{NOT_AT_ALL}: an agent can undo it",
    }


def advisory_line(isolation: Isolation) -> str:
    """Return a line on the limits that were asked for and that this kernel does not enforce; else nothing.

    Args:
        isolation: with the limits.
    """
    usual, limits = Limits(), isolation.limits
    enforced = enforcement_of(isolation.kind)
    asked = [
        field.name
        for field in attrs.fields(Limits)
        if getattr(limits, field.name) not in {None, getattr(usual, field.name)}
    ]
    weak = [f"{name} ({enforced[name]})" for name in asked if enforced.get(name, BY_KERNEL) != BY_KERNEL]
    return f"limits that the kernel does not enforce here: {', '.join(weak)}" if weak else ""
