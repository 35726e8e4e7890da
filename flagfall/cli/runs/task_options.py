"""Tasks of `flagfall run`: by id, from a configuration file, or from a Python function."""

from __future__ import annotations

import json
import os
import subprocess
import traceback
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation, code_of_spec
from flagfall.cli.console.progress import build
from flagfall.code_loader import load_module, module_aliases
from flagfall.errors import UsageError, suggest
from flagfall.tasks.building import TaskSetup, tasks_of
from flagfall.tasks.code_files import code_files, digests_of, portable_path
from flagfall.tasks.task import TaskSampler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from flagfall.agents.hosts.registry import Player
    from flagfall.kernel.roles import SchedulerRole
    from flagfall.tasks.configs import Config


_CREATE: Final = "create_tasks"
"""Default name of the function in a Python configuration, as in round 1."""

_ROLE: Final = ("set_seed", "next_task", "report", "close")


@attrs.frozen
class TaskOptions:
    """Options of the command line that apply to all byte tasks.

    Attributes:
        words: a file of words, or `None` for the default words.
        bit_mode: one step is one bit instead of one byte.
        max_reward_per_task: limit of the reward of a task; `None` for no limit.
        fixes: repair four quirks of the tasks of round 1.
    """

    words: Path | None = None
    bit_mode: bool = False
    scramble: bool = False
    max_reward_per_task: float | None = None
    fixes: bool = False

    def as_data(self) -> dict[str, Any]:
        """Return the options that are set, as top-level settings of a configuration."""
        settings = attrs.asdict(self) | {"words": None if self.words is None else str(self.words)}
        return {name: value for name, value in settings.items() if value not in {None, False}}


@attrs.frozen
class PythonSetup:
    """Python function that creates a task scheduler for each match; named as `file.py:function`."""

    source: str
    _create: Callable[..., Any]

    def build(self) -> SchedulerRole:
        """Return the scheduler that the function creates; worlds of its tasks are started with the tasks."""
        from flagfall.tasks.commai.world import WorldSwitch
        from flagfall.tasks.configs.round1 import ENVIRONMENT

        needed = _needed_arguments(self._create)
        if needed not in ([], ["env"]):  # the first revisions of the original give their environment
            raise UsageError(
                f"{self.source} needs the arguments {', '.join(map(repr, needed))}; it is called without any"
            )
        try:
            with _round1_names():  # the function may import modules of round 1
                made = self._create(*[ENVIRONMENT for _ in needed])
        except UsageError:
            raise
        except Exception as error:
            own = error.__traceback__ and error.__traceback__.tb_next
            shown = "".join(traceback.format_exception(error.with_traceback(own))).rstrip()
            raise UsageError(f"{self.source} failed:\n{shown}") from error
        missing = [name for name in _ROLE if not callable(getattr(made, name, None))]
        if missing:
            raise UsageError(
                f"{self.source} returned {made!r}, not a task scheduler: it lacks {', '.join(missing)}"
            )
        scheduler: SchedulerRole = WorldSwitch(made) if isinstance(made, TaskSampler) else made
        return scheduler

    def header(self) -> dict[str, Any]:
        """Return the name and digests only: a journal must not be able to execute a file."""
        place, _, name = self.source.rpartition(":")
        source = f"{portable_path(place)}:{name}"
        digests = digests_of(code_files(place))
        return {"scheduler": source, "config": json.dumps({"python": source}), "code": digests}


def _needed_arguments(create: Callable[..., Any]) -> list[str]:
    try:
        parameters = signature(create).parameters.values()
    except ValueError:  # a function in C
        return []
    optional = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return [of.name for of in parameters if of.default is Parameter.empty and of.kind not in optional]


def _round1_names() -> AbstractContextManager[None]:
    """Return a context in which modules of round 1 can be imported, for configurations written for it."""
    from flagfall.tasks.configs.round1 import round1_modules

    return module_aliases(round1_modules(), first=True)


def load_setup(source: str) -> Config | PythonSetup:
    """Return the setup that `--config` names.

    It is a name in `SHIPPED`, a `.json`, `.toml` or `.py` file, `file.py:function` or `module:function`.
    """
    place, colon, name = source.rpartition(":")
    if source.endswith(".py"):
        place, colon, name = source, ":", _CREATE
    if not (colon and place and name):
        from flagfall.tasks.configs import load_config

        return load_config(source)
    with _round1_names():
        module = load_module(place, "configuration")
    create = getattr(module, name, None)
    if not callable(create):
        public = [known for known in vars(module) if not known.startswith("_")]
        raise UsageError(f"configuration {place} has no function {name!r}{suggest(name, public)}")
    return PythonSetup(f"{place}:{name}", create)


def choose_tasks(
    ids: Sequence[str], policy: str | None, config: str | None, options: TaskOptions, *, steps: int | None
) -> tuple[tuple[str, ...] | TaskSetup, str | None]:
    """Return the tasks for the options of the command line, and the text of their scheduler, if any."""
    settings = options.as_data()
    if config is None:
        return tasks_of(ids, policy, settings, steps, name=_option_names(settings) or "--task")
    if ids or policy is not None:
        given = "--task" if ids else "--scheduler"
        raise UsageError(f"--config defines the tasks and their order: leave {given} out")
    setup = load_setup(config)
    if not settings:
        return setup, None
    if isinstance(setup, PythonSetup):
        raise UsageError(
            f"--config {config}: the function creates its tasks itself: leave {_option_names(settings)} out"
        )
    from flagfall.tasks.configs import change_config

    return change_config(setup, settings, name=f"{config} with {_option_names(settings)}"), None


def _option_names(settings: dict[str, Any]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in settings)


CHECK_SECONDS: Final = 60.0
"""Time limit of an import in this check; in a match the time control limits it."""


async def check_agents(
    specs: Iterable[str], isolation: Isolation = DEFAULT_ISOLATION, seconds: float = CHECK_SECONDS
) -> None:
    """Import each agent in a process of its own, as many at a time as there are processors.

    The `UsageError` for those that cannot be imported has the standard error of each.
    """
    faults: dict[str, str] = {}
    limiter = trio.CapacityLimiter(os.cpu_count() or 1)

    async def check(spec: str) -> None:
        async with limiter:
            if fault := await _check(spec, isolation, seconds):
                faults[spec] = fault

    distinct = list(dict.fromkeys(specs))
    async with trio.open_nursery() as nursery:
        for spec in distinct:
            nursery.start_soon(check, spec)
    if faults:
        raise UsageError("\n".join(faults[spec] for spec in distinct if spec in faults))


def check_players(players: Iterable[Player]) -> None:
    """Check agents before any match: the user's own code is imported, isolated as in the match.

    What agents in WebAssembly need is built, and nothing of theirs is executed.

    Ctrl-C is raised as KeyboardInterrupt, not in a group. Others than samples and Python code are left alone.
    """
    own: dict[str, tuple[Isolation, list[str]]] = {}
    for player in players:
        spec = player.spec
        if spec is not None and "wasm" in {player.host, spec.scheme}:
            build(player.seated())
        elif spec is not None and spec.scheme == "sample":
            player.seated()
        elif spec is not None and spec.scheme == "python":
            own.setdefault(repr(player.isolation), (player.isolation, []))[1].append(spec.text)
    for isolation, specs in own.values():
        try:
            trio.run(check_agents, specs, isolation)
        except BaseExceptionGroup as group:
            if group.subgroup(KeyboardInterrupt) is None:
                raise
            raise KeyboardInterrupt from None


async def _check(spec: str, isolation: Isolation, seconds: float) -> str:
    """Return the fault of an agent, or an empty text."""
    from flagfall.agents.process.forking import WORKER
    from flagfall.agents.process.supervised import open_supervised

    null = subprocess.DEVNULL
    supervised = await open_supervised(
        [*WORKER, "--check", spec], isolation, shown=code_of_spec(spec), stdin=null, stdout=null
    )
    code: int | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervised.read_stderr)
            await supervised.wait_for_exit(seconds)
            code = supervised.process.returncode
            nursery.cancel_scope.cancel()
    finally:
        await supervised.end()
    return _fault(spec, seconds, code, "\n".join(filter(None, (supervised.stderr_tail, supervised.hint()))))


def _fault(spec: str, seconds: float, code: int | None, stderr_tail: str) -> str:
    if code == 0:
        return ""
    if code == _REFUSED and stderr_tail:
        return stderr_tail
    what = f"was not imported within {seconds:g} s" if code is None else f"ended its process ({code})"
    return f"agent {spec} {what} while it was checked" + (f":\n{stderr_tail}" if stderr_tail else "")


_REFUSED: Final = 2
"""Exit code of a worker that has printed why it refuses the agent."""
