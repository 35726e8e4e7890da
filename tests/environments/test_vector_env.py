"""Environments on several processes: equal to those in one, and nothing is left of them."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

import flagfall.environments  # noqa: F401 - registers the ids
from flagfall.environments.langroom_env import LangRoomVectorEnv
from flagfall.environments.process_vector_env import ProcessVectorEnv, make_process_vec
from flagfall.environments.vector.layout import NotUniform, as_columns, join
from flagfall.environments.vector.memory import LENT_BUFFERS, SharedMemory, memory_file
from flagfall.errors import HostFault, UsageError
from tests.vector_envs import Trouble, Uneven

LOCK = threading.Lock()
"""Something that cannot be sent to another process."""

ROOT = Path(__file__).parents[2]
ENDING_SECONDS = 60
"""Patience with processes that end, on a busy machine."""


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, through and through, types included."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return all(map(same, one, other)) if one.dtype == object else np.array_equal(one, other)
    return type(one) is type(other) and one == other


def make(env_id: str, **options: Any) -> Callable[[], gymnasium.Env[Any, Any]]:
    return functools.partial(gymnasium.make, env_id, **options)


def ended(pid: int) -> bool:
    """Wait until a process has ended; it may belong to another parent."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], ENDING_SECONDS)[0])
    finally:
        os.close(handle)


# Equal to one process.

CASES: dict[str, tuple[list[Callable[[], gymnasium.Env[Any, Any]]], AutoresetMode, int]] = {
    "VGDL planes": (
        [make("flagfall/VGDL-v0", game="causeway", max_episode_steps=n) for n in (9, 23, 2, 50, 14)],
        AutoresetMode.NEXT_STEP,
        100,
    ),
    "VGDL pictures": (
        [
            make("flagfall/VGDL-v0", game="windfall", observation="image", max_episode_steps=n)
            for n in (8, 5, 11)
        ],
        AutoresetMode.SAME_STEP,
        60,
    ),
    "VGDL text": (
        [make("flagfall/VGDL-v0", game="causeway", observation="text", max_episode_steps=n) for n in (4, 7)],
        AutoresetMode.DISABLED,
        40,
    ),
    "LangRoom": (
        [make("flagfall/LangRoom-v0", length=n) for n in (5, 8, 13, 2)],
        AutoresetMode.SAME_STEP,
        60,
    ),
    "bytes": (
        [make("flagfall/CommAI-v0", task=f"micro5.{n}", max_episode_steps=9 * n) for n in (1, 18, 3)],
        AutoresetMode.NEXT_STEP,
        120,
    ),
    "uneven, next step": ([Uneven] * 5, AutoresetMode.NEXT_STEP, 150),
    "uneven, same step": ([Uneven] * 5, AutoresetMode.SAME_STEP, 150),
    "uneven, disabled": ([functools.partial(Uneven, mixed=False)] * 5, AutoresetMode.DISABLED, 150),
}


QUICK = {"LangRoom", "uneven, next step", "uneven, same step"}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in QUICK else [pytest.mark.release]) for case in CASES]
)
def test_results_equal_those_of_one_process(case: str) -> None:
    env_fns, mode, steps = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of Gymnasium's checker: integers as rewards
        expected: Any = SyncVectorEnv(env_fns, autoreset_mode=mode)
    ours = ProcessVectorEnv(env_fns, processes=2, autoreset_mode=mode)
    assert ours.metadata == expected.metadata
    assert ours.render_mode == expected.render_mode
    for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        assert getattr(ours, name) == getattr(expected, name)
    ours.action_space.seed(1)
    assert same(ours.reset(seed=3), expected.reset(seed=3))
    episodes = 0
    for step in range(steps):
        if step == steps // 2:
            seeds = [7, None, *range(len(env_fns) - 2)]
            assert same(ours.reset(seed=seeds), expected.reset(seed=seeds))
        actions = ours.action_space.sample()
        results = ours.step(actions)
        assert same(results, expected.step(actions))
        over = results[2] | results[3]
        episodes += int(over.sum())
        if mode is AutoresetMode.DISABLED and over.any():
            with pytest.raises(UsageError, match=r"the episodes of environments \[.*\] are over"):
                ours.step(actions)
            options = {"reset_mask": over, "other": 1}
            assert same(ours.reset(options=options), expected.reset(options=dict(options)))
            assert "reset_mask" in options  # it belongs to the caller
    assert episodes > len(env_fns)
    if case.startswith("uneven"):
        assert ours.render() == expected.render()
        assert same(ours.call("replies"), expected.call("replies"))
        assert ours.np_random_seed == expected.np_random_seed
        ours.set_attr("length", [1, 2, 3, 4, 5])
        assert ours.get_attr("length") == (1, 2, 3, 4, 5)
    ours.close()
    expected.close()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_batches_in_two_processes_equal_one_batch(mode: AutoresetMode) -> None:
    options: dict[str, Any] = {"task": "echo", "length": 9, "autoreset_mode": mode}
    expected = LangRoomVectorEnv(5, **options)
    ours: Any = gymnasium.make_vec("flagfall/LangRoom-v0", 5, processes=2, **options)
    assert ours.metadata == expected.metadata
    ours.action_space.seed(1)
    assert same(
        ours.reset(seed=[4, 4, None, 0, 9])[0]["image"], expected.reset(seed=[4, 4, None, 0, 9])[0]["image"]
    )
    assert same(ours.reset(seed=3), expected.reset(seed=3))
    for _ in range(40):
        actions = ours.action_space.sample()
        results = ours.step(actions)
        assert same(results, expected.step(actions))
        if mode is AutoresetMode.DISABLED and results[3].any():
            for over in (results[3] & [1, 1, 0, 0, 0] > 0, results[3] & [0, 0, 1, 1, 1] > 0):
                mask = {"reset_mask": over}
                assert same(ours.reset(options=mask), expected.reset(options=mask))
    ours.close()


def test_ids_make_vector_environments_on_request() -> None:
    """Without `processes`, no process is started."""
    ids: dict[str, dict[str, Any]] = {"VGDL": {"game": "causeway"}, "CommAI": {}, "LangRoom": {}}
    for env_id, options in ids.items():
        made = gymnasium.make_vec(f"flagfall/{env_id}-v0", 2, autoreset_mode="SameStep", **options)
        assert isinstance(made, LangRoomVectorEnv if env_id == "LangRoom" else SyncVectorEnv)
        assert made.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        made.close()
    made = gymnasium.make_vec("flagfall/CommAI-v0", 3, processes=2, task="micro1", max_episode_steps=5)
    assert isinstance(made.unwrapped, ProcessVectorEnv)
    assert repr(made) == "ProcessVectorEnv(flagfall/CommAI-v0, num_envs=3)"
    envs = RecordEpisodeStatistics(made)
    envs.reset(seed=0)
    ends = [envs.step(envs.action_space.sample())[3].tolist() for _ in range(5)]
    assert ends == [[False] * 3] * 4 + [[True] * 3]
    envs.close()


KINDS = st.sampled_from([int, float, str, bool, np.float32, np.bool_, np.int8])
VALUES = st.one_of(
    st.builds(lambda kind, value: kind(value), KINDS, st.integers(0, 9)),
    st.none(),
    st.just(2**70),
    st.builds(np.arange, st.integers(0, 2)),
    st.dictionaries(st.sampled_from(["x", "final_obs", 5]), st.integers(0, 9), max_size=2),
)
INFO = st.dictionaries(st.sampled_from(["a", "b", "_a", "final_obs", 5]), VALUES, max_size=3)


@settings(max_examples=100)
@given(st.lists(st.lists(INFO, max_size=2), min_size=2, max_size=5), st.integers(1, 4))
def test_joined_columns_equal_infos_added_one_after_the_other(infos: list[list[Any]], cut: int) -> None:
    count, cut = len(infos), min(cut, len(infos) - 1)
    pairs = [(index, info) for index, own in enumerate(infos) for info in own]
    adding: Any = VectorEnv()
    adding.num_envs = count
    try:
        parts = [
            (first, as_columns([(i - first, info) for i, info in pairs if first <= i < last], last - first))
            for first, last in ((0, cut), (cut, count))
        ]
        joined = join(parts, count)
    except NotUniform:
        return
    expected: dict[Any, Any] = {}
    for index, info in pairs:
        expected = adding._add_info(expected, info, index)
    assert same(joined, expected)


# Work and memory.


@pytest.fixture(scope="module")
def calm() -> Iterator[ProcessVectorEnv]:
    """Four environments in two workers that stay."""
    envs = ProcessVectorEnv([functools.partial(Trouble, size=70)] * 4, processes=2)
    yield envs
    envs.close()


def calls(pid: int | str) -> tuple[int, int]:
    """The numbers of reads and writes of a process."""
    path = Path(f"/proc/{pid}/io")
    if not path.exists():
        pytest.skip("the kernel does not count reads and writes")
    counts = dict(line.split(": ") for line in path.read_text().splitlines())
    return int(counts["syscr"]), int(counts["syscw"])


def test_a_step_costs_one_read_and_one_write_in_each_worker(calm: ProcessVectorEnv) -> None:
    calm.reset()
    before = [calls(pid) for pid in calm.pids]
    for _ in range(50):
        calm.step(np.zeros(4, np.int64))
    after = [calls(pid) for pid in calm.pids]
    assert [(b - a, d - c) for (a, c), (b, d) in zip(before, after, strict=True)] == [(50, 50)] * 2


def test_workers_sleep_soon_after_a_step(calm: ProcessVectorEnv) -> None:
    calm.reset()
    calm.step(np.zeros(4, np.int64))
    for pid in calm.pids:
        end = time.monotonic() + ENDING_SECONDS
        while not sleeps(pid):
            assert time.monotonic() < end, "a worker still looks for the next step"
            time.sleep(0.01)
        used = cpu_seconds(pid)
        time.sleep(0.05)
        assert sleeps(pid)
        assert cpu_seconds(pid) == used


def sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, from its own clock, whose number the kernel makes from the process id."""
    return time.clock_gettime((~pid << 3) | 2)


def test_workers_that_share_a_cpu_do_not_stay_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    with contextlib.closing(ProcessVectorEnv([Trouble] * 2, processes=2)) as envs:
        assert [plan.stays_awake for plan in envs._plans] == [False, False]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    with contextlib.closing(ProcessVectorEnv([Trouble] * 2, processes=2)) as envs:
        assert [plan.stays_awake for plan in envs._plans] == [True, True]


def test_observations_belong_to_the_caller_and_are_copied_only_if_many_are_kept(
    calm: ProcessVectorEnv,
) -> None:
    nothing = np.zeros(4, np.int64)
    kept = [calm.reset()[0]]
    kept += [calm.step(nothing)[0] for _ in range(20)]
    assert all((seen == step).all() for step, seen in enumerate(kept))
    addresses = {seen.ctypes.data for seen in kept}
    assert len(addresses) == len(kept)
    part = kept[3][1:3, ::2]
    del kept
    places = set()
    for _ in range(40):
        seen = calm.step(nothing)[0]
        seen[0] = 99  # it may be changed
        places.add(seen.ctypes.data)
    assert (part == 3).all()
    assert len(places) <= LENT_BUFFERS
    assert (calm.step(nothing)[0] == 61).all()


def test_buffers_are_lent_until_no_array_refers_to_them() -> None:
    space = gymnasium.spaces.Box(0, 255, (3,), np.uint8)
    memory = SharedMemory(memory_file(), space, space, 2, copy=True)
    assert memory.buffers == LENT_BUFFERS == 3
    lent: list[Any] = []
    for expected in (0, 1, 2, 2):
        buffer = memory.free_buffer()
        assert buffer == expected
        memory.results(buffer, 0, 2).observations[:] = len(lent)
        lent.append(memory.observations(buffer))
    assert [seen.tolist() for seen in lent] == [[[step] * 3] * 2 for step in range(4)]
    view = lent[1].reshape(-1)[2:]
    lent[1] = None
    assert memory.free_buffer() == 2
    del view
    assert memory.free_buffer() == 1


def test_without_copies_the_same_arrays_are_overwritten() -> None:
    envs = ProcessVectorEnv([Trouble] * 2, processes=1, copy=False)
    first = envs.reset()[0]
    assert (first == 0).all()
    assert envs.step(np.zeros(2, np.int64))[0] is first
    assert (first == 1).all()
    envs.close()
    assert (first == 1).all()


def descriptors() -> set[str]:
    """The open descriptors of this process; the one that lists them is gone when its name is read."""
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(f"{path.name} {path.readlink()}")
    return found


def is_mapped() -> bool:
    return "memfd:flagfall-vector" in Path("/proc/self/maps").read_text()


def test_closing_leaves_no_process_no_descriptor_and_no_memory() -> None:
    before, mapped = descriptors(), is_mapped()
    envs = ProcessVectorEnv([Trouble] * 3, processes=2)
    seen = envs.reset()[0]
    pids = envs.pids
    envs.close()
    envs.close()
    assert all(map(ended, pids))
    assert (seen == 0).all()
    with pytest.raises(UsageError, match="closed: create a new one"):
        envs.reset()
    del seen
    assert (descriptors(), is_mapped()) == (before, mapped)


# Errors.


def test_invalid_requests_are_refused_and_change_nothing() -> None:
    envs = ProcessVectorEnv([Trouble] * 4, processes=2)
    with pytest.raises(UsageError, match="no episode is going on: reset begins one"):
        envs.step(np.zeros(4, np.int64))
    mask = np.array([True, False, False, False])
    with pytest.raises(UsageError, match="reset_mask: reset all environments first"):
        envs.reset(options={"reset_mask": mask})
    with pytest.raises(UsageError, match="seed: 3 seeds for 4 environments: give one for each"):
        envs.reset(seed=[1, 2, 3])
    envs.reset(seed=np.int64(3))
    with pytest.raises(UsageError, match=r"reset_mask=\[True\]: give an array of 4 truth values"):
        envs.reset(options={"reset_mask": [True]})
    for wrong in ([0] * 3, 5, None, {"turn": 1}, np.zeros((5,), np.int64)):
        with pytest.raises(UsageError, match="are not actions: give a batch of MultiDiscrete"):
            envs.step(wrong)
    with pytest.raises(UsageError, match="use the method step of the vector environment"):
        envs.call("step", 0)
    with pytest.raises(UsageError, match="values: 2 for 4 environments: give one for each"):
        envs.set_attr("size", [1, 2])
    assert (envs.step([0, 0, 0, 0])[0] == 1).all()
    assert (envs.step(np.zeros(4, np.int8))[0] == 2).all()
    envs.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env_fns": []}, "env_fns: 0 functions"),
        ({"env_fns": [Trouble], "num_envs": 2}, "env_fns: 1 functions; give one for each environment"),
        ({"env_fns": LangRoomVectorEnv}, "num_envs: how many"),
        ({"env_fns": LangRoomVectorEnv, "num_envs": 0}, "num_envs=0: expected a whole number of at least 1"),
        ({"env_fns": [Trouble], "processes": 0}, "processes=0: expected a whole number of at least 1"),
        ({"env_fns": [Trouble], "processes": 2}, "processes=2: there are only 1 environments"),
        (
            {"env_fns": [Trouble], "autoreset_mode": "Next"},
            "autoreset_mode='Next': unknown mode; nearest: Next",
        ),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ProcessVectorEnv(**arguments)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            functools.partial(Trouble, "make"),
            HostFault,
            "environment 2 failed in build: ValueError: it cannot be",
        ),
        (
            lambda lock=LOCK: Trouble(str(lock)),
            UsageError,
            "env_fns: they cannot be sent to another process: cannot pickle",
        ),
        (
            functools.partial(Trouble, size=5),
            UsageError,
            "environment 2: its observation_space is Box.*equal ones",
        ),
    ],
)
def test_environments_that_cannot_be_made_leave_nothing(wrong: Any, error: type, message: str) -> None:
    before = descriptors()
    with pytest.raises(error, match=message):
        ProcessVectorEnv([Trouble, Trouble, wrong], processes=2)
    assert descriptors() == before


def test_an_error_names_its_environment_and_the_others_go_on_after_a_reset(calm: ProcessVectorEnv) -> None:
    for action, error, message in (
        (Trouble.ERROR, HostFault, "^environment 2 failed in step: ValueError: an error in the middle\n"),
        (Trouble.USAGE, UsageError, "^environment 2: that is no way to play\n"),
        (Trouble.BAD, HostFault, "^environment 2 failed in step: ValueError: .*shape"),
    ):
        calm.reset()
        with pytest.raises(error, match=message) as raised:
            calm.step(np.array([0, 0, action, action]))
        assert "Traceback" in raised.value.__notes__[0]
        with pytest.raises(UsageError, match="reset begins one"):
            calm.step(np.zeros(4, np.int64))
    with pytest.raises(HostFault, match=r"^environment 0 failed in reset: ValueError: it cannot be reset"):
        calm.reset(options={"fail": True})
    with pytest.raises(HostFault, match="environment 0 failed in call: AttributeError"):
        calm.call("nothing_of_this_name")
    assert (calm.reset()[0] == 0).all()


def test_a_worker_that_has_closed_ends_while_another_still_closes() -> None:
    envs = ProcessVectorEnv([Trouble, functools.partial(Trouble, "close slowly")], processes=2)
    with pytest.raises(HostFault, match="environment 1 failed in close: ValueError: it was slow"):
        envs.close()
    assert all(map(ended, envs.pids))


def test_an_error_at_the_end_is_raised_when_nothing_is_left() -> None:
    envs = ProcessVectorEnv([Trouble, functools.partial(Trouble, "close")], processes=1)
    with pytest.raises(HostFault, match="environment 1 failed in close: ValueError: it cannot be closed"):
        envs.close()
    assert all(map(ended, envs.pids))
    envs.close()


def test_a_lost_worker_is_one_error_that_names_its_environments() -> None:
    envs = ProcessVectorEnv([Trouble] * 5, processes=2)
    envs.reset()
    message = (
        r"lost in step: environments 2 to 4: worker process \d+ was killed by SIGKILL;"
        " create the vector environment again"
    )
    with pytest.raises(HostFault, match=f"^{message}$"):
        envs.step(np.array([0, 0, 0, Trouble.DIE, 0]))
    assert all(map(ended, envs.pids))
    with pytest.raises(HostFault, match=rf"the workers have ended \({message}"):
        envs.reset()
    envs.close()


def test_a_worker_that_ends_between_steps_is_found_at_the_next_one() -> None:
    envs = ProcessVectorEnv([Trouble] * 2, processes=2)
    envs.reset()
    os.kill(envs.pids[0], signal.SIGKILL)
    assert ended(envs.pids[0])
    with pytest.raises(HostFault, match=r"environments 0 to 0: worker process \d+ was killed by SIGKILL"):
        envs.step(np.zeros(2, np.int64))
    envs.close()


# The end of the parent.


def start(program: str) -> subprocess.Popen[str]:
    """Start a program that imports what these tests do; `envs` are two environments in two workers."""
    head = """
import os, signal, sys, numpy as np
from flagfall.environments.process_vector_env import ProcessVectorEnv
from flagfall.environments.vector import workers
from flagfall.errors import UsageError
from tests.vector_envs import Trouble

class Own(Trouble):
    "Of the main program, which workers do not run."

envs = ProcessVectorEnv([lambda: Own()] * 2, processes=2)
envs.reset()
print(*envs.pids, flush=True)
"""
    return subprocess.Popen(
        [sys.executable, "-c", head + program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def line_of(program: subprocess.Popen[str]) -> str:
    assert program.stdout
    return program.stdout.readline()


def rest_of(program: subprocess.Popen[str]) -> str:
    """What a program and its workers print until all of them have ended."""
    assert program.stdout
    return program.stdout.read()


def pids_of(program: subprocess.Popen[str]) -> list[int]:
    return [int(pid) for pid in line_of(program).split()]


def test_workers_end_with_a_parent_that_is_killed() -> None:
    """Each is in the middle of a step that holds its interpreter for good."""
    with start("envs.step(np.array([Trouble.SPIN, Trouble.SPIN]))") as program:
        pids = pids_of(program)
        assert len(pids) == 2
        program.kill()
        rest_of(program)
    assert all(map(ended, pids))


def test_workers_end_with_a_parent_that_forgets_to_close() -> None:
    with start("print(envs.call('pid'))") as program:
        pids = pids_of(program)
        shown = rest_of(program)
    assert (shown, program.returncode) == (f"{tuple(pids)}\n", 0)
    assert all(map(ended, pids))


def test_an_interrupt_ends_the_workers_and_close_returns() -> None:
    with start(
        """
workers.ABANDON_SECONDS = 0.1
try:
    envs.step(np.array([Trouble.FINE, Trouble.SLEEP]))
except KeyboardInterrupt:
    try:
        envs.reset()
    except Exception as error:
        print(error)
    envs.close()
"""
    ) as program:
        pids = pids_of(program)
        assert line_of(program) == "asleep\n"
        program.send_signal(signal.SIGINT)
        shown = rest_of(program)
    assert shown == (
        "the workers have ended (KeyboardInterrupt in step): create the vector environment again\n"
    )
    assert all(map(ended, pids))


def test_a_fork_neither_uses_nor_ends_the_workers_of_its_parent() -> None:
    with start(
        """
if not (child := os.fork()):
    try:
        envs.step(np.zeros(2, np.int64))
    except UsageError as error:
        print(error, flush=True)
    envs.close()
    sys.exit(0)
os.waitpid(child, 0)
print(envs.step(np.zeros(2, np.int64))[0].tolist())
envs.close()
"""
    ) as program:
        pids = pids_of(program)
        shown = rest_of(program)
    assert shown == (
        f"the workers belong to process {program.pid}, of which this one is a fork:"
        " create a vector environment here\n[[1, 1], [1, 1]]\n"
    )
    assert all(map(ended, pids))


def test_any_id_of_gymnasium_is_made() -> None:
    envs = make_process_vec("CartPole-v1", 3, processes=2)
    expected = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync")
    assert same(envs.reset(seed=1), expected.reset(seed=1))
    assert same(envs.step(np.array([0, 1, 0])), expected.step(np.array([0, 1, 0])))
    envs.close()
    expected.close()
