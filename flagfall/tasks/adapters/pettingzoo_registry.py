"""Makers of PettingZoo environments, by name."""

from __future__ import annotations

__all__ = ["make_environment"]

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, Final

from flagfall.errors import UsageError, suggest
from flagfall.tasks.adapters.imports import import_named
from flagfall.tasks.rendering import are_pictures_wanted, best_mode

_FUNCTIONS: Final = {"parallel": "parallel_env", "aec": "env"}
"""Names of the makers in a module, by interface; the first one that exists is the default."""


def make_environment(text: str, name: str, options: Mapping[str, Any]) -> Any:
    """Make a new environment.

    Args:
        text: the whole text of the user, for messages.
        name: a name of PettingZoo's registry, such as `classic/connect_four_v3`; or, with a dot in it, a
            module with a function `env` or `parallel_env`, as in modules of PettingZoo environments.
        options: passed to the maker, except for `api`: `aec` or `parallel`, by default `parallel` if the
            environment has both.

    Raises:
        UsageError: there is no such environment, or it cannot be made with these options.
    """
    others = {key: value for key, value in options.items() if key != "api"}
    makers = _in_module(text, name) if "." in name else _registered(text, name)
    api = options.get("api", next(iter(makers)))
    if api not in makers:
        raise UsageError(f"{text}: it has no api={api}; it has {' and '.join(makers)}")
    try:
        return _made(makers[api], others)
    except Exception as error:
        missing = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        if isinstance(missing, ImportError):
            family = name.partition("/")[0]
            raise UsageError(
                f"{text} cannot be made: {missing}; pip install 'pettingzoo[{family}]'"
            ) from error
        raise UsageError(f"{text} cannot be made: {type(error).__name__}: {error}") from error


def _made(make: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Return the environment, in a render mode if it is made to be drawn."""
    if not are_pictures_wanted():
        return make(**options)
    env = make(**{key: value for key, value in options.items() if key != "render_mode"})
    mode = best_mode(env.metadata)
    if mode is None:
        return env
    env.close()
    return make(**{**options, "render_mode": mode})


def _registered(text: str, name: str) -> dict[str, Callable[..., Any]]:
    """Return the makers of a registered environment, by interface."""
    try:
        registry: Any = importlib.import_module("pettingzoo")
    except ModuleNotFoundError:
        raise UsageError(f"{text} needs PettingZoo: pip install 'flagfall[pettingzoo]'") from None
    refused = importlib.import_module("pettingzoo.env_registry.exceptions").PettingZooRegistryError
    makers: dict[str, Callable[..., Any]] = {}
    for api in _FUNCTIONS:
        try:
            registry.spec(api, name)
        except refused:
            continue
        makers[api] = partial(registry.make, api, name)
    if not makers:
        known = dict.fromkeys([*registry.aec_registry, *registry.parallel_registry])
        raise UsageError(f"{text}: unknown PettingZoo environment {name!r}{suggest(name, known)}")
    return makers


def _in_module(text: str, name: str) -> dict[str, Callable[..., Any]]:
    """Return the makers of the environment in a module, by interface."""
    try:
        module: ModuleType = import_named(name)
    except Exception as error:
        raise UsageError(f"{text} cannot be imported: {type(error).__name__}: {error}") from error
    makers = {api: getattr(module, made) for api, made in _FUNCTIONS.items() if hasattr(module, made)}
    if not makers:
        raise UsageError(f"{text}: module {name} has neither a function `env` nor `parallel_env`")
    return makers
