"""The text of a game's goal and rules, generated from its definition."""

from __future__ import annotations

import pytest

from flagfall.tasks.catalog import make_task
from flagfall.tasks.vgdl.instructions import ENDS, instructions_of
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.tables import TERMINATIONS
from tests.tasks.vgdl.small_games import text


def said(terminations: str, interactions: str = "") -> list[str]:
    sprites = "avatar > FlakAvatar stype=b\na > Immovable\nb > Missile\nc > Resource"
    return instructions_of(read_game(text(sprites, interactions, terminations))).splitlines()


@pytest.mark.parametrize(
    ("termination", "sentence"),
    [
        ("SpriteCounter stype=a limit=0 win=True", "no a is left: you win"),
        ("SpriteCounter stype=a limit=2 win=False", "at most 2 a are left: you lose"),
        ("SpriteCounterMore stype=a limit=3 win=True", "there are 3 or more a: you win"),
        ("MultiSpriteCounter stype1=a stype2=b limit=0 win=True", "no a or b is left: you win"),
        (
            "MultiSpriteCounter stype1=a stype2=b limit=4 win=True",
            "there are exactly 4 a and b in all: you win",
        ),
        (
            "MultiSpriteCounter stype1=a limit=4 min=True win=True",
            "there are more than 4 a in all: you win",
        ),
        (
            "MultiSpriteCounterSubTypes stype1=a limit=1 subTypesNum=2 win=False",
            "there are exactly 1 a, of exactly 2 kinds: you lose",
        ),
        ("Timeout limit=50 win=True", "50 ticks have passed: you win"),
        ("Timeout limit=50 count_score=True", "50 ticks have passed: you win if the score is not 0"),
        (
            "Timeout limit=50 use_counter=True limits=1",
            "50 ticks have passed: the counters of the game decide",
        ),
        ("StopCounter stype1=a limit=2", "(not by counts while there are exactly 2 a in all)"),
    ],
)
def test_every_end_of_a_game_is_told(termination: str, sentence: str):
    lines = said(termination)
    at = lines.index("The game ends as soon as one of these holds; the first one decides:")
    assert lines[at + 1] == f"- {sentence}"
    assert ("- 2000 ticks have passed: you lose" in lines) is not termination.startswith("Timeout")


def test_there_is_a_sentence_for_each_termination():
    assert ENDS.keys() == TERMINATIONS.keys()


def test_scores_and_deaths_are_told_with_their_conditions():
    lines = said(
        "Timeout limit=9",
        """a avatar > killIfOtherHasMore resource=c limit=2 scoreChange=5
           avatar a b > killSprite scoreChange=-1
           b avatar > killBoth
           b EOS > killSprite
           c avatar > collectResource""",
    )
    assert lines[lines.index("The score changes when:") + 1 :] == [
        "- a meets avatar: +5 (kill if other has more: resource c, limit 2)",
        "- avatar meets a or b: -1 (kill sprite)",
        "",
        "The avatar can be killed when:",
        "- avatar meets a or b (kill sprite)",
        "- b meets avatar (kill both)",
    ]


def test_actions_are_those_of_the_avatar():
    assert said("Timeout limit=9")[0].endswith("the avatar: NIL (do nothing), LEFT, RIGHT, USE.")
    assert "UP, LEFT, DOWN, RIGHT, USE" in make_task("vgdl:causeway#0").instructions
