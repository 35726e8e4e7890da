"""Models of latency: their text forms, and what they draw."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.timing import MS, S
from flagfall.timing.distributions import FORMS, MAX_DEPTH, MAX_LATENCY_NS, Distribution, Mixture, Recorded
from flagfall.timing.latency import BLOCK, MAX_TEXT_CHARS, Chance, SeatLatency
from flagfall.timing.rates import Fuel, Tokens

DRAWS = 100_000


def drawn(text: str, seed: int = 1, phase: Any = "act", count: int = DRAWS) -> Any:
    """Delays and stalls, as two rows."""

    def generator(part: str) -> np.random.Generator:
        return np.random.default_rng([seed, *part.encode()])

    return np.array(list(islice(SeatLatency.parse(text).delays(phase, generator), count))).T


# Texts.

TIMES = st.integers(0, MAX_LATENCY_NS)
NUMBERS = st.floats(0.1, 10.0)
NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters='"'), min_size=1)


def simple(form: str) -> st.SearchStrategy[Distribution]:
    rows = FORMS[form].arguments.values()
    arguments = st.tuples(*(TIMES if bounds is None else NUMBERS for bounds in rows))
    return arguments.filter(lambda values: not FORMS[form].check(*values)).map(
        lambda values: Distribution(form, values)
    )


def mixtures(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Mixture]:
    pair = st.tuples(st.floats(0.001, 0.999), inner, inner)
    return pair.map(lambda found: Mixture(((found[0], found[1]), (1.0 - found[0], found[2]))))


RECORDED = st.builds(
    Recorded, NAMES, NAMES | st.just(""), st.sampled_from(["act", "start"]), st.sampled_from(["", "0a" * 8])
)
SIMPLE = st.one_of(*map(simple, FORMS), RECORDED)
DISTRIBUTIONS = SIMPLE | mixtures(SIMPLE) | mixtures(mixtures(SIMPLE))


MODELS = st.builds(
    SeatLatency,
    **{name: st.none() | DISTRIBUTIONS for name in ("act", "start", "init", "result", "network")},
    loss=st.none() | st.builds(Chance, st.floats(1e-9, 0.9), TIMES),
    cpu=st.floats(1e-3, 1e3),
    stall=st.none() | st.builds(Chance, st.floats(1e-9, 1.0), TIMES),
    rate=st.none()
    | st.builds(Fuel, st.integers(1_000, 10**12))
    | st.builds(
        Tokens,
        st.floats(1e-3, 1e6),
        st.none() | st.floats(1e-3, 1e6),
        TIMES,
    ),
)


@given(MODELS)
def test_a_model_reads_back_from_its_text_as_an_equal_value(model: SeatLatency):
    text = str(model)
    if len(text) <= MAX_TEXT_CHARS:
        assert SeatLatency.parse(text) == model
        assert str(SeatLatency.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("20ms", "act=20ms"),
        ("constant( 0.02s )", "act=20ms"),
        ("start=1s,lognormal(20ms,0.8) , network=1ms", "act=lognormal(20ms, 0.8) start=1s network=1ms"),
        ("mixture(0.99 5ms, 0.01 pareto(2s, 1.5))", "act=mixture(0.99 5ms, 0.01 pareto(2s, 1.5))"),
        ("loss=0.01/200ms cpu=1.50 stall=1e-3/500ms", "loss=0.01/0.2s cpu=1.5 stall=0.001/0.5s"),
        ('recorded("my match.jsonl" , agent=a)', 'act=recorded("my match.jsonl", agent=a)'),
        ("cpu=1", "none"),
        ("fuel( 1000M/s ) network=1ms", "network=1ms fuel(1G/s)"),
        ("cpu=2 tokens(30/s,first=0.3s , prompt=2k/s)", "cpu=2 tokens(30/s, prompt=2000/s, first=0.3s)"),
        (" none ", "none"),
    ],
)
def test_texts_have_a_canonical_form(text: str, canonical: str):
    assert str(SeatLatency.parse(text)) == canonical


DEEP = "mixture(1 " * (MAX_DEPTH + 1)


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("", 1, "nothing is set"),
        ("20", 1, "no unit"),
        ("act=", 5, "expected a time"),
        ("act 20ms", 1, "unknown distribution 'act'"),
        ("acts=20ms", 1, "unknown key 'acts'; nearest: act"),
        ("20ms 30ms", 6, "act is set a second time (first at column 1)"),
        ("lognorm(20ms, 1)", 1, "nearest: lognormal"),
        ("lognormal(20ms)", 15, "lognormal(MEDIAN, SIGMA)"),
        ("lognormal(20ms, 0)", 17, "sigma is a number above 0 to 10"),
        ("lognormal(20ms, nan)", 17, "got 'nan'"),
        ("gamma(20ms, 1e999)", 13, "shape is a number from 0.1 to 1000"),
        ("pareto(20ms, -1)", 14, "got '-1'"),
        ("uniform(5ms, 4ms)", 1, "low (5ms) is above high (4ms)"),
        ("exponential(2h)", 13, "at most 1h"),
        ("exponential(20ms", 17, "expected ')'"),
        ("20ms)", 5, "expected a space"),
        ("mixture(0.5 1ms, 0.4 2ms)", 9, "the weights add up to 0.9, not to 1"),
        ("mixture()", 9, "a weight"),
        (DEEP, len(DEEP) - 1, "nested at most 4 deep"),
        ("recorded()", 10, "recorded(FILE"),
        ("recorded(a, phase=init)", 13, "phase cannot be 'init'"),
        ("recorded(a, sha256=xyz)", 13, "sha256 cannot be 'xyz'"),
        ("recorded(a, agent=b, agent=c)", 22, "each once"),
        ("loss=1/20ms", 6, "above 0 to 0.9"),
        ("loss=0.1", 9, "expected '/'"),
        ("stall=0.1/", 11, "not a duration"),
        ("fuel(1M)", 8, "expected '/s': fuel(1G/s)"),
        ("fuel(1/s)", 6, "a rate of fuel is from 1000/s to 1000G/s"),
        ("fuel(1G/s) tokens(30/s)", 12, "rate is set a second time (first at column 1)"),
        ("tokens(30/s, prompt=1/s, prompt=1/s)", 26, "each once"),
        ("tokens(30/s, last=1s)", 14, "expected prompt=2000/s or first=300ms"),
        ("tokens(0/s)", 8, "from 0.001/s to 1M/s"),
        ("act=fuel(1G/s)", 5, "unknown distribution 'fuel'"),
        ("cpu=0", 5, "cpu is a number above 0"),
        ("network=mixture(1 1ms) \x1b[2J", 24, "unknown distribution '\\x1b[2J'"),
    ],
)
def test_a_mistake_is_one_line_with_its_column(text: str, column: int, said: str):
    with pytest.raises(UsageError) as caught:
        SeatLatency.parse(text)
    first, shown, caret = str(caught.value).split("\n")
    assert first.startswith(f"latency, column {column}: ")
    assert said in first
    assert (len(shown), caret) == (len(text) + 2, " " * (column + 1) + "^")


@given(st.text(max_size=300) | st.text("mixture(1 ,)recodan=\"'0.5ms/", max_size=300))
def test_any_text_is_a_model_or_a_mistake(text: str):
    try:
        model = SeatLatency.parse(text)
    except UsageError:
        return
    assert SeatLatency.parse(str(model)) == model


def test_a_text_of_any_length_is_refused_at_once():
    with pytest.raises(UsageError, match="too many"):
        SeatLatency.parse("mixture(" * 10_000_000)


# Draws.


@pytest.mark.parametrize(
    ("text", "mean", "deviation"),
    [
        ("20ms", 20, 0),
        ("uniform(5ms, 20ms)", 12.5, 15 / 12**0.5),
        ("normal(20ms, 4ms)", 20, 4),
        ("normal(0s, 10ms)", 10 * (2 / np.pi) ** 0.5, 10 * (1 - 2 / np.pi) ** 0.5),  # truncated: half normal
        ("exponential(20ms)", 20, 20),
        ("lognormal(20ms, 0.8)", 20 * np.exp(0.32), 20 * np.exp(0.32) * (np.exp(0.64) - 1) ** 0.5),
        ("gamma(20ms, 4)", 20, 10),
        ("pareto(20ms, 5)", 25, 20 * (5 / 48) ** 0.5),
        ("mixture(0.9 5ms, 0.1 105ms)", 15, 30),
        ("mixture(0.5 exponential(10ms), 0.5 mixture(0.5 10ms, 0.5 10ms))", 10, 50**0.5),
    ],
)
def test_times_have_the_mean_and_the_deviation_of_their_distribution(
    text: str, mean: float, deviation: float
):
    delays, stalls = drawn(text)
    assert delays.dtype.kind == "i"
    assert delays.min() >= 0
    error = deviation / DRAWS**0.5
    assert abs(delays.mean() / MS - mean) <= 4 * error
    assert delays.std() / MS == pytest.approx(deviation, rel=0.1)
    assert not stalls.any()


def test_the_parts_of_a_model_add_up():
    think = drawn("uniform(5ms, 20ms)")[0]
    assert abs(drawn("cpu=1.5 uniform(5ms, 20ms)")[0] - 1.5 * think).max() <= 1
    ways = drawn("network=uniform(1ms, 3ms)")[0]
    assert (ways >= 2 * MS).all()
    assert ways.mean() == pytest.approx(4 * MS, rel=0.01)
    assert abs(drawn("uniform(5ms, 20ms) network=uniform(1ms, 3ms)")[0] - think - ways).max() <= 1
    resent, counts = np.unique(drawn("loss=0.5/200ms")[0], return_counts=True)
    expected = [DRAWS * (lost + 1) / 4 * 0.5**lost for lost in range(4)]  # two messages, each geometric
    assert (resent[:4] == np.arange(4) * 200 * MS).all()
    assert counts[:4] == pytest.approx(expected, rel=0.05)
    delays, stalls = drawn("uniform(5ms, 20ms) stall=0.1/500ms")
    assert ((delays - think == stalls) & np.isin(stalls, [0, 500 * MS])).all()
    assert (stalls > 0).mean() == pytest.approx(0.1, rel=0.05)


def test_a_phase_takes_what_is_set_for_it():
    text = "act=1ms start=2ms init=3ms result=4ms"
    phases: tuple[Any, ...] = ("act", "start", "init", "result")
    assert [drawn(text, phase=phase, count=1)[0][0] for phase in phases] == [1 * MS, 2 * MS, 3 * MS, 4 * MS]
    assert drawn("act=1s", phase="init", count=1)[0][0] == 0


@pytest.mark.parametrize("text", ["pareto(1h, 0.1)", "lognormal(1h, 10)", "cpu=1000 1h", "loss=0.9/1h"])
def test_no_time_is_longer_than_the_bound(text: str):
    delays = drawn(text, count=4 * BLOCK)[0]
    assert delays.min() >= 0
    assert delays.max() == MAX_LATENCY_NS


def test_the_same_seed_draws_the_same_and_another_one_does_not():
    text = "lognormal(20ms, 0.8) network=exponential(2ms)"
    assert (drawn(text, 1, count=1_000) == drawn(text, 1, count=1_000)).all()
    assert (drawn(text, 1, count=1_000)[0] != drawn(text, 2, count=1_000)[0]).all()


# Recorded times.


def test_recorded_times_are_drawn_from_what_the_reader_returns():
    asked: list[Any] = []

    def read(*wanted: str) -> tuple[str, list[int]]:
        asked.append(wanted)
        return "0123456789abcdef" * 4, [1 * MS, 2 * S]

    text = "mixture(0.5 recorded(a.jsonl, agent=b), 0.5 1ms) start=recorded(a.jsonl, phase=start)"
    model = SeatLatency.parse(text)
    with pytest.raises(UsageError, match="its times were not read"):
        next(model.delays("start", lambda _part: np.random.default_rng(1)))
    found = model.loaded(read)
    assert asked == [("a.jsonl", "", "start"), ("a.jsonl", "b", "act")]
    assert "recorded(a.jsonl, agent=b, sha256=0123456789abcdef)" in str(found)
    delays = [delay for delay, _ in islice(found.delays("act", lambda _: np.random.default_rng(1)), 1000)]
    assert set(delays) == {1 * MS, 2 * S}
    assert abs(delays.count(2 * S) - 250) < 60
    assert SeatLatency.parse(str(found)).loaded(read) == found
    with pytest.raises(UsageError, match="the file has changed"):
        SeatLatency.parse(str(found)).loaded(lambda *_: ("f" * 64, [1]))


@given(st.integers(1_000, 10**12), st.integers(0, 10**15))
def test_fuel_and_time_belong_together(rate: int, time_ns: int):
    fuel = Fuel(rate)
    units = fuel.units_in(time_ns)
    assert fuel.time_ns(units) >= time_ns
    assert units == 0 or (units - 1) * S < time_ns * rate


def test_a_request_takes_the_time_of_its_tokens():
    assert Tokens(30, 2_000, 300 * MS).time_ns(prompt=1_000, answer=60) == 300 * MS + 500 * MS + 2 * S
    assert Tokens(7.5).time_ns(prompt=10**9, answer=15) == 2 * S
