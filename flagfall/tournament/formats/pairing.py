"""Who meets whom in a round: rounds of a round robin, and pairs under wishes.

A perfect matching of a graph leaves nobody over. `can_pair` decides by Edmonds' blossom algorithm whether
there is one (J. Edmonds, "Paths, trees, and flowers", 1965).
"""

from __future__ import annotations

__all__ = ["can_pair", "circle_rounds", "pair_up"]

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

_T = TypeVar("_T")

Graph: TypeAlias = Sequence[Iterable[int]]
"""The neighbours of each vertex."""


def circle_rounds(agents: Sequence[_T]) -> list[list[tuple[_T, _T]]]:
    """The rounds of a round robin by the circle method: each pair once, everybody at most once a round.

    With an odd number, another one has no partner in each round. Who comes first in a pair alternates.
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


def pair_up(
    agents: Sequence[_T], allowed: Callable[[_T, _T], bool], wish: Callable[[_T, _T], float]
) -> list[tuple[_T, _T]] | None:
    """Pairs of all agents; `None` where that cannot be.

    The first agent gets the partner that it would have by its wishes, of those who leave the others a
    pairing; and so on.

    Args:
        agents: the most important first.
        allowed: whether two may meet.
        wish: how bad a partner is; of equally good ones the first is taken.
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
        partners.sort(key=lambda other: wish(agents[first], agents[other]))
        partner = next(partner for partner in partners if matching.settle(first, partner))
        pairs.append((agents[first], agents[partner]))
        del left[first], left[partner]
    return pairs


def can_pair(graph: Graph) -> bool:
    """Whether the graph has a perfect matching."""
    return _Matching(graph).match_all()


class _Matching:
    """A matching that grows along augmenting paths; odd cycles on the way count as one vertex.

    Args:
        graph: undirected: each neighbour has the other one, too.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._mate: list[int | None] = [None] * len(graph)
        self._settled = [False] * len(graph)

    def match_all(self) -> bool:
        """Grow it as far as it goes; whether nobody is left over."""
        for vertex in range(len(self._graph)):
            if self._mate[vertex] is None:
                free = next((n for n in self._graph[vertex] if self._mate[n] is None), None)
                if free is not None:
                    self._mate[vertex], self._mate[free] = free, vertex
        return all(self._augment(vertex) for vertex in range(len(self._graph)))

    def settle(self, one: int, other: int) -> bool:
        """Match two neighbours for good, if everybody else can be matched then; nothing changes otherwise.

        Everybody has to be matched before, and is after.
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
        """Match a free vertex, where that can be."""
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
        """An odd cycle closes between two vertices: all on it get one base; those that were not are even."""
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
        """Along the path to the root, what was matched is not, and the other way round."""
        at: int | None = end
        while at is not None:
            before = self._parent[at]
            assert before is not None
            following = self._mate[before]
            self._mate[at], self._mate[before] = before, at
            at = following
