"""An effect or a sprite class is a row and a behaviour; either without the other is refused at import."""

import subprocess
import sys

import attrs
import pytest

from flagfall.tasks.vgdl.engine.behaviour import ACTS, MAKERS, UPDATES, effect
from flagfall.tasks.vgdl.engine.cycle import advance
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.language.schema import Changes, EffectSchema, Needs
from flagfall.tasks.vgdl.language.tables import EFFECTS, SPRITE_CLASSES, TERMINATIONS
from tests.tasks.vgdl.small_games import begin, places, run

EFFECT_ROW = "from flagfall.tasks.vgdl.language.tables import EFFECTS as T; T['dance'] = T['align']"
SPRITE_ROW = (
    "import attrs; from flagfall.tasks.vgdl.language.tables import SPRITE_CLASSES as T;"
    "T['Dancer'] = attrs.evolve(T['{base}'], name='Dancer', behaviour='dance')"
)
TERMINATION_ROW = (
    "from flagfall.tasks.vgdl.language.tables import TERMINATIONS as T; T['Dance'] = T['Timeout']"
)
BEHAVIOUR = "from flagfall.tasks.vgdl.engine.behaviour import effect; effect('dance')(max)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (EFFECT_ROW, "effects without a behaviour, or without a row: ['dance']"),
        (BEHAVIOUR, "effects without a behaviour, or without a row: ['dance']"),
        (SPRITE_ROW.format(base="Missile"), "the sprite class Dancer has no behaviour: 'dance'"),
        (SPRITE_ROW.format(base="MovingAvatar"), "the sprite class Dancer has no behaviour: 'dance'"),
        (TERMINATION_ROW, "terminations without a test, or without a row: ['Dance']"),
    ],
)
def test_a_row_without_behaviour_fails_at_import(change: str, message: str) -> None:
    program = f"{change}\nimport flagfall.tasks.vgdl.engine.compiler"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr.splitlines()[-1]


def test_a_name_has_one_behaviour() -> None:
    with pytest.raises(TypeError, match="killSprite has two behaviours"):
        effect("killSprite")(max)
    with pytest.raises(TypeError, match="two behaviours 'chaser'"):
        UPDATES.plain("chaser")(lambda _play, _sprites: None)


def test_a_row_and_a_function_are_an_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    row = EffectSchema("grow", EFFECTS["align"].parameters, Needs.FIRST, Changes.FIRST)
    monkeypatch.setitem(EFFECTS, "grow", row)
    monkeypatch.setitem(MAKERS, "grow", MAKERS["align"])  # is removed again at the end of the test
    del MAKERS["grow"]

    @effect("grow")
    def grow(line, _play, first, _second):
        first.w += 1
        return line.score

    play = run(begin("avatar > MovingAvatar\na > Immovable", "a avatar > grow scoreChange=2", "Aa"), "RIGHT")
    assert [sprite.w for sprite in play.groups[play.game.definition.type_named("a").id]] == [11]
    assert play.score == 2


def test_a_row_and_a_function_are_a_sprite_class(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, base, table in (("Hopper", "Immovable", UPDATES), ("HopAvatar", "MovingAvatar", ACTS)):
        row = attrs.evolve(SPRITE_CLASSES[base], name=name, behaviour="hop")
        monkeypatch.setitem(SPRITE_CLASSES, name, row)
        monkeypatch.setitem(table, "hop", next(iter(table.values())))  # is removed again at the end
        del table["hop"]

    @UPDATES.plain("hop")
    def hop_all(_play, sprites):
        for sprite in sprites:
            sprite.x += 20

    @ACTS.plain("hop")
    def hop(_play, avatar: Sprite, action: str) -> None:
        avatar.x += 20 * (action == "RIGHT")

    play = begin("avatar > HopAvatar\na > Hopper", "", "A..../a....")
    advance(play, "RIGHT")
    assert (places(play, "avatar"), places(play, "a")) == ([(20, 0)], [(20, 10)])


def test_rows_have_the_names_of_their_keys() -> None:
    for table in (EFFECTS, SPRITE_CLASSES, TERMINATIONS):
        assert list(table) == [row.name for row in table.values()]
