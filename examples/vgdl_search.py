"""Search for good actions on copies of a play, which agents in a match do not have.

    python examples/vgdl_search.py vgdl:windfall#0 --seed 7

For lists of winning actions, and comparison with learners. A copy draws the same random numbers as the play
itself, so a search predicts the play exactly.
"""

from __future__ import annotations

import argparse
import heapq
import math
from collections.abc import Hashable
from random import Random
from typing import Any, Final, TypeAlias

import attrs

from flagfall.tasks import advance, fork, make_task

Play: TypeAlias = Any  # the `play` of a task

WON: Final = 1
WIN_WORTH: Final = 1e6
"""Value of a win in points; a loss has the negative value."""

CURIOSITY: Final = math.sqrt(2)
"""Constant of UCB1, for values from 0 to 1 (Kocsis and Szepesvari, 2006)."""


@attrs.frozen
class SearchResult:
    """Result of a search.

    Attributes:
        actions: best sequence that was found.
        won: it wins the game.
        score: after these actions.
        expanded: number of expanded states.
    """

    actions: tuple[str, ...]
    won: bool
    score: float
    expanded: int


def choices(play: Play) -> tuple[str, ...]:
    """Return `NIL` and the actions of the avatar.

    Args:
        play: at any tick.
    """
    return ("NIL", *(action for action in play.available_actions if action != "NIL"))


def worth(play: Play) -> float:
    """Return the score, plus the value of a win or loss.

    Args:
        play: at any tick.
    """
    if not play.over:
        return float(play.score)
    return float(play.score) + (WIN_WORTH if play.winner == WON else -WIN_WORTH)


def situation(play: Play) -> Hashable:
    """Return positions and possessions of all sprites: by this value, a search compares states.

    `flagfall.tasks.state_key` distinguishes more: the tick, the next draws, cooldowns. With it, a search
    would visit the same board again in every tick.

    Args:
        play: at any tick.
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
    """Return the action with the highest value after one tick; a random one of several.

    Args:
        play: the play, which is not changed.
        random: for the choice among equal actions.
    """
    values = {}
    for action in choices(play):
        ahead = fork(play)
        advance(ahead, action)
        values[action] = worth(ahead)
    best = max(values.values())
    return random.choice([action for action, value in values.items() if value == best])


class _Novelty:
    """Facts that have been seen, by score: positions of sprites, and possessions of the avatar."""

    def __init__(self) -> None:
        self._seen: dict[float, set[Hashable]] = {}

    def is_new(self, play: Play) -> bool:
        """Return whether a fact of this play has not been seen with its score; record all facts.

        Args:
            play: at any tick.
        """
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


def best_first(play: Play, *, expansions: int = 10_000, depth_cost: float = 0.01) -> SearchResult:
    """Search for a win, from the most promising state on.

    States with new facts come first, those with a higher score before others: best-first width search
    (Lipovetzky and Geffner, 2017), with novelty 1. No situation is expanded twice.

    Args:
        play: the start, which is not changed.
        expansions: limit of expanded states.
        depth_cost: cost of a tick, in points.
    """
    best = SearchResult((), play.winner == WON, float(play.score), 0)
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
                return SearchResult(path, won=True, score=float(ahead.score), expanded=expanded)
            reached = situation(ahead)
            if ahead.over or reached in seen:
                continue
            seen.add(reached)
            if ahead.score > best.score:
                best = SearchResult(path, won=False, score=float(ahead.score), expanded=expanded)
            order += 1
            cost = depth_cost * len(path) - ahead.score
            heapq.heappush(waiting, (not novelty.is_new(ahead), cost, order, path, ahead))
    return attrs.evolve(best, expanded=expanded)


class _Node:
    """Statistics of a sequence of actions."""

    __slots__ = ("children", "total", "untried", "visits")

    def __init__(self, untried: list[str]) -> None:
        self.children: dict[str, _Node] = {}
        self.untried = untried
        self.visits = 0
        self.total = 0.0


def tree_search(play: Play, random: Random, *, simulations: int = 100, horizon: int = 20) -> str:
    """Return the most visited action of a Monte Carlo tree search (UCT).

    Args:
        play: the start, which is not changed.
        random: for rollouts and for the order of untried actions.
        simulations: number of simulated sequences.
        horizon: limit of ticks of a sequence.
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
    """Return the child with the highest UCB1 bound."""
    log = math.log(node.visits)

    def bound(action: str) -> float:
        child = node.children[action]
        return child.total / child.visits + CURIOSITY * math.sqrt(log / child.visits)

    return max(node.children, key=bound)


def main() -> None:
    """Search for a win of a level, and print the actions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", nargs="?", default="vgdl:windfall#0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--expansions", type=int, default=10_000)
    arguments = parser.parse_args()
    task: Any = make_task(arguments.task)
    task.reset(arguments.seed)
    found = best_first(task.play, expansions=arguments.expansions)
    print("won" if found.won else "not won", f"score {found.score:g}:", *found.actions)


if __name__ == "__main__":
    main()
