"""Files of the user's own code and games: their names in journals, their digests, and carried copies of them.

A journal names such a file without the folders above it, and has its SHA-256. A results folder carries the
files by content, so that matches can be executed again on another machine.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Final

from flagfall.code_loader import files_of_file, files_of_module
from flagfall.errors import UsageError

MAX_FILE_BYTES: Final = 1024 * 1024
"""Longest file that is carried: that of VGDL games, which are read up to this length."""

MAX_UNPACKED_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of the carried files of one match; each file counts a block of 4 KiB more than its length."""

_BLOCK_BYTES: Final = 4096

CARRIED: Final = "code"
"""Folder of carried files in a results folder; each has its SHA-256 as its name."""

DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


def code_files(place: str) -> dict[str, Path]:
    """Return the user's own files of Python code, by their names in journals.

    Args:
        place: a module, or a path that ends in `.py`.
    """
    if not place.endswith(".py"):
        return files_of_module(place)
    above = PurePosixPath(portable_path(place)).parent
    return {str(above / name): path for name, path in files_of_file(Path(place)).items()}


def named(paths: tuple[str, ...]) -> dict[str, Path]:
    """Return files by their names in journals."""
    return {portable_path(path): Path(path) for path in paths}


def portable_path(path: str) -> str:
    """Return the name of a file for journals: of an absolute path the last part, any other as it is."""
    return Path(path).name if os.path.isabs(path) else path  # noqa: PTH117 - texts of tasks, not paths


def digests_of(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of files by name; files that are missing or too long to be carried have none."""
    found = {}
    for name, path in files.items():
        try:
            state = path.stat()
            if S_ISREG(state.st_mode) and state.st_size <= MAX_FILE_BYTES:
                found[name] = _digest(path, state.st_mtime_ns, state.st_size)
        except (OSError, ValueError):  # a journal from elsewhere may name anything
            continue
    return found


@lru_cache(maxsize=4096)
def _digest(path: Path, _changed_ns: int, _size: int) -> str:
    """Return the digest of one version of a file: a match asks for it each time that it is played."""
    return sha256(path.read_bytes()).hexdigest()


class Unpacked:
    """Carried files under their own names, in a folder that is removed with them."""

    def __init__(self) -> None:
        self._held: tempfile.TemporaryDirectory[str] | None = None
        self._key: tuple[Path, tuple[tuple[str, str], ...]] | None = None

    def folder(self, carried: Path, code: Mapping[str, str]) -> Path:
        """Return the folder with the files; those of the last call are removed, and their modules forgotten.

        Raises:
            UsageError: a file is missing or not as it was carried, or its name leads out of a folder.
        """
        key = (carried, tuple(sorted(code.items())))
        if self._held is None or key != self._key:
            self.close()
            self._held = tempfile.TemporaryDirectory(prefix="flagfall-")
            self._key = None
            left = MAX_UNPACKED_BYTES
            for name, digest in code.items():
                left -= _BLOCK_BYTES + _unpack(carried, digest, Path(self._held.name), name)
                if left < 0:
                    raise UsageError(f"the code of the match has more than {MAX_UNPACKED_BYTES} bytes")
            self._key = key
        return Path(self._held.name)

    def close(self) -> None:
        """Remove the folder, and forget the modules that were imported from it."""
        if self._held is None:
            return
        place = self._held.name
        sys.path[:] = [entry for entry in sys.path if entry != place]
        for name, module in [*sys.modules.items()]:
            if str(getattr(module, "__dict__", {}).get("__file__")).startswith(f"{place}{os.sep}"):
                del sys.modules[name]
        self._held.cleanup()
        self._held = None


_unpacked: Final = Unpacked()
"""The code of the match that was rebuilt last."""


def find_code(journal: Path, code: Mapping[str, str]) -> Path | None:
    """Return the folder with the code of a match: carried by its results, or unchanged beside its journal.

    Args:
        code: `code` of the header of the match.

    Returns:
        The folder, which holds carried files until those of another match are asked for; `None` if neither
        has the code: it may be where it was played, or in the working directory.

    Raises:
        UsageError: a carried file is missing or not as it was carried, or its name leads out of a folder.
    """
    folder = journal.absolute().parent
    carried = folder.parent / CARRIED
    if code and carried.is_dir():
        return _unpacked.folder(carried, code)
    places = {name: folder / name for name in code}
    return folder if code and digests_of(places) == code != digests_of(_here(code)) else None


def missing_code(code: Mapping[str, str]) -> list[str]:
    """Return the names of files of a match's code that are not in the working directory."""
    return [name for name, path in _here(code).items() if not path.is_file()]


def _here(code: Mapping[str, str]) -> dict[str, Path]:
    return {name: Path(name) for name in code}


def let_import(folder: Path) -> None:
    """Let the modules in the folder of a match's code be imported, before all others."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # `flagfall.code_loader` would put it before the folder
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _unpack(carried: Path, digest: str, folder: Path, name: str) -> int:
    """Write a carried file under its own name; return its length."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/") or "\0" in name or not DIGEST.fullmatch(digest):
        raise UsageError(f"the journal names {name!r:.80}, which is no file that results can carry")
    source = carried / digest
    try:
        with open(source, "rb", opener=_open_plainly) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{source} ({name}) cannot be read: {error.strerror or error}") from error
    if sha256(data).hexdigest() != digest:
        raise UsageError(f"{source} ({name}) is not as it was carried: its SHA-256 is another one")
    place = folder.joinpath(*parts)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{name!r:.80} cannot be unpacked: {error.strerror or error}") from error
    return len(data)


def _open_plainly(path: str, flags: int) -> int:
    """Open a file, but neither follow a link nor wait for a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
