"""Our own games have scores dense enough to learn from: a table of values beats chance in 150 plays."""

from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING

import pytest

from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.task_id import game_path, level_path

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play

BLOCK = 10
PLAYS = 150
LAST = 30
TICKS = 200
STEP, DISCOUNT, HASTE, WIN = 0.3, 0.97, 0.01, 5.0


class Table:
    """Values of actions by state: where the avatar is, what it holds, how many of everything there are."""

    def __init__(self, random: Random) -> None:
        self.values: defaultdict[object, dict[str, float]] = defaultdict(dict)
        self.random = random

    def seen(self, play: "Play") -> object:
        avatar = play.avatar
        assert avatar is not None
        held = tuple(sorted((avatar.resources or {}).items()))
        return avatar.x, avatar.y, held, tuple(map(len, play.groups))

    def choose(self, play: "Play", chance: float) -> str:
        values = self.values[self.seen(play)]
        for action in play.available_actions:
            values.setdefault(action, 0.0)
        if self.random.random() < chance:
            return self.random.choice(play.available_actions)
        best = max(values.values())
        return self.random.choice([action for action, value in values.items() if value == best])

    def play(self, play: "Play", chance: float) -> float:
        while not play.over and play.tick < TICKS:
            state, score, action = self.seen(play), play.score, self.choose(play, chance)
            advance(play, action)
            gain = play.score - score - HASTE + WIN * (play.winner == 1)
            ahead = max(self.values[self.seen(play)].values(), default=0.0) * (not play.over)
            self.values[state][action] += STEP * (gain + DISCOUNT * ahead - self.values[state][action])
        return play.score


@pytest.mark.parametrize("name", ["gatedash", "gearworks", "wellpaths"])
def test_a_table_of_values_beats_chance(name: str):
    game = compile_game(load_game(game_path(name)))
    level = load_level(game.definition, level_path(game_path(name), 0))
    table = Table(Random(0))
    by_chance = [Table(Random(seed)).play(start(game, level, seed, BLOCK), chance=1) for seed in range(LAST)]
    learned = [
        table.play(start(game, level, seed, BLOCK), chance=max(0.05, 1 - 1.5 * seed / PLAYS))
        for seed in range(PLAYS)
    ]
    assert sum(learned[-LAST:]) / LAST > sum(by_chance) / LAST + 1
