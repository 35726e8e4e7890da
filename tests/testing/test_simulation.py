"""Matches under faults: each kind does what its row says, and the same schedule gives the same match."""

import numpy as np
import pytest
import trio

from flagfall.agents.hosts.registry import Player
from flagfall.agents.process.isolation import Isolation
from flagfall.errors import HostFault, UsageError
from flagfall.events import MatchEnded, ReplyDropped, StallSeen, TurnPlayed
from flagfall.kernel.hosting import LocalHostKind
from flagfall.playing import MatchRequest
from flagfall.testing.faults import FAULTS, FaultSchedule, random_schedule
from flagfall.testing.simulation.match import Standstill, hosts_of, simulate
from flagfall.timing.latency import SeatLatency

FAR: tuple[LocalHostKind | None, ...] = ("process", None)
ANYWHERE: tuple[LocalHostKind | None, ...] = ("task", *FAR)
TURNS = 12


class Thinker:
    """Thinks for 10 ms of virtual time."""

    async def act(self, observation):
        await trio.sleep(0.010)
        return 65 if isinstance(observation, int) else 0


def request(host=None, *, agent=Thinker, control="start=1s act=40ms/200ms", **fields):
    players = (Player(agent, host),)
    return MatchRequest(tasks="micro1", agents=players, time_control=control, **{"steps": TURNS, **fields})


def play(faults, host=None, **fields):
    run = simulate(request(host, **fields), faults)
    assert run.left == {"connections": 0, "tasks": 0, "deadlines": 0}
    return run


def turns(run):
    return [event for event in run.events if isinstance(event, TurnPlayed)]


def verdicts(run):
    return [turn.verdict for turn in turns(run)]


def reason(run, seat=0):
    return run.result.seats[seat].disqualified


ON_TIME = ["on time"] * TURNS


@pytest.mark.parametrize("host", ANYWHERE)
def test_without_faults_a_match_is_played_as_anywhere(host):
    run = play("", host)
    assert verdicts(run) == ON_TIME
    assert run.error is None
    assert {turn.spent_ns for turn in turns(run)} == {10_000_000}


@pytest.mark.parametrize("host", ANYWHERE)
def test_crash(host):
    run = play("crash @turn 5", host)
    assert reason(run) == "crashed"
    assert verdicts(run) == ["on time"] * 5 + ["disqualified"]
    assert run.happened == {"crash": 1}
    assert reason(play("crash @start", host)) == "not started"


@pytest.mark.parametrize("host", ["task", "process"])
def test_leave(host):
    run = play("leave @turn 5", host)
    assert reason(run) == "gone"
    assert len(turns(run)) <= 6
    assert run.happened == {"leave": 1}


@pytest.mark.parametrize("host", ANYWHERE)
def test_hang(host):
    run = play("hang @turn 5", host)
    assert reason(run) == "late"
    assert verdicts(run)[:6] == ["on time"] * 5 + ["late"]
    assert run.happened == {"hang": 1}
    started = play("hang @start", host)
    assert reason(started) == "late"
    assert not turns(started)


@pytest.mark.parametrize("host", ANYWHERE)
def test_slow(host):
    run = play("slow 20ms @turn 5; slow 50ms @turn 7", host)
    assert turns(run)[5].spent_ns == 30_000_000
    assert verdicts(run)[7] == "late"
    assert reason(run) is None
    assert run.happened == {"slow": 2}


@pytest.mark.parametrize("host", ANYWHERE)
def test_illegal(host):
    run = play("illegal @turn 5", host)
    assert verdicts(run) == ["on time"] * 5 + ["illegal"] + ["on time"] * 6
    assert run.happened == {"illegal": 1}


@pytest.mark.parametrize("host", FAR)
@pytest.mark.parametrize(("kind", "number"), [("duplicate", 5), ("reorder", 4)])
def test_duplicate_and_reorder(host, kind, number):
    run = play(f"{kind} @turn 5", host)
    (dropped,) = [event for event in run.events if isinstance(event, ReplyDropped)]
    assert (dropped.turn, verdicts(run)) == (number, ON_TIME)
    assert run.happened == {kind: 1}


@pytest.mark.parametrize("host", FAR)
def test_flood(host):
    run = play("flood 500 @turn 5", host)
    assert run.result.seats[0].stats.dropped == 500
    assert verdicts(run) == ON_TIME
    assert run.happened == {"flood": 1}


def test_what_repeats_an_answer_needs_one_before():
    run = play("reorder @turn 0; flood @turn 0")
    assert run.happened == {}
    assert len(run.missed) == 2


def test_a_flood_beyond_the_bound_disqualifies_an_agent_that_connects():
    run = play("flood 1500 @turn 5")
    assert reason(run) == "garbage"
    assert reason(play("flood 1500 @turn 5", "process")) is None  # its time runs meanwhile


@pytest.mark.parametrize("host", FAR)
def test_drop(host):
    run = play("drop @turn 5", host)
    assert (verdicts(run)[5], reason(run)) == ("late", "late")
    assert run.happened == {"drop": 1}


@pytest.mark.parametrize("host", FAR)
def test_delay(host):
    run = play("delay 20ms @turn 5; delay 50ms @turn 7", host)
    assert turns(run)[5].spent_ns == 30_000_000
    assert verdicts(run)[7] == "late"
    assert reason(run) is None
    assert run.happened == {"delay": 2}


@pytest.mark.parametrize("host", FAR)
@pytest.mark.parametrize("moment", ["@turn 5", "@start"])
def test_garbage(host, moment):
    run = play(f"garbage {moment}", host)
    assert reason(run) == "garbage"
    assert run.happened == {"garbage": 1}


def test_truncate():
    assert reason(play("truncate @turn 5", "process")) == "gone"
    run = play("truncate @turn 5")  # from where an agent connects, it comes back, and answers again
    assert (reason(run), run.happened, len(turns(run))) == (None, {"truncate": 1}, TURNS)


def test_disconnect():
    run = play("disconnect 20ms @turn 5", control="act=400ms/1s")
    assert verdicts(run) == ON_TIME
    assert 30_000_000 < turns(run)[5].spent_ns < 400_000_000  # its answer was sent again when it was back
    gone = play("disconnect 5s @turn 5")
    assert (verdicts(gone)[5], reason(gone)) == ("late", "late")
    assert run.happened == gone.happened == {"disconnect": 1}


def test_intruder_and_silent_client():
    alone = play("")
    for kind in ("intruder", "silent client"):
        for moment in ("@start", "@turn 5"):
            run = play(f"{kind} {moment}")
            assert run.happened == {kind: 1}
            assert run.journal == alone.journal


def test_exit():
    run = play("exit 3 @turn 5", "process")
    assert (reason(run), len(turns(run))) == ("gone", 6)
    assert "exit code 3" in run.result.seats[0].detail
    assert run.happened == {"exit": 1}


def test_prints():
    run = play("prints 10000 @turn 5", "process")
    printed = run.result.seats[0].printed
    assert sum(len(part.text) + part.left_out for part in printed) == 10_000
    assert printed[0].turn == 5
    assert run.happened == {"prints": 1}


def test_supervisor_dies():
    run = play("supervisor dies @turn 5", "process")
    assert (reason(run), len(turns(run))) == ("gone", 6)  # its agent is not left without limits
    assert run.happened == {"supervisor dies": 1}


def test_supervisor_stops():
    run = play("supervisor stops @turn 5; hang @end", "process")
    assert verdicts(run) == ON_TIME
    assert run.ended_ns > turns(run)[-1].at_ns + 1_000_000_000  # closing, ending, and being ended by its host
    assert run.happened == {"supervisor stops": 1, "hang": 1}


@pytest.mark.parametrize("host", ANYWHERE)
def test_breaking_down_at_the_end(host):
    crashed, hung = play("crash @end", host), play("hang @end", host)
    assert (reason(crashed), crashed.result.seats[0].lost_by) == ("crashed", None)
    assert reason(hung) is None
    assert hung.ended_ns <= turns(hung)[-1].at_ns + 1_100_000_000


@pytest.mark.parametrize("host", ANYWHERE)
@pytest.mark.parametrize("moment", ["@turn 5", "@55ms"])
def test_stall_host(host, moment):
    run = play(f"stall host 500ms {moment}", host)
    assert verdicts(run) == ON_TIME  # the time is credited
    assert [event.lost_ns for event in run.events if isinstance(event, StallSeen)] == [500_000_000]
    assert run.happened == {"stall host": 1}


@pytest.mark.parametrize(("kind", "says"), [("disk full", "No space left"), ("disk error", "Input/output")])
def test_disk_full_and_disk_error(kind, says):
    run = play(f"{kind} @turn 2", steps=2_000)
    assert isinstance(run.error, HostFault)
    assert says in str(run.error)
    assert run.happened[kind] >= 1
    whole, sealed, rest = run.journal.rpartition(b'"seal"')
    assert rest.endswith(b"\n") if sealed else not whole  # nothing of a batch that was not written whole


def test_disk_slow():
    run = play("disk slow 2s")
    assert run.error is None
    assert run.ended_ns >= 2_000_000_000 + turns(run)[-1].at_ns
    assert run.journal == play("").journal


def test_sink_fails():
    for moment in ("@turn 5", "@end"):
        run = simulate(request(), f"sink fails {moment}", beside=2)
        assert "sink fails" in str(run.error)
        assert run.happened == {"sink fails": 1}
        assert [other.error for other in run.others] == [None, None]
        assert [len(turns(other)) for other in run.others] == [TURNS, TURNS]


def test_task_raises():
    run = play("task raises @turn 5")
    assert isinstance(run.error, HostFault)
    assert "task raises" in str(run.error)
    assert run.happened == {"task raises": 1}


def test_every_kind_of_fault_of_a_match_has_a_test_here():
    tested = "".join(name for name in globals() if name.startswith("test_"))
    rows = [row for row in FAULTS.values() if not row.is_of_tournament]
    assert [row.name for row in rows if row.name.replace(" ", "_") not in tested] == []


def test_a_fault_at_a_time_strikes_the_first_turn_from_then_on():
    run = play("crash @25ms")
    assert verdicts(run) == ["on time"] * 3 + ["disqualified"]


def test_faults_of_one_agent_cost_another_nothing():
    both = (Player(Thinker), Player(Thinker))
    run = simulate(
        MatchRequest(tasks="duel:lamps", agents=both, time_control="act=40ms/200ms"),
        "seat 1: garbage @turn 2; seat 1: crash @turn 3",
    )
    assert (reason(run, 0), reason(run, 1)) == (None, "garbage")
    assert [str(fault) for fault in run.missed] == ["seat 1: crash @turn 3"]
    assert {turn.verdict for turn in turns(run) if turn.seat == 0} == {"on time"}


def test_a_match_that_waits_for_good_is_a_standstill():
    run = play("hang @start", "process", control="untimed")
    assert isinstance(run.error, Standstill)
    assert isinstance(run.events[-1], MatchEnded)


def test_the_same_schedule_gives_the_same_run():
    for seed in range(25):
        generator = np.random.default_rng(seed)
        models = (None, SeatLatency.parse("act=uniform(0ms, 45ms) network=2ms loss=0.05/30ms"))
        both = tuple(
            Player(Thinker, ANYWHERE[generator.integers(3)], think=models[generator.integers(2)])
            for _ in range(2)
        )
        case = MatchRequest(tasks="duel:lamps", agents=both, time_control="act=40ms/200ms", seed=seed)
        schedule = random_schedule(generator, hosts_of(both), turns=10)
        one, other = simulate(case, schedule), simulate(case, schedule)
        assert (one.journal, one.happened, one.ended_ns) == (other.journal, other.happened, other.ended_ns)


def test_what_cannot_be_simulated_is_refused_in_one_line():
    with pytest.raises(UsageError, match="seat 0 plays with host task"):
        simulate(request("task"), "drop @turn 5")
    with pytest.raises(UsageError, match="has seats 0 to 0"):
        simulate(request(), FaultSchedule.parse("seat 1: crash"))
    with pytest.raises(UsageError, match="cannot be simulated"):
        simulate(request(agent="tcp://127.0.0.1:7777"))
    with pytest.raises(UsageError, match="no thread is simulated"):
        simulate(request("thread"))
    sandboxed = Player("random", isolation=Isolation("sandbox"))
    with pytest.raises(UsageError, match="without isolation"):
        simulate(MatchRequest(tasks="micro1", agents=(sandboxed,)))
    with pytest.raises(UsageError, match="written for asyncio"):
        simulate(request(agent=ForAsyncio))
    with pytest.raises(UsageError, match="micro999"):
        simulate(MatchRequest(tasks="micro999", agents=(Player("random"),)))


class ForAsyncio(Thinker):
    loop = "asyncio"
