"""Entry points of `gymnasium.make_vec` for the ids of this package: on request, on several processes.

gymnasium.make_vec("flagfall/VGDL-v0", num_envs=64, processes=2, game="causeway")

Without `processes`, nothing is started: the environments are a batch or `gymnasium.vector.SyncVectorEnv`.
"""

from __future__ import annotations

__all__ = ["commai", "langroom", "vgdl"]

import functools
from typing import Any, Final

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from flagfall.environments.langroom_env import LangRoomVectorEnv
from flagfall.environments.process_vector_env import ProcessVectorEnv, make_process_vec
from flagfall.environments.vector.arguments import check_count, checked_autoreset


def _vector_env(
    env_id: str,
    num_envs: int = 1,
    *,
    processes: int | None = None,
    copy: bool = True,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **options: Any,
) -> VectorEnv[Any, Any, Any]:
    """Return environments of one id.

    Args:
        env_id: the id.
        num_envs: number of environments.
        processes: number of worker processes; `None` for none.
        copy: see `ProcessVectorEnv`.
        autoreset_mode: see `ProcessVectorEnv`.
        options: for `gymnasium.make`.
    """
    check_count("num_envs", num_envs)
    mode = checked_autoreset(autoreset_mode)
    if processes is not None:
        return make_process_vec(
            env_id, num_envs, processes=processes, copy=copy, autoreset_mode=mode, **options
        )
    maker = functools.partial(gymnasium.make, env_id, **options)
    return SyncVectorEnv([maker] * num_envs, copy=copy, autoreset_mode=mode)


commai: Final = functools.partial(_vector_env, "flagfall/CommAI-v0")
vgdl: Final = functools.partial(_vector_env, "flagfall/VGDL-v0")


def langroom(
    num_envs: int = 1, *, processes: int | None = None, copy: bool = True, **options: Any
) -> VectorEnv[Any, Any, Any]:
    """Return LangRooms in one batch, or in one for each process.

    Args:
        num_envs: number of rooms.
        processes: number of worker processes; `None` for none.
        copy: see `ProcessVectorEnv`; a batch always gives out new arrays.
        options: for `LangRoomVectorEnv`.
    """
    if processes is None:
        return LangRoomVectorEnv(num_envs, **options)
    maker = functools.partial(LangRoomVectorEnv, **options)
    return ProcessVectorEnv(maker, num_envs, processes=processes, copy=copy)
