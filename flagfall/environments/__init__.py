"""Tasks under other interfaces: Gymnasium, PettingZoo, and the dictionaries of `embodied`.

Importing this package registers its ids with Gymnasium. `import flagfall` does that, before or after
Gymnasium is imported:

    import flagfall, gymnasium

    gymnasium.register_envs(flagfall)  # does nothing; it shows readers and linters why flagfall is imported
    env = gymnasium.make("flagfall/VGDL-v0", game="windfall")

So does `gymnasium.make("flagfall.environments:flagfall/LangRoom-v0")`. (Since version 1.0 Gymnasium no longer
loads entry points of installed packages, so an import is required.)
"""

from __future__ import annotations

__all__ = ["register_envs"]

from typing import Any, Final

import gymnasium

_IDS: Final[dict[str, dict[str, Any]]] = {
    "flagfall/CommAI-v0": {
        "entry_point": "flagfall.environments.commai_env:CommAIEnv",
        "vector_entry_point": "flagfall.environments.vector_entry_points:commai",
    },
    "flagfall/LangRoom-v0": {
        "entry_point": "flagfall.environments.langroom_env:LangRoomEnv",
        "vector_entry_point": "flagfall.environments.vector_entry_points:langroom",
    },
    "flagfall/VGDL-v0": {
        "entry_point": "flagfall.environments.vgdl_env:VgdlEnv",
        "vector_entry_point": "flagfall.environments.vector_entry_points:vgdl",
    },
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
