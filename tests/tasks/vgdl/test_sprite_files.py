"""Images of a folder in place of the drawn tiles, and files that must not be used."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import read_level
from flagfall.tasks.vgdl.rendering import tile_set
from flagfall.tasks.vgdl.rendering.painter import Painter
from flagfall.tasks.vgdl.rendering.tile_set import (
    MAX_FILE_BYTES,
    MAX_SIDE_PIXELS,
    MissingSpriteWarning,
    SpriteFolder,
    SpriteTiles,
)

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
GAME = """\
BasicGame
    SpriteSet
        stone > Immovable img=set/stone {}
        avatar > OrientedAvatar orientedImg=hero
    LevelMapping
        s > stone
    TerminationSet
        Timeout limit=9
"""


def save(path: Path, colour: tuple[int, ...], size: tuple[int, int] = (24, 24)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGBA" if len(colour) == 4 else "RGB", size, colour).save(path)


def heroes(folder: Path) -> None:
    for direction in ("UP", "DOWN", "LEFT", "RIGHT"):
        save(folder / f"hero_{direction}.png", BLUE if direction == "RIGHT" else GREEN)


def painted(folder: Path, words: str = "", actions: tuple[str, ...] = ()) -> np.ndarray:
    definition = read_game(GAME.format(words), "g")
    play = start(compile_game(definition), read_level(definition, "sA"), 0, 10)
    painter = Painter(play, tiles=SpriteTiles(definition, SpriteFolder(folder)))
    for action in actions:
        advance(play, action)
    return painter.paint()


def test_images_fill_their_sprites(tmp_path):
    save(tmp_path / "set/stone.png", RED)
    heroes(tmp_path)
    picture = painted(tmp_path)
    assert (picture[:, :10] == RED).all()
    assert (picture[:, 10:] == BLUE).all()


def test_image_is_shrunk_around_the_middle_and_not_smoothed(tmp_path):
    save(tmp_path / "set/stone.png", RED)
    heroes(tmp_path)
    stone = painted(tmp_path, "shrinkfactor=0.55")[:, :10]
    shown = (stone == RED).all(axis=2)
    assert shown.sum() == 25, "5 x 5 of 10 x 10 pixels: cut to whole ones"
    assert shown[2:7, 2:7].all()


def test_oriented_image_follows_the_orientation(tmp_path):
    save(tmp_path / "set/stone.png", RED)
    heroes(tmp_path)
    assert (painted(tmp_path, "", ("UP",))[:, 10:] == GREEN).all()


def test_what_shines_through_is_what_stands_below(tmp_path):
    save(tmp_path / "set/stone.png", (0, 0, 0, 0))
    heroes(tmp_path)
    assert len(np.unique(painted(tmp_path)[:, :10].reshape(-1, 3), axis=0)) == 1


@pytest.mark.parametrize("words", ["autotiling=True", "randomtiling=0.9", "frameRate=5"])
def test_first_of_several_images_is_taken(tmp_path, words):
    save(tmp_path / "set/stone_0.png", RED)
    heroes(tmp_path)
    assert (painted(tmp_path, words)[:, :10] == RED).all()


def test_missing_image_is_told_once_and_drawn(tmp_path):
    heroes(tmp_path)
    with pytest.warns(MissingSpriteWarning, match=r"1 images are not in .* \('set/stone'\)") as told:
        picture = painted(tmp_path)
    assert len(told) == 1
    definition = read_game(GAME.format(""), "g")
    play = start(compile_game(definition), read_level(definition, "sA"), 0, 10)
    assert (picture[:, :10] == Painter(play).paint()[:, :10]).all()


# Files that must not be used.


def bomb(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    )


def refusal(folder: Path, name: str) -> str:
    with pytest.raises(UsageError) as refused:
        SpriteFolder(folder).image(name)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("name", ["../secret", "a/../../secret", "/etc/secret", "a\0b"])
def test_name_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    save(tmp_path / "secret.png", RED)
    (tmp_path / "sprites/a").mkdir(parents=True)
    assert "is outside of" in refusal(tmp_path / "sprites", name)


def test_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    save(tmp_path / "secret.png", RED)
    save(tmp_path / "sprites/inside.png", RED)
    (tmp_path / "sprites/out.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "sprites/up").symlink_to(tmp_path)
    (tmp_path / "sprites/in.png").symlink_to("inside.png")
    (tmp_path / "sprites/round.png").symlink_to("round.png")
    assert "a link out of" in refusal(tmp_path / "sprites", "out")
    assert "a link out of" in refusal(tmp_path / "sprites", "up/secret")
    assert SpriteFolder(tmp_path / "sprites").image("in") is not None
    assert SpriteFolder(tmp_path / "sprites").image("round") is None


def test_what_is_no_small_png_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    assert "is not a file" in refusal(tmp_path, "pipe")
    (tmp_path / "large.png").write_bytes(bytes(MAX_FILE_BYTES + 1))
    assert "bytes" in refusal(tmp_path, "large")
    save(tmp_path / "wide.png", RED, (MAX_SIDE_PIXELS + 1, 1))
    assert f"{MAX_SIDE_PIXELS + 1} x 1 pixels" in refusal(tmp_path, "wide")
    (tmp_path / "bomb.png").write_bytes(bomb(60_000, 60_000))
    assert "too large to be decoded" in refusal(tmp_path, "bomb")
    (tmp_path / "empty.png").write_bytes(bomb(8, 8))
    assert "is not a PNG file" in refusal(tmp_path, "empty")
    (tmp_path / "text.png").write_text("a text")
    assert "is not a PNG file" in refusal(tmp_path, "text")
    Image.new("RGB", (8, 8)).save(tmp_path / "other.png", "JPEG")
    assert "is not a PNG file" in refusal(tmp_path, "other")


def test_images_that_are_too_large_together_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tile_set, "MAX_TOTAL_BYTES", 5 * 24 * 24 * 4 - 1)
    save(tmp_path / "set/stone.png", RED)
    heroes(tmp_path)
    with pytest.raises(UsageError, match="the images of g take more than 11519 bytes"):
        painted(tmp_path)


def test_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="there is no such folder"):
        SpriteFolder(tmp_path / "nowhere")
