"""Environments on several processes, as one Gymnasium vector environment.

envs = make_process_vec("flagfall/VGDL-v0", 64, processes=2, game="causeway")
    observations, infos = envs.reset(seed=0)

Each worker process steps its whole share at one message. Actions, observations, rewards and ends of episodes
are in shared memory; only infos, which are rarely there, and errors go through pipes.
"""

from __future__ import annotations

import functools
import os
import reprlib
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray

from flagfall.environments.langroom_env import LangRoomVectorEnv
from flagfall.environments.vector.layout import NotUniform, batch_of, join, write
from flagfall.environments.vector.memory import (
    SharedMemory,
    check_count,
    checked_autoreset,
    checked_mask,
    seeds_of,
)
from flagfall.environments.vector.worker import Command, Plan, pack, unpack
from flagfall.environments.vector.workers import Workers
from flagfall.errors import UsageError

Maker: TypeAlias = Callable[[], gymnasium.Env[Any, Any]]
BatchMaker: TypeAlias = Callable[[int], VectorEnv[Any, Any, Any]]

_OWN_METHODS = frozenset({"close", "reset", "step"})


class ProcessVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """Environments divided over worker processes; results equal those of `gymnasium.vector.SyncVectorEnv`.

    Workers are new interpreters, which import modules but do not run the main program again; functions of
    the main program are sent by their code. They end with this object or its process, however it ends.

    With `copy`, observations belong to the caller, although they are rarely copied: a batch is not
    overwritten while any array of it is in use in this process (a fork of it must copy what it keeps).
    Without it, `reset` and `step` always return the same arrays, and each call overwrites them. Arrays of
    actions of exactly the space's dtypes and shapes are passed through shared memory, other actions through
    pipes. So are observations of spaces whose values differ in size, such as `Text`.

    An error in an environment is a `HostFault` with its number (a `UsageError`, if it is one), and its
    traceback is a note of the exception; `reset` is required afterwards. If a worker ends, a `HostFault`
    names the environments that were lost. After that, and after an interrupt (Ctrl-C) of a call, all
    workers end, and only `close` is possible.

    Args:
        env_fns: a function for each environment; or one function that makes a vector environment of any
            number of environments, which each worker calls for its share.
        num_envs: number of environments, only for the second form.
        processes: number of workers, at most one for each environment; `None` for one for each CPU.
        autoreset_mode: what follows the end of an episode; see `gymnasium.vector.AutoresetMode`. In the
            second form of `env_fns`, that of the vector environments.

    Raises:
        UsageError: an argument is invalid, or the environments have different spaces.
        HostFault: an environment cannot be made.
    """

    def __init__(
        self,
        env_fns: Sequence[Maker] | BatchMaker,
        num_envs: int | None = None,
        *,
        processes: int | None = None,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        makers = env_fns if callable(env_fns) else list(env_fns)
        self.num_envs: int = _checked_number(makers, num_envs)
        count = _checked_processes(processes, self.num_envs)
        mode = checked_autoreset(autoreset_mode)
        plans = []
        has_cpus = count <= len(os.sched_getaffinity(0))
        for number in range(count):
            first, last = (self.num_envs * (number + part) // count for part in (0, 1))
            own = makers if callable(makers) else makers[first:last]
            plans.append(Plan(first, last, self.num_envs, mode, copy, own, stays_awake=has_cpus))
        self._plans = plans
        self._workers = Workers(plans)
        self._end = weakref.finalize(self, self._workers.close)
        self._begun = False
        try:
            self._attach(copy=copy)
        except BaseException:
            self.close()
            raise

    def _attach(self, *, copy: bool) -> None:
        workers = self._workers
        try:
            payloads = [pack(plan, by_value=True) for plan in self._plans]
        except Exception as error:
            raise UsageError(f"env_fns: they cannot be sent to another process: {error}") from error
        built = [unpack(answer) for answer in workers.exchange(Command.BUILD, payloads=payloads)]
        self.metadata: dict[str, Any]
        self.render_mode: str | None
        self.metadata, self.render_mode, observation_space, action_space = built[0]
        for plan, (*_, other_observations, other_actions) in zip(self._plans, built, strict=True):
            for name, other, own in (
                ("observation_space", other_observations, observation_space),
                ("action_space", other_actions, action_space),
            ):
                if other != own:
                    raise UsageError(
                        f"environment {plan.first}: its {name} is {other}, and that of others is {own}:"
                        " give equal ones"
                    )
        self.single_observation_space: gymnasium.Space[Any] = observation_space
        self.single_action_space: gymnasium.Space[Any] = action_space
        self.observation_space: gymnasium.Space[Any] = batch_space(observation_space, self.num_envs)
        self.action_space: gymnasium.Space[Any] = batch_space(action_space, self.num_envs)
        self._mode = self.metadata.get("autoreset_mode")
        self._memory = SharedMemory(workers.memory, observation_space, action_space, self.num_envs, copy=copy)
        workers.exchange(Command.ATTACH)
        workers.release_memory()

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers."""
        return self._workers.pids

    def reset(
        self,
        *,
        seed: int | np.integer[Any] | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every environment, or in those of a mask.

        Args:
            seed: a number, for the seed `seed + i` of environment i; a list with a seed for each; or `None`.
            options: for the environments; `reset_mask` in it: bool (num_envs,), those to reset.

        Raises:
            UsageError: the seeds or the mask do not fit, or an environment was never reset.
            HostFault: an environment failed, or a worker was lost.
        """
        self._check_open()
        seeds = seeds_of(seed, self.num_envs)
        others = None if options is None else {key: options[key] for key in options if key != "reset_mask"}
        mask = None
        if options is not None and "reset_mask" in options:
            mask = checked_mask(options["reset_mask"], self.num_envs)
        if mask is not None and not (self._begun or mask.all()):
            raise UsageError("reset_mask: reset all environments first")
        shares = [slice(plan.first, plan.last) for plan in self._plans]
        payloads = [pack((seeds[own], others, None if mask is None else mask[own])) for own in shares]
        return self._play(Command.RESET, payloads)

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play a step in every environment; see `gymnasium.vector.VectorEnv.step`.

        Raises:
            UsageError: an action is invalid, or an environment must be reset first.
            HostFault: an environment failed, or a worker was lost.
        """
        self._check_open()
        memory = self._memory
        if not self._begun:
            raise UsageError("no episode is going on: reset begins one")
        if self._mode is AutoresetMode.DISABLED and (ended := memory.terminations | memory.truncations).any():
            raise UsageError(
                f"the episodes of environments {np.flatnonzero(ended).tolist()} are over:"
                ' reset them with options={"reset_mask": mask}'
            )
        observations, infos = self._play(Command.STEP, self._pass_actions(actions))
        rewards, terminations, truncations = memory.rewards, memory.terminations, memory.truncations
        return observations, rewards.copy(), terminations.copy(), truncations.copy(), infos

    def render(self) -> tuple[Any, ...]:
        """Return what each environment renders.

        Raises:
            UsageError: the vector environment is closed.
            HostFault: an environment failed, or a worker was lost.
        """
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of every environment, or the results of calling it.

        Args:
            name: of the attribute; wrappers are searched from outside.

        Raises:
            UsageError: the vector environment has a method of this name.
            HostFault: an environment failed, or a worker was lost.
        """
        self._check_open()
        if name in _OWN_METHODS:
            raise UsageError(f"call({name!r}): use the method {name} of the vector environment")
        payload = pack((name, args, kwargs), by_value=True)
        answers = self._workers.exchange(Command.CALL, payloads=[payload] * len(self._plans))
        return tuple(result for answer in answers for result in unpack(answer))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment.

        Args:
            values: a list or tuple with a value for each environment; or one value for all.

        Raises:
            UsageError: there are fewer or more values than environments.
            HostFault: an environment failed, or a worker was lost.
        """
        self._check_open()
        each = list(values) if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise UsageError(f"values: {len(each)} for {self.num_envs} environments: give one for each")
        payloads = [pack((name, each[plan.first : plan.last]), by_value=True) for plan in self._plans]
        self._workers.exchange(Command.SET, payloads=payloads)

    @property  # type: ignore[misc]  # not to be set, as in SyncVectorEnv
    def np_random(self) -> Any:
        """Copies of the generators of the environments."""
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> Any:
        """The seeds of the generators of the environments."""
        return self.get_attr("np_random_seed")

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and end the workers; `close` calls it.

        Raises:
            UsageError: as `HostFault`, if it is a `UsageError`.
            HostFault: an environment failed to close; all the same, no worker is left.
        """
        del kwargs
        self.closed = True
        self.__dict__.pop("_memory", None)  # it lives on while the caller has arrays of it
        self._end()

    def _check_open(self) -> None:
        if self.closed:
            raise UsageError("the vector environment is closed: create a new one")

    def _play(self, command: Command, payloads: Sequence[bytes] | None) -> tuple[Any, dict[str, Any]]:
        memory = self._memory
        buffer = memory.free_buffer()
        self._begun = False  # after an error, not all environments are in the same step
        answers = self._workers.exchange(command, buffer, payloads)
        parts: list[tuple[int, dict[str, Any]]] = []
        shown: list[Any] = []
        uniform = True
        for plan, answer in zip(self._plans, answers, strict=True):
            if answer:
                columns, seen = unpack(answer)
                shown += seen or ()
                uniform = uniform and columns is not None
                parts.append((plan.first, columns))
        try:
            infos = join(parts, self.num_envs) if uniform else self._added()
        except NotUniform:
            infos = self._added()
        if memory.has_observations:
            observations = memory.observations(buffer)
        else:
            observations = batch_of(self.single_observation_space, shown)
        self._begun = True
        return observations, infos

    def _added(self) -> dict[str, Any]:
        """Return the infos of the last command, added one after the other as Gymnasium does it."""
        infos: dict[str, Any] = {}
        for plan, answer in zip(self._plans, self._workers.exchange(Command.INFOS), strict=True):
            for index, info in unpack(answer):
                infos = self._add_info(infos, info, plan.first + index)
        return infos

    def _pass_actions(self, actions: Any) -> list[bytes] | None:
        """Write actions to the shared memory, or else return them encoded for each worker."""
        layout = self._memory.action_layout
        if layout is not None and layout.holds(actions):
            write(actions, into=self._memory.actions)
            return None
        try:
            each = list(iterate(self.action_space, actions))
        except (TypeError, ValueError, LookupError):
            each = []
        if len(each) != self.num_envs:
            raise UsageError(f"{reprlib.repr(actions)} are not actions: give a batch of {self.action_space}")
        return [pack(each[plan.first : plan.last]) for plan in self._plans]


def _checked_number(makers: Sequence[Maker] | BatchMaker, num_envs: int | None) -> int:
    """Return the number of environments."""
    if not callable(makers):
        if not makers or num_envs not in {None, len(makers)}:
            raise UsageError(
                f"env_fns: {len(makers)} functions; give one for each environment, and no num_envs"
            )
        return len(makers)
    if num_envs is None:
        raise UsageError("num_envs: how many environments shall env_fns make? For one, give a list: [env_fn]")
    check_count("num_envs", num_envs)
    return num_envs


def _checked_processes(processes: int | None, num_envs: int) -> int:
    """Return the number of workers; raises `UsageError` where there can be none."""
    if not sys.platform.startswith("linux"):
        raise UsageError("environments in worker processes need Linux: take SyncVectorEnv of Gymnasium")
    if processes is None:
        return min(num_envs, len(os.sched_getaffinity(0)))
    check_count("processes", processes)
    if processes > num_envs:
        raise UsageError(f"processes={processes}: there are only {num_envs} environments")
    return processes


def make_process_vec(
    env_id: str | EnvSpec,
    num_envs: int = 1,
    *,
    processes: int | None = None,
    copy: bool = True,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **options: Any,
) -> ProcessVectorEnv:
    """Return environments of one id on several processes.

    Args:
        env_id: an id of Gymnasium, also with a module to import before (`module:Env-v0`); or its spec.
        options: for `gymnasium.make`, and by it for the environments.

    Raises:
        UsageError: an argument is invalid.
        HostFault: an environment cannot be made.
    """
    spec = env_id if isinstance(env_id, EnvSpec) else gymnasium.spec(env_id)
    maker = functools.partial(gymnasium.make, spec, **options)
    return ProcessVectorEnv([maker] * num_envs, processes=processes, copy=copy, autoreset_mode=autoreset_mode)


# Entry points of `gymnasium.make_vec` for the ids of this package, such as
#
#     `gymnasium.make_vec("flagfall/VGDL-v0", num_envs=64, processes=2, game="causeway")`


def _vector_env(
    env_id: str,
    num_envs: int = 1,
    *,
    processes: int | None = None,
    copy: bool = True,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **options: Any,
) -> VectorEnv[Any, Any, Any]:
    """Return environments of one id; without `processes`, no process is started."""
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
        copy: see `ProcessVectorEnv`; a batch always gives out new arrays.
    """
    if processes is None:
        return LangRoomVectorEnv(num_envs, **options)
    maker = functools.partial(LangRoomVectorEnv, **options)
    return ProcessVectorEnv(maker, num_envs, processes=processes, copy=copy)
