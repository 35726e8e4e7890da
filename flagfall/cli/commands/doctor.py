"""`flagfall doctor`."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from flagfall.cli.console.files import Flag, Texts
from flagfall.errors import UsageError, suggest

if TYPE_CHECKING:
    from collections.abc import Callable

State: TypeAlias = Literal["ok", "limited", "missing"]

_MS: Final = 1_000_000
_WAITS: Final = 20
_FEW_FILES: Final = 1024
"""Open files of which a tournament of many matches, or a server of many agents, runs out."""

_OTHER_FOLDER: Final = "name a folder on a local disk by --results"


class _LimitedError(UsageError):
    """It works, but with less than it could."""


@attrs.frozen
class Check:
    """Something that a machine may be able to do.

    Attributes:
        name: a word for `--require`.
        used_for: what a user cannot do without it, as a noun phrase.
        probe: tries it, given the folder of results, and returns what was found in words; raises `UsageError`
            with the reason and the fix.
    """

    name: str
    used_for: str
    probe: Callable[[Path], str]


@attrs.frozen
class Finding:
    """Result of a check: a state, and what was found, with the fix, in words."""

    name: str
    used_for: str
    state: State
    found: str


def doctor(*, results: Path = Path(), require: Texts = None, json: Flag = False) -> int:
    """Say what this machine can do, and how to add what is missing.

    Each line is a check that was tried, not only looked up: an agent plays in a process and in a sandbox, a
    file is locked, a library is imported. `ok`: it works. `limited`: it works with less, and the line says
    with how much. `missing`: the line says what it is used for, and the fix. The exit code is 1 if one that
    is required is not `ok`, and 0 otherwise: no user needs all of them.

    Args:
        results: Folder in which results will be written; its file system is tried.
        require: Checks that must be `ok`, such as `sandbox wasm`.
        json: Print one JSON object instead of lines.
    """
    from flagfall.cli.console.output import print_json, print_text

    names = [check.name for check in CHECKS]
    for name in require or ():
        if name not in names:
            raise UsageError(f"--require {name}: there is no such check{suggest(name, names)}")
    findings = []
    for check in CHECKS:
        finding = _find(check, results)
        findings.append(finding)
        if not json:
            unused = f" (for {finding.used_for})" if finding.state == "missing" else ""
            print_text(f"{finding.state:8} {finding.name:10} {finding.found}{unused}")
    if json:
        print_json({"checks": [attrs.asdict(finding) for finding in findings]})
    return int(any(finding.name in (require or ()) and finding.state != "ok" for finding in findings))


def _find(check: Check, results: Path) -> Finding:
    state: State = "ok"
    try:
        found = check.probe(results)
    except _LimitedError as error:
        state, found = "limited", str(error)
    except UsageError as error:
        state, found = "missing", str(error)
    except Exception as error:  # noqa: BLE001 - a broken library must not hide the other checks
        state, found = "missing", f"{type(error).__name__}: {error}"
    return Finding(check.name, check.used_for, state, " ".join(found.split()))


def _python(_results: Path) -> str:
    from flagfall.cli import version_line

    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    place = f"{version_line()} on {python}, {platform.system()} {platform.machine()}"
    if not has_gil:
        raise _LimitedError(f"{place}, without the GIL, which is not tested: take a build with it")
    return place


def _clock(_results: Path) -> str:
    import time

    from flagfall.agents.process.limits import usable_cores
    from flagfall.cli.console.output import duration
    from flagfall.timing.heartbeat import Heartbeat

    worst_ns = 0
    for _ in range(_WAITS):
        before_ns = time.perf_counter_ns()
        time.sleep(0.001)
        worst_ns = max(worst_ns, time.perf_counter_ns() - before_ns - _MS)
    cpus = f"{len(usable_cores())} processors; the worst of {_WAITS} waits ended {duration(worst_ns)} late"
    try:
        Heartbeat().close()
    except OSError as error:
        what = "time in which this program is stopped is charged to agents"
        raise _LimitedError(f"{cpus}; {what}: {error.strerror or error}") from None
    return f"{cpus}; stops of this program are noticed"


def _process(_results: Path, *, isolation: Literal["process", "sandbox"] = "process") -> str:
    """Play two turns with an agent in a process; a sandbox is checked first, and says what it lacks."""
    from flagfall.agents.process.sandbox import check_sandbox
    from flagfall.playing import run

    if isolation == "sandbox":
        check_sandbox()
    match = run("micro1", "random", host="process", isolation=isolation, time_control="untimed", steps=2)
    seat = match.seats[0]
    if seat.disqualified is not None:
        why = (seat.detail or seat.disqualified).strip().rpartition("\n")[2]  # the last line of a traceback
        raise UsageError(f"an agent in a {isolation} cannot play: {why}")
    return f"an agent in a {isolation} has played {match.turns} turns"


def _limits(_results: Path) -> str:
    from flagfall.agents.process.enforcement import BY_KERNEL, enforcement_of
    from flagfall.agents.process.supervisor import LOOK_SECONDS

    if not sys.platform.startswith("linux"):
        raise UsageError("limits of agents in processes need Linux")
    enforced = enforcement_of("process")
    weak = " and ".join(name for name in ("memory", "processes") if enforced[name] != BY_KERNEL)
    if weak:
        raise _LimitedError(
            f"{weak}: counted by supervisors every {LOOK_SECONDS * 1000:g} ms, not by the kernel, which needs"
            " cgroup v2 writable: begin with `systemd-run --user --scope flagfall` under systemd, or mount it"
            " writable in the container"
        )
    return "the kernel limits memory and processes"


def _wasm(_results: Path) -> str:
    from flagfall.agents.spec import AgentSpec
    from flagfall.agents.wasm.building import check_installed, is_ready

    check_installed(python=True)
    import wasmtime

    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    code = '(module (func (export "answer") (result i32) i32.const 42))'
    instance = wasmtime.Instance(store, wasmtime.Module(engine, code), [])
    answer: Any = instance.exports(store)["answer"]
    assert answer(store) == 42  # noqa: PLR2004 - the constant above
    if not is_ready(AgentSpec.parse("flagfall.agents.samples.basic:RandomAgent")):
        return "a program has run; the first Python agent waits a minute for its interpreter to be built"
    return "a program has run, and the interpreter of Python agents is built"


def _results(results: Path) -> str:
    """Write, lock and read again in the folder, as the store of a tournament does."""
    import fcntl
    import sqlite3

    try:
        with tempfile.TemporaryDirectory(dir=results, prefix=".flagfall-doctor-") as name:
            with closing(sqlite3.connect(Path(name) / "results.db")) as connection:
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                connection.execute("CREATE TABLE tried (number)")
            with (Path(name) / "lock").open("w") as first, (Path(name) / "lock").open("w") as second:
                fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
                try:
                    fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    is_locked = False
                except BlockingIOError:
                    is_locked = True
    except (OSError, sqlite3.Error) as error:
        what = getattr(error, "strerror", None) or error
        raise UsageError(f"{results.absolute()}: {what}; {_OTHER_FOLDER}") from None
    if mode != "wal" or not is_locked:
        raise UsageError(f"{results.absolute()}: its file system keeps no locks; {_OTHER_FOLDER}")
    return f"{results.absolute()} can be written and locked"


def _files(_results: Path) -> str:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FEW_FILES:
        raise _LimitedError(f"at most {soft} open files: `ulimit -n {_FEW_FILES}` (the most here is {hard})")
    return "any number of open files" if soft == resource.RLIM_INFINITY else f"{soft} open files"


def _browser(_results: Path) -> str:
    import webbrowser

    from flagfall.cli.serving import has_desktop

    if not has_desktop():
        raise _LimitedError("no desktop here: open elsewhere the address that `serve` or `play` prints")
    try:
        return f"pages open in {webbrowser.get().name}"
    except webbrowser.Error:
        raise UsageError("no browser is found: install one, such as the package chromium") from None


def _extra(_results: Path, *, extra: str, modules: str) -> str:
    for name in modules.split():
        try:
            import_module(name)
        except ImportError as error:
            raise UsageError(f"{error}: pip install 'flagfall[{extra}]'") from None
    return f"{', '.join(modules.split())} can be imported"


def _video(_results: Path) -> str:
    import subprocess

    from flagfall.viewer.video import find_ffmpeg

    program = find_ffmpeg()
    words = [program, "-version"]
    said = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603 - of the extra
    return " ".join(said.stdout.split()[:3])


def _ray(results: Path) -> str:
    if sys.version_info >= (3, 14):
        raise UsageError("Ray has no wheels for this Python: take Python 3.13")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    return _extra(results, extra="ray", modules="ray")


_EXTRAS: Final = {
    "viewer": ("pages of `serve`, `play` and `replay`", "h11 starlette wsproto"),
    "web": ("agents that connect by WebSocket", "wsproto"),
    "human": ("players at a full screen", "urwid"),
    "llm": ("language models as agents", "httpx tokenizers"),
    "pettingzoo": ("tasks of PettingZoo", "pettingzoo pygame"),
    "zmq": ("learners of round 1 in Python", "zmq"),
    "zstd": ("compressed journals", "zstandard"),
    "parquet": ("tables of turns", "pyarrow.parquet"),
    "telemetry": (
        "spans and metrics for a collector",
        "opentelemetry.sdk.trace opentelemetry.exporter.otlp.proto.http.trace_exporter",
    ),
    "plots": ("plots of reports", "matplotlib.figure"),
}

CHECKS: Final = (
    Check("python", "everything", _python),
    Check("clock", "fair deadlines on the wall clock", _clock),
    Check("results", "tournaments and recorded matches", _results),
    Check("files", "many matches or connections at once", _files),
    Check("process", "your own agents, apart from flagfall", _process),
    Check("sandbox", "agents that are not trusted", partial(_process, isolation="sandbox")),
    Check("limits", "limits of agents in processes", _limits),
    Check("wasm", "agents in WebAssembly, whose time is their work", _wasm),
    Check("browser", "pages that open by themselves", _browser),
    *(
        Check(extra, used_for, partial(_extra, extra=extra, modules=modules))
        for extra, (used_for, modules) in _EXTRAS.items()
    ),
    Check("video", "matches as videos", _video),
    Check("ray", "tournaments on several machines", _ray),
)
"""All checks, in the order in which they are printed; those of extras have their names."""
