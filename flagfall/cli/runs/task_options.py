"""What `flagfall run` plays: tasks by name, a configuration file, or a function of the user's own."""

from __future__ import annotations

__all__ = ["PythonSetup", "TaskOptions", "choose_tasks", "load_setup"]

import json
import traceback
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.agents.registry import load_module
from flagfall.errors import UsageError, suggest
from flagfall.module_aliases import module_aliases
from flagfall.playing import TaskSetup, default_policy
from flagfall.tasks.commai.original.catalog import COMMAI_CATALOG
from flagfall.tasks.configs import Config, change_config, config_of, load_config
from flagfall.tasks.task import TaskSampler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from flagfall.kernel.roles import SchedulerRole

_CREATE: Final = "create_tasks"
"""The function that is called where none is named, as in round 1."""

_ROLE: Final = ("set_seed", "next_task", "report", "close")


@attrs.frozen
class TaskOptions:
    """What the command line says of byte tasks, whichever they are.

    Attributes:
        words: a file of words.
        bit_mode: one step is one bit.
        scramble: words become pseudo-words.
        max_reward_per_task: what a task pays at most; `None` for no limit.
        fixes: round 1's tasks without some quirks of the original.
    """

    words: Path | None = None
    bit_mode: bool = False
    scramble: bool = False
    max_reward_per_task: float | None = None
    fixes: bool = False

    def as_data(self) -> dict[str, Any]:
        """What was said, as it stands at the top of a configuration."""
        said = attrs.asdict(self) | {"words": None if self.words is None else str(self.words)}
        return {name: value for name, value in said.items() if value not in {None, False}}


@attrs.frozen
class PythonSetup:
    """A function that makes a task scheduler; called anew for each match.

    Attributes:
        source: how it was named.
    """

    source: str
    _create: Callable[[], Any]

    def build(self) -> SchedulerRole:
        """What the function returns; worlds of its tasks are started as they come."""
        from flagfall.tasks.commai.world import WorldSwitch

        try:
            with _round1_names():  # it may import inside the function
                made = self._create()
        except UsageError:
            raise
        except Exception as error:
            own = error.__traceback__ and error.__traceback__.tb_next
            told = "".join(traceback.format_exception(error.with_traceback(own))).rstrip()
            raise UsageError(f"{self.source} failed:\n{told}") from error
        missing = [name for name in _ROLE if not callable(getattr(made, name, None))]
        if missing:
            raise UsageError(
                f"{self.source} returned no task scheduler but {made!r}: no {', '.join(missing)}"
            )
        scheduler: SchedulerRole = WorldSwitch(made) if isinstance(made, TaskSampler) else made
        return scheduler

    def header(self) -> dict[str, Any]:
        """Only the name: what is in a file may change, and no journal should be able to execute one."""
        return {"scheduler": self.source, "config": json.dumps({"python": self.source})}


def _round1_names() -> AbstractContextManager[None]:
    """Return a context in which modules of round 1 can be imported, for configurations written for it."""
    from flagfall.tasks.configs.round1_modules import round1_modules

    return module_aliases(round1_modules(), first=True)


def load_setup(source: str) -> Config | PythonSetup:
    """What `--config` names.

    Args:
        source: a name out of `SHIPPED`, a `.json`, `.toml` or `.py` file, `file.py:function` or
            `module:function`.

    Raises:
        UsageError: there is none, or something is wrong with it.
    """
    place, colon, name = source.rpartition(":")
    if source.endswith(".py"):
        place, colon, name = source, ":", _CREATE
    if not (colon and place and name):
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
) -> TaskSetup | None:
    """The setup that the command line means; `None` where the ids and the policy say it all.

    The original CommAI tasks are not in the catalog that `flagfall tasks` lists, but have their ids too.

    Raises:
        UsageError: something is wrong with it, or with the combination.
    """
    said = options.as_data()
    if config is None:
        if not ids or not (said or any(task_id in COMMAI_CATALOG for task_id in ids)):
            return None
        return config_of(ids, policy or default_policy(steps), said, name=_told(said) or "--task")
    if ids or policy is not None:
        given = "--task" if ids else "--scheduler"
        raise UsageError(f"--config says which tasks come in which order: leave {given} out")
    setup = load_setup(config)
    if not said:
        return setup
    if isinstance(setup, PythonSetup):
        raise UsageError(f"--config {config}: the function makes its tasks itself; {_told(said)} cannot help")
    return change_config(setup, said, name=f"{config} with {_told(said)}")


def _told(said: dict[str, Any]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in said)
