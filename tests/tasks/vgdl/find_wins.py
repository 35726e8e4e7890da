"""Finds a winning list of actions for each level of our own games, and writes them to `wins/`.

    python tests/tasks/vgdl/find_wins.py [GAME[#LEVEL] ...]

A beam search over copies of a play: in each tick the most promising plays are kept. What is promising, a few
lines for each game say; they know more than a player does (where the relics lie, what a random number will
be). The tests replay the lists; they do not search.
"""

from __future__ import annotations

import heapq
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from flagfall.tasks.vgdl.definition import DOWN, LEFT, NIL, RIGHT, UP, USE
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, fork, start
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.task_id import LEVELS, game_ids, game_path, level_paths

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play

WINS: Final = Path(__file__).parent / "wins"
SEED: Final = 0
BLOCK: Final = 10
LETTERS: Final = {NIL: ".", LEFT: "L", RIGHT: "R", UP: "U", DOWN: "D", USE: "X"}
ACTIONS: Final = {letter: action for action, letter in LETTERS.items()}
WIDTHS: Final = (30, 150, 600)
LAST_TICK: Final = 1000
FAR: Final = 60

Cell = tuple[int, int]


def cells(play: Play, *names: str) -> list[Cell]:
    """Where sprites of these types are, subtypes included."""
    types = [play.game.definition.type_named(name) for name in names]
    return [
        (round(sprite.x / BLOCK), round(sprite.y / BLOCK))
        for known in types
        for subtype in known.subtypes
        for sprite in play.groups[subtype]
        if not sprite.disabled
    ]


def count(play: Play, *names: str) -> int:
    return len(cells(play, *names))


def held(play: Play, name: str) -> int:
    resources = play.avatar.resources if play.avatar is not None else {}
    return (resources or {}).get(play.game.definition.type_named(name).id, 0)


def health(play: Play) -> int:
    return play.avatar.health if play.avatar is not None else 0


def here(play: Play) -> Cell:
    assert play.avatar is not None
    return round(play.avatar.x / BLOCK), round(play.avatar.y / BLOCK)


def beside(cell: Cell) -> Iterator[Cell]:
    x, y = cell
    yield from ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))


def distances(
    play: Play, start: Iterable[Cell], blocked: Iterable[Cell], jumps: dict[Cell, Cell] | None = None
) -> dict[Cell, int]:
    """Steps from the start to every cell; a blocked one is reached, but not passed."""
    walls = set(blocked)
    reached = dict.fromkeys(start, 0)
    waiting = deque(reached)
    while waiting:
        cell = waiting.popleft()
        if cell in walls and reached[cell]:
            continue
        for next_cell in ((jumps or {}).get(cell, cell), *beside(cell)):
            x, y = next_cell
            if 0 <= x < play.width and 0 <= y < play.height and next_cell not in reached:
                reached[next_cell] = reached[cell] + 1
                waiting.append(next_cell)
    return reached


def nearest(reached: dict[Cell, int], targets: Iterable[Cell]) -> int:
    return min((reached.get(target, FAR) for target in targets), default=0)


def pepperpot(play: Play) -> float:
    value = 5 * count(play, "cake") - 20 * count(play, "hole") - 4 * count(play, "mouse")
    value -= 6 * sum(sprite.health for sprite in play.groups[play.game.definition.type_named("hole").id])
    walls = cells(play, "wall", "hole", "cake")
    reached = distances(play, [here(play)], walls)
    if held(play, "pepper") == 0:
        return value - 0.5 * nearest(reached, cells(play, "pepper", "shaker"))
    lines = set()
    for x, y in cells(play, "hole", "mouse"):
        for dx, dy in beside((0, 0)):
            cell = (x + dx, y + dy)
            while cell not in walls and 0 <= cell[0] < play.width and 0 <= cell[1] < play.height:
                lines.add(cell)
                cell = (cell[0] + dx, cell[1] + dy)
    return value + held(play, "pepper") - 0.3 * nearest(reached, lines)


def wellpaths(play: Play) -> float:
    ready = held(play, "candle") >= 3
    jumps = {
        well: mouth
        for colour in ("blue", "red")
        for well in cells(play, f"{colour}well")
        for mouth in cells(play, f"{colour}mouth")
    }
    walls = cells(play, "wall") if ready else cells(play, "wall", "gate")
    reached = distances(play, [here(play)], walls, jumps)
    targets = cells(play, "altar") if ready else cells(play, "candle")
    return 100 * min(held(play, "candle"), 3) - nearest(reached, targets)


def gatedash(play: Play) -> float:
    ready = held(play, "flag") >= 3
    reached = distances(play, [here(play)], cells(play, "wall", "hedge", "puddle"))
    return 100 * held(play, "flag") - nearest(reached, cells(play, "finish" if ready else "flag"))


def windfall(play: Play) -> float:
    load, apples = held(play, "apple"), cells(play, "apple")
    reached = distances(play, [here(play)], cells(play, "wall", "branch"))
    full = load == 4 or load + count(play, "crate") >= 8 or not apples
    target = nearest(reached, cells(play, "barn") if full and load else apples)
    return 100 * count(play, "crate") + 40 * load - target


def cinders(play: Play) -> float:
    return 20 * health(play) - 0.01 * nearest(
        distances(play, [here(play)], cells(play, "wall")), cells(play, "salve")
    )


def goslings(play: Play) -> float:
    walls = cells(play, "wall")
    water = distances(play, cells(play, "pond"), walls)
    flock, foxes = cells(play, "gosling"), cells(play, "hunter")
    value = (
        100.0 * count(play, "swimmer")
        + 80 * len(flock)
        - sum(sorted(water.get(cell, FAR) for cell in flock)[:2])
    )
    reached = distances(play, [here(play)], walls)
    value -= 0.3 * nearest(reached, flock)
    for x, y in foxes:
        value -= sum(max(0, 5 - abs(x - a) - abs(y - b)) for a, b in flock)
    return value


def causeway(play: Play) -> float:
    load, sites, water = held(play, "plank"), cells(play, "site"), set(cells(play, "water"))
    walls = cells(play, "wall", "site", "tree")
    steps, bridges = min((bridged(play, site, walls, water) for site in sites), key=lambda way: way[1])
    value = -200.0 * len(sites) + 30 * load - 3 * count(play, "tree") - 40 * bridges
    if load >= bridges + 2:
        return value - steps
    dry = distances(play, [here(play)], [*walls, *water])
    return value - nearest(dry, cells(play, "plank", "tree"))


def bridged(play: Play, site: Cell, walls: list[Cell], water: set[Cell]) -> tuple[int, int]:
    """Steps to a site by the way with the fewest cells of water, and how many these are."""
    waiting = [(0, 0, here(play))]
    done: set[Cell] = set()
    while waiting:
        bridges, steps, cell = heapq.heappop(waiting)
        if cell == site:
            return steps, bridges
        if cell in done or (cell in walls and steps):
            continue
        done.add(cell)
        for after in beside(cell):
            heapq.heappush(waiting, (bridges + (after in water), steps + 1, after))
    return FAR, FAR


def gearworks(play: Play) -> float:
    ready = held(play, "gear") >= 3
    reached = distances(play, [here(play)], cells(play, "wall"))
    return 100 * held(play, "gear") - nearest(reached, cells(play, "hatch" if ready else "gear"))


def underdig(play: Play) -> float:
    reached = distances(play, [here(play)], cells(play, "wall"))
    way = nearest(reached, cells(play, "relic"))
    light = nearest(reached, cells(play, "oil"))
    return (
        -100 * count(play, "relic") + 0.8 * min(health(play), 25) - way - (light if health(play) < 6 else 0)
    )


GUESSES: Final[dict[str, Callable[[Play], float]]] = {
    guess.__name__: guess
    for guess in (
        *(pepperpot, wellpaths, gatedash, windfall),
        *(cinders, goslings, causeway, gearworks, underdig),
    )
}


def look(play: Play) -> tuple[object, ...]:
    """What distinguishes two plays of the same tick."""
    everything = tuple(
        (sprite.type, sprite.x, sprite.y, sprite.ox, sprite.oy)
        for group in play.groups[1:]
        for sprite in group
    )
    return (
        hash(everything),
        play.random.draws,
        str(play.avatar.resources if play.avatar else None),
        health(play),
    )


def search(play: Play, guess: Callable[[Play], float], width: int, random: Random) -> str | None:
    """A winning list of actions, as letters."""
    beam = [("", play)]
    seen = set()
    for _ in range(LAST_TICK):
        found: list[tuple[float, float, str, Play]] = []
        for path, state in beam:
            for action in dict.fromkeys((*state.available_actions, NIL)):
                ahead = fork(state)
                advance(ahead, action)
                if ahead.over:
                    if ahead.winner == 1:
                        return path + LETTERS[action]
                    continue
                key = look(ahead)
                if key not in seen:
                    seen.add(key)
                    found.append((-guess(ahead), random.random(), path + LETTERS[action], ahead))
        found.sort(key=lambda entry: entry[:2])
        beam = [(path, ahead) for _, _, path, ahead in found[:width]]
        if not beam:
            return None
    return None


def act(play: Play, letters: str) -> Play:
    """A copy of a play, that much later."""
    ahead = fork(play)
    for letter in letters:
        advance(ahead, ACTIONS[letter])
    return ahead


def walk(play: Play, goal: Cell, blocked: Iterable[Cell]) -> str | None:
    """The way of the avatar to a cell."""
    back = distances(play, [goal], blocked)
    cell, letters = here(play), ""
    if goal in blocked or cell not in back:
        return None
    while cell != goal:
        cell, letters = min(
            (
                (after, letters + letter)
                for after, letter in zip(beside(cell), "RLDU", strict=True)
                if after in back
            ),
            key=lambda step: back[step[0]] if step[0] not in blocked else FAR,
        )
    return letters


def push_search(play: Play) -> str | None:
    """A winning list of actions for `glacier`: the fewest pushes, each after the ice has come to rest."""
    waiting = deque([("", play)])
    seen: set[object] = set()
    while waiting:
        path, state = waiting.popleft()
        blocked = set(cells(state, "wall", "pit", "ice"))
        for ice in cells(state, "ice"):
            for (x, y), letter in zip(beside((0, 0)), "RLDU", strict=True):
                way = walk(state, (ice[0] - x, ice[1] - y), blocked)
                if way is None:
                    continue
                letters = way + letter + "." * (max(play.width, play.height) + 2)
                ahead = act(state, letters)
                if ahead.winner == 1:
                    return (path + letters)[: ahead.tick + 1]
                if ahead.over:
                    continue
                key = here(ahead), tuple(sorted(cells(ahead, "ice"))), tuple(sorted(cells(ahead, "pit")))
                if key not in seen:
                    seen.add(key)
                    waiting.append((path + letters, ahead))
    return None


def beam_search(play: Play, name: str) -> str | None:
    """A winning list of actions, searched ever more widely."""
    for width in WIDTHS:
        letters = search(play, GUESSES[name], width, Random(width))
        if letters is not None:
            return letters
    return None


def solve(name: str, wanted: str) -> None:
    """Write the wins of a game, a line a level: number, score, actions; or find one level's alone."""
    game = compile_game(load_game(game_path(name)))
    file = WINS / f"{name}.txt"
    lines = file.read_text().splitlines() if wanted else [""] * LEVELS
    for number, path in level_paths(game_path(name)).items():
        if wanted not in {"", str(number)}:
            continue
        first = start(game, load_level(game.definition, path), SEED, BLOCK)
        letters = (push_search(first) if name == "glacier" else beam_search(first, name)) or ""
        play = act(first, letters)
        print(name, number, "ticks", len(letters), "winner", play.winner, "score", play.score)  # noqa: T201
        lines[number] = f"{number} {play.score:g} {letters}"
    WINS.mkdir(exist_ok=True)
    file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or game_ids():
        game_name, _, level_number = chosen.partition("#")
        solve(game_name, level_number)
