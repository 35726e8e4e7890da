"""The tasks under other interfaces: Gymnasium, alone and in batches, and the dictionaries of `embodied`.

Gymnasium knows the ids once this package is imported, be it by

    import flagfall.environments

or by `gymnasium.make("flagfall.environments:flagfall/LangRoom-v0")`. (Since its version 1.0 it looks no more
for entry points of installed packages, so an import is the only way there is.)
"""

from __future__ import annotations

__all__ = ["register_envs"]

from typing import Any, Final

import gymnasium

_IDS: Final[dict[str, dict[str, Any]]] = {
    "flagfall/CommAI-v0": {"entry_point": "flagfall.environments.commai_env:CommAIEnv"},
    "flagfall/LangRoom-v0": {
        "entry_point": "flagfall.environments.langroom_env:LangRoomEnv",
        "vector_entry_point": "flagfall.environments.langroom_env:LangRoomVectorEnv",
    },
    "flagfall/VGDL-v0": {"entry_point": "flagfall.environments.vgdl_env:VgdlEnv"},
}
"""What is registered, by id: the arguments of `gymnasium.register`."""


def register_envs() -> None:
    """Tell Gymnasium the ids that it does not know yet. The import of this package has done it."""
    for env_id, entry in _IDS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, **entry)


register_envs()
