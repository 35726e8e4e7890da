"""Every public game and level loads, and as the reference loaded it: the headers of its traces say how."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from flagfall.tasks.vgdl.definition import GameDefinition, LevelDefinition
from flagfall.tasks.vgdl.language import load_game
from flagfall.tasks.vgdl.levels import load_level
from flagfall.tasks.vgdl.schema_sprites import SPRITE_CLASSES

DATA = Path(__file__).parents[2].parent / "shared/data/gvgai"
GAMES = sorted(path for path in (DATA / "games").glob("*.txt") if "_lvl" not in path.name)
TRACES = sorted(DATA.glob("traces*/*.jsonl.gz"))
LEARNING_BLOCK = 10

pytestmark = pytest.mark.skipif(not GAMES, reason="no public games here")


def headers(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines if line.startswith('{"game"')]


def level_path(game: str, level: int) -> Path:
    return DATA / "games" / f"{game}_lvl{level}.txt"


def block_size(game: GameDefinition, level: LevelDefinition) -> int:
    return game.square_size or max(2, 800 // max(level.width, level.height))


def available(game: GameDefinition, level: LevelDefinition) -> list[str]:
    kinds = (game.types[placed].kind for _, _, placed in level.sprites)
    classes = [SPRITE_CLASSES[kind] for kind in kinds if kind is not None]
    (avatar,) = (known for known in classes if known.is_avatar)
    return [f"ACTION_{action}" for action in avatar.actions]


def messages(game: GameDefinition, level: LevelDefinition) -> list[str]:
    logged = [str(notice) for notice in (*game.notices, *level.notices) if notice.logged]
    return logged + [
        f"Error: Unknown field ({word}) from [{game.types[made].name}:{game.types[made].kind}]"
        for made in dict.fromkeys(placed for _, _, placed in level.sprites)
        for word in game.types[made].unknown
    ]


def test_all_public_games_and_levels_load():
    loaded = 0
    for path in GAMES:
        game = load_game(path)
        for level in range(5):
            assert load_level(game, level_path(path.stem, level)).sprites
            loaded += 1
    assert (len(GAMES), loaded) == (122, 610)


def test_what_public_games_have_that_is_tolerated():
    told = [
        f"{path.stem}: {notice.text}"
        for path in GAMES
        for notice in load_game(path).notices
        if not notice.logged
    ]
    wrong = [text for text in told if "as its parent says" not in text]
    assert wrong == [
        "pong: VerticalAvatar has no parameter 'alternate_keys'",
        "witnessprotected: 'n' cannot stand in a level: unknown sprite 'running'",
        "witnessprotection: '1' cannot stand in a level: unknown sprite 'turnup'",
        "witnessprotection: '3' cannot stand in a level: unknown sprite 'turndown'",
    ]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.name.partition('.')[0]}")
def test_headers_of_the_traces(path: Path):
    found = headers(path)
    assert found
    for header in found:
        game = load_game(DATA / "games" / f"{header['game']}.txt")
        level = load_level(game, level_path(header["game"], header["level"]))
        learning = path.parent.name == "traces_learning"
        assert {known.name: known.id for known in game.types} == header["itypes"]
        assert [game.types[leaf].name for leaf in game.order] == header["sprite_order"]
        assert (level.width, level.height) == (header["width"], header["height"])
        assert (LEARNING_BLOCK if learning else block_size(game, level)) == header["block_size"]
        assert available(game, level) == header["available"]
        assert messages(game, level) == header["messages"]
