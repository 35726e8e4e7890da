"""Planners: they look ahead on copies of a play, which an agent in a match cannot.

They serve tests, lists of winning actions, and as something to compare learners with. A copy draws the same
random numbers as the play itself would, so what a planner foresees is what happens.
"""

from __future__ import annotations

__all__ = ["Plan", "best_first", "greedy", "situation", "tree_search"]

import heapq
import math
from collections.abc import Hashable
from random import Random
from typing import TYPE_CHECKING, Final

import attrs

from flagfall.tasks.vgdl.actions import NIL
from flagfall.tasks.vgdl.engine.cycle import advance
from flagfall.tasks.vgdl.engine.lifecycle import fork

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play

WON: Final = 1
WIN_WORTH: Final = 1e6
"""What a win is worth, in points; a loss costs as much."""

CURIOSITY: Final = math.sqrt(2)
"""The constant of UCB1, with values from 0 to 1 (Kocsis and Szepesvari, 2006)."""


@attrs.frozen
class Plan:
    """What a search found.

    Attributes:
        actions: from the play that was given; the best way that was seen.
        won: whether they win.
        score: the score after them.
        expanded: how many states were looked at.
    """

    actions: tuple[str, ...]
    won: bool
    score: float
    expanded: int


def choices(play: Play) -> tuple[str, ...]:
    """What can be done: nothing, or any action of the avatar."""
    return (NIL, *(action for action in play.available_actions if action != NIL))


def worth(play: Play) -> float:
    """The score, and what the end of the game is worth."""
    if not play.over:
        return float(play.score)
    return float(play.score) + (WIN_WORTH if play.winner == WON else -WIN_WORTH)


def situation(play: Play) -> Hashable:
    """Where everything is, and what everybody has: what a search takes for the same state.

    `Play.key` tells more apart: the tick, what is drawn next, who is tired. A search that went by it would
    see the same board again in every tick.
    """
    things: list[tuple[Hashable, ...]] = []
    for kind, group in zip(play.game.kinds, play.groups, strict=True):
        if kind.fixed:
            things.append(tuple([sprite.id for sprite in group]))
        else:
            things.append(tuple([(s.id, s.x, s.y, s.ox, s.oy, s.health, s.disabled) for s in group]))
    avatar = play.avatar
    return tuple(things), None if avatar is None else (avatar.id, *sorted(avatar.resources.items()))


def greedy(play: Play, random: Random) -> str:
    """The action after which the score is highest at once; any of those that are equally good."""
    values = {}
    for action in choices(play):
        ahead = fork(play)
        advance(ahead, action)
        values[action] = worth(ahead)
    best = max(values.values())
    return random.choice([action for action, value in values.items() if value == best])


class _Novelty:
    """Which facts were seen with which score: where sprites of some type are, and what the avatar has."""

    def __init__(self) -> None:
        self._seen: dict[float, set[Hashable]] = {}

    def is_new(self, play: Play) -> bool:
        """Whether a fact is true here that never was with this score; all are noted."""
        facts: set[Hashable] = {
            (sprite.type, sprite.x, sprite.y)
            for kind, group in zip(play.game.kinds, play.groups, strict=True)
            if not kind.fixed
            for sprite in group
        }
        avatar = play.avatar
        if avatar is not None:
            held = tuple(sorted(avatar.resources.items()))
            facts.add((avatar.type, avatar.x, avatar.y, avatar.ox, avatar.oy, held))
        seen = self._seen.setdefault(play.score, set())
        before = len(seen)
        seen |= facts
        return len(seen) > before


def best_first(play: Play, *, expansions: int = 10_000, depth_cost: float = 0.01) -> Plan:
    """Search from the most promising state on, until one is won.

    States in which something is new come first, those with a higher score before others: best-first width
    search (Lipovetzky and Geffner, 2017), with novelty 1. No situation is looked at twice.

    Args:
        play: where to begin; it is left as it is.
        expansions: how many states are looked at, at most.
        depth_cost: points a tick that a longer way costs.
    """
    best = Plan((), play.winner == WON, float(play.score), 0)
    if play.over:
        return best
    novelty = _Novelty()
    novelty.is_new(play)
    seen = {situation(play)}
    order = 0
    waiting: list[tuple[bool, float, int, tuple[str, ...], Play]] = [(False, 0.0, order, (), play)]
    expanded = 0
    while waiting and expanded < expansions:
        *_, actions, state = heapq.heappop(waiting)
        expanded += 1
        for action in choices(state):
            ahead = fork(state)
            advance(ahead, action)
            path = (*actions, action)
            if ahead.over and ahead.winner == WON:
                return Plan(path, won=True, score=float(ahead.score), expanded=expanded)
            reached = situation(ahead)
            if ahead.over or reached in seen:
                continue
            seen.add(reached)
            if ahead.score > best.score:
                best = Plan(path, won=False, score=float(ahead.score), expanded=expanded)
            order += 1
            cost = depth_cost * len(path) - ahead.score
            heapq.heappush(waiting, (not novelty.is_new(ahead), cost, order, path, ahead))
    return attrs.evolve(best, expanded=expanded)


class _Node:
    """What is known of a row of actions."""

    __slots__ = ("children", "total", "untried", "visits")

    def __init__(self, untried: list[str]) -> None:
        self.children: dict[str, _Node] = {}
        self.untried = untried
        self.visits = 0
        self.total = 0.0


def tree_search(play: Play, random: Random, *, simulations: int = 100, horizon: int = 20) -> str:
    """The action that Monte Carlo tree search (UCT) tries most.

    Args:
        play: where it is; it is left as it is.
        random: of the rollouts and of what is tried first.
        simulations: how many times it plays ahead.
        horizon: how many ticks ahead, at most.
    """
    root = _Node(list(choices(play)))
    start = worth(play)
    low, high = start - 1, start + 1
    for _ in range(simulations):
        ahead = fork(play)
        path = [root]
        while not ahead.over and len(path) <= horizon:
            node = path[-1]
            if node.untried:
                action = node.untried.pop(random.randrange(len(node.untried)))
                advance(ahead, action)
                node.children[action] = _Node(list(choices(ahead)))
                path.append(node.children[action])
                break
            action = _most_promising(node)
            advance(ahead, action)
            path.append(node.children[action])
        for _ in range(horizon + 1 - len(path)):
            if ahead.over:
                break
            advance(ahead, random.choice(choices(ahead)))
        value = worth(ahead)
        if abs(value) < WIN_WORTH / 2:
            low, high = min(low, value), max(high, value)
        share = min(1.0, max(0.0, (value - low) / (high - low)))
        for node in path:
            node.visits += 1
            node.total += share
    return max(root.children, key=lambda action: root.children[action].visits)


def _most_promising(node: _Node) -> str:
    """By UCB1."""
    log = math.log(node.visits)

    def bound(action: str) -> float:
        child = node.children[action]
        return child.total / child.visits + CURIOSITY * math.sqrt(log / child.visits)

    return max(node.children, key=bound)
