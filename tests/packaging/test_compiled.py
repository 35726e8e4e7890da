"""The compiled engine beside the pure one that it was made from: `.ci/compiled` builds it, and runs this."""

from __future__ import annotations

import shutil
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import flagfall
from flagfall.tasks.vgdl.engine import cycle
from tests.children import run_python

COMPILED = str(cycle.__file__).endswith(tuple(EXTENSION_SUFFIXES))

pytestmark = pytest.mark.skipif(not COMPILED, reason="the engine is pure Python here: see .ci/compiled")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders with the compiled package, and with a copy of its sources."""
    package = Path(flagfall.__file__).parent
    pure = tmp_path_factory.mktemp("pure")
    shutil.copytree(package, pure / "flagfall", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return package.parent, pure


def call(place: Path, folder: Path, *words: str) -> str:
    """Return what Python prints that imports flagfall from a place; see `run_python`."""
    done = run_python(place, folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_copy_is_pure(places: tuple[Path, Path], tmp_path: Path) -> None:
    where = "import flagfall.tasks.vgdl.engine.cycle as m; print(m.__file__)"
    for place, compiled in zip(places, (True, False), strict=True):
        found = call(place, tmp_path, "-c", where).strip()
        assert Path(found).is_relative_to(place)
        assert found.endswith(tuple(EXTENSION_SUFFIXES)) is compiled


@pytest.mark.parametrize("game", ["causeway", "cinders", "glacier", "pepperpot", "underdig", "windfall"])
def test_journals_are_equal_by_bytes_and_verified_by_each_other(
    places: tuple[Path, Path], tmp_path: Path, game: str
) -> None:
    journals = []
    for at, place in enumerate(places):
        folder = tmp_path / str(at)
        folder.mkdir()
        line = f"run --task vgdl:{game}#0 --agent random --clock virtual --seed 5 --journal match.jsonl"
        call(place, folder, "-m", "flagfall", *line.split())
        journals.append((folder / "match.jsonl").read_bytes())
    assert journals[0] == journals[1]
    for at, other in enumerate(reversed(places)):
        call(other, tmp_path / str(at), "-m", "flagfall", "verify", "match.jsonl")


def test_states_are_equal_by_bytes(places: tuple[Path, Path], tmp_path: Path) -> None:
    program = tmp_path / "states.py"
    program.write_text(
        """
from hashlib import sha256
from random import Random

from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.engine.serialization import dump, load
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.task_id import game_ids, game_path

for name in game_ids():
    path, dice, states = game_path(name), Random(1), sha256()
    game = compile_game(load_game(path))
    play = start(game, load_level(game.definition, path.with_name(f"{path.stem}_lvl0.txt")), 1)
    while not play.over and play.tick < 200:
        advance(play, dice.choice(("NIL", *play.available_actions)))
        states.update(dump(play))
        if play.tick == 100:
            play = load(game, dump(play))
    print(name, play.tick, play.score, states.hexdigest())
"""
    )
    compiled, pure = (call(place, tmp_path, str(program)) for place in places)
    assert compiled
    assert compiled == pure
