from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.tournament.formats.pairing import circle_rounds, pair_up


@st.composite
def graphs(draw, most=9):
    size = draw(st.integers(0, most))
    edges = [edge for edge in combinations(range(size), 2) if draw(st.booleans())]
    return size, edges


def neighbours(size, edges):
    return [
        sorted({b for a, b in edges if a == vertex} | {a for a, b in edges if b == vertex})
        for vertex in range(size)
    ]


def can_pair(graph):
    return (
        pair_up(range(len(graph)), lambda one, other: other in graph[one], lambda _one, _other: 0) is not None
    )


def by_trying(left, edges):
    if not left:
        return True
    first = min(left)
    return any(by_trying(left - {first, other}, edges) for other in left - {first} if (first, other) in edges)


@given(graphs())
@settings(deadline=None, max_examples=300)
def test_a_pairing_is_found_wherever_there_is_one(graph):
    size, edges = graph
    assert can_pair(neighbours(size, edges)) == by_trying(frozenset(range(size)), set(edges))


def test_odd_cycles_are_no_obstacle():
    petersen = [(i, (i + 1) % 5) for i in range(5)] + [(i, i + 5) for i in range(5)]
    petersen += [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    assert can_pair(neighbours(10, petersen))
    two_triangles = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    assert not can_pair(neighbours(6, two_triangles))
    assert can_pair(neighbours(6, [*two_triangles, (2, 3)]))


@given(graphs(8))
@settings(deadline=None)
def test_pairs_are_allowed_and_leave_nobody_over(graph):
    size, edges = graph
    allowed = set(edges)
    pairs = pair_up(range(size), lambda a, b: (min(a, b), max(a, b)) in allowed, lambda a, b: abs(a - b))
    if pairs is None:
        assert not by_trying(frozenset(range(size)), allowed)
    else:
        assert sorted(vertex for pair in pairs for vertex in pair) == list(range(size))
        assert {(min(pair), max(pair)) for pair in pairs} <= allowed


def greedy(left, allowed):
    """The same by trying all pairings: each first has the nearest partner who leaves the others one."""
    if not left:
        return []
    first, *others = left
    for other in sorted(others, key=lambda other: abs(other - first - 2)):
        rest = [vertex for vertex in others if vertex != other]
        if (first, other) in allowed and by_trying(frozenset(rest), allowed):
            return [(first, other), *greedy(rest, allowed)]
    return None


@given(graphs(8))
@settings(deadline=None, max_examples=200)
def test_each_first_has_the_best_partner_that_leaves_the_others_a_pairing(graph):
    size, edges = graph
    allowed = set(edges)
    pairs = pair_up(range(size), lambda a, b: (min(a, b), max(a, b)) in allowed, lambda a, b: abs(b - a - 2))
    assert pairs == greedy(list(range(size)), allowed)


def test_the_first_has_its_wish():
    assert pair_up(range(4), lambda _a, _b: True, lambda _, b: -b) == [(0, 3), (1, 2)]
    assert pair_up(range(4), lambda a, b: {a, b} != {0, 3}, lambda _, b: -b) == [(0, 2), (1, 3)]


@given(st.integers(0, 11))
def test_a_round_robin_has_each_pair_once_and_sides_that_alternate(count):
    rounds = circle_rounds(range(count))
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert sorted(map(sorted, met)) == [list(pair) for pair in combinations(range(count), 2)]
    assert all(len({a for pair in pairs for a in pair}) == 2 * len(pairs) for pairs in rounds)
