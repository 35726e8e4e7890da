"""Machine and version that figures were measured on."""

from __future__ import annotations

__all__ = ["Machine", "describe_machine"]

import os
import platform
import subprocess
from pathlib import Path

import attrs

from flagfall.agents.process.limits import usable_cores

ROOT = Path(__file__).parents[1]


@attrs.frozen
class Machine:
    """Machine and versions of a run.

    Attributes:
        cpu: model of the processor.
        cores: that this process may use.
        kernel: release of the operating system.
        python: version of the interpreter.
        commit: of flagfall, with `-dirty` if files differ from it; empty if unknown.
        load: average number of busy programs in the minute before the run.
    """

    cpu: str
    cores: int
    kernel: str
    python: str
    commit: str
    load: float

    def __str__(self) -> str:
        """Return one line for the table."""
        version = f", flagfall {self.commit}" if self.commit else ""
        return (
            f"{self.cpu}, {self.cores} cores, {self.kernel}, Python {self.python}{version}; "
            f"load average {self.load:.2f} at the begin"
        )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine() or "unknown processor"


def commit_of(checkout: Path) -> str:
    """Return the commit of a checkout, or nothing if git does not know it.

    Args:
        checkout: its folder.
    """
    words = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def describe_machine() -> Machine:
    """Return the machine of this process, as it is now."""
    return Machine(
        cpu=_cpu_model(),
        cores=len(usable_cores()),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        commit=commit_of(ROOT),
        load=os.getloadavg()[0],
    )
