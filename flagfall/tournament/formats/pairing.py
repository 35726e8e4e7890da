"""Pairing of agents: the rounds of a round robin, orders of seats, and the cheapest pairs under constraints.

A perfect matching of a graph pairs every vertex. Edmonds' blossom algorithm decides whether one exists
(J. Edmonds, "Paths, trees, and flowers", 1965).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import permutations
from typing import TypeAlias, TypeVar

from flagfall.tournament.model import Seatings

_T = TypeVar("_T")

Graph: TypeAlias = Sequence[Iterable[int]]
"""Neighbours of each vertex."""


def circle_rounds(agents: Sequence[_T]) -> list[list[tuple[_T, _T]]]:
    """Return the rounds of a round robin by the circle method.

    Each pair meets once, and each agent at most once a round. With an odd number, another agent is left out
    in each round. The order within pairs alternates.

    Args:
        agents: at least two.
    """
    ring: list[_T | None] = [*agents, *([None] if len(agents) % 2 else [])]
    rounds = []
    for number in range(len(ring) - 1):
        pairs = []
        for place in range(len(ring) // 2):
            first, second = ring[place], ring[-1 - place]
            if first is not None and second is not None:
                pairs.append((second, first) if number % 2 else (first, second))
        rounds.append(pairs)
        ring.insert(1, ring.pop())
    return rounds


@cache
def seat_orders(seatings: Seatings, seats: int) -> tuple[tuple[int, ...], ...]:
    """Return the orders in which k agents take k seats, up to rotation.

    Each order stands for k matches: in match n of them the agents are its numbers plus n, modulo k.

    - `cyclic`: the plain order. Each agent has each seat once, but always the same neighbours.
    - `balanced`: also each agent sits next before each other one equally often: once for even k, twice for
      odd k, which takes two orders (E. J. Williams, "Experimental designs balanced for the estimation of
      residual effects of treatments", 1949).
    - `all`: all k! permutations.

    Args:
        seats: k.
    """
    if seatings == "all":
        return tuple((0, *rest) for rest in permutations(range(1, seats)))
    if seatings == "cyclic":
        return (tuple(range(seats)),)
    # 0, 1, k - 1, 2, k - 2, ...: the steps between neighbours are all different.
    zigzag = tuple((place + 1) // 2 * (1 if place % 2 else -1) % seats for place in range(seats))
    return (zigzag, zigzag[::-1]) if seats % 2 else (zigzag,)


def pair_up(
    agents: Sequence[_T], allowed: Callable[[_T, _T], bool], cost: Callable[[_T, _T], float]
) -> list[tuple[_T, _T]] | None:
    """Return pairs of all agents, or `None` if there are none.

    The first agent gets its cheapest partner among those that leave the others a pairing, and so on.

    Args:
        agents: those that choose first come first.
        cost: returns the cost of a partner; of equally cheap ones the first is taken.
    """
    graph = [
        [other for other, theirs in enumerate(agents) if other != me and allowed(mine, theirs)]
        for me, mine in enumerate(agents)
    ]
    matching = _Matching(graph)
    if not matching.match_all():
        return None
    left = dict.fromkeys(range(len(agents)))
    pairs = []
    while left:
        first = next(iter(left))
        partners = [other for other in graph[first] if other in left]
        partners.sort(key=lambda other: cost(agents[first], agents[other]))
        partner = next(partner for partner in partners if matching.settle(first, partner))
        pairs.append((agents[first], agents[partner]))
        del left[first], left[partner]
    return pairs


class _Matching:
    """Matching that grows along augmenting paths; odd cycles on the way are contracted to one vertex.

    Args:
        graph: undirected: the neighbours of a vertex have it as their neighbour.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._mate: list[int | None] = [None] * len(graph)
        self._settled = [False] * len(graph)

    def match_all(self) -> bool:
        """Grow the matching as far as possible, and return whether it is perfect."""
        for vertex in range(len(self._graph)):
            if self._mate[vertex] is None:
                free = next((n for n in self._graph[vertex] if self._mate[n] is None), None)
                if free is not None:
                    self._mate[vertex], self._mate[free] = free, vertex
        return all(self._augment(vertex) for vertex in range(len(self._graph)))

    def settle(self, one: int, other: int) -> bool:
        """Match two neighbours for good if all others can still be matched; return whether that is so.

        The matching is perfect before and after the call; it is unchanged if the result is false.
        """
        before = list(self._mate)
        alone, also_alone = self._mate[one], self._mate[other]
        self._settled[one] = self._settled[other] = True
        if alone == other:
            return True
        assert alone is not None
        assert also_alone is not None
        self._mate[alone] = self._mate[also_alone] = None
        self._mate[one], self._mate[other] = other, one
        if self._augment(alone):
            return True
        self._mate = before
        self._settled[one] = self._settled[other] = False
        return False

    def _augment(self, root: int) -> bool:
        """Match a free vertex along an augmenting path; return whether there is one."""
        if self._mate[root] is not None:
            return True
        size = len(self._graph)
        self._parent: list[int | None] = [None] * size
        self._base = list(range(size))
        even = [vertex == root for vertex in range(size)]
        queue = deque([root])
        while queue:
            vertex = queue.popleft()
            for near in self._graph[vertex]:
                mate = self._mate[near]
                if (
                    self._settled[near]
                    or self._base[vertex] == self._base[near]
                    or self._mate[vertex] == near
                ):
                    continue
                if near == root or (mate is not None and self._parent[mate] is not None):
                    queue.extend(self._contract(vertex, near, even))
                elif self._parent[near] is None:
                    self._parent[near] = vertex
                    if mate is None:
                        self._flip(near)
                        return True
                    even[mate] = True
                    queue.append(mate)
        return False

    def _contract(self, one: int, other: int, even: list[bool]) -> list[int]:
        """Contract the odd cycle that closes between two vertices; return those that become even by it."""
        base = self._common_base(one, other)
        inside: set[int] = set()
        self._mark(one, base, other, inside)
        self._mark(other, base, one, inside)
        grown = []
        for vertex in range(len(self._graph)):
            if self._base[vertex] in inside:
                self._base[vertex] = base
                if not even[vertex]:
                    even[vertex] = True
                    grown.append(vertex)
        return grown

    def _common_base(self, one: int, other: int) -> int:
        seen = set()
        at: int | None = one
        while at is not None:
            at = self._base[at]
            seen.add(at)
            mate = self._mate[at]
            at = None if mate is None else self._parent[mate]
        at = self._base[other]
        while at not in seen:
            mate = self._mate[at]
            assert mate is not None  # the root, which has none, was seen
            parent = self._parent[mate]
            assert parent is not None
            at = self._base[parent]
        return at

    def _mark(self, vertex: int, base: int, child: int, inside: set[int]) -> None:
        while self._base[vertex] != base:
            mate = self._mate[vertex]
            assert mate is not None
            inside |= {self._base[vertex], self._base[mate]}
            self._parent[vertex] = child
            child = mate
            parent = self._parent[mate]
            assert parent is not None
            vertex = parent

    def _flip(self, end: int) -> None:
        """Exchange matched and unmatched edges along the path to the root."""
        at: int | None = end
        while at is not None:
            before = self._parent[at]
            assert before is not None
            following = self._mate[before]
            self._mate[at], self._mate[before] = before, at
            at = following
