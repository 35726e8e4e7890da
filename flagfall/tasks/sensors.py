"""Sensors: what an observation of a task is made of, one named part each.

    class Compass(Sensor):
        def get_observation(self, env, task, **kwargs):
            return np.float32(env.heading)

    task = WalkTask(env, [Compass("compass", Box(-np.pi, np.pi, ()))], {"goal": "north"}, max_steps=100)

The same sensor may serve several tasks, and a task several sensors; the names follow AllenAct.
"""

from __future__ import annotations

__all__ = ["Sensor", "SensorSuite"]

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flagfall.errors import UsageError

if TYPE_CHECKING:
    from gymnasium.spaces import Space


class Sensor(ABC):
    """One part of an observation.

    Args:
        uuid: its name, unique among the sensors of a task.
        observation_space: where its values lie.
    """

    def __init__(self, uuid: str, observation_space: Space[Any]) -> None:
        self.uuid = uuid
        self.observation_space = observation_space

    @abstractmethod
    def get_observation(self, env: Any, task: Any, **kwargs: Any) -> Any:
        """What is seen now, of the space.

        Args:
            env: the environment of the task.
            task: the task that is played.
            kwargs: whatever `Task.get_observations` was given.
        """


class SensorSuite:
    """Several sensors as one: its observations are mappings by `uuid`.

    Args:
        sensors: in the order in which they are read.

    Raises:
        UsageError: two of them have the same `uuid`.

    Attributes:
        sensors: by `uuid`.
    """

    def __init__(self, sensors: Sequence[Sensor]) -> None:
        by_uuid: dict[str, Sensor] = {}
        for sensor in sensors:
            if sensor.uuid in by_uuid:
                raise UsageError(f"two sensors have the uuid {sensor.uuid!r}; each needs one of its own")
            by_uuid[sensor.uuid] = sensor
        self.sensors: Mapping[str, Sensor] = by_uuid

    @cached_property
    def observation_spaces(self) -> Space[Any]:
        """The `Dict` space of all sensors, by `uuid`."""
        from gymnasium.spaces import Dict  # noqa: PLC0415 - a fifth of a second that byte tasks do not need

        return Dict({uuid: sensor.observation_space for uuid, sensor in self.sensors.items()})

    def get(self, uuid: str) -> Sensor:
        """The sensor of that name; `KeyError` where there is none."""
        return self.sensors[uuid]

    def get_observations(self, env: Any, task: Any, **kwargs: Any) -> dict[str, Any]:
        """What every sensor sees now; `kwargs` go to each of them."""
        return {uuid: sensor.get_observation(env, task, **kwargs) for uuid, sensor in self.sensors.items()}
