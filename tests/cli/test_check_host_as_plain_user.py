"""`check-host` where the host is a plain user: the attacks on the kernel, the records and the limits.

Everything else here may run as root, whose hosts isolate agents by other means.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

import flagfall

USER: Final = 1000
AS_PLAIN_USER: Final = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "/usr/bin/env")
"""Words before a command. `env` finds the program; `setpriv` itself would with the capabilities of root."""

PLAYED: Final = (
    "writes_kernel_files",
    "uses_kernel_interfaces",
    "reaches_records",
    "stops_its_parent",
    "traces_its_parent",
    "leaves_its_cores",
    "eats_shared_memory",
)

NOT_NEEDED: Final = ("_editable_*", "ray", "mypy", "mypyc", "imageio_ffmpeg", "pygame")
"""Installed files that the host does without: the link to sources that others cannot read, large packages."""

TIMEOUT_S: Final = 120


def plain_python() -> str:
    """Return a Python of this minor version that plain users can execute, or skip."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    script = f"import ctypes, sqlite3, sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    names = [Path(base) / "bin" / f"python{version}" for base in (sys.base_prefix, "/usr/local", "/usr")]
    for name in names:
        tried = subprocess.run(
            [*AS_PLAIN_USER, str(name), "-Ic", script], cwd="/", capture_output=True, check=False
        )
        if tried.returncode == 0:
            return str(name)
    pytest.skip(f"plain users can execute no Python {version} here; tried {', '.join(map(str, names))}")


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


@contextmanager
def installed_for_all(python: str) -> Iterator[Path]:
    """Yield a folder that everybody can read, with an environment `venv` that has flagfall, and a `home`."""
    with tempfile.TemporaryDirectory(prefix="flagfall-plain-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if subprocess.run([*AS_PLAIN_USER, "test", "-x", folder], cwd="/", check=False).returncode:
            pytest.skip(f"plain users cannot reach {folder.parent}")
        subprocess.run(
            [python, "-m", "venv", "--without-pip", folder / "venv"], check=True, cwd="/", umask=0o022
        )
        packages = next((folder / "venv" / "lib").glob("python*/site-packages"))
        for installed in (path for path in sys.path if path.endswith("site-packages")):
            shutil.copytree(
                installed,
                packages,
                ignore=shutil.ignore_patterns(*NOT_NEEDED),
                copy_function=link_or_copy,
                dirs_exist_ok=True,
            )
        ours = Path(flagfall.__file__).parent
        shutil.copytree(ours, packages / "flagfall", dirs_exist_ok=True)
        (folder / "home").mkdir()
        os.chown(folder / "home", USER, USER)
        yield folder


@pytest.fixture(scope="module")
def findings() -> dict[tuple[str, str], dict[str, Any]]:
    """Return what `check-host --json` says as a plain user, by name of the agent and place."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv here")
    with installed_for_all(plain_python()) as folder:
        only = [word for name in PLAYED for word in ("--only", name)]
        ended = subprocess.run(
            [*AS_PLAIN_USER, folder / "venv/bin/python", "-m", "flagfall", "check-host", *only, "--json"],
            cwd=folder / "home",
            env={"HOME": str(folder / "home"), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert ended.stdout, ended.stderr
    found = json.loads(ended.stdout)
    rows = {(row["agent"], row["place"]): row for row in found["rows"]}
    if found["no_sandbox"]:
        rows |= {(name, "sandbox"): found for name in PLAYED}
    return rows


@pytest.mark.release
@pytest.mark.parametrize("place", ["process", "sandbox"])
@pytest.mark.parametrize("name", PLAYED)
def test_a_plain_users_host_holds(
    findings: dict[tuple[str, str], dict[str, Any]], name: str, place: str
) -> None:
    found = findings[name, place]
    if found.get("no_sandbox"):
        pytest.skip(f"no sandboxes as a plain user: {found['no_sandbox']}")
    assert found["as_expected"], found
