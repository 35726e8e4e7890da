"""Tasks, task samplers and task schedulers; one folder a family of tasks."""

__all__ = [
    "AskTurns",
    "CurriculumTask",
    "Family",
    "GymnasiumTask",
    "Outcome",
    "RLStepResult",
    "Sensor",
    "SensorSuite",
    "SequentialTaskScheduler",
    "StepResult",
    "Task",
    "TaskSampler",
    "TrackRules",
    "TrackSetup",
    "add_family",
    "advance",
    "dump",
    "fork",
    "load",
    "load_config",
    "make_task",
    "pettingzoo_task",
    "prepare_locals_for_super",
    "rebuild",
    "state_key",
]

from flagfall.lazy_names import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flagfall.kernel.outcomes import Outcome, StepResult
    from flagfall.kernel.roles import AskTurns
    from flagfall.tasks.adapters.gymnasium import GymnasiumTask
    from flagfall.tasks.adapters.pettingzoo import pettingzoo_task
    from flagfall.tasks.building import CurriculumTask, rebuild
    from flagfall.tasks.catalog import Family, add_family, make_task
    from flagfall.tasks.configs.files import load_config
    from flagfall.tasks.schedulers import SequentialTaskScheduler
    from flagfall.tasks.sensors import Sensor, SensorSuite, prepare_locals_for_super
    from flagfall.tasks.task import RLStepResult, Task, TaskSampler
    from flagfall.tasks.vgdl.engine.cycle import advance, fork
    from flagfall.tasks.vgdl.engine.serialization import dump, load, state_key
    from flagfall.tasks.vgdl.learning_track import TrackRules
    from flagfall.tasks.vgdl.learning_track_setup import TrackSetup

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "flagfall.kernel.outcomes": "Outcome StepResult",
        "flagfall.kernel.roles": "AskTurns",
        "flagfall.tasks.adapters.gymnasium": "GymnasiumTask",
        "flagfall.tasks.adapters.pettingzoo": "pettingzoo_task",
        "flagfall.tasks.building": "CurriculumTask rebuild",
        "flagfall.tasks.catalog": "Family add_family make_task",
        "flagfall.tasks.configs.files": "load_config",
        "flagfall.tasks.schedulers": "SequentialTaskScheduler",
        "flagfall.tasks.sensors": "Sensor SensorSuite prepare_locals_for_super",
        "flagfall.tasks.task": "RLStepResult Task TaskSampler",
        "flagfall.tasks.vgdl.engine.cycle": "advance fork",
        "flagfall.tasks.vgdl.engine.serialization": "dump load state_key",
        "flagfall.tasks.vgdl.learning_track": "TrackRules",
        "flagfall.tasks.vgdl.learning_track_setup": "TrackSetup",
    },
)
del TYPE_CHECKING, lazy_names
