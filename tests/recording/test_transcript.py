import pytest
import trio

from flagfall import Journal, read_journal
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.samples.basic import MemorizingAgent
from flagfall.errors import HostFault, UsageError
from flagfall.events import Event
from flagfall.kernel.match import play_match
from flagfall.recording.round1_results import transcript
from flagfall.recording.verify import verify
from flagfall.tasks.commai.catalog import CATALOG
from flagfall.tasks.schedulers import parse_policy
from flagfall.timing import TimeControl, VirtualClock


def test_records_of_a_small_match(lab):
    events: list[Event] = []
    lab.run(None, lab.Tasks(lab.Echo(2), lab.Echo(1)), lab.Repeater, sinks=[events.append])
    a, b, c = (chr(event.observation) for event in events if hasattr(event, "observation"))
    assert list(transcript(events)) == [
        {"event": "start", "task": "echo"},
        {"t": 0, "env": a, "reward": 0, "agent": a},
        {"t": 1, "env": b, "reward": 0.5, "agent": b},
        {"event": "end", "task": "echo", "result": True},
        {"event": "start", "task": "echo"},
        {"t": 2, "env": c, "reward": 0.5, "agent": c},
        {"event": "end", "task": "echo", "result": True, "reward": 0.5},
    ]


def test_a_task_that_was_cut_has_no_result(lab):
    events: list[Event] = []
    lab.run(None, lab.Tasks(lab.Echo(9)), lab.Repeater, steps=3, sinks=[events.append])
    assert list(transcript(events))[-1] == {"event": "end", "task": "echo", "result": None}
    assert list(transcript(events[:-2]))[-1]["t"] == 2


def test_a_void_match_ends_its_task_too(lab):
    events: list[Event] = []

    with pytest.raises(HostFault, match="it is broken"):
        lab.run(None, lab.Tasks(lab.Echo(breaks_at=0)), lab.Repeater, sinks=[events.append])
    assert list(transcript(events))[-1] == {"event": "end", "task": "echo", "result": None}


def test_rewards_are_whole_where_they_are_whole(lab):
    events: list[Event] = []
    lab.run(None, lab.Tasks(lab.Echo(60)), sinks=[events.append])
    kinds = {type(record["reward"]) for record in transcript(events) if "t" in record}
    assert kinds == {int, float}


def test_it_streams(lab):
    events: list[Event] = []
    lab.run(None, lab.Tasks(lab.Echo(9)), sinks=[events.append])
    left = iter(events)
    records = transcript(left)
    next(records)
    next(records)
    assert len(list(left)) > 8


def test_other_tasks_are_refused_by_turn(lab):
    for task, agents in [(lab.Grid(3), [lab.pair]), (lab.Duel(3), [lab.Dreamer] * 2)]:
        events: list[Event] = []
        lab.run(None, lab.Tasks(task), *agents, sinks=[events.append])
        with pytest.raises(UsageError, match=r"turn 0: .* observation|with one agent"):
            list(transcript(events))


def test_micro_tasks_verify_and_tell_what_was_said(tmp_path):
    path = tmp_path / "j.zst"
    ids = ["micro1", "micro4", "micro5.3", "micro5.18"]

    def tasks(_header=None):
        return parse_policy("random", [CATALOG[name]() for name in ids])

    async def main():
        host = LoopHost(MemorizingAgent, "memorizing")
        control = TimeControl.parse("act=1s start=1s")
        await play_match(tasks(), [host], control=control, seed=5, steps=3_000, sinks=[Journal(path)])

    trio.run(main, clock=VirtualClock())
    assert verify(path, tasks).ok
    records = list(transcript(read_journal(path)))
    steps = [record for record in records if "t" in record]
    assert [record["t"] for record in steps] == list(range(3_000))
    assert all(len(record["env"]) == len(record["agent"]) == 1 for record in steps)
    assert {record["task"] for record in records if record.get("event") == "start"} <= set(ids)
