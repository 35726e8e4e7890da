"""Tasks, task samplers and task schedulers; one folder a family of tasks."""

from __future__ import annotations

from flagfall.kernel.outcomes import Outcome as Outcome
from flagfall.kernel.outcomes import StepResult as StepResult
from flagfall.tasks.sensors import Sensor as Sensor
from flagfall.tasks.sensors import SensorSuite as SensorSuite
from flagfall.tasks.sensors import prepare_locals_for_super as prepare_locals_for_super
from flagfall.tasks.task import RLStepResult as RLStepResult
from flagfall.tasks.task import Task as Task
from flagfall.tasks.task import TaskSampler as TaskSampler
