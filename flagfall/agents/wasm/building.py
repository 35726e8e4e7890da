"""Programs for the virtual machine, made once: the component that runs Python agents, and compiled programs.

One component runs every Python agent: it is a Python with `flagfall.agents.wasm.guest`, to which the agent's
own modules are sent as the match begins. So nothing of an agent is executed on this machine to build it, and
an agent that was changed starts as fast as before. componentize-py makes it, in a process: 20 s. wasmtime
compiles it, in another: 15 s.

Both are kept in the user's cache folder, under digests of all that they follow from. Compiled programs are
native code, and executed: the folder has to belong to the user, with no access for others, and no file is
ever taken from elsewhere.

A component has to be the same wherever it is built. Python draws a secret for the hashes of texts when it
begins, which is when the component is built, and orders sets by it; so a library of a few instructions,
linked into it, sets `PYTHONHASHSEED` before.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flagfall.errors import HostFault, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flagfall.agents.spec import AgentSpec
    from flagfall.agents.wasm.engine import Program

INSTALL: Final = "pip install 'flagfall[wasm]'"

MAX_WASM_BYTES: Final = 64 * 1024**2
"""Largest program that is compiled: Python as a component has 21 MB."""

MAX_BUILD_SECONDS: Final = 900
"""Time for which a program is built or compiled: Python takes one minute, a module that is made to take long,
of a million empty functions, one for each 4 MB."""

_PACKAGE: Final = Path(__file__).parent.parent.parent

_BUNDLED: Final = (
    *("__init__", "lazy_names", "errors", "code_loader"),
    *("agents/__init__", "agents/agent", "agents/round1", "agents/wasm/guest"),
    *("kernel/__init__", "kernel/hosting", "kernel/spaces", "kernel/descriptions", "kernel/tracebacks"),
    *("kernel/channels/__init__", "kernel/channels/codecs", "timing/durations", "timing/elapsed_timer"),
)
"""Modules of flagfall that `guest` needs. They import no library but attrs, which is Python alone."""

_WIT: Final = Path(__file__).parent / "agent.wit"

_FIXED_SEED: Final = """(module
  (@dylink.0 (mem-info (memory 17 0)) (needed "libc.so"))
  (import "env" "memory" (memory 1))
  (import "env" "__memory_base" (global $base i32))
  (import "env" "setenv" (func $setenv (param i32 i32 i32) (result i32)))
  (data (global.get $base) "PYTHONHASHSEED\\00" "0\\00")
  (func (export "__wasm_call_ctors")
    (drop (call $setenv (global.get $base) (i32.add (global.get $base) (i32.const 15)) (i32.const 1)))))
"""
"""The library that sets Python's environment. Its file has the ending that componentize-py links."""

_FIXED_SEED_FILE: Final = "hash_seed.cpython-314-wasm32-wasi.so"

_COMPONENTIZE: Final = "import componentize_py; componentize_py.script()"
MAX_COMPILE_BYTES: Final = 4 * 1024**3
"""Memory to compile a program: a component of 500 bytes can ask for any amount. Python takes 0.5 GB."""

_COMPILE: Final = f"""
import sys
from pathlib import Path
from flagfall.agents.wasm.engine import compile_wasm
if sys.platform != "win32":
    import resource
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = {MAX_COMPILE_BYTES}
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
Path(sys.argv[2]).write_bytes(compile_wasm(Path(sys.argv[1]).read_bytes()))
"""


_ERROR: Final = re.compile(r"^[\w.]*Error: (.+)$", re.MULTILINE)
"""The line of a traceback that says what went wrong."""


def check_installed(*, python: bool) -> None:
    """Raise `UsageError` where the libraries of the extra `wasm` are missing.

    Args:
        python: also what builds the component of Python agents.
    """
    for name in ("wasmtime", "componentize_py") if python else ("wasmtime",):
        if importlib.util.find_spec(name) is None:
            raise UsageError(f"agents in WebAssembly need {name}: {INSTALL}")


def is_ready(spec: AgentSpec) -> bool:
    """Return whether `program_of` has nothing to build."""
    wasm = _wasm_of(spec)
    return (spec.scheme != "python" or _is_own(wasm)) and _is_own(_compiled(wasm))


def program_of(spec: AgentSpec, name: str) -> Program:
    """Return the program that runs an agent; what is missing of it is built.

    Args:
        name: the agent's, for messages.

    Raises:
        UsageError: there is no such file, it is not WebAssembly, or nothing can be built here.
        HostFault: the cache folder cannot be written.
    """
    from flagfall.agents.wasm.engine import Unusable  # noqa: PLC0415 - an extra

    wasm = _wasm_of(spec)
    _build(spec, wasm, name)
    compiled = _compiled(wasm)
    try:
        return _load(compiled, wasm)
    except Unusable:  # such as of another machine with the same home folder
        compiled.unlink()
        _build(spec, wasm, name)
        return _load(compiled, wasm)


def _build(spec: AgentSpec, wasm: Path, name: str) -> None:
    if is_ready(spec):
        return
    with tempfile.TemporaryDirectory(prefix="flagfall-") as folder, _alone():
        if spec.scheme == "python" and not _is_own(wasm):
            _keep(_componentize(Path(folder)), wasm)
        compiled = _compiled(wasm)
        if not _is_own(compiled):
            output = Path(folder) / "compiled"
            _run(["-c", _COMPILE, str(wasm), str(output)], f"compiling {name}", {})
            _keep(output, compiled)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process of this user builds; where that cannot be done, two may build the same."""
    if sys.platform == "win32":
        yield
        return
    import fcntl  # noqa: PLC0415 - not on Windows

    with (cache_folder() / "lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _wasm_of(spec: AgentSpec) -> Path:
    """Return the file with the program of an agent; it is there, unless the agent is Python code."""
    return cache_folder() / f"{_python_key()}.wasm" if spec.scheme == "python" else Path(spec.target)


def _compiled(wasm: Path) -> Path:
    return cache_folder() / f"{_compiled_key(_digest(wasm))}.cwasm"


@lru_cache(maxsize=64)
def _load(compiled: Path, wasm: Path) -> Program:
    from flagfall.agents.wasm.engine import Program, is_component  # noqa: PLC0415 - an extra

    with wasm.open("rb") as file:
        return Program(compiled, is_component=is_component(file.read(8)))


atexit.register(_load.cache_clear)  # wasmtime's Python fails where its objects outlive its modules


def cache_folder() -> Path:
    """Return the folder of what was built, which belongs to this user alone; make it if it is missing.

    It is `flagfall` in `$XDG_CACHE_HOME`, by default `~/.cache`; in `~/Library/Caches` on macOS, and in
    `%LOCALAPPDATA%` on Windows.

    Raises:
        UsageError: it cannot be made, or others can write to it.
    """
    home = {
        "darwin": ("", "~/Library/Caches"),
        "win32": ("LOCALAPPDATA", "~/AppData/Local"),
    }.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    above = Path(os.environ.get(home[0]) or home[1]).expanduser()
    folder = above / "flagfall"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be made: {error.strerror}; set XDG_CACHE_HOME to another folder"
        ) from error
    if not stat.S_ISDIR(found.st_mode) or not _is_private(found):
        raise UsageError(f"{folder} has native code, so it has to belong to you alone, with mode 0700")
    return folder


def _is_private(found: os.stat_result) -> bool:
    if sys.platform == "win32":  # the folder is in the user's profile, which others cannot enter
        return True
    return found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077


def _is_own(path: Path) -> bool:
    """Return whether a file was made by this user, and nobody else can have changed it."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode) or not _is_private(found):
        raise UsageError(f"{path} is not yours alone: remove it")
    return True


def _keep(made: Path, path: Path) -> None:
    """Move a file to the cache in one step: another process may do the same."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(made.read_bytes())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise HostFault(f"{path} cannot be written: {error.strerror}") from error


def _digest(wasm: Path) -> str:
    try:
        state = wasm.stat()
        if state.st_size > MAX_WASM_BYTES:
            raise UsageError(f"{wasm} has {state.st_size} bytes; {MAX_WASM_BYTES} are the most")
        return _digest_of(wasm, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise UsageError(f"{wasm} cannot be read: {error.strerror}") from error


@lru_cache(maxsize=64)
def _digest_of(wasm: Path, _changed_ns: int, _size: int) -> str:
    return sha256(wasm.read_bytes()).hexdigest()


def _compiled_key(digest: str) -> str:
    from flagfall.agents.wasm.engine import SETTINGS  # noqa: PLC0415 - an extra

    return _key([digest, _version("wasmtime"), platform.machine(), SETTINGS])


@cache
def _version(library: str) -> str:
    from importlib.metadata import version  # noqa: PLC0415 - few processes need it

    return version(library)


@lru_cache(maxsize=1)
def _python_key() -> str:
    versions = [_version("componentize-py"), _version("attrs")]
    sources = [(_PACKAGE / f"{name}.py").read_text("utf-8") for name in _BUNDLED]
    return _key([*versions, *sources, _WIT.read_text("utf-8"), _FIXED_SEED])


def _key(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:40]


def _componentize(folder: Path) -> Path:
    """Build the component of Python agents in an empty folder; return its file."""
    from wasmtime import wat2wasm  # noqa: PLC0415 - an extra

    code, output = folder / "code", folder / "python.wasm"
    for name in _BUNDLED:
        place = code / "flagfall" / f"{name}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_PACKAGE / f"{name}.py", place)
    for name in ("attr", "attrs"):
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        ignored = shutil.ignore_patterns("__pycache__", "*.pyi")
        shutil.copytree(Path(found.origin).parent, code / name, ignore=ignored)
    (code / _FIXED_SEED_FILE).write_bytes(wat2wasm(_FIXED_SEED))
    # It would show the libraries of this Python to the component, where it has write access.
    (folder / "lib" / "python3" / "site-packages").mkdir(parents=True)
    words = ["--quiet", "--wit-path", str(_WIT), "--world", "agent", "componentize"]
    words += ["--python-path", str(code), "--output", str(output), "flagfall.agents.wasm.guest"]
    _run(["-c", _COMPONENTIZE, *words], "building Python for WebAssembly", {"VIRTUAL_ENV": str(folder)})
    return output


def _run(words: list[str], what: str, variables: dict[str, str]) -> None:
    """Run a program of this Python; raises `UsageError` with what it says last, if it fails.

    It imports nothing from the working directory, where an agent's files may be.
    """
    try:
        done = subprocess.run(  # noqa: S603 - this Python
            [sys.executable, "-P", *words],
            check=False,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=MAX_BUILD_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{what}: given up after {MAX_BUILD_SECONDS} s") from None
    if done.returncode < 0:
        raise UsageError(f"{what} needs more than {MAX_COMPILE_BYTES >> 30} GB of memory, or was killed")
    if done.returncode:
        found = _ERROR.findall(done.stderr)
        raise UsageError(f"{what}: {found[-1] if found else done.stderr[-500:].strip()}")
