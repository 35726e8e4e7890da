"""Tasks of a user's own code: `mytask.py:MyTask`, `package.module:make?size=3`."""

from __future__ import annotations

from inspect import isclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from flagfall.code_loader import find_member, load_module
from flagfall.errors import UsageError
from flagfall.kernel.roles import complete_task, is_task
from flagfall.tasks.adapters.imports import CodeSpec, own_options
from flagfall.tasks.task import Task
from flagfall.texts import parse_text

_KINDS: Final = "a Task, a Gymnasium environment or a PettingZoo environment"

_files: dict[tuple[str, int, int], ModuleType] = {}
"""Modules made from files, by path, time of change and size: a match makes its tasks more than once."""


def make_code_task(text: str, spec: CodeSpec) -> Task:
    """Make a new task from a user's own code, which is imported.

    The text names a class or a function, which is called with the options after the question mark. It makes
    a task (`flagfall.tasks.Task`, or anything with the methods of `flagfall.kernel.roles.RequiredTask`), or
    an environment of Gymnasium or PettingZoo, which becomes a task. The text is the id of the task, so that a
    journal names what can be made again.

    Args:
        text: such as `mytask.py:MyTask?size=3`; for options see `flagfall.tasks.adapters.environment_task`.

    Raises:
        UsageError: there is no such file, module or name; it makes something else; or its own code failed.
    """
    member = find_member(_module(spec), spec.member, spec.place)
    options = parse_text(text)[1]
    if not callable(member) or (is_task(member) and not isclass(member)):
        raise UsageError(f"task {text}: name a class or a function that makes {_KINDS}, not one object of it")
    takes_all = isclass(member) and issubclass(member, Task)  # it makes no environment
    own = {} if takes_all else own_options(options)
    try:
        made = member(**options)
    except Exception as error:
        raise UsageError(f"task {text} cannot be made: {type(error).__name__}: {error}") from error
    return _as_task(made, text, own)


def _module(spec: CodeSpec) -> ModuleType:
    if not spec.is_file:
        return load_module(spec.place, "task")
    path = Path(spec.place).resolve()
    try:
        state = path.stat()
    except OSError:
        return load_module(spec.place, "task")  # it reports that there is no such file
    key = (str(path), state.st_mtime_ns, state.st_size)
    if key not in _files:
        _files[key] = load_module(spec.place, "task")
    return _files[key]


def _as_task(made: Any, text: str, own: dict[str, Any]) -> Task:
    if is_task(made):
        if own:
            raise UsageError(f"task {text}: {', '.join(own)} is an option of environments, not of a task")
        made.id = text  # type: ignore[misc]  # of a class of the user's own
        return cast("Task", complete_task(made))
    if hasattr(made, "possible_agents"):
        from flagfall.tasks.adapters.pettingzoo import pettingzoo_task  # noqa: PLC0415 - it imports Gymnasium

        return pettingzoo_task(made, text, **own)
    if hasattr(made, "step") and hasattr(made, "observation_space"):
        from flagfall.tasks.adapters.gymnasium import GymnasiumTask  # noqa: PLC0415 - it imports Gymnasium

        return GymnasiumTask(made, text, **own)
    raise UsageError(f"task {text}: expected {_KINDS}, got {type(made).__name__}")
