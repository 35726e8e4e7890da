"""Agents by their texts (`flagfall.agents.spec`): samples, human players and Python code."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from flagfall.agents.agent import adapt, check_arguments
from flagfall.agents.human.player import HaltOnDotHuman, Human, HumanAgent, ImmediateHuman
from flagfall.agents.round1 import LEARNER_MODULES
from flagfall.agents.spec import ANSWERS, AgentSpec
from flagfall.code_loader import (
    check_file,
    check_member,
    find_member,
    load_module,
    module_aliases,
    which_member,
)
from flagfall.errors import UsageError, suggest
from flagfall.texts import parse_text
from flagfall.timing import NEVER_NS, ElapsedTimer

SAMPLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "random": "samples.basic:RandomAgent",
        "silent": "samples.basic:SilentAgent",
        "repeating": "samples.basic:RepeatingAgent",
        "memorizing": "samples.basic:MemorizingAgent",
        "learner": "learner.agent:LearningAgent",
        "q-learning": "samples.basic:QLearningAgent",
        "langroom-solver": "samples.langroom_solver:LangRoomSolver",
        "llm": "samples.language_model:LanguageModel",
    }
)
"""Modules and classes of the sample agents in `flagfall.agents`; `load_sample` imports one."""

_METHODS: Final = frozenset({"act", "reply", "next", "run"})
"""Methods of which an agent has at least one (`flagfall.agents.agent`)."""


def check_agent_file(text: str) -> None:
    """Check that the file of an agent may have it, without importing the file.

    Args:
        text: the text of an agent, of any form; only one that names a file is checked.

    Raises:
        UsageError: there is no such file, or the name of the agent stands nowhere in it.
    """
    spec = AgentSpec.parse(text)
    if spec.is_file and not spec.member:
        check_file(Path(spec.target), "agent")
    elif spec.is_file:
        check_member(spec.target, spec.member, "agent", _METHODS)


def load_sample(name: str) -> type[Any]:
    """Return the class of a sample agent.

    Args:
        name: in `SAMPLES`.
    """
    module, _, member = SAMPLES[name].partition(":")
    found: type[Any] = getattr(import_module(f"flagfall.agents.{module}"), member)
    return found


def load_agent(spec: AgentSpec | str) -> Any:
    """Return the agent that a text names; a module or file is imported for it.

    Raises:
        UsageError: there is no such agent, the object cannot be used as one, or it is not run by this Python.
            Where the agent's own code failed, with its traceback.
    """
    spec = AgentSpec.parse(spec) if isinstance(spec, str) else spec
    if spec.scheme == "sample":
        return _sample(spec)
    if spec.scheme == "python":
        return _load_code(spec)
    if spec.scheme == "human":
        raise UsageError(f"{spec.text}: a human plays at a terminal, with `flagfall run`")
    what = f"{spec.text}: {spec.form.what} is a program of its own"
    raise UsageError(f"{what}, and cannot be loaded into this one")


def with_answers(texts: Sequence[str], answers: Path | None) -> list[str]:
    """Return the texts of agents, those of language models with a journal whose answers are given again.

    Args:
        answers: the journal, or a results folder; `None` changes nothing.

    Raises:
        UsageError: none of the agents is a language model that is asked.
    """
    if answers is None:
        return [*texts]
    found = []
    for text in texts:
        is_llm = text.partition("?")[0] == "llm"
        is_asked = is_llm and ANSWERS not in (spec := AgentSpec.parse(text)).files
        found.append(spec.with_answers(answers).text if is_asked else text)
    if found == [*texts]:
        raise UsageError("--answers: no agent is llm, whose answers could be given again: leave it out")
    return found


def make_human(name: str) -> Human:
    """Return a new human player; raises `UsageError` if there is no human player of that name."""
    if name not in HUMANS:
        raise UsageError(f"unknown human player {name!r}{suggest(name, HUMANS)}")
    return HUMANS[name]()


def _sample(spec: AgentSpec) -> Any:
    name = spec.target
    if name.endswith(".py"):
        raise UsageError(f"agent {name!r} names a file, not an agent in it: {which_member(name, _METHODS)}")
    if name not in SAMPLES:
        hint = suggest(name, [*SAMPLES, *HUMANS, "zmq"])
        raise UsageError(f"unknown agent {name!r}{hint}; or write module:Name, file.py:Name or cmd:PROGRAM")
    found, (_, options) = load_sample(name), parse_text(spec.text)
    if hasattr(found, "with_options"):
        return found.with_options(options)
    if options:
        raise UsageError(f"agent {spec.text}: {name} has no options")
    return found


def _load_code(spec: AgentSpec) -> Any:
    with module_aliases(LEARNER_MODULES, first=False):
        module = load_module(spec.target, "agent")
    agent = find_member(module, spec.member, spec.target)
    try:
        if inspect.isclass(agent):  # what else it is shows when it is made
            check_arguments(agent)
        else:
            adapt(agent, ElapsedTimer(time.perf_counter_ns, lambda: (0, NEVER_NS, None)))
    except UsageError as error:
        raise UsageError(f"agent {spec.text}: {error}") from None
    return agent


def _at_full_screen(module: str, name: str) -> Callable[..., Human]:
    """Return a constructor whose module is imported when it is called: it draws with urwid, an extra."""

    def make(**options: Any) -> Human:
        human: Human = getattr(import_module(f"flagfall.agents.human.{module}"), name)(**options)
        return human

    return make


HUMANS: Final[Mapping[str, Callable[..., Human]]] = MappingProxyType(
    {
        "human": _at_full_screen("full_screen", "FullScreenHuman"),
        "human-line": HumanAgent,
        "human-dot": HaltOnDotHuman,
        "human-immediate": ImmediateHuman,
        "human-keys": _at_full_screen("keys", "KeyHuman"),
        "human-room": _at_full_screen("keys", "RoomHuman"),
    }
)
"""Constructors of human players. Each takes `stop` and `skip_steps` of `flagfall.agents.human.player.Human`,
and raises `UsageError` where it needs a terminal or urwid, and there is none."""
