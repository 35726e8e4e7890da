"""Damaged games and levels are refused, with a place, or can be played, seen and copied; nothing else."""

from pathlib import Path
from random import Random

import pytest

from flagfall.tasks.vgdl.definition import ACTIONS
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, fork, start
from flagfall.tasks.vgdl.engine.serialization import dump, load, state_key
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import read_level
from flagfall.tasks.vgdl.language.values import GameError
from flagfall.tasks.vgdl.rendering.painter import Painter
from flagfall.tasks.vgdl.task_id import game_ids, game_path
from flagfall.tasks.vgdl.views.observer import Observer
from flagfall.tasks.vgdl.views.planes import PlanesView, TextView
from flagfall.tasks.vgdl.views.state_json import StateWriter
from tests.tasks.vgdl.mutants import mutant
from tests.tasks.vgdl.plain_collisions import plain_advance

PUBLIC = Path(__file__).parents[3] / "../shared/data/gvgai/games"
MUTANTS = 40
TICKS = 16
MOST_SPRITES = 150
"""Comparing all sprites with all takes long."""


def sources() -> list[Path]:
    """The public games where they are at hand, and ours."""
    public = [path for path in sorted(PUBLIC.glob("*.txt")) if "_lvl" not in path.stem]
    return public + [game_path(name) for name in game_ids()]


def damaged(seed: int) -> tuple[Game, str] | None:
    """A damaged game that can be played, with a level's text; `None` where it is refused."""
    chance = Random(seed)
    path = chance.choice(sources())
    level = path.with_name(f"{path.stem}_lvl{chance.randrange(5)}.txt")
    texts = mutant(path.read_text("utf-8", "replace"), level.read_text("utf-8", "replace"), chance)
    try:
        return compile_game(read_game(texts[0])), texts[1]
    except GameError:  # says the place, as it cannot be made without one
        return None


class Looker:
    """Looks at a play in all ways."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.observer = Observer(play)
        self.planes = PlanesView(play.game.definition, play.width, play.height)
        self.text = TextView(play.game.definition)
        self.writer = StateWriter()
        self.painter = Painter(play, 4)

    def look(self) -> None:
        state = self.observer.observe()
        assert state == Observer(self.play).observe()
        assert self.planes.space.contains(self.planes.view(state))
        assert self.text.space(self.play.width, self.play.height).contains(self.text.show(state))
        assert self.writer.write(state, "ACT").startswith("{")
        self.painter.paint()


def copy(play: Play) -> None:
    """Copies are in the play's state, and go on alike without it."""
    key = state_key(play)
    forked, loaded = fork(play), load(play.game, dump(play))
    assert state_key(forked) == state_key(loaded) == key
    for each in (forked, loaded):
        advance(each, "NIL")
    assert state_key(forked) == state_key(loaded)
    assert state_key(play) == key


@pytest.mark.filterwarnings("ignore::flagfall.tasks.vgdl.language.values.CutShortWarning")
@pytest.mark.parametrize("batch", range(8))
def test_whatever_is_damaged_is_refused_or_played(batch: int) -> None:
    for seed in range(batch * MUTANTS, (batch + 1) * MUTANTS):
        found = damaged(seed)
        if found is None:
            continue
        game, text = found
        try:
            level = read_level(game.definition, text)
        except GameError:
            continue
        chance = Random(seed)
        block = chance.choice((10, None))
        play, plain = start(game, level, seed, block), start(game, level, seed, block)
        looker = Looker(play)
        compared = True
        for tick in range(TICKS):
            action = chance.choice((*ACTIONS, "NIL"))
            advance(play, action)
            broken_off = play.over and play.winner == -1
            compared = compared and not broken_off and sum(map(len, play.groups)) < MOST_SPRITES
            if compared:
                plain_advance(plain, action)
                assert state_key(plain) == state_key(play), seed
            if tick % 5 == 0 or play.over:
                looker.look()
                copy(play)
            if play.over:
                break
