"""Runs in this process: what is played, what is played again, and who may control a run."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import attrs
import pytest
import trio

from flagfall.errors import HostFault, UsageError
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.api import open_tournament, run_tournament
from flagfall.tournament.run.control import send_command
from flagfall.tournament.run.engine import Attempt, Batch, WorkerLost, void_record
from flagfall.tournament.run.match import play_attempts
from flagfall.tournament.run.runner import FAULT_ATTEMPTS, STALL_ATTEMPTS, Run
from flagfall.tournament.standings import compute_standings
from tests.tournament.runs import is_heard, journal_bytes, small_plan, stored, until, workers_of


async def test_results_do_not_depend_on_how_many_are_played_at_a_time(tmp_path: Path) -> None:
    plan = small_plan(4)
    for jobs in (1, 3):
        records = await run_tournament(plan, tmp_path / str(jobs), jobs=jobs)
        assert len(records) == 16
        assert schedule(plan).over(records)
    first = stored(tmp_path / "1")
    assert first == stored(tmp_path / "3")
    assert journal_bytes(tmp_path / "1") == journal_bytes(tmp_path / "3")
    assert compute_standings(plan, first) == compute_standings(plan, stored(tmp_path / "3"))


async def test_journals_verify_and_nothing_else_is_left(tmp_path: Path) -> None:
    records = await run_tournament(small_plan(1), tmp_path)
    for record in records.values():
        assert record.journal is not None
        assert verify(tmp_path / record.journal, rebuild).ok
    left = set(os.listdir(tmp_path))  # noqa: PTH208 - nobody else is in the loop
    assert left == {"tournament.db", "plan.toml", "flagfall.lock", JOURNALS}
    assert workers_of(os.getpid()) == []


async def test_agents_have_processes_of_their_own_on_the_wall_clock(tmp_path: Path) -> None:
    text = """
        [[agents]]
        spec = "random"
        [[agents]]
        spec = "repeating"
        [[tasks]]
        task = "micro1"
        steps = 5
    """
    records = await run_tournament(parse_plan(text), tmp_path)
    assert [record.turns for record in records.values()] == [5, 5]
    assert all(record.seats[0].think_ns > 0 for record in records.values())
    assert all(record.seats[0].start_ns > 1_000_000 for record in records.values()), "no process came up"


async def test_models_of_latency_are_played_and_their_stalls_void_no_match(tmp_path: Path) -> None:
    """A match that real stalls have disturbed is played again; one with drawn stalls would be the same."""
    text = """
        clock = "virtual"
        time_control = "act=40ms/1s"
        [[agents]]
        spec = "random"
        think = "mixture(0.5 20ms, 0.5 50ms) stall=0.5/30ms"
        [[tasks]]
        task = "micro1"
        steps = 50
    """
    for jobs in (1, 2):
        (record,) = (await run_tournament(parse_plan(text), tmp_path / str(jobs), jobs=jobs)).values()
        assert (record.status, record.attempt) == ("played", 1)
        assert record.stalls > 0
        assert 0 < record.seats[0].late < 50
        assert record.journal is not None
        assert verify(tmp_path / str(jobs) / record.journal, rebuild).ok
    assert journal_bytes(tmp_path / "1") == journal_bytes(tmp_path / "2")


async def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    plan = small_plan(5)
    stop = trio.Event()
    count = 0

    def noticed(_record: MatchRecord) -> None:
        nonlocal count
        count += 1
        if count == 7:
            stop.set()

    first = await run_tournament(plan, tmp_path / "a", jobs=2, stop=stop, on_record=noticed)
    # One more may end, and two more begin, before the run learns of the stop.
    assert 7 <= len(first) <= 10
    await run_tournament(plan, tmp_path / "a", jobs=2, resume=True)
    await run_tournament(plan, tmp_path / "b")
    assert stored(tmp_path / "a") == stored(tmp_path / "b")


async def test_a_folder_is_not_begun_twice(tmp_path: Path) -> None:
    plan = small_plan(1)
    await run_tournament(plan, tmp_path)
    with pytest.raises(UsageError, match="add --resume"):
        await run_tournament(plan, tmp_path)
    assert len(await run_tournament(plan, tmp_path, resume=True)) == 4


async def test_another_plan_does_not_go_on(tmp_path: Path) -> None:
    await run_tournament(small_plan(1), tmp_path)
    with pytest.raises(UsageError, match=r"tasks\.micro1\.steps: was 10, is 11\n"):
        await run_tournament(small_plan(1, steps=11), tmp_path, resume=True)
    free = attrs.evolve(small_plan(1), jobs=3, name="other")
    assert len(await run_tournament(free, tmp_path, resume=True)) == 4


async def test_a_folder_has_one_runner(tmp_path: Path) -> None:
    plan = small_plan(1)
    with (
        open_tournament(plan, tmp_path, resume=False),
        pytest.raises(UsageError, match=r"is in use by process \d+"),
    ):
        await run_tournament(plan, tmp_path, resume=True)
    await run_tournament(plan, tmp_path, resume=True)


class Disturbed:
    """An engine that plays here, and says of some attempts that they were disturbed."""

    default_jobs = 1
    batch_seconds = 0.0

    def __init__(self, folder: Path, disturb: dict[str, int], why: str) -> None:
        self.folder = folder
        self.left = dict(disturb)
        self.why = why
        self.seeds: list[tuple[str, int, int]] = []

    async def play_batch(self, batch: Batch) -> None:
        batch.report([(await self.play(batch.left[0]), 0.0)])

    async def play(self, attempt: Attempt) -> MatchRecord:
        await trio.lowlevel.checkpoint()
        spec = attempt.spec
        self.seeds.append((spec.id, attempt.number, spec.seed))
        if self.left.get(spec.id, 0) and not attempt.counts:
            self.left[spec.id] -= 1
            if self.why == "lost":
                raise WorkerLost("it is gone")
            return void_record(spec, attempt.number, self.why)
        return await trio.to_thread.run_sync(play_attempt, attempt, self.folder)

    async def aclose(self) -> None:
        """Nothing to close."""


def play_attempt(attempt: Attempt, folder: Path) -> MatchRecord:
    records = []
    play_attempts(small_plan(2), [attempt], folder, lambda record, _seconds: records.append(record))
    (record,) = records
    assert isinstance(record, MatchRecord)
    return record


async def play_disturbed(folder: Path, why: str, times: int) -> tuple[list[MatchRecord], Disturbed]:
    engine = Disturbed(folder, {"r0-m0-g1": times}, why)
    with open_tournament(small_plan(2), folder, resume=False) as store:
        run = Run(small_plan(2), store, engine, 1)
        await run.play()
        assert run.over()
        assert run.voids == min(times, STALL_ATTEMPTS - 1)
        return list(store.records()), engine


@pytest.mark.parametrize("why", ["stall: seat 0 was late", "lost"])
async def test_a_disturbed_match_is_played_again_with_its_seed(tmp_path: Path, why: str) -> None:
    records, engine = await play_disturbed(tmp_path / "a", why, 2)
    (third,) = [record for record in records if record.attempt == 3]
    assert (third.id, third.status) == ("r0-m0-g1", "played")
    assert len({seed for name, _, seed in engine.seeds if name == third.id}) == 1
    await run_tournament(small_plan(2), tmp_path / "b")
    assert stored(tmp_path / "a") == stored(tmp_path / "b")


async def test_a_match_that_always_stalls_counts_in_the_end(tmp_path: Path) -> None:
    _, engine = await play_disturbed(tmp_path, "stall: seat 0 was late", 99)
    attempts = [number for name, number, _ in engine.seeds if name == "r0-m0-g1"]
    assert attempts == [1, 2, STALL_ATTEMPTS]


async def test_faults_are_no_attempts_that_stalls_affected_and_an_interruption_forgets_none(
    tmp_path: Path,
) -> None:
    """Two lost workers, two stalls and an interruption: the fifth attempt is the third that stalls affect."""
    plan = small_plan(2)

    class Mixed(Disturbed):
        async def play(self, attempt: Attempt) -> MatchRecord:
            self.why = "lost" if attempt.number <= 2 else "stall: seat 0 was late"
            if attempt.number == 5 and not self.left.pop("resumed", 0):
                self.left["resumed"] = 1
                await trio.sleep_forever()
            return await super().play(attempt)

    engine = Mixed(tmp_path, {"r0-m0-g1": 99}, "")
    async with trio.open_nursery() as nursery:
        with open_tournament(plan, tmp_path, resume=False) as store:
            nursery.start_soon(Run(plan, store, engine, 1).play)
            await until(lambda: "resumed" in engine.left)
            nursery.cancel_scope.cancel()
    with open_tournament(plan, tmp_path, resume=True) as store:
        await Run(plan, store, engine, 1).play()
    attempts = [number for name, number, _ in engine.seeds if name == "r0-m0-g1"]
    assert attempts == [1, 2, 3, 4, 5]


async def test_a_match_that_always_fails_ends_the_run(tmp_path: Path) -> None:
    plan = small_plan(2)

    class Failing(Disturbed):
        async def play(self, attempt: Attempt) -> MatchRecord:
            return await super().play(attrs.evolve(attempt, counts=False))

    with open_tournament(plan, tmp_path, resume=False) as store:
        run = Run(plan, store, Failing(tmp_path, {"r0-m0-g1": 99}, "fault: the task broke"), 1)
        with pytest.raises(HostFault, match=f"r0-m0-g1 failed {FAULT_ATTEMPTS} times; .*the task broke"):
            await run.play()
        assert list(store.played()) == ["r0-m0-g0"]


async def test_a_run_is_controlled_from_outside(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)  # longer than the path of a socket may be
    plan = small_plan(20)
    runs: list[Run] = []

    def begun(run: Run) -> None:
        run.pause()
        runs.append(run)

    async def ask(**request: object) -> dict[str, object]:
        return await trio.to_thread.run_sync(partial(send_command, folder, request))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(run_tournament, plan, folder, jobs=1, on_begin=begun))
        await until(lambda: is_heard(folder))
        state = await ask(do="status")
        assert (state["paused"], state["played"], state["total"], state["running"]) == (True, 0, 80, [])
        for wrong, message in (
            ({"do": "jobs", "jobs": 0}, "jobs"),
            ({"do": "cancel", "match": "r9"}, "no match 'r9'"),
            ({"do": "dance"}, "do one of status"),
        ):
            with pytest.raises(UsageError, match=message):
                await ask(**wrong)
        state = await ask(do="jobs", jobs=2)
        assert state["jobs"] == 2
        await ask(do="resume")
        await until(lambda: bool(runs[0].running))
        cancelled = next(iter(runs[0].running))
        runs[0].running[cancelled].cancel()
    assert len(runs[0].records) == 80
    with pytest.raises(UsageError, match="no tournament is being played"):
        await ask(do="status")
    await run_tournament(plan, tmp_path / "b", jobs=2)
    assert stored(folder) == stored(tmp_path / "b")


async def test_a_cancelled_match_is_played_when_nothing_else_is_left(tmp_path: Path) -> None:
    plan = small_plan(2)

    class Hanging(Disturbed):
        async def play(self, attempt: Attempt) -> MatchRecord:
            if attempt.spec.id == "r0-m0-g0" and attempt.number == 1:
                run.running["r0-m0-g0"].cancel()
                await trio.sleep_forever()
            return await super().play(attempt)

    with open_tournament(plan, tmp_path, resume=False) as store:
        run = Run(plan, store, Hanging(tmp_path, {}, ""), 1)
        await run.play()
        records = list(store.records())
    assert (records[0].id, records[0].status, records[0].why[:9]) == ("r0-m0-g0", "void", "cancelled")
    assert (records[-1].id, records[-1].attempt) == ("r0-m0-g0", 2)
    assert run.over()


def test_unfinished_journals_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    (tmp_path / RUNNING).mkdir()
    (tmp_path / RUNNING / "half.jsonl").write_text("{")
    trio.run(partial(run_tournament, small_plan(1), tmp_path))
    assert not (tmp_path / RUNNING).exists()
