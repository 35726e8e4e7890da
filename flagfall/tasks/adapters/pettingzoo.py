"""PettingZoo environments as tasks: `pettingzoo:classic/connect_four_v3`, or `pettingzoo_task(env)`.

Both interfaces of PettingZoo are supported. In an AEC environment the agents act in turn, and only the one
to act is asked; in a parallel one all live agents are asked at once. The players of the task are the
`possible_agents`, in their order.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, Final, TypeAlias

from gymnasium import spaces

from flagfall.errors import UsageError, suggest
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.adapters.environment_task import EnvironmentTask, finite_reward, made_for_pictures
from flagfall.tasks.adapters.imports import import_named, own_options
from flagfall.tasks.adapters.space_values import (
    MASK_KEY,
    NotOfSpace,
    check_writable,
    contains,
    default_action,
    frozen_copy,
    is_allowed,
    mask_of,
    read,
    with_mask,
    with_mask_space,
)
from flagfall.texts import parse_text

_FUNCTIONS: Final = {"parallel": "parallel_env", "aec": "env"}
"""Names of the makers in a module, by interface; the first one that exists is the default."""


def make_environment(text: str, name: str, options: Mapping[str, Any]) -> Any:
    """Make a new environment.

    Args:
        text: the whole text of the user, for messages.
        name: a name of PettingZoo's registry, such as `classic/connect_four_v3`; or, with a dot in it, a
            module with a function `env` or `parallel_env`, as in modules of PettingZoo environments.
        options: passed to the maker, except for `api`: `aec` or `parallel`, by default `parallel` if the
            environment has both.

    Raises:
        UsageError: there is no such environment, or it cannot be made with these options.
    """
    others = {key: value for key, value in options.items() if key != "api"}
    makers = _in_module(text, name) if "." in name else _registered(text, name)
    api = options.get("api", next(iter(makers)))
    if api not in makers:
        raise UsageError(f"{text}: it has no api={api}; it has {' and '.join(makers)}")
    try:
        hidden = {key: value for key, value in others.items() if key != "render_mode"}
        return made_for_pictures(makers[api], others, hidden)
    except Exception as error:
        missing = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        if isinstance(missing, ImportError):
            family = name.partition("/")[0]
            raise UsageError(
                f"{text} cannot be made: {missing}; pip install 'pettingzoo[{family}]'"
            ) from error
        raise UsageError(f"{text} cannot be made: {type(error).__name__}: {error}") from error


def _registered(text: str, name: str) -> dict[str, Callable[..., Any]]:
    """Return the makers of a registered environment, by interface."""
    try:
        registry: Any = importlib.import_module("pettingzoo")
    except ModuleNotFoundError:
        raise UsageError(f"{text} needs PettingZoo: pip install 'flagfall[pettingzoo]'") from None
    refused = importlib.import_module("pettingzoo.env_registry.exceptions").PettingZooRegistryError
    makers: dict[str, Callable[..., Any]] = {}
    for api in _FUNCTIONS:
        try:
            registry.spec(api, name)
        except refused:
            continue
        makers[api] = partial(registry.make, api, name)
    if not makers:
        known = dict.fromkeys([*registry.aec_registry, *registry.parallel_registry])
        raise UsageError(f"{text}: unknown PettingZoo environment {name!r}{suggest(name, known)}")
    return makers


def _in_module(text: str, name: str) -> dict[str, Callable[..., Any]]:
    """Return the makers of the environment in a module, by interface."""
    try:
        module: ModuleType = import_named(name)
    except Exception as error:
        raise UsageError(f"{text} cannot be imported: {type(error).__name__}: {error}") from error
    makers = {api: getattr(module, made) for api, made in _FUNCTIONS.items() if hasattr(module, made)}
    if not makers:
        raise UsageError(f"{text}: module {name} has neither a function `env` nor `parallel_env`")
    return makers


PREFIX: Final = "pettingzoo:"

Asked: TypeAlias = Mapping[str, tuple[Any, Mapping[str, Any]]]
"""The observation and the info of each player who is to act now."""


class PettingZooTask(EnvironmentTask):
    """A PettingZoo environment as a task for its possible agents.

    Each player has its own spaces. Observations are read-only copies; actions may have the form of JSON or
    MessagePack. A reward is paid with the next observation of its player, summed since the last one, as in
    PettingZoo's `last`; players that have died get theirs, with their last observation, at the end of the
    episode.

    For an agent that is late, wrong or absent, the lowest action is played (`default_action`), of those that
    the mask allows, be it shown or in the info; so the consequences of being late depend on the time control
    alone. The environment is reset twice at first, see `GymnasiumTask`.

    Args:
        env: the environment; the task closes it.
        id: the text from which the task can be made again, `pettingzoo:...`; by default with its name.
        nil: the action that is played instead of the lowest one, unless the shown mask forbids it.
        action_mask: show the mask from the infos, and enforce it, see `GymnasiumTask`.

    Raises:
        UsageError: the values of the environment cannot be recorded, it has no `possible_agents`, or `nil`
            is not an action of every player.
    """

    def __init__(
        self,
        env: Any,
        id: str | None = None,  # noqa: A002 - as everywhere
        *,
        nil: Any = None,
        action_mask: bool = False,
    ) -> None:
        name = str(env.metadata.get("name", type(env.unwrapped).__name__))
        super().__init__(env, id or PREFIX + name, action_mask)
        self.players: Sequence[str] = tuple(getattr(env, "possible_agents", ()))
        if not self.players:
            raise UsageError(f"{self.id}: the environment must have possible_agents, which are the seats")
        self.nil_action = nil
        self._action_spaces: dict[str, spaces.Space[Any]] = {
            player: env.action_space(player) for player in self.players
        }
        self._observation_spaces = {player: self._shown_space(player) for player in self.players}
        for player in self.players:
            self._check_spaces(player)
        self._begin_episode()

    def _shown_space(self, player: str) -> spaces.Space[Any]:
        space: spaces.Space[Any] = self.env.observation_space(player)
        return with_mask_space(self.id, space, self._action_spaces[player]) if self._shows_mask else space

    def _check_spaces(self, player: str) -> None:
        actions = self._action_spaces[player]
        check_writable(self._observation_spaces[player], "observations")
        check_writable(actions, "actions")
        if self.nil_action is not None:
            if not contains(actions, self.nil_action):
                raise UsageError(
                    f"{self.id}: nil={self.nil_action!r} is not an action of {player}, {actions}"
                )
            return
        try:
            default_action(actions)
        except NotOfSpace as error:
            raise UsageError(f"{self.id}: {error}; set nil=, the action for an agent that is late") from None

    def _begin_episode(self) -> None:
        self._seen: dict[str, Any] = {}
        self._masks: dict[str, Any] = {}
        self._owed: dict[str, float] = {}
        self._paid: dict[str, float] = dict.fromkeys(self.players, 0.0)
        self._any_terminated = self._over = False

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The action space of the first player; see `action_space_of` for the others."""
        return self.action_space_of(self.players[0])

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """The observation space of the first player; see `observation_space_of` for the others."""
        return self.observation_space_of(self.players[0])

    def action_space_of(self, player: str) -> spaces.Space[Any]:
        """Return the action space of a player."""
        return self._action_spaces[player]

    def observation_space_of(self, player: str) -> spaces.Space[Any]:
        """Return the observation space of a player, with the mask if `action_mask` is set."""
        return self._observation_spaces[player]

    def is_legal(self, action: Any) -> bool:
        """Return whether at least one player may play an action now."""
        return any(self.is_legal_for(player, action) for player in self.players)

    def is_legal_for(self, player: str, action: Any) -> bool:
        """Return whether an action lies in the player's space, and the mask shown to the player allows it."""
        space = self._action_spaces[player]
        return contains(space, action) and is_allowed(space, mask_of(self._seen.get(player)), action)

    @abstractmethod
    def _start(self, seed: int) -> Asked:
        """Reset the environment, and return who is asked first."""

    @abstractmethod
    def _play(self, actions: Mapping[str, Any]) -> Asked:
        """Play the actions of those who were asked, and return who is asked next; empty at the end."""

    def _reset(self, seed: int) -> Any:
        asked = self._started(self._start_anew, seed, _observed)
        if not asked:
            raise ValueError("no agent is to act at the start of the episode")
        return self._one_or_all(self._shown(asked))

    def _start_anew(self, seed: int) -> Asked:
        self._begin_episode()
        return self._start(seed)

    def _step(self, action: Any) -> StepResult:
        actions = action if len(self.players) > 1 else {self.players[0]: action}
        asked = self._play({player: self._played(player, reply) for player, reply in actions.items()})
        shown = self._shown(asked)
        self._over = not asked
        if self._over:
            shown = {player: self._seen[player] for player in self.players if player in self._seen}
        paid = {player: self._owed.pop(player, 0.0) for player in shown}
        for player, reward in paid.items():
            self._paid[player] += reward
        ended = self._over and not self._any_terminated
        return StepResult(self._one_or_all(shown), self._one_or_all(paid), self._over and not ended, ended)

    def _played(self, player: str, action: Any) -> Any:
        """Return the action for the environment from a legal action or NIL; only NIL can be forbidden."""
        space = self._action_spaces[player]
        if action is None or not is_allowed(space, mask_of(self._seen[player]), action):
            return default_action(space, self._masks.get(player))
        return read(space, action)

    def _shown(self, asked: Asked) -> dict[str, Any]:
        return {player: self._see(player, *what) for player, what in asked.items()}

    def _see(self, player: str, observation: Any, info: Mapping[str, Any]) -> Any:
        """Store the observation of a player, and return it."""
        mask = info.get(MASK_KEY)
        if self._shows_mask:
            observation = with_mask(observation, mask, self._action_spaces[player])
        shown = self._seen[player] = frozen_copy(observation)
        in_shown = mask_of(shown)
        self._masks[player] = frozen_copy(mask) if in_shown is None else in_shown
        return shown

    def _owe(self, player: str, reward: float, terminated: Any) -> None:
        self._owed[player] = self._owed.get(player, 0.0) + finite_reward(reward)
        self._any_terminated = self._any_terminated or bool(terminated)

    def _one_or_all(self, values: dict[str, Any]) -> Any:
        """Return the mapping for several players, and the plain value for a single one."""
        return values if len(self.players) > 1 else values[self.players[0]]

    def reached_terminal_state(self) -> bool:
        """Return whether the episode is over with at least one player terminated (not all truncated)."""
        return self._over and self._any_terminated

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of every task, the `rewards` of each player, and `ignores_seed` if it holds."""
        return super().metrics() | {"rewards": dict(self._paid)}


class AECTask(PettingZooTask):
    """A PettingZoo AEC environment: players act in turn."""

    def _start(self, seed: int) -> Asked:
        self.env.reset(seed=seed)
        return self._next()

    def _play(self, actions: Mapping[str, Any]) -> Asked:
        (action,) = actions.values()
        self.env.step(action)
        return self._next()

    def _next(self) -> Asked:
        """Return who acts next; dead agents are skipped with the action `None`, as PettingZoo requires."""
        env = self.env
        for _ in range(len(self.players) + 1):
            if not env.agents:
                return {}
            player = env.agent_selection
            observation, reward, terminated, truncated, info = env.last()
            self._owe(player, reward, terminated)
            if not (terminated or truncated):
                return {player: (observation, info)}
            self._see(player, observation, info)
            env.step(None)
        raise RuntimeError(f"{self.id}: agents that have died are not removed by the environment")


class ParallelTask(PettingZooTask):
    """A PettingZoo parallel environment: all live players act at once."""

    def _start(self, seed: int) -> Asked:
        observations, infos = self.env.reset(seed=seed)
        return {player: (observations[player], infos.get(player, {})) for player in self.env.agents}

    def _play(self, actions: Mapping[str, Any]) -> Asked:
        observations, rewards, terminated, _truncated, infos = self.env.step(dict(actions))
        for player, reward in rewards.items():
            self._owe(player, reward, terminated.get(player, False))
        alive = self.env.agents
        for player in observations.keys() & set(self.players) - set(alive):
            self._see(player, observations[player], infos.get(player, {}))
        return {player: (observations[player], infos.get(player, {})) for player in alive}


def _observed(asked: Asked) -> dict[str, Any]:
    return {player: observation for player, (observation, _info) in asked.items()}


def pettingzoo_task(env: Any, id: str | None = None, **options: Any) -> PettingZooTask:  # noqa: A002 - as everywhere
    """Make the task of an environment of either interface."""
    return (AECTask if hasattr(env, "last") else ParallelTask)(env, id, **options)


def make_pettingzoo_task(text: str) -> PettingZooTask:
    """Make the task of a PettingZoo environment by name.

    The options `nil` and `action_mask` are those of `PettingZooTask`; for the rest see
    `flagfall.tasks.adapters.pettingzoo.make_environment`.

    Args:
        text: such as `pettingzoo:classic/connect_four_v3`.

    Raises:
        UsageError: there is no such environment, or it cannot be made with these options.
    """
    name, options = parse_text(text)
    own = own_options(options)
    env = make_environment(text, name.removeprefix(PREFIX), options)
    try:
        return pettingzoo_task(env, text, **own)
    except UsageError:
        env.close()
        raise
