"""Batches of short matches: fewer messages and transactions, and the same results, records and promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest
import trio

from flagfall.errors import UsageError
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.api import open_tournament, run_tournament
from flagfall.tournament.run.engine import (
    MAX_BATCH,
    SHARE,
    Answer,
    Attempt,
    Batch,
    WorkerLost,
    decode_answer,
    encode_answer,
)
from flagfall.tournament.run.match import play_attempts
from flagfall.tournament.run.runner import FAULT_ATTEMPTS, Run
from tests.tournament.fields import by_chance
from tests.tournament.random_results import PLANS
from tests.tournament.runs import small_plan, stored

PLAY = by_chance(1)


class Counted:
    """Engine that makes up results; every match takes the same time, and every batch is counted."""

    default_jobs = 1
    batch_seconds = 0.1

    def __init__(self, seconds: float, lost: dict[str, int] | None = None) -> None:
        self.seconds = seconds
        self.lost = dict(lost or {})
        self.batches: list[list[str]] = []
        self.attempts: list[tuple[str, int]] = []

    async def play_batch(self, batch: Batch) -> None:
        self.batches.append([attempt.spec.id for attempt in batch.left])
        with batch.recalled_by(lambda: None):
            for attempt in tuple(batch.left):
                await trio.lowlevel.checkpoint()
                if batch.recalled:
                    return
                self.attempts.append((attempt.spec.id, attempt.number))
                if self.lost.get(attempt.spec.id, 0):
                    self.lost[attempt.spec.id] -= 1
                    raise WorkerLost("it is gone")
                record = attrs.evolve(PLAY(attempt.spec), attempt=attempt.number)
                batch.report([(record, self.seconds)])

    async def aclose(self) -> None:
        """Nothing to close."""


class Transactions:
    """Store of the records of a run, by transaction."""

    def __init__(self) -> None:
        self.puts: list[list[MatchRecord]] = []

    def records(self) -> Iterator[MatchRecord]:
        return (record for put in self.puts for record in put)

    def put(self, *records: MatchRecord) -> None:
        self.puts.append([*records])

    def check(self, plan: TournamentPlan, records: object) -> None:
        """Made-up results fit."""


async def test_a_batch_has_as_many_matches_as_its_time_and_the_share_of_a_job_allow() -> None:
    plan = small_plan(500)  # 2,000 matches of two agents and two tasks
    engine = Counted(0.001)
    run = Run(plan, Transactions(), engine, 1)
    await run.play()
    assert len(run.records) == 2000
    left = 2000
    sizes = [len(batch) for batch in engine.batches]
    assert sizes[:4] == [1] * 4, "a duration is not known yet"
    for size in sizes:
        assert size <= max(1, left // SHARE)
        left -= size
    assert max(sizes) == 99, "0.1 s"
    assert max(sizes) < MAX_BATCH
    assert len(sizes) < 120
    assert sizes[-1] == 1


async def test_long_matches_are_played_alone() -> None:
    engine = Counted(0.06)
    await Run(small_plan(20), Transactions(), engine, 2).play()
    assert [len(batch) for batch in engine.batches] == [1] * 80


async def test_a_longer_duration_counts_at_once_and_a_shorter_one_by_and_by() -> None:
    engine = Counted(0.001)
    plan = small_plan(100)

    def noticed(_record: MatchRecord) -> None:
        engine.seconds = 10.0 if len(run.records) > 100 else 0.001

    run = Run(plan, Transactions(), engine, 1, noticed)
    await run.play()
    sizes = [len(batch) for batch in engine.batches]
    begun = 0
    for size in sizes:
        assert begun <= 110 or size == 1
        begun += size
    assert max(sizes) > 1


async def test_a_lost_worker_voids_the_match_that_it_played_and_no_other() -> None:
    plan = small_plan(100)
    victim = "r60-m1-g0"
    store, engine = Transactions(), Counted(0.001, {victim: 2})
    run = Run(plan, store, engine, 1)
    await run.play()
    voids = [(record.id, record.attempt) for record in store.records() if record.status == "void"]
    assert voids == [(victim, 1), (victim, 2)]
    first = next(batch for batch in engine.batches if victim in batch)
    assert len(first) > 1
    assert first[0] != victim
    assert [batch for batch in engine.batches if victim in batch][1:] == [[victim], [victim]], "alone"
    assert [number for name, number in engine.attempts if name == victim] == [1, 2, 3]
    assert all(number == 1 for name, number in engine.attempts if name != victim)
    assert sorted(run.records) == sorted(spec.id for spec in schedule(plan).walk({}))


async def test_a_match_that_always_loses_its_worker_ends_the_run_and_blames_no_other() -> None:
    store, engine = Transactions(), Counted(0.001, {"r60-m1-g0": 99})
    run = Run(small_plan(100), store, engine, 1, skip_failed=True)
    await run.play()
    assert run.voids == FAULT_ATTEMPTS
    assert len(run.records) == 399
    assert {record.id for record in store.records() if record.status == "void"} == {"r60-m1-g0"}


@pytest.mark.parametrize("steer", ["stop", "pause"])
async def test_no_match_begins_after_a_stop_or_in_a_pause(steer: str) -> None:
    plan = small_plan(100)
    store, engine = Transactions(), Counted(0.001)
    run = Run(plan, store, engine, 2)
    begun = 0

    def noticed(_record: MatchRecord) -> None:
        nonlocal begun
        if len(run.records) == 150:
            getattr(run, steer)()
            begun = len(engine.attempts)

    run._on_record = noticed
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run.play)
        await trio.testing.wait_all_tasks_blocked()
        assert begun >= 150
        assert len(engine.attempts) == begun == len(run.records)
        assert run.running == {}
        run.resume()
    if steer == "stop":
        assert len(run.records) == begun
        await Run(plan, store, engine, 2).play()
    assert sorted(record.id for record in store.records()) == sorted(
        spec.id for spec in schedule(plan).walk({})
    )
    assert all(number == 1 for _, number in engine.attempts)
    assert run.voids == 0


async def test_an_idle_job_takes_over_what_waits_behind_a_long_match() -> None:
    plan = small_plan(100)
    order: list[str] = []

    class Slow(Counted):
        async def play_batch(self, batch: Batch) -> None:
            if len(batch.left) > 5 and not order:
                order.append(batch.left[0].spec.id)
                waiting = [attempt.spec.id for attempt in batch.left][1:]
                await trio.testing.wait_all_tasks_blocked()  # the other job has played all it can
                assert batch.recalled
                assert not set(waiting) & set(run.records)
                batch.report([(PLAY(batch.left[0].spec), self.seconds)])
                return
            await super().play_batch(batch)

    run = Run(plan, Transactions(), Slow(0.001), 2)
    await run.play()
    assert len(run.records) == 400
    assert order


class Together(Counted):
    """Engine that reports a batch in one piece."""

    async def play_batch(self, batch: Batch) -> None:
        self.batches.append([attempt.spec.id for attempt in batch.left])
        await trio.lowlevel.checkpoint()
        batch.report([(PLAY(attempt.spec), self.seconds) for attempt in tuple(batch.left)])


async def test_what_arrives_together_is_one_transaction_and_is_shown_after_it() -> None:
    store, engine = Transactions(), Together(0.001)
    shown: list[str] = []

    def noticed(record: MatchRecord) -> None:
        assert record.id in {kept.id for kept in store.puts[-1]}
        shown.append(record.id)

    run = Run(small_plan(500), store, engine, 1, noticed)
    await run.play()
    assert [[record.id for record in put] for put in store.puts] == engine.batches
    assert shown == [record.id for record in store.records()]
    assert len(store.puts) < 70


AGENT = """
import os, signal
from pathlib import Path
import trio

HERE = Path(__file__).parent

class Killer:
    def act(self, observation):
        played = HERE / "played"
        count = int(played.read_text()) if played.exists() else 0
        played.write_text(str(count + 1))
        if count == 600:
            os.kill(os.getpid(), signal.SIGKILL)
        return ord(" ")

class Clean:
    def act(self, observation):
        with open(HERE / "times", "a") as file:
            print(trio.current_time(), file=file)
        return ord(" ")

class Leaves(Clean):
    def act(self, observation):
        trio.lowlevel.spawn_system_task(trio.sleep, 5)
        return super().act(observation)

class Late(Clean):
    async def act(self, observation):
        super().act(observation)
        await trio.sleep(1.5)
        return ord(" ")

class Never(Clean):
    async def act(self, observation):
        super().act(observation)
        await trio.sleep_forever()

class Sleeps(Clean):
    async def act(self, observation):
        super().act(observation)
        await trio.sleep(0.125)
        return ord(" ")
"""


def plan_with(folder: Path, agent: str, repeats: int, control: str = "act=1s") -> TournamentPlan:
    (folder / "agents.py").write_text(AGENT)
    return parse_plan(f"""
        clock = "virtual"
        repeats = {repeats}
        time_control = "{control}"
        [output]
        journals = false
        [[agents]]
        spec = "{folder / "agents.py"}:{agent}"
        name = "{agent}"
        [[tasks]]
        task = "micro1"
        steps = 3
    """)


async def test_a_worker_that_is_killed_in_a_batch_costs_one_attempt_at_one_match(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "Killer", 400)
    records: list[MatchRecord] = []
    played = await run_tournament(plan, tmp_path / "out", jobs=1, on_record=records.append)
    assert len(played) == 400
    voids = [record for record in records if record.status == "void"]
    assert [(record.id, record.attempt, record.why[:5]) for record in voids] == [("r200-m0-g0", 1, "lost:")]
    assert played["r200-m0-g0"].attempt == 2
    assert len(stored(tmp_path / "out")) == 400


def loops_of(plan: TournamentPlan, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[Answer]]:
    """Return how many event loops the matches of a plan took, and the answers."""
    loops = 0

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal loops
        loops += 1
        return run(*args, **options)

    run = trio.run
    answers: list[Answer] = []
    with monkeypatch.context() as patched:
        patched.setattr(trio, "run", counted)
        attempts = [Attempt(spec) for spec in schedule(plan).walk({})]
        play_attempts(plan, attempts, folder, lambda answer, _seconds: answers.append(answer))
    return loops, answers


@pytest.mark.parametrize(("agent", "loops"), [("Clean", 1), ("Sleeps", 1), ("Leaves", 21)])
def test_matches_share_a_loop_only_if_each_leaves_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, loops: int
) -> None:
    plan = plan_with(tmp_path, agent, 20)
    found, together = loops_of(plan, tmp_path, monkeypatch)
    assert found == loops, "one more finds that there are no more matches"
    alone: list[Answer] = []
    for spec in schedule(plan).walk({}):
        play_attempts(plan, [Attempt(spec)], tmp_path, lambda answer, _seconds: alone.append(answer))
    assert together == alone
    assert {answer.turns for answer in alone if isinstance(answer, MatchRecord)} == {3}
    times = (tmp_path / "times").read_text().split()
    each = ["0.0", "0.125", "0.25"] if agent == "Sleeps" else ["0.0"] * 3
    assert times == each * 40, "a match begins at zero"


@pytest.mark.parametrize("agent", ["Late", "Never"])
def test_limits_hold_in_every_match_of_a_shared_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    plan = plan_with(tmp_path, agent, 4, control="act=1s/4s")
    loops, together = loops_of(plan, tmp_path, monkeypatch)
    assert loops == 1
    alone: list[Answer] = []
    for spec in schedule(plan).walk({}):
        play_attempts(plan, [Attempt(spec)], tmp_path, lambda answer, _seconds: alone.append(answer))
    assert together == alone
    assert {answer.seats[0].late for answer in alone if isinstance(answer, MatchRecord)} == {3}


@pytest.mark.parametrize(
    "answer",
    [
        MatchRecord(id="r0-m0-g0", why="fault: \udcff"),
        MatchRecord(id="r0-m0-g0", elapsed_ns=2**62, game_score=float("inf"), journal="journals/x"),
        UsageError("no task 'x\udcff'"),
    ],
)
def test_answers_come_back_whole_and_as_text_that_can_be_stored(answer: Answer) -> None:
    found, seconds = decode_answer(encode_answer(answer, 0.25))
    assert seconds == 0.25
    if isinstance(answer, UsageError):
        assert str(found) == "no task 'x\\udcff'"
        assert isinstance(found, UsageError)
    else:
        assert found == attrs.evolve(answer, why=answer.why.replace("\udcff", "\\udcff"))


async def test_results_of_batches_are_those_of_matches_alone_in_any_order(tmp_path: Path) -> None:
    plan = small_plan(60, steps=2, journals=False)
    wanted: list[Answer] = []
    attempts = [Attempt(spec) for spec in schedule(plan).walk({})]
    Random(3).shuffle(attempts)
    play = partial(play_attempts, plan, attempts, tmp_path, lambda answer, _seconds: wanted.append(answer))
    await trio.to_thread.run_sync(play)
    await run_tournament(plan, tmp_path / "out", jobs=2)
    assert stored(tmp_path / "out") == {
        answer.id: answer for answer in wanted if isinstance(answer, MatchRecord)
    }


@pytest.mark.parametrize("name", PLANS)
def test_a_schedule_that_waits_for_records_yields_each_match_once_and_in_the_same_order(name: str) -> None:
    plan = PLANS[name]
    wanted = [spec.id for spec in in_snapshots(plan)]
    records: dict[str, MatchRecord] = {}
    found: list[MatchSpec] = []
    waits = 0
    for spec in schedule(plan).live(records):
        if spec is None:
            waits += 1
            assert waits <= len(found)
            for one in found:
                records.setdefault(one.id, PLAY(one))
            continue
        found.append(spec)
        if waits % 2:  # also while nothing waits
            records[spec.id] = PLAY(spec)
    assert [spec.id for spec in found] == wanted
    assert {spec.id for spec in schedule(plan).walk(records)} == set(wanted)


def in_snapshots(plan: TournamentPlan) -> Sequence[MatchSpec]:
    """Play all due matches, then ask again, until none is left."""
    records: dict[str, MatchRecord] = {}
    order = schedule(plan)
    played: list[MatchSpec] = []
    while due := list(order.due(records)):
        played += due
        records |= {spec.id: PLAY(spec) for spec in due}
    return played


async def test_a_store_is_asked_for_one_transaction_a_message(tmp_path: Path) -> None:
    plan = small_plan(500)
    with open_tournament(plan, tmp_path, resume=False) as store:
        statements: list[str] = []
        store._database.set_trace_callback(statements.append)
        engine = Together(0.001)
        await Run(plan, store, engine, 1).play()
        store._database.set_trace_callback(None)
    commits = sum(statement == "BEGIN IMMEDIATE" for statement in statements)
    assert commits == len(engine.batches) < 70
    different = {*statements}  # a statement with triggers is reported once for each
    inserts = sum(statement.startswith("INSERT INTO matches") for statement in different)
    assert inserts == 2000
    assert len(different) < 2 * 2000 + 4 * commits, "a match and its seat, and nothing else for each match"
