"""The tables of what VGDL knows: complete, and their defaults are of the kind that they promise."""

import pytest

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.language.schema import Parameter, inherit, number, whole
from flagfall.tasks.vgdl.language.tables import EFFECTS, SPRITE_CLASSES, TERMINATIONS, TIMED
from flagfall.tasks.vgdl.language.values import NO_SCORE, ValueKind, fit

TYPES = {
    ValueKind.INT: int,
    ValueKind.FLOAT: float,
    ValueKind.BOOL: bool,
    ValueKind.TEXT: str,
    ValueKind.FLAG: bool,
    ValueKind.SCORE: int,
    ValueKind.COUNTS: tuple,
    ValueKind.DIRECTION: tuple,
    ValueKind.COLOUR: tuple | None,
    ValueKind.SPRITE: None,
    ValueKind.SPRITES: tuple,
}

ROWS = [*SPRITE_CLASSES.values(), *EFFECTS.values(), *TERMINATIONS.values()]

CLASSES = """
    MovingAvatar ShootAvatar OrientedAvatar MissileAvatar FlakAvatar OngoingAvatar OngoingShootAvatar
    OngoingTurningAvatar Immovable Missile SpawnPoint Passive Resource Door Flicker RandomNPC Chaser Bomber
    OrientedFlicker Spreader Fleeing Portal RandomMissile BomberRandomMissile PathChaser RandomBomber
    RandomPathAltChaser LOSChaser PathAltChaser SpawnPointMultiSprite
    Conveyor ErraticMissile Walker WalkerJumper ResourcePack RandomInertial AlternateChaser RandomAltChaser
    SpriteProducer HorizontalAvatar VerticalAvatar NullAvatar AimedAvatar PlatformerAvatar BirdAvatar
    SpaceshipAvatar CarAvatar WizardAvatar LanderAvatar ShootOnlyAvatar
"""


def test_every_class_of_the_original_is_known():
    assert sorted(SPRITE_CLASSES) == sorted(CLASSES.split())


def test_the_58_effects_and_6_terminations_are_known():
    assert len(EFFECTS) == 58
    assert sorted(TERMINATIONS) == [
        "MultiSpriteCounter",
        "MultiSpriteCounterSubTypes",
        "SpriteCounter",
        "SpriteCounterMore",
        "StopCounter",
        "Timeout",
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_defaults_are_of_their_kind(row):
    for key, parameter in row.parameters.items():
        expected = TYPES[parameter.kind]
        if expected is None:
            assert parameter.default is None, key
        else:
            assert isinstance(parameter.default, expected), key
        if expected is int:
            assert not isinstance(parameter.default, bool), key


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("Immovable", "is_static", True),
        ("Door", "portal", True),
        ("Resource", "limit", 2),
        ("Resource", "value", 1),
        ("ResourcePack", "is_static", True),
        ("Missile", "speed", 1.0),
        ("Missile", "is_oriented", True),
        ("RandomMissile", "orientation", (-1.0, -1.0)),
        ("Flicker", "limit", 1),
        ("OrientedFlicker", "speed", 0.0),
        ("Spreader", "spreadprob", 1.0),
        ("SpawnPoint", "is_static", True),
        ("SpawnPoint", "total", 0),
        ("Bomber", "is_static", False),
        ("Bomber", "orientation", (1.0, 0.0)),
        ("RandomBomber", "speed", 1.0),
        ("Fleeing", "fleeing", True),
        ("Chaser", "maxDistance", -1.0),
        ("RandomPathAltChaser", "epsilon", 0.0),
        ("PathAltChaser", "randomTarget", False),
        ("MovingAvatar", "rotateInPlace", False),
        ("ShootAvatar", "rotateInPlace", True),
        ("FlakAvatar", "minAmmo", -1),
        ("MovingAvatar", "limitHealthPoints", 1000),
    ],
)
def test_defaults_of_sprite_classes(name: str, key: str, value: Value):
    assert SPRITE_CLASSES[name].parameters[key].default == value


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("killSprite", "repeat", 1),
        ("killSprite", "enabled", True),
        ("collectResource", "killResource", True),
        ("changeResource", "killResource", False),
        ("transformIfCount", "leq", 10000),
        ("align", "orient", True),
        ("increaseSpeedToAll", "value", 0.1),
    ],
)
def test_defaults_of_effects(name: str, key: str, value: Value):
    assert EFFECTS[name].parameters[key].default == value


def test_actions_stand_in_the_order_in_which_agents_see_them():
    assert SPRITE_CLASSES["ShootAvatar"].actions == ("USE", "LEFT", "RIGHT", "DOWN", "UP")
    assert SPRITE_CLASSES["FlakAvatar"].actions == ("USE", "LEFT", "RIGHT")
    assert all(known.is_avatar == bool(known.actions) for known in SPRITE_CLASSES.values())
    assert all(known.is_avatar == name.endswith("Avatar") for name, known in SPRITE_CLASSES.items())


def test_paths_lead_from_the_outermost_class():
    assert SPRITE_CLASSES["RandomPathAltChaser"].path == (
        "RandomNPC",
        "AlternateChaser",
        "PathAltChaser",
        "RandomPathAltChaser",
    )


def test_a_time_line_takes_three_more():
    assert {key: parameter.default for key, parameter in TIMED.items()} == {
        "timer": -1,
        "nextExecution": -1,
        "repeating": False,
    }


def test_inheriting_changes_defaults_and_adds():
    base = {"speed": number(0.0)}
    assert inherit(base, {"speed": 2.0, "limit": whole(1)}) == {
        "speed": Parameter(ValueKind.FLOAT, 2.0),
        "limit": Parameter(ValueKind.INT, 1),
    }
    with pytest.raises(KeyError):
        inherit(base, {"sped": 2.0})


@pytest.mark.parametrize(
    ("kind", "key", "text", "value"),
    [
        (ValueKind.INT, "limit", "3", 3),
        (ValueKind.INT, "limit", "+3", 3),
        (ValueKind.INT, "limit", "-3", -3),
        (ValueKind.INT, "limit", "1.5", None),
        (ValueKind.INT, "physicstype", "CONT", 1),
        (ValueKind.INT, "limit", "True", None),
        (ValueKind.INT, "limit", "abc", None),
        (ValueKind.FLOAT, "speed", "3", 3.0),
        (ValueKind.FLOAT, "speed", ".5", 0.5),
        (ValueKind.FLOAT, "speed", "5.", 5.0),
        (ValueKind.FLOAT, "speed", "1e-1", 0.1),
        (ValueKind.FLOAT, "speed", "0.5f", 0.5),
        (ValueKind.FLOAT, "speed", "2D", 2.0),
        (ValueKind.FLOAT, "speed", "1_0", None),
        (ValueKind.FLOAT, "speed", "LEFT", None),
        (ValueKind.BOOL, "align", "tRuE", True),
        (ValueKind.BOOL, "align", "false", False),
        (ValueKind.BOOL, "align", "1", None),
        (ValueKind.BOOL, "align", "yes", None),
        (ValueKind.FLAG, "hidden", "TRUE", True),
        (ValueKind.FLAG, "hidden", "True,False", True),
        (ValueKind.FLAG, "win", "no", False),
        (ValueKind.FLAG, "win", "1", None),
        (ValueKind.SCORE, "scoreChange", "-2", -2),
        (ValueKind.SCORE, "scoreChange", "4,7", 4),
        (ValueKind.SCORE, "scoreChange", "1.5", NO_SCORE),
        (ValueKind.SCORE, "scoreChangeIfKilled", "50", 50),
        (ValueKind.COUNTS, "counter", "1,0", (1, 0)),
        (ValueKind.COUNTS, "counter", "1,x", None),
        (ValueKind.COUNTS, "counter", "1", None),
        (ValueKind.DIRECTION, "orientation", "UP", (0.0, -1.0)),
        (ValueKind.DIRECTION, "orientation", "DLEFT", (-1.0, 0.0)),
        (ValueKind.DIRECTION, "orientation", "NIL", (-1.0, -1.0)),
        (ValueKind.DIRECTION, "orientation", "up", None),
        (ValueKind.COLOUR, "color", "RED", (200, 0, 0)),
        (ValueKind.COLOUR, "color", "RANDOM", None),
        (ValueKind.TEXT, "img", "oryx/key2", "oryx/key2"),
        (ValueKind.TEXT, "img", "3", None),
        (ValueKind.SPRITE, "stype", "UP", None),
        (ValueKind.SPRITE, "stype", "true", None),
        (ValueKind.SPRITE, "stype", "box", "box"),
    ],
)
def test_conversion(kind: ValueKind, key: str, text: str, value: object):
    assert fit(kind, key, text) == value
    assert type(fit(kind, key, text)) is type(value)


@pytest.mark.parametrize(
    "text", ["3000000000", "NaN", "Infinity", "-Infinity", "1e10", "1e999", "-9999999999"]
)
def test_numbers_that_no_rule_means_are_refused(text: str):
    with pytest.raises(ValueError, match="out of range"):
        fit(ValueKind.FLOAT, "speed", text)
