"""Code of a tournament in its results folder: the user's own files that it is played from, by content.

`code/` has each file under its SHA-256, so of a file that changes between two runs both versions stay.
`code.json` has for each agent and task of the plan its text, and the digests of its files by name. Journals
of openings are carried, too; their digests are in the plan.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from flagfall.agents.process.isolation import code_of_command
from flagfall.agents.spec import ANSWERS, TEMPLATE, AgentSpec, split_command
from flagfall.errors import HostFault, UsageError
from flagfall.tasks.catalog import portable_id, task_files
from flagfall.tasks.code_files import (
    CARRIED,
    MAX_FILE_BYTES,
    Unpacked,
    code_files,
    let_import,
    named,
    portable_path,
)
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.tournament.folder import CODE, replace_file
from flagfall.tournament.model import PlannedTask, TournamentPlan
from flagfall.tournament.openings import read_opening
from flagfall.tournament.store import Store

MAX_CARRIED_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of the files that a run copies into its folder; further ones are left out."""

_SYSTEM: Final = (Path("/usr"), Path("/bin"), Path("/lib"), Path(sys.prefix), Path(sys.base_prefix))
"""Programs in these folders are not the user's own."""


def carry_code(plan: TournamentPlan, folder: Path) -> list[str]:
    """Copy the user's own files that a plan names, and what they import, into the folder of its tournament.

    Returns:
        A line for each file that is left out, with the reason.

    Raises:
        HostFault: the folder cannot be written.
        UsageError: the journal of an opening has changed since the plan was read.
    """
    carrier = _Carrier(folder / CARRIED)
    try:
        for opening in (opening for task in plan.tasks for opening in task.openings):
            carrier.put_opening(plan.folder / opening.file, opening.sha256)
        table = {
            "agents": {agent.name: carrier.entry(*_agent(agent.spec)) for agent in plan.agents},
            "tasks": {
                task.name: carrier.entry(text, files) for task in plan.tasks for text, files in [_task(task)]
            },
        }
        own = {kind: {name: of for name, of in rows.items() if of["files"]} for kind, rows in table.items()}
        if any(own.values()):
            replace_file(folder / CODE, json.dumps(own, indent=1, sort_keys=True).encode() + b"\n")
    except OSError as error:
        raise HostFault(f"{folder} cannot be written: {error.strerror or error}") from error
    return carrier.left_out


class UntrustedAgentError(UsageError):
    """A results folder has agents that run only if the user trusts it."""


class CarriedAgents:
    """The agents of a tournament as its results folder has them, with the code that it carries.

    Args:
        folder: it may come from others.
        trust: run agents that are not samples of flagfall, or that read a file.

    Raises:
        UntrustedAgentError: there are such agents, and `trust` is not given.
        UsageError: the folder is damaged.
    """

    def __init__(self, folder: Path, *, trust: bool) -> None:
        with closing(Store(folder)) as store:
            stored = store.plan()
        plan = None if stored is None else stored.for_display()
        self._specs = {} if plan is None else {one.name: AgentSpec.parse(one.spec) for one in plan.agents}
        self._folder = folder
        self._rows = _read_rows(folder / CODE)
        self._unpacked: dict[str, Unpacked] = {}
        specs = self._specs.values()
        own = next((one for one in specs if one.scheme != "sample" or one.files.keys() - {ANSWERS}), None)
        if own is not None and not trust:
            raise UntrustedAgentError(
                f"{folder}: its agent {own.text!r:.80} is code, or names a file: if you trust it, add --trust"
            )

    def spec(self, name: str) -> AgentSpec:
        """Return what an agent of the plan is; its carried files are there until `close`.

        Raises:
            UsageError: there is no such agent, or its code is not as it was carried.
        """
        if name not in self._specs:
            raise UsageError(f"{self._folder}: the plan has no agent {name!r:.80}")
        spec, row = self._specs[name], self._rows.get(name)
        if row is None or spec.form.is_command:
            return spec
        unpacked = self._unpacked.setdefault(name, Unpacked())
        folder = unpacked.folder(self._folder / CARRIED, row.files)
        if spec.scheme == "python" and not spec.is_file:
            let_import(folder)
        return AgentSpec.parse(row.text).in_folder(folder)

    def close(self) -> None:
        """Remove all files that were unpacked."""
        for unpacked in self._unpacked.values():
            unpacked.close()


class _Row(Struct):
    text: str
    files: dict[str, str]


def _read_rows(path: Path) -> Mapping[str, _Row]:
    """Return the agents with files of their own that `carry_code` wrote, by name."""
    if not path.exists():
        return {}
    try:
        table = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, _Row]])
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return table.get("agents", {})


class _Carrier:
    def __init__(self, folder: Path) -> None:
        if folder.is_symlink():
            raise UsageError(f"{folder} is a link: remove it, or choose another --output")
        self._folder = folder
        self._left = MAX_CARRIED_BYTES
        self.left_out: list[str] = []

    def entry(self, text: str, files: Mapping[str, Path]) -> dict[str, Any]:
        """Copy the files of an agent or a task; return its row of the table."""
        digests = {name: digest for name, path in files.items() if (digest := self._copy(name, path))}
        return {"text": text, "files": digests}

    def _copy(self, name: str, path: Path) -> str:
        why = f"a file has at most {MAX_FILE_BYTES} bytes there, and all of them {MAX_CARRIED_BYTES}"
        data = None
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            why = error.strerror or str(error)
        if data is None or len(data) > min(MAX_FILE_BYTES, self._left):
            self.left_out.append(f"{name} is not copied into the results: {why}")
            return ""
        digest = sha256(data).hexdigest()
        self._left -= self._put(digest, data)
        return digest

    def put_opening(self, path: Path, digest: str) -> None:
        """Copy the journal of an opening; without it, no match can be played."""
        data = read_opening(path)
        if sha256(data).hexdigest() != digest:
            raise UsageError(f"{path} has changed since the plan was read: start again")
        self._put(digest, data)

    def _put(self, digest: str, data: bytes) -> int:
        """Write a file; return the number of bytes that were written."""
        target = self._folder / digest
        if target.is_file() and not target.is_symlink() and target.read_bytes() == data:
            return 0
        self._folder.mkdir(exist_ok=True)
        replace_file(target, data)
        return len(data)


def _agent(text: str) -> tuple[str, Mapping[str, Path]]:
    """Return the text of an agent without folders of this machine, and its files."""
    spec = AgentSpec.parse(text)
    if spec.scheme == "python":
        return f"{portable_path(spec.target)}:{spec.member}", code_files(spec.target)
    if spec.scheme == "wasm":
        return portable_path(spec.target), named((spec.target,))
    if spec.form.is_command:
        paths = [path for path in code_of_command(split_command(spec.target)) if not _is_of_system(path)]
        return text, named(tuple(paths))
    templates = tuple(file for option, file in spec.files.items() if option == TEMPLATE)
    return spec.with_files(lambda _option, file: portable_path(file)).text, named(templates)


def _is_of_system(path: str) -> bool:
    return any(Path(path).resolve().is_relative_to(folder) for folder in _SYSTEM)


def _task(task: PlannedTask) -> tuple[str, Mapping[str, Path]]:
    """Return the text of a task without folders of this machine, and its files."""
    if isinstance(task.tasks, TrackSetup):
        return portable_path(task.tasks.game), task.tasks.files()
    if not isinstance(task.tasks, tuple):  # the header of each journal has the whole configuration
        return task.name, {}
    files: dict[str, Path] = {}
    for task_id in task.tasks:
        files |= task_files(task_id)
    return " ".join(map(portable_id, task.tasks)), files
