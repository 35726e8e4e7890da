"""Tasks that are actors are executed again, with the times of their turns."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from flagfall.events import MatchEnded, TaskEnded, TurnPlayed
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.journal.writer import Journal
from flagfall.recording.verify import verify
from flagfall.timing import VirtualClock
from tests.fakes import ActorTask, CountTask, ListScheduler, Sleeper, play_here


async def plain(turns: Any) -> None:
    for number in range(5):
        await trio.sleep(0.5)
        await turns.ask(number, number)


async def impatient(turns: Any) -> None:
    """Gives its turns up after 15 ms, and shows what came of each."""
    shown: Any = 0
    for _ in range(12):
        with trio.move_on_after(0.015) as scope:
            shown = await turns.ask(shown, 1)
        if scope.cancelled_caught:
            shown = 99
        await trio.sleep(0.02)


async def several(turns: Any) -> None:
    for number in range(4):
        with trio.move_on_after(0.015):
            await turns.ask({"player_0": number, "player_1": number}, {"player_0": 1, "player_1": 2})
        await turns.ask({}, {})
        await turns.ask({"player_1": number})
        await trio.sleep(0.1)


async def side_task(turns: Any) -> None:
    """Counts in a task of its own, while it waits for its turns."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await trio.sleep(0.0037)
            ticks += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        for _ in range(4):
            await turns.ask(ticks)
        nursery.cancel_scope.cancel()


async def stubborn(turns: Any) -> None:
    try:
        while True:
            await turns.ask(0, 1)
    except Exception:  # noqa: BLE001 - such tasks exist
        await trio.sleep(1)


def scheduler(body: Any, players: int = 1, *, continuous: bool = False) -> ListScheduler:
    tasks: list[CountTask] = [ActorTask(body, players, continuous=continuous)]
    if players == 1:
        tasks = [CountTask(2, continuous=continuous), *tasks, CountTask(2, continuous=continuous)]
    return ListScheduler(tasks)


def record(path: Path, body: Any, *agents: Any, continuous: bool = False, **options: Any) -> list[Any]:
    tasks = scheduler(body, len(agents), continuous=continuous)
    play = partial(play_here, tasks, *agents, sinks=[Journal(path)], **options)
    trio.run(play, clock=VirtualClock())
    return list(read_journal(path))


def check(path: Path, body: Any, players: int = 1, *, continuous: bool = False) -> Any:
    return verify(path, lambda _header: scheduler(body, players, continuous=continuous))


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("body", [plain, impatient, side_task])
def test_an_actor_is_played_again(tmp_path: Path, body: Any, *, continuous: bool):
    path = tmp_path / "j"
    events = record(path, body, Sleeper(0.01, 0.02, 0.001, 0.03, 0.005, 0.01), continuous=continuous)
    assert any(isinstance(event, TaskEnded) and event.task == "runs" for event in events)
    found = check(path, body, continuous=continuous)
    assert found.ok, found
    assert found.turns == events[-1].turns


def test_a_turn_that_was_withdrawn_keeps_its_number(tmp_path: Path):
    events = record(tmp_path / "j", impatient, Sleeper(0.01, 0.01, 0.01, 0.02, 0.001))
    numbers = [event.turn for event in events if isinstance(event, TurnPlayed)]
    assert numbers != list(range(len(numbers))), "the test withdraws none"
    assert numbers == sorted(set(numbers))


def test_several_seats_of_an_actor_are_played_again(tmp_path: Path):
    path = tmp_path / "j"
    record(path, several, Sleeper(0.01, 0.02, 0.001), Sleeper(0.005, 0.001, 0.02, 0.001))
    found = check(path, several, 2)
    assert found.ok, found


@pytest.mark.parametrize("steps", [2, 3, 5, 6])
@pytest.mark.parametrize("body", [plain, impatient, stubborn])
def test_an_actor_that_was_cut_is_played_again(tmp_path: Path, body: Any, steps: int):
    path = tmp_path / "j"
    events = record(path, body, Sleeper(0.01, 0.02, 0.001), steps=steps)
    assert events[-1].reason == "steps"
    found = check(path, body)
    assert found.ok, found


def test_an_actor_whose_match_was_stopped_is_played_again(tmp_path: Path):
    path = tmp_path / "j"

    async def main() -> None:
        stop = trio.Event()
        sink = lambda event: stop.set() if getattr(event, "turn", None) == 4 else None  # noqa: E731
        await play_here(scheduler(plain), Sleeper(0.01), sinks=[Journal(path), sink], stop=stop)

    trio.run(main, clock=VirtualClock())
    last = list(read_journal(path))[-1]
    assert isinstance(last, MatchEnded)
    assert last.reason == "stopped"
    found = check(path, plain)
    assert found.ok, found


async def other(turns: Any) -> None:
    for number in range(5):
        await trio.sleep(0.5)
        await turns.ask(number if number < 3 else 42, number)


async def shorter(turns: Any) -> None:
    for number in range(3):
        await trio.sleep(0.5)
        await turns.ask(number, number)


async def longer(turns: Any) -> None:
    for number in range(7):
        await trio.sleep(0.5)
        await turns.ask(number, number)


async def failing(turns: Any) -> None:
    await shorter(turns)
    raise ValueError("now it fails")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (other, "observation"),
        (shorter, "what comes next"),
        (longer, "result of task runs"),
        (failing, "now it raises ValueError"),
    ],
)
def test_another_actor_is_found_out(tmp_path: Path, body: Any, says: str):
    record(tmp_path / "j", plain, Sleeper(0.01))
    found = check(tmp_path / "j", body)
    assert not found.ok
    assert says in str(found), found


def test_a_changed_journal_of_an_actor_is_found(tmp_path: Path):
    path = tmp_path / "j"
    record(path, plain, Sleeper(0.01))
    text = path.read_bytes()
    before, after = b'"observation":[0,1,2,3', b'"observation":[0,1,2,4'
    assert before in text
    path.write_bytes(text.replace(before, after))
    assert not check(path, plain).ok


async def test_an_actor_is_played_again_from_within_an_event_loop(tmp_path: Path):
    record_in_thread = partial(record, tmp_path / "j", plain, Sleeper(0.01))
    await trio.to_thread.run_sync(record_in_thread)
    assert check(tmp_path / "j", plain).ok


async def silent(_turns: Any) -> None:
    await trio.sleep(0.02)


async def empty_at_the_end(turns: Any) -> None:
    await turns.ask({"player_0": 1})
    await trio.sleep(0.0019808)
    await turns.ask({})


async def absent_at_once(turns: Any) -> None:
    """Asks a seat that may be disqualified, after times that are no whole nanoseconds."""
    for number in range(12):
        await trio.sleep(0.0123456789123 + number / 7e3)
        await turns.ask({"player_0": number}, {"player_0": 0.25})


def test_an_actor_that_asks_no_turn_is_played_again(tmp_path: Path):
    path = tmp_path / "j"
    record(path, silent, Sleeper(0.01))
    found = check(path, silent)
    assert found.ok, found


def stop_after(seconds: float, path: Path, tasks: list[Any], agent: Any = None, **more: Any) -> None:
    """Record a match that is stopped."""

    async def play() -> None:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:
            options: dict[str, Any] = {"sinks": [Journal(path)], "stop": stop, "control": "untimed"}
            player = agent or Sleeper(1)
            nursery.start_soon(partial(play_here, ListScheduler(tasks), player, **options, **more))
            await trio.sleep(seconds)
            stop.set()

    trio.run(play, clock=VirtualClock())


def test_an_actor_that_was_cut_in_its_first_turn_is_played_again(tmp_path: Path):
    async def paying(turns: Any) -> None:
        await turns.ask(0, 5)

    stop_after(0.01, tmp_path / "j", [ActorTask(paying)])
    assert [event.reward for event in read_journal(tmp_path / "j") if isinstance(event, TaskEnded)] == [5]
    found = verify(tmp_path / "j", lambda _header: ListScheduler([ActorTask(paying)]))
    assert found.ok, found


@pytest.mark.parametrize("body", [empty_at_the_end, absent_at_once])
def test_turns_without_an_agent_are_played_again_to_the_nanosecond(tmp_path: Path, body: Any):
    for number in range(10):
        path = tmp_path / f"{number}"
        after = 0.0001234567 * (number + 1)
        record(path, body, Sleeper(after, after * 3, 1.1), Sleeper(after), control="act=40ms/60ms start=1s")
        found = check(path, body, 2)
        assert found.ok, found


@pytest.mark.parametrize("steps", range(2, 12))
def test_withdrawn_turns_at_the_last_step_are_played_again(tmp_path: Path, steps: int):
    path = tmp_path / "j"
    events = record(path, impatient, Sleeper(0.02, 0.02, 0.001, 0.02), steps=steps)
    assert (events[-1].reason, events[-1].turns) == ("steps", steps)
    found = check(path, impatient)
    assert found.ok, found


def test_a_turn_that_the_task_before_had_withdrawn_is_counted(tmp_path: Path):
    async def once(turns: Any) -> None:
        with trio.move_on_after(0.015):
            await turns.ask(0)

    def tasks() -> list[Any]:
        return [ActorTask(once, continuous=True), ActorTask(once, continuous=True)]

    stop_after(0.02, tmp_path / "j", tasks())
    ends = [event for event in read_journal(tmp_path / "j") if isinstance(event, MatchEnded)]
    assert [event.turns for event in ends] == [1]
    found = verify(tmp_path / "j", lambda _header: ListScheduler(tasks()))
    assert found.ok, found


@pytest.mark.parametrize("is_actor", [False, True])
def test_a_match_that_is_stopped_before_the_tick_of_a_recorded_turn(tmp_path: Path, *, is_actor: bool):
    """At real-time pace the only seat is disqualified, and its turn recorded, before the tick."""

    async def two(turns: Any) -> None:
        for number in range(2):
            with trio.move_on_after(0.03):
                await turns.ask(number)

    class Crashes:
        def act(self, _observation: Any) -> int:
            raise ValueError

    def tasks() -> list[Any]:
        return [ActorTask(two, continuous=True) if is_actor else CountTask(5)]

    stop_after(0.02, tmp_path / "j", tasks(), Crashes(), tick_ns=50_000_000)
    ends = [event for event in read_journal(tmp_path / "j") if isinstance(event, MatchEnded)]
    assert [event.turns for event in ends] == [1]
    found = verify(tmp_path / "j", lambda _header: ListScheduler(tasks()))
    assert found.ok, found
