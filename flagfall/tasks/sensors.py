"""Sensors: the named parts of a task's observation.

    class Compass(Sensor):
        def get_observation(self, env, task, **kwargs):
            return np.float32(env.heading)

    task = WalkTask(env, [Compass("compass", Box(-np.pi, np.pi, ()))], {"goal": "north"}, max_steps=100)

Several tasks may share a sensor. The names follow AllenAct.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar

from flagfall.errors import UsageError

if TYPE_CHECKING:
    from gymnasium.spaces import Space


class Sensor(ABC):
    """One part of an observation.

    Args:
        uuid: the name, unique among the sensors of a task.
    """

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    def __init__(
        self,
        uuid: str,
        observation_space: Space[Any],
        **kwargs: Any,  # noqa: ARG002 - as AllenAct's
    ) -> None:
        self.uuid = uuid
        self.observation_space = observation_space

    @abstractmethod
    def get_observation(self, env: Any, task: Any, **kwargs: Any) -> Any:
        """Return the current value, an element of the observation space."""


class SensorSuite:
    """Several sensors as one; observations are mappings by `uuid`.

    Raises:
        UsageError: two sensors have the same `uuid`.

    Attributes:
        sensors: the sensors, by `uuid`.
    """

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    def __init__(self, sensors: Sequence[Sensor]) -> None:
        by_uuid: dict[str, Sensor] = {}
        for sensor in sensors:
            if sensor.uuid in by_uuid:
                raise UsageError(f"two sensors have the uuid {sensor.uuid!r}; give each its own")
            by_uuid[sensor.uuid] = sensor
        self.sensors: Mapping[str, Sensor] = by_uuid

    @cached_property
    def observation_spaces(self) -> Space[Any]:
        """The `Dict` space of all sensors, by `uuid`."""
        from gymnasium.spaces import Dict  # noqa: PLC0415 - takes 0.2 s, and byte tasks need none

        return Dict({uuid: sensor.observation_space for uuid, sensor in self.sensors.items()})

    def get(self, uuid: str) -> Sensor:
        """Return a sensor.

        Raises:
            KeyError: there is no such sensor.
        """
        return self.sensors[uuid]

    def get_observations(self, env: Any, task: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the current values of all sensors, by `uuid`."""
        return {uuid: sensor.get_observation(env, task, **kwargs) for uuid, sensor in self.sensors.items()}


def prepare_locals_for_super(local_vars: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments and variables of an initializer as keywords for that of its base class.

    Sensors of AllenAct call `super().__init__(**prepare_locals_for_super(locals()))`.

    Args:
        local_vars: the value of `locals()`; what is in `kwargs` becomes keywords of its own.
    """
    own = {name: value for name, value in local_vars.items() if name not in {"self", "kwargs"}}
    return {**local_vars.get("kwargs", {}), **{name: own[name] for name in own if "__" not in name}}
