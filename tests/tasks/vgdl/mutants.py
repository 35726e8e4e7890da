"""Games and levels, damaged here and there, as a careless or a hostile author may write them."""

from __future__ import annotations

__all__ = ["mutant"]

from collections.abc import Callable, Sequence
from random import Random

from flagfall.tasks.vgdl.language.tables import EFFECTS, SPRITE_CLASSES

NUMBERS = ("0", "1", "-1", "2", "0.05", "-0.5", "1e9", "2147483647", "-2147483648", "NaN", "64", "1000")
TEXTS = ("True", "false", "UP", "NIL", "avatar", "wall", "EOS", "TIME", ">", "=", "a=b", "total=1")
PARAMETERS = (
    *("singleton=True", "healthPoints=3", "timeToLive=2", "wMult=2", "hMult=0.3", "physicstype=CONT"),
    *("cons=3", "cooldown=3", "speed=0.7", "speed=-1", "orientation=NIL", "rotateInPlace=True"),
    *("scoreChange=x", "scoreChange=2", "repeat=7", "inBatch=True", "enabled=False", "counter=1"),
    *("killSecond=True", "limit=0", "limit=3", "prob=0.5", "value=-2", "timer=3", "repeating=True"),
)
LARGEST = 30_000
"""Characters; what has grown beyond that is cut."""


def mutant(game: str, level: str, chance: Random) -> tuple[str, str]:
    """A game's text and a level's, with up to six damages."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        if chance.random() < 0.2:
            level = damaged_level(level, chance)
        else:
            lines = game.split("\n")
            chance.choice(DAMAGES)(lines, chance)
            game = "\n".join(lines)[:LARGEST]
    return game, level[:LARGEST]


def place_of(lines: Sequence[str], chance: Random) -> int:
    """A line that says something, in most cases."""
    return max((chance.randrange(len(lines)) for _ in range(3)), key=lambda at: bool(lines[at].strip()))


def change_word(lines: list[str], chance: Random, change: Callable[[str, list[str]], str]) -> None:
    at = place_of(lines, chance)
    words = lines[at].split(" ")
    number = chance.randrange(len(words))
    pool = [word for line in lines for word in line.split()] or ["x"]
    words[number] = change(words[number], pool)
    lines[at] = " ".join(words)


def swap_word(lines: list[str], chance: Random) -> None:
    change_word(lines, chance, lambda _, pool: chance.choice(pool))


def any_word(lines: list[str], chance: Random) -> None:
    change_word(lines, chance, lambda _, __: chance.choice((*TEXTS, *NUMBERS)))


def other_value(lines: list[str], chance: Random) -> None:
    def change(word: str, pool: list[str]) -> str:
        key, mark, _ = word.partition("=")
        return f"{key}={chance.choice((*NUMBERS, *TEXTS, *pool))}" if mark else word

    for _ in range(4):
        change_word(lines, chance, change)


def other_class(lines: list[str], chance: Random) -> None:
    at = place_of(lines, chance)
    for known in (SPRITE_CLASSES, EFFECTS):
        words = [chance.choice(list(known)) if word in known else word for word in lines[at].split(" ")]
        lines[at] = " ".join(words)


def more_parameters(lines: list[str], chance: Random) -> None:
    at = place_of(lines, chance)
    lines[at] = f"{lines[at]} {chance.choice(PARAMETERS)}"


def delete_line(lines: list[str], chance: Random) -> None:
    if len(lines) > 1:
        del lines[place_of(lines, chance)]


def double_line(lines: list[str], chance: Random) -> None:
    at = place_of(lines, chance)
    lines[at:at] = [lines[at]] * chance.choice((1, 1, 5))


def move_line(lines: list[str], chance: Random) -> None:
    lines.insert(chance.randrange(len(lines)), lines.pop(place_of(lines, chance)))


def indent(lines: list[str], chance: Random) -> None:
    at = place_of(lines, chance)
    lines[at] = chance.choice(("", " ", "\t", " " * 8, "      ")) + lines[at].lstrip()


def delete_characters(lines: list[str], chance: Random) -> None:
    at = place_of(lines, chance)
    start = chance.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:start] + lines[at][start + chance.randint(1, 3) :]


DAMAGES: tuple[Callable[[list[str], Random], None], ...] = (
    *(swap_word, any_word, other_value, other_value, other_class, other_class, more_parameters),
    *(delete_line, double_line, move_line, indent, delete_characters),
)


def damaged_level(level: str, chance: Random) -> str:
    """Characters changed for others of it, rows lost or doubled, or a row far too long."""
    rows = level.split("\n")
    at = chance.randrange(len(rows))
    pool = level.replace("\n", "") or " "
    what = chance.randrange(5)
    if what == 0 and len(rows) > 1:
        del rows[at]
    elif what == 1:
        rows.insert(at, rows[at])
    elif what == 2:
        rows[at] += chance.choice(pool) * chance.choice((1, 50))
    else:
        cells = list(rows[at])
        for number in range(len(cells)):
            if chance.random() < 0.3:
                cells[number] = chance.choice((*pool, "A", "w", "?", " "))
        rows[at] = "".join(cells)
    return "\n".join(rows)
