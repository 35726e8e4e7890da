"""Shares of turns lost over limits, the limits that are advised, and folders judged again."""

from __future__ import annotations

import shutil
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import trio

import flagfall
from flagfall.errors import UsageError
from flagfall.recording.think_times import ThinkTimes, lost_turns
from flagfall.timing import MS, TimeControl
from flagfall.tournament.limits import LimitCurve, curve_of, limits_for, rounded
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.stats.clusters import Trials, worth_of
from flagfall.tournament.stats.intervals import independent_difference
from flagfall.tournament.store import Store
from flagfall.tournament.what_if import FolderWhatIf, study_folder
from tests.command_line import call_main

CONTROL = TimeControl.parse("act=40ms/1s")


def drawn(matches: int, turns: int, *, spread: float = 0.0, seed: int = 1) -> ThinkTimes:
    """Think times with a median of 20 ms; of some matches all are longer than of others."""
    whim = np.random.default_rng(seed)
    return ThinkTimes.joined(
        (
            number,
            ThinkTimes.drawn(
                (20 * MS * np.exp(0.8 * whim.normal(size=turns) + spread * whim.normal())).astype(int)
            ),
        )
        for number in range(matches)
    )


def curve(thinking: ThinkTimes, control: TimeControl = CONTROL, lost: float = 0.001) -> LimitCurve:
    found = curve_of("agent", control, thinking, limits_for(thinking, control), lost=lost)
    assert found is not None
    return found


def test_a_curve_falls_from_half_of_the_turns_to_none():
    found = curve(drawn(40, 200))
    assert found.limits_ns == tuple(sorted(set(found.limits_ns)))
    assert 40 * MS in found.limits_ns
    assert found.share[0] > 0.4
    assert found.share[-1] == 0
    for low, share, high in zip(found.low, found.share, found.high, strict=True):
        assert 0 <= low <= share <= high <= 1
    assert (found.matches, found.turns, any(found.at_least)) == (40, 8000, False)


def test_the_advised_limit_is_the_smallest():
    thinking = drawn(100, 400)
    advice = curve(thinking).advice

    def share(limit_ns: int) -> float:
        found = lost_turns(thinking, TimeControl(act=limit_ns))
        return float(found.lost.sum() / found.turns.sum())

    assert share(advice.act_ns) <= 0.001 < share(int(advice.act_ns * 0.98))
    assert advice.low_ns is not None
    assert advice.high_ns is not None
    assert advice.low_ns < advice.act_ns < advice.high_ns
    assert advice.longest_ns == thinking.think_ns.max()
    assert advice.bank_ns is None


def test_few_turns_have_no_upper_end_and_one_match_no_interval():
    few = curve(drawn(10, 50)).advice
    assert few.high_ns is None
    assert few.low_ns is not None
    assert few.turns_needed == 3688
    one = curve(drawn(1, 5000)).advice
    assert (one.low_ns, one.high_ns) == (None, None)


def test_turns_that_depend_on_each_other_are_worth_less():
    alike, apart = curve(drawn(40, 300)), curve(drawn(40, 300, spread=1.0))
    assert apart.worth < alike.worth / 2


def test_a_limit_beyond_what_is_recorded_is_not_advised():
    thinking = drawn(40, 200)
    cut = attrs.evolve(
        thinking,
        exact=thinking.think_ns < 50 * MS,
        think_ns=np.minimum(thinking.think_ns, 50 * MS),
    )
    found = curve(cut)
    assert found.advice.is_least
    assert found.advice.act_ns == 50 * MS
    assert found.advice.high_ns is None
    assert all(
        limit <= 50 * MS or at_least for limit, at_least in zip(found.limits_ns, found.at_least, strict=True)
    )


def test_no_think_times_have_no_curve():
    nothing = ThinkTimes.drawn(np.zeros(100, np.int64))
    assert limits_for(nothing, CONTROL) == ()
    assert curve_of("agent", CONTROL, nothing, ()) is None
    assert curve_of("agent", CONTROL, ThinkTimes.joined([]), ()) is None


def test_an_advised_bank_was_enough():
    control = TimeControl.parse("bank=5s+10ms")
    thinking = drawn(20, 100)
    bank_ns = curve(thinking, control).advice.bank_ns
    assert bank_ns is not None
    for given, is_enough in ((bank_ns, True), (int(bank_ns * 0.98), False)):
        found = lost_turns(thinking, attrs.evolve(control, bank=given))
        assert (not found.lost.any()) == is_enough


def test_rounded_durations_are_not_shorter():
    for ns in (1, 999, 1000, 1001, 123_456_789):
        assert ns <= rounded(ns) <= 1.01 * ns + 1


def test_clusters_that_are_alike_are_worth_their_trials():
    whim = np.random.default_rng(3)
    sizes = np.full(200, 50)
    independent = worth_of(whim.binomial(50, 0.1, 200), sizes)
    together = worth_of(50 * (whim.random(200) < 0.1), sizes)
    assert 6_000 < independent.worth <= 10_000
    assert 130 < together.worth < 300
    assert worth_of(np.zeros(200), sizes) == Trials(200.0)
    assert worth_of(np.array([3]), np.array([50])) == Trials(0.0)


THINKERS = """
from random import Random
import trio

class Quick:
    median = 0.008
    def start(self, briefing):
        self.random = Random(briefing.seed)
    async def act(self, observation):
        await trio.sleep(self.median * self.random.lognormvariate(0, 0.6))
        return 32

class Slow(Quick):
    median = 0.02
"""

PLAN = """
clock = "virtual"
seed = {seed}
repeats = {repeats}
time_control = "{control}"
[[agents]]
name = "quick"
spec = "thinkers.py:Quick"
host = "task"
[[agents]]
name = "slow"
spec = "thinkers.py:Slow"
host = "task"
[[tasks]]
each = {tasks}
steps = 100
"""


def tournament(
    folder: Path, control: str, *, repeats: int = 6, tasks: str = '["micro1", "duel:lamps"]', seed: int = 0
) -> Path:
    (folder / "thinkers.py").write_text(THINKERS)
    text = PLAN.format(control=control, repeats=repeats, tasks=tasks, seed=seed)
    output = folder / f"{control.replace('/', '-')}-{seed}"
    plan = parse_plan(text, title="limits", folder=folder)
    trio.run(partial(run_tournament, plan, output, jobs=1))
    return output


def study(folder: Path, *controls: str) -> FolderWhatIf:
    with closing(Store(folder)) as store:
        stored = store.plan()
        assert stored is not None
        return study_folder(folder, store, stored.for_display(), [TimeControl.parse(one) for one in controls])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tournament(tmp_path_factory.mktemp("played"), "act=200ms/2s")


def test_under_its_own_control_a_tournament_is_as_it_was(played: Path):
    found = study(played, "act=200ms/2s")
    (effect,) = found.effects
    for agent in effect.agents:
        assert agent.same == agent.matches > 0
        assert agent.score == agent.least == agent.most
    assert {curve.agent for curve in found.curves} == {"", "quick", "slow"}
    assert not found.unread


def test_matches_that_change_are_unknown_and_scores_have_bounds(played: Path):
    (effect, out) = study(played, "act=20ms/2s", "act=20ms late=out").effects
    for agent in effect.agents:
        assert agent.unknown == agent.matches
        assert (agent.least, agent.most) == (0, 1)
        assert agent.out == 0
    quick, slow = out.agents
    assert slow.out > quick.out > 0
    for agent in out.agents:
        assert agent.same + agent.out + agent.unknown == agent.matches
    assert slow.most is not None
    assert slow.most < 1


def test_missing_and_foreign_journals_are_left_out(played: Path, tmp_path: Path):
    folder = tmp_path / "copy"
    shutil.copytree(played, folder)
    first, second, third, fourth, *_ = sorted((folder / "journals").iterdir())
    first.unlink()
    second.write_bytes(second.read_bytes()[:-40])
    third.write_bytes(b"nothing")
    fourth.unlink()
    fourth.symlink_to(played / "tournament.db")
    found = study(folder, "act=20ms/2s")
    assert sum(found.unread.values()) == 4
    assert set(found.unread) >= {"the journal is missing", "the journal cannot be read"}
    assert found.matches == len(list((played / "journals").iterdir()))


def test_the_clock_of_another_kind_is_refused(played: Path):
    with pytest.raises(UsageError, match="write clock=wall"):
        study(played, "act=20ms clock=cpu")


@pytest.mark.release
def test_predictions_hold(tmp_path: Path):
    """From one tournament, the shares of turns lost under three other limits; then those are played."""
    limits = ("act=12ms", "act=30ms", "act=70ms")
    predicted = study(tournament(tmp_path, "act=100ms/5s", repeats=40), *limits).effects
    for number, (text, effect) in enumerate(zip(limits, predicted, strict=True), 1):
        truth = study(tournament(tmp_path, text, repeats=40, seed=number), text).effects[0]
        for agent, came in zip(effect.agents, truth.agents, strict=True):
            assert agent.lost is not None
            assert came.lost is not None
            difference = independent_difference(agent.lost, came.lost)
            assert difference.low is not None
            assert difference.high is not None
            assert difference.low <= 0 <= difference.high, (text, agent, came)


# The command.


def test_the_command_prints_a_folder(
    played: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "80")
    done = call_main(
        capfd, "what-if --advise --time-control act=20ms/2s --time-control act=10ms..30ms", played
    )
    assert done.code == 0
    assert "Turns lost by the limit of a turn" in done.out
    assert "Smallest limits at which 0.1 %" in done.out
    assert done.out.count("Under act=") == 11
    tables = [line for line in done.out.splitlines() if not line.endswith(".")]
    assert max(map(len, tables)) <= 80


def test_the_command_prints_data_and_draws(played: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path):
    picture = tmp_path / "curve.svg"
    done = call_main(capfd, "what-if --json --time-control act=20ms/2s -o", picture, played)
    data = done.data()
    assert [curve["agent"] for curve in data["curves"]] == ["", "quick", "slow"]
    assert data["effects"][0]["control"] == "act=20ms/2s"
    assert picture.read_bytes().startswith(b"<?xml")
    assert "slow" in picture.read_text()
    assert "mathdefault" not in picture.read_text()


def test_the_command_prints_a_match(played: Path, capfd: pytest.CaptureFixture[str]):
    path = min((played / "journals").iterdir())
    assert "Every verdict is as it was recorded." in call_main(capfd, "what-if", path).out
    done = call_main(capfd, "what-if --time-control act=5ms/2s --advise", path)
    assert "turn 0: on time -> late" in done.out or "turn 1: on time -> late" in done.out
    assert call_main(capfd, "what-if --json", path).data()["recorded"] == "act=0.2s/2s"


def test_modelled_think_times_lose_what_a_match_under_the_model_loses(capfd: pytest.CaptureFixture[str]):
    model = "mixture(0.9 exponential(20ms), 0.1 uniform(30ms, 200ms))"
    line = ["what-if", "--json", "--think", model, "--turns", 20_000, "--time-control"]
    for control in ("act=40ms/5s", "act=15ms/5s", "act=10ms bank=1s+20ms late=nil"):
        (found,) = call_main(capfd, "", *line, control).data()["controls"]
        options: Any = {"clock": "virtual", "steps": 200, "think": model, "time_control": control}
        results = [flagfall.run(["micro1"], "repeating", seed=seed, **options) for seed in range(25)]
        share, low, high = (found["lost"][name] for name in ("value", "low", "high"))
        played = sum(result.seats[0].stats.late for result in results) / 5_000
        assert abs(played - share) <= 2 * max(share - low, high - share), control
        assert found["out"] == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--time-control act=5ns..", "unknown unit|not a duration"),
        ("--time-control act=50ms..5ms", "from a short time to a long one"),
        ("--time-control act=1ms..2ms act_hard=5ms..9ms", "is below|column"),
        ("--time-control soon", "column 1"),
        ("--lost 2", "a share of turns"),
        ("-o picture.gif", "ends in one of"),
        ("--think 20ms", "a journal or the folder of a tournament; or a model"),
    ],
)
def test_mistakes_have_one_line(words: str, why: str, played: Path, capfd: pytest.CaptureFixture[str]):
    done = call_main(capfd, f"what-if {words}", played)
    assert done.code == 2
    assert not done.out
    if "act_hard" not in words:
        assert any(part in done.err for part in why.split("|")), done.err
