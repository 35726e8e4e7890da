"""Texts to games: what each construct means, what is told, and what is refused where."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.definition import EffectContext, GameDefinition
from flagfall.tasks.vgdl.language.game_parser import load_game, read_game
from flagfall.tasks.vgdl.language.line_tree import MAX_DEPTH, MAX_LINES, MAX_TEXT, MAX_WORD, MAX_WORDS
from flagfall.tasks.vgdl.language.sprite_set import MAX_PARAMETERS, MAX_TYPES
from flagfall.tasks.vgdl.language.values import MAX_NOTICES, CutShortWarning, GameError

ORCHARD = """\
BasicGame square_size=24 key_handler=Pulse # a game of ours
  SpriteSet
    ground > Immovable hidden=True img=none
    fruit >
      apple > Resource limit=7 color=RED
      pear > Resource value=3
    beast > RandomNPC cooldown=2
      wasp > speed=0.5
      bear > Chaser stype=picker cons=3
    nest > SpawnPoint stype=wasp total=4 prob=0.25 orientation=LEFT
    picker > ShootAvatar stype=stone,apple ammo=apple healthPoints=5
    stone > Missile singleton=TRUE

  LevelMapping
    . > ground
    a > ground apple
    P > ground picker
    # > not a mapping but a comment

  InteractionSet
    picker wall > stepBack
    fruit picker > collectResource scoreChange=2
    picker beast wall > killSprite scoreChange=-1
    beast EOS > wrapAround
    TIME wasp > transformTo stype=bear timer=20 repeating=True
    bear stone > addTimer timer=9 ftype=transformToAll stype=bear stypeTo=wasp scoreChange=1
    picker wall > undoAll notStype=wasp,bear

  TerminationSet
    SpriteCounter stype=fruit win=True
    Timeout limit=900 win=False
"""


def text_of(*blocks: str, sprites: str = "hero > MovingAvatar", header: str = "BasicGame") -> str:
    lines = [header, "  SpriteSet", *(f"    {line}" for line in sprites.split("\n"))]
    for block in blocks:
        title, *rest = block.split("\n")
        lines += [f"  {title}", *(f"    {line}" for line in rest)]
    return "\n".join(lines)


def named(game: GameDefinition, *types: int) -> list[str]:
    return [game.types[number].name for number in types]


def test_ids_come_in_the_order_of_first_mention():
    game = read_game(ORCHARD, "fields/orchard.txt")
    assert game.name == "orchard"
    assert [known.name for known in game.types] == [
        *("wall", "avatar", "ground", "fruit", "apple", "pear", "beast", "wasp", "bear"),
        *("nest", "picker", "stone"),
    ]
    assert [known.id for known in game.types] == list(range(12))
    assert game.notices[0].text == "its class is RandomNPC, as inherited; 'Chaser' counts for the lines below"
    assert str(game.notices[0].place) == "fields/orchard.txt:9:14"


def test_header():
    game = read_game(ORCHARD)
    assert (game.square_size, game.counters, game.obstacles) == (24, 0, None)
    assert read_game(text_of()).square_size is None
    chased = read_game(
        text_of(sprites="a > Immovable\nb > Immovable", header="BasicGame obs=b,wall no_counters=3")
    )
    assert (named(chased, *(chased.obstacles or ())), chased.counters) == (["b", "wall"], 3)


def test_a_class_from_above_overrides_and_the_written_one_goes_on():
    sprites = "p > Missile\n  c > Door\n  q > Door\n    r >\n    s > Flicker\n  t >\n    u > Passive"
    game = read_game(text_of(sprites=sprites))
    kinds = [f"{known.name} {known.kind}" for known in game.types[2:]]
    assert kinds == ["p Missile", "c Missile", "q Missile", "r Door", "s Door", "t Missile", "u Missile"]


def test_parameters_are_inherited_and_siblings_do_not_leak():
    sprites = "p > Missile speed=0.5 cooldown=4\n  c > speed=2\n    d > cooldown=3\n  e > orientation=UP"
    game = read_game(text_of(sprites=sprites))
    values = {name: game.type_named(name).parameters for name in "pcde"}
    assert [values[name]["speed"] for name in "pcde"] == [0.5, 2.0, 2.0, 0.5]
    assert [values[name]["cooldown"] for name in "pcde"] == [4, 4, 3, 4]
    assert [values[name]["orientation"] for name in "pcde"] == [(0, 0), (0, 0), (0, 0), (0, -1)]


def test_every_parameter_of_a_class_is_there():
    game = read_game(ORCHARD)
    picker = game.type_named("picker")
    assert named(game, *picker.parameters["stype"]) == ["stone", "apple"]
    assert named(game, *picker.parameters["ammo"]) == ["apple"]
    assert picker.parameters["healthPoints"] == picker.parameters["maxHealthPoints"] == 5
    assert picker.parameters["limitHealthPoints"] == 1000
    assert picker.parameters["rotateInPlace"] is True
    nest = game.type_named("nest").parameters
    assert (nest["total"], nest["prob"], nest["stype"]) == (4, 0.25, game.type_named("wasp").id)
    assert nest["is_oriented"] is True
    assert game.type_named("ground").parameters["hidden"] is True
    assert game.type_named("fruit").parameters == {}


def test_what_a_sprite_makes_of_its_parameters():
    game = read_game(
        text_of(
            sprites="a > Passive cooldown=0 healthPoints=9 maxHealthPoints=4\nb > Passive orientation=NONE"
        )
    )
    a, b = game.type_named("a").parameters, game.type_named("b").parameters
    assert (a["cooldown"], a["healthPoints"], a["maxHealthPoints"]) == (1, 4, 4)
    assert b["is_oriented"] is False


def test_subtypes_begin_with_the_path():
    game = read_game(text_of(sprites="a > Passive\n  b >\n    c >\n    d >\n  e >\nf > Passive"))
    subtypes = {known.name: "".join(named(game, *known.subtypes)) for known in game.types}
    del subtypes["wall"], subtypes["avatar"]
    assert subtypes == {"a": "abcde", "b": "abcd", "c": "abc", "d": "abd", "e": "ae", "f": "f"}
    assert named(game, *game.type_named("d").path) == ["a", "b", "d"]


def test_draw_order_has_leaves_and_the_avatar_last():
    game = read_game(
        text_of(sprites="a > Passive\navatar > MovingAvatar\nb > Passive\nwall > Immovable\na > Door")
    )
    assert named(game, *game.order) == ["b", "wall", "a", "avatar"]
    assert [known.name for known in game.types] == ["wall", "avatar", "a", "b"]
    assert game.type_named("a").kind == "Door"


def test_wall_and_avatar_as_parents_keep_their_places():
    game = read_game(text_of(sprites="avatar > MovingAvatar\n  x >\n  y >\nwall > Immovable\n  z >"))
    assert named(game, *game.order) == ["wall", "x", "y", "z", "avatar"]


def test_a_singleton_is_one_only_where_it_says_so():
    game = read_game(
        text_of(sprites="a > Passive singleton=True\n  b >\nc > Passive singleton=1\nd > Door singleton=tRUE")
    )
    assert [known.name for known in game.types if known.singleton] == ["a", "d"]
    assert [notice.text for notice in game.notices] == [
        "'singleton=1' is not True or False; it is ignored, it stays False"
    ]


def test_only_the_class_resource_itself_limits():
    game = read_game(
        text_of(sprites="a > Resource\nb > Resource limit=9\nc > ResourcePack limit=9\nd > Flicker limit=9")
    )
    assert game.limits == (0, 0, 2, 9, 0, 0)


def test_wall_and_avatar_come_built_in():
    game = read_game(text_of())
    wall, avatar = game.types[:2]
    assert (wall.kind, wall.parameters["solid"], wall.parameters["color"]) == (
        "Immovable",
        True,
        (30, 30, 30),
    )
    assert (avatar.kind, avatar.place) == ("MovingAvatar", None)
    assert game.mapping == {"w": (0,), "A": (1,)}


def test_mapping():
    game = read_game(text_of("LevelMapping\n. > wall avatar\nw > hero\n. > hero hero\n= > wall\nab > wall"))
    hero = game.type_named("hero").id
    assert game.mapping == {"w": (hero,), "A": (1,), ".": (hero, hero), "=": (0,), "a": (0,)}
    assert [str(notice) for notice in game.notices] == ["game:9:5: only 'a' of 'ab' counts"]


def test_rules_in_file_order():
    game = read_game(ORCHARD)
    table = [
        (rule.effect, rule.context.name, named(game, rule.first), named(game, *rule.seconds), rule.place.line)
        for rule in game.rules
    ]
    assert table == [
        ("stepBack", "PAIR", ["picker"], ["wall"], 21),
        ("collectResource", "PAIR", ["fruit"], ["picker"], 22),
        ("killSprite", "PAIR", ["picker"], ["beast", "wall"], 23),
        ("wrapAround", "EDGE", ["beast"], [], 24),
        ("transformTo", "TIME", ["wasp"], [], 25),
        ("addTimer", "PAIR", ["bear"], ["stone"], 26),
        ("undoAll", "PAIR", ["picker"], ["wall"], 27),
    ]


def test_parameters_of_rules():
    game = read_game(ORCHARD)
    _, collect, kill, _, timed, later, undo = game.rules
    assert (collect.parameters["scoreChange"], collect.parameters["killResource"]) == (2, True)
    assert (kill.parameters["scoreChange"], set(kill.written)) == (-1, {"scoreChange"})
    assert (timed.parameters["timer"], timed.parameters["repeating"], timed.parameters["nextExecution"]) == (
        20,
        True,
        -1,
    )
    assert later.inner is not None
    assert (later.inner.effect, later.parameters["timer"]) == ("transformToAll", 9)
    assert later.inner.parameters["stypeTo"] == game.type_named("wasp").id
    assert named(game, *undo.parameters["notStype"]) == ["wasp", "bear"]


@pytest.mark.parametrize("line", ["EOS hero > killSprite", "hero EOS > killSprite", "hero eos > killSprite"])
def test_edge_rules(line: str):
    (rule,) = read_game(text_of(f"InteractionSet\n{line}")).rules
    assert (rule.context, rule.first, rule.seconds) == (EffectContext.EDGE, 2, ())


def test_an_edge_among_sprites_makes_two_rules_of_one_place():
    pair, edge = read_game(text_of("InteractionSet\nhero EOS wall hero > stepBack")).rules
    assert (pair.context, pair.seconds) == (EffectContext.PAIR, (0, 2))
    assert (edge.context, edge.first) == (EffectContext.EDGE, 2)
    assert pair.place == edge.place


def test_a_sprite_may_be_called_eos():
    (rule,) = read_game(
        text_of("InteractionSet\nhero EOS > stepBack", sprites="EOS > Door\nhero > MovingAvatar")
    ).rules
    assert (rule.context, rule.seconds) == (EffectContext.PAIR, (2,))


def test_the_last_word_is_the_effect_and_parameters_stand_anywhere():
    (rule,) = read_game(
        text_of("InteractionSet\nhero scoreChange=3 wall > cloneSprite killSprite repeat=4")
    ).rules
    assert (rule.effect, rule.parameters["scoreChange"], rule.parameters["repeat"]) == ("killSprite", 3, 4)


def test_terminations():
    game = read_game(ORCHARD)
    counter, timeout = game.terminations
    assert (counter.kind, counter.parameters["stype"], counter.parameters["limit"]) == ("SpriteCounter", 3, 0)
    assert (counter.parameters["win"], timeout.parameters["win"]) == (True, False)
    assert timeout.parameters["limit"] == 900


def test_a_tab_is_one_column_and_line_ends_do_not_matter():
    text = (
        "BasicGame\r\n\tSpriteSet\r\n\t\ta > Door\r\n   # no\r\n\r\n\tTerminationSet\r\n\t\tTimeout limit=5"
    )
    game = read_game(text)
    assert read_game(text.replace("\r\n", "\r")) == read_game(text.replace("\r\n", "\n")) == game
    assert (len(game.terminations), game.terminations[0].place.column) == (1, 3)


def test_comments_of_many_signs_are_blank():
    assert (
        read_game("####\nBasicGame\n######\n  SpriteSet\n    a > Door # b > Door").type_named("a").kind
        == "Door"
    )


TOLD_SPRITES = [
    ("a > Door lmit=2", "3:14: Door has no parameter 'lmit'"),
    ("a > Flicker limit=1.5", "3:17: 'limit=1.5' is not an integer; it is ignored, it stays 1"),
    ("a > Door color=RANDOM", "3:14: 'color=RANDOM' is not a colour; it is ignored, it stays (90, 90, 90)"),
    ("a > Passive img=3", "3:17: 'img=3' is not a text; it is ignored, it stays ''"),
    ("a > FlakAvatar stype=avatar ammo=LEFT", "3:33: 'ammo=LEFT' is not a sprite's name; it is ignored"),
    ("a > b Door", "3:9: 'b' is ignored; 'Door' is the class"),
    (
        "b > Door\n  c > Missile",
        "4:11: its class is Door, as inherited; 'Missile' counts for the lines below",
    ),
    ("a\nb > Door", "3:5: no '>' after 'a'; the following lines beside it are ignored, too"),
    ("b > Door\na", "4:5: no '>' after 'a'"),
    ("a > Door limit=", "3:14: 'limit=' has no value; the line is ignored"),
    ("a >\n  b > Door\n    c >\n   d >", "6:8: indented by 7, but its siblings by 8; it is kept with them"),
]
TOLD_BLOCKS = [
    ("spriteset\na > Door", "4:3: 'spriteset' is not a block and is ignored; the blocks are SpriteSet,"),
    ("LevelMapping\nx", "5:5: a mapping is 'character > sprite ...'"),
    ("LevelMapping\nxy > hero", "5:5: only 'x' of 'xy' counts"),
    ("LevelMapping\nx > ghost", "5:9: 'x' cannot be used in a level: unknown sprite 'ghost'"),
    ("LevelMapping\nx > hero\n  y > hero", "6:7: indented below 'x' of line 5, which takes no lines"),
    ("InteractionSet\nhero wall > a stepBack", "5:17: 'a' is ignored; 'stepBack' is the effect"),
    ("InteractionSet\nhero wall > stepBack stype=hero", "5:26: stepBack has no parameter 'stype'"),
    ("InteractionSet\nhero TIME > killSprite tmer=3", "5:28: killSprite has no parameter 'tmer'"),
    ("InteractionSet\nhero wall > killSprite scoreChange=x", "5:28: 'scoreChange=x' is not an integer"),
    ("InteractionSet\nhero wall > shieldFrom stype=wall ftype=kill", "5:39: there is no effect 'kill'"),
    ("InteractionSet\nhero wall > killSprite\n  x y > z", "6:7: indented below 'hero' of line 5, which"),
    ("TerminationSet\nTimeout wins=True", "5:13: Timeout has no parameter 'wins'"),
    (
        "TerminationSet\nTimeout win=1",
        "5:13: 'win=1' is not the text True or False; it is ignored, it stays False",
    ),
]
TOLD_HEADERS = [
    ("BasicGame speed=2", "1:11: a game has no parameter 'speed'"),
    ("BasicGame square_size=2.5", "1:11: 'square_size=2.5' is not an integer; it is ignored, it stays -1"),
]
TOLD = [
    *((text_of(sprites=sprites), told) for sprites, told in TOLD_SPRITES),
    *((text_of(block), told) for block, told in TOLD_BLOCKS),
    *((text_of(header=header), told) for header, told in TOLD_HEADERS),
    (
        "BasicGame\n SpriteSet\nTerminationSet",
        "3:1: a second line at the level of the first; 'TerminationSet'",
    ),
]
LOGGED = [
    *(
        "has no value",
        "indented by",
        "a second line",
        "stepBack has no parameter",
        "Timeout has no parameter",
    ),
    "a game has no parameter",
]


@pytest.mark.parametrize(("text", "told"), TOLD, ids=[told for _, told in TOLD])
def test_what_is_told_and_played_on_with(text: str, told: str):
    (notice,) = read_game(text, "g").notices
    assert str(notice).startswith(f"g:{told}")
    assert notice.logged == any(words in told for words in LOGGED)


def test_siblings_of_a_line_without_a_definition_are_left_out_and_others_stay():
    game = read_game(text_of(sprites="a > Door\n  b >\n  c\n  d >\ne > Door"))
    assert [known.name for known in game.types[2:]] == ["a", "b", "e"]
    assert named(game, *game.type_named("a").subtypes) == ["a", "b"]


def test_unknown_words_of_a_type_are_kept_for_who_logs_them():
    game = read_game(text_of(sprites="a > Door x=1\n  b > limit=3\n  c >"))
    assert {known.name: known.unknown for known in game.types if known.unknown} == {
        "a": ("x=1",),
        "b": ("x=1", "limit=3"),
        "c": ("x=1",),
    }
    assert [str(notice) for notice in game.notices] == [
        "game:3:14: Door has no parameter 'x'",
        "game:4:11: Door has no parameter 'limit'",
    ]


REFUSED_SPRITES = [
    ("a > Misile", "3:9: unknown sprite class 'Misile'; nearest: Missile, RandomMissile, MissileAvatar"),
    (
        "a > Door\n  b > Misile\n    c >",
        "4:11: unknown sprite class 'Misile'; nearest: Missile, RandomMissile",
    ),
    ("a > SpawnPoint", "3:5: a needs stype=, a sprite's name"),
    ("a > ShootAvatar stype=,", "3:21: a needs stype=, sprites' names with commas between"),
    ("a > Chaser stype=UP", "3:16: a needs stype=, a sprite's name"),
    ("a > Chaser stype=heo\nhero > MovingAvatar", "3:16: unknown sprite 'heo'; nearest: hero"),
    ("a > SpawnPoint stype=b\nb >", "3:20: 'b' has no class, so no sprite can be made of it"),
    ("a > Missile speed=NaN", "3:17: 'NaN' is out of range"),
    ("a > Missile wMult=0", "3:17: wMult must be above 0"),
]
REFUSED_INTERACTIONS = [
    ("hero wall killSprite", "5:5: no '>': an interaction is 'sprite sprite > effect'"),
    ("hero > killSprite", "5:5: an interaction needs two sprites, or a sprite and EOS or TIME, before '>'"),
    (
        "hero wall >",
        "5:15: no effect after '>'; some are stepBack, undoAll, wrapAround, bounceForward, pullWithIt",
    ),
    ("hero TIME wall > killSprite", "5:15: TIME takes one sprite"),
    ("hero TIME > killSprite repeating=True", "5:5: a repeating TIME effect needs timer=1 or more"),
    ("hero wall > spawn", "5:17: spawn needs stype=, a sprite's name"),
    ("hero wall > spawn stype=4", "5:23: spawn needs stype=, a sprite's name"),
    ("hero wall > stepBack repeat=1001", "5:26: repeat must be at most 1000"),
    ("hero wall > addTimer timer=3", "5:5: unknown effect (ftype) ''"),
    ("hero wall > addTimer ftype=addTimer", "5:26: unknown effect (ftype) 'addTimer'; nearest: addTimer"),
    ("hero wall > addTimer timer=3 ftype=killAll", "5:17: killAll needs stype=, a sprite's name"),
]
CUT_SHORT = [
    (
        "hero wall > kilSprite",
        "5:17: unknown effect 'kilSprite'; nearest: killSprite, cloneSprite, killIfNot",
    ),
    ("hero wal > killSprite", "5:10: unknown sprite 'wal'; nearest: wall"),
    ("her EOS > killSprite", "5:5: unknown sprite 'her'; nearest: hero"),
    ("hero wall TIME > killSprite", "5:15: unknown sprite 'TIME'; known: wall, avatar, hero"),
    ("hero wall > spawn stype=wal", "5:23: unknown sprite 'wal'; nearest: wall"),
    (
        "hero wall > killIfOtherHasMore resource=gold",
        "5:36: unknown sprite 'gold'; known: wall, avatar, hero",
    ),
]
REFUSED_TERMINATIONS = [
    ("SpriteCounters stype=hero", "5:5: unknown termination 'SpriteCounters'; nearest: SpriteCounter, Spri"),
    ("SpriteCounter limit=0", "5:5: SpriteCounter needs stype=, a sprite's name"),
]
REFUSED_HEADERS = [
    ("BasicGme", "1:1: unknown game class 'BasicGme'; nearest: BasicGame"),
    ("GameSpace", "1:1: unknown game class 'GameSpace'"),
    ("BasicGame obs=", "1:11: 'obs=' has no value"),
    ("BasicGame square_size=0", "1:11: square_size must be from 1 to 1000"),
    ("BasicGame no_players=2", "1:11: a game for 2 players: only games for one player can be played"),
    ("BasicGame no_players=0", "1:11: no_players must be from 1 to 1"),
    ("BasicGame no_counters=-1", "1:11: no_counters must be from 0 to 1000"),
    ("BasicGame obs=wal", "1:11: unknown sprite 'wal'; nearest: wall"),
]
_KEYS = [" ".join(f"{letter}{number}=1" for number in range(MAX_PARAMETERS // 2 + 1)) for letter in "ab"]
REFUSED = [
    *((text_of(sprites=sprites), message) for sprites, message in REFUSED_SPRITES),
    *((text_of(f"InteractionSet\n{line}"), message) for line, message in REFUSED_INTERACTIONS),
    *((text_of(f"TerminationSet\n{line}"), message) for line, message in REFUSED_TERMINATIONS),
    *((text_of(header=header), message) for header, message in REFUSED_HEADERS),
    (
        text_of("InteractionSet\nwall it > spawn stype=it", sprites="it >"),
        "5:21: 'it' has no class, so no sprite",
    ),
    ("", "1:1: the file is empty; a game begins with BasicGame"),
    ("# nothing\n", "1:1: the file is empty; a game begins with BasicGame"),
    ("BasicGame\n TerminationSet", "2:2: TerminationSet must come after the SpriteSet, whose names it uses"),
    ("BasicGame", "1:1: no SpriteSet below this line"),
    (text_of("SpriteSet"), "4:3: a second SpriteSet"),
    (
        text_of("  SpriteSet"),
        "4:5: SpriteSet must stand directly below the first line; it is indented below 'Spri",
    ),
    ("a" * (MAX_TEXT + 1), f"1:1: more than {MAX_TEXT} characters"),
    ("BasicGame\n" + " a\n" * MAX_LINES, f"{MAX_LINES + 1}:2: more than {MAX_LINES} lines"),
    (
        "\n".join(" " * n + "x" for n in range(MAX_DEPTH + 2)),
        f"66:66: more than {MAX_DEPTH} nested lines",
    ),
    ("\n " + "a" * (MAX_WORD + 1), f"2:2: a word of more than {MAX_WORD} characters"),
    ("a " * (MAX_WORDS + 1), f"1:{2 * MAX_WORDS + 1}: more than {MAX_WORDS} words on a line"),
    (
        text_of(sprites="\n".join(f"t{n} > Door" for n in range(MAX_TYPES))),
        "10001:5: more than 10000 sprite types",
    ),
    (text_of(sprites=f"a > {_KEYS[0]}\n  b > {_KEYS[1]}"), f"4:7: more than {MAX_PARAMETERS} parameters"),
    (
        text_of(sprites="\n".join(f"t{n} > Door x=1" for n in range(MAX_NOTICES + 1))),
        "1003:18: more than 1000 mis",
    ),
]


@pytest.mark.parametrize(("line", "message"), CUT_SHORT, ids=[message for _, message in CUT_SHORT])
def test_nothing_is_read_from_a_name_on_that_means_nothing(line: str, message: str):
    # As the public game "invest" with its unknown effect: the original logs it, and plays what it has.
    text = text_of(f"InteractionSet\n{line}\nhero wall > undoAll", "TerminationSet\nTimeout limit=9")
    with pytest.warns(CutShortWarning, match=re.escape(message.partition(";")[0])) as told:
        game = read_game(text, "g")
    assert len(told) == 1
    assert (game.rules, game.terminations) == ((), ())
    (notice,) = game.notices
    assert f"{notice.place.line}:{notice.place.column}: {notice.text}".startswith(message)
    assert notice.logged
    assert "\n" not in str(notice)


def test_what_stands_before_such_a_name_counts():
    ends = "TerminationSet\nTimeout limit=9\nSpriteCounter stype=hro\nTimeout limit=5"
    text = text_of("InteractionSet\nhero wall > stepBack", ends)
    with pytest.warns(CutShortWarning, match="nearest: hero; nothing from this line on is read"):
        game = read_game(text, "g")
    assert [rule.effect for rule in game.rules] == ["stepBack"]
    assert [end.kind for end in game.terminations] == ["Timeout"]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused(text: str, message: str):
    with pytest.raises(GameError) as refused:
        read_game(text, "g")
    assert str(refused.value).startswith(f"g:{message}")
    assert isinstance(refused.value, UsageError)
    assert str(refused.value).startswith(f"{refused.value.place}: ")


def test_files_are_utf8_and_not_too_large(tmp_path):
    path = tmp_path / "orchard.txt"
    path.write_text("\ufeff" + ORCHARD)
    assert load_game(path).name == "orchard"
    path.write_bytes(b"BasicGame\n  SpriteSet\n  a > \xff")
    with pytest.raises(GameError, match=r"orchard\.txt:3:1: this is not UTF-8 text$"):
        load_game(path)
    path.write_bytes(b"x" * (4 * MAX_TEXT + 1))
    with pytest.raises(GameError, match=f"more than {MAX_TEXT} characters"):
        load_game(path)
    with pytest.raises(FileNotFoundError):
        load_game(tmp_path / "none.txt")


VOCABULARY = """
    a b hero wall EOS TIME > = # == x=1 stype=hero stype=a limit=2 speed=0.5 singleton=True Missile Door
    SpawnPoint MovingAvatar killSprite transformTo addTimer ftype=killAll repeating=true timer=5 SpriteCounter
    SpriteSet InteractionSet TerminationSet LevelMapping BasicGame obs=hero key= scoreChange=1,2
"""
WORDS = st.sampled_from(VOCABULARY.split())
LINES = st.builds(
    lambda indent, words: " " * indent + " ".join(words), st.integers(0, 9), st.lists(WORDS, max_size=7)
)


@given(st.lists(LINES, max_size=30))
@settings(max_examples=150, deadline=None)
def test_any_lines_are_a_game_or_a_clear_refusal(lines: list[str]):
    for text in ("\n".join(lines), "\n".join(["BasicGame", "  SpriteSet", "   hero > MovingAvatar", *lines])):
        try:
            game = read_game(text)
        except GameError as refused:
            assert refused.place.line <= len(lines) + 3  # noqa: PT017 - either outcome is right
        else:
            assert game.order[-1] == 1


@pytest.mark.filterwarnings("ignore::flagfall.tasks.vgdl.language.values.CutShortWarning")
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(ORCHARD)), st.integers(0, 12), st.text("\t\n #=>,.aA1w\x00é\ud7ff", max_size=6)
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=300, deadline=None)
def test_a_damaged_game_is_a_game_or_a_clear_refusal(cuts: list[tuple[int, int, str]]):
    text = ORCHARD
    for start, length, new in cuts:
        text = text[:start] + new + text[start + length :]
    try:
        game = read_game(text, "g")
    except GameError as refused:
        assert str(refused).startswith("g:")  # noqa: PT017 - either outcome is right
    else:
        assert len(game.types) == len(game.limits) >= 2
        assert all(0 <= number < len(game.types) for number in game.order)
