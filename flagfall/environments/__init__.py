"""Tasks under other interfaces: Gymnasium, PettingZoo, and the dictionaries of `embodied`.

Importing this package registers its ids with Gymnasium, which since version 1.0 loads no entry points of
installed packages:

    import gymnasium, flagfall.environments

    gymnasium.register_envs(flagfall.environments)  # does nothing; it shows why the package is imported
    env = gymnasium.make("flagfall/VGDL-v0", game="windfall")

`gymnasium.make("flagfall.environments:flagfall/LangRoom-v0")` imports it by itself.
"""

from __future__ import annotations

__all__ = [
    "EmbodiedLangRoom",
    "ProcessVectorEnv",
    "TaskAECEnv",
    "TaskEnv",
    "TaskParallelEnv",
    "make_process_vec",
    "register_envs",
]

from typing import TYPE_CHECKING, Any, Final

import gymnasium

from flagfall.lazy_names import lazy_names

if TYPE_CHECKING:
    from flagfall.environments.embodied_env import EmbodiedLangRoom
    from flagfall.environments.gymnasium_env import TaskEnv
    from flagfall.environments.pettingzoo_env import TaskAECEnv, TaskParallelEnv
    from flagfall.environments.process_vector_env import ProcessVectorEnv, make_process_vec

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "flagfall.environments.embodied_env": "EmbodiedLangRoom",
        "flagfall.environments.gymnasium_env": "TaskEnv",
        "flagfall.environments.pettingzoo_env": "TaskAECEnv TaskParallelEnv",
        "flagfall.environments.process_vector_env": "ProcessVectorEnv make_process_vec",
    },
)

_IDS: Final[dict[str, dict[str, Any]]] = {
    f"flagfall/{name}-v0": {
        "entry_point": f"flagfall.environments.{env}",
        "vector_entry_point": f"flagfall.environments.process_vector_env:{name.lower()}",
    }
    for name, env in (
        ("CommAI", "gymnasium_env:CommAIEnv"),
        ("LangRoom", "langroom_env:LangRoomEnv"),
        ("VGDL", "gymnasium_env:VgdlEnv"),
    )
}
"""Arguments of `gymnasium.register`, by id."""

_GAMES: Final = (
    "causeway",
    "cinders",
    "gatedash",
    "gearworks",
    "glacier",
    "goslings",
    "pepperpot",
    "underdig",
    "wellpaths",
    "windfall",
)
"""The games of flagfall, each with an id such as `flagfall/VGDL-windfall-v0`; listed, since finding them
takes longer than registering."""


def register_envs() -> None:
    """Register the ids that Gymnasium does not know yet; importing this package calls it."""
    games = {
        f"flagfall/VGDL-{game}-v0": {**_IDS["flagfall/VGDL-v0"], "kwargs": {"game": game}} for game in _GAMES
    }
    for env_id, entry in (_IDS | games).items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, **entry)


register_envs()
