"""The generator gives what `java.util.Random` gives."""

from hypothesis import given
from hypothesis import strategies as st

from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom

NEXT_INTS_OF_42 = (-1170105035, 234785527, -1360544799, 205897768)
"""What `new Random(42).nextInt()` gives, 32 bits a time; a bounded draw takes the upper 31."""


def test_bounded_draws_of_seed_42():
    bits = [number % (1 << 32) >> 1 for number in NEXT_INTS_OF_42]
    by_two, by_ten = JavaRandom(42), JavaRandom(42)
    assert [by_two.next_int(1 << 30) for _ in bits] == [number >> 1 for number in bits]
    assert [by_ten.next_int(10) for _ in bits] == [number % 10 for number in bits] == [0, 3, 8, 4]
    assert by_two.draws == by_ten.draws == 4


def test_doubles_take_two_draws_and_floats_one():
    random = JavaRandom(42)
    assert [random.next_double() for _ in range(3)] == [
        0.7275636800328681,
        0.6832234717598454,
        0.30871945533265976,
    ]
    assert random.draws == 6
    assert round(JavaRandom(42).next_float(), 7) == 0.7275637


def test_a_number_that_would_favour_the_small_ones_is_drawn_again():
    bound = (1 << 30) + 1
    random = JavaRandom(0)
    numbers = [random.next_int(bound) for _ in range(1000)]
    assert random.draws > 1500
    assert 0 <= min(numbers) <= max(numbers) < bound


@given(st.integers(-(2**63), 2**63), st.integers(1, 2**31 - 1))
def test_a_fork_goes_on_alike_and_alone(seed: int, bound: int) -> None:
    random = JavaRandom(seed)
    copied = random.copy()
    drawn = [random.next_int(bound) for _ in range(5)]
    assert [copied.next_int(bound) for _ in range(5)] == drawn
    assert copied.draws == random.draws


@given(st.integers(-(2**63), 2**63), st.integers(1, 300), st.integers(1, 4))
def test_many_draws_at_the_cost_of_one(seed: int, count: int, bits: int) -> None:
    leaping, stepping = JavaRandom(seed), JavaRandom(seed)
    taken = leaping.take(count)
    drawn = [stepping.next_int(1 << bits) for _ in range(count)]
    assert taken >> (48 - bits) == drawn[-1]
    assert (leaping.state, leaping.draws) == (stepping.state, stepping.draws)
