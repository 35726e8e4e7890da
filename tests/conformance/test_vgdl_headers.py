"""Every public game and level loads, and as the reference loaded it: the headers of its traces say how."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.tasks.vgdl.definition import AVATAR, GameDefinition, LevelDefinition
from flagfall.tasks.vgdl.language.game_parser import load_game, read_game
from flagfall.tasks.vgdl.language.level_parser import load_level, read_level
from flagfall.tasks.vgdl.language.tables import SPRITE_CLASSES
from flagfall.tasks.vgdl.language.values import GameError

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
    wrong = [text for text in told if ", as inherited;" not in text]
    assert wrong == [
        "pong: VerticalAvatar has no parameter 'alternate_keys'",
        "witnessprotected: 'n' cannot be used in a level: unknown sprite 'running'",
        "witnessprotection: '1' cannot be used in a level: unknown sprite 'turnup'",
        "witnessprotection: '3' cannot be used in a level: unknown sprite 'turndown'",
    ]


@pytest.mark.filterwarnings("ignore::flagfall.tasks.vgdl.language.values.CutShortWarning")
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_damaged_games_and_levels_are_read_or_clearly_refused(data: st.DataObject):
    path = data.draw(st.sampled_from(GAMES))
    texts = path.read_text(), level_path(path.stem, 0).read_text()
    words = st.text("\t\n #=>,.aA1w", max_size=6) | st.sampled_from(texts[0].split())
    game_text, level_text = (damaged(text, data.draw(cuts(len(text), words))) for text in texts)
    try:
        game = read_game(game_text)
        read_level(game, level_text)
    except GameError as refused:
        assert str(refused).startswith(("game:", "level:"))  # noqa: PT017 - either outcome is right
    else:
        assert game.order[-1] == AVATAR


def cuts(length: int, words: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[int, int, str]]]:
    return st.lists(st.tuples(st.integers(0, length), st.integers(0, 40), words), max_size=3)


def damaged(text: str, cuts: list[tuple[int, int, str]]) -> str:
    for start, length, new in cuts:
        text = text[:start] + new + text[start + length :]
    return text


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
