"""Registry of sample agents, by the names that a command line takes."""

from __future__ import annotations

__all__ = ["SAMPLES"]

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from flagfall.agents.learner.agent import LearningAgent
from flagfall.agents.samples.basic import MemorizingAgent, RandomAgent, RepeatingAgent, SilentAgent
from flagfall.agents.samples.langroom_solver import LangRoomSolver
from flagfall.agents.samples.language_model import LanguageModel
from flagfall.agents.samples.q_learning import QLearningAgent

SAMPLES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "random": RandomAgent,
        "silent": SilentAgent,
        "repeating": RepeatingAgent,
        "memorizing": MemorizingAgent,
        "learner": LearningAgent,
        "q-learning": QLearningAgent,
        "langroom-solver": LangRoomSolver,
        "llm": LanguageModel,
    }
)
"""Classes of the sample agents; `flagfall agents` prints the first line of each docstring."""
