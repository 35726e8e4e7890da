"""A human at a full screen, drawn with urwid.

urwid draws, and the event loop of the match runs: the screen is drawn when something has changed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import groupby
from typing import Any, ClassVar, Final, TypeAlias

import trio

from flagfall.agents.human.dialogue import AFTER_DOT_OR_SPACES, QUIT, SKIP, PromptPolicy, Tape
from flagfall.agents.human.player import Console, Human
from flagfall.agents.human.terminal import at_screen
from flagfall.errors import UsageError

try:
    import urwid
except ModuleNotFoundError as _error:
    raise UsageError(
        "the full screen for human players needs urwid: pip install 'flagfall[human]', or play as human-line"
    ) from _error

SPEEDS: Final = (1, 2, 5, 10, 20, 50, 100, math.inf)
"""Steps a second without a prompt."""

DEFAULT_SPEED: Final = 10

DRAW_SECONDS: Final = 0.04
"""Minimum time between two frames: one takes about 3 ms, and no human reads faster."""

MIN_TAPE_COLUMNS: Final = 24

_LABEL_CHARS: Final = 8
_LABELS: Final = [f"{name:<{_LABEL_CHARS}}" for name in ("teacher", "learner", "reward")]
_SYSTEM_ROWS: Final = 4
_WORLD_GAP: Final = 2

_PALETTE: Final = [
    ("status", "black", "light gray"),
    ("asked", "black,bold", "yellow"),
    ("dim", "dark gray", "default"),
    ("teacher", "default,bold", "default"),
    ("newest", "default,bold,standout", "default"),
    ("learner", "light cyan", "default"),
    ("good", "light green,bold", "default"),
    ("bad", "light red,bold", "default"),
    ("key", "default,bold", "default"),
]

Markup: TypeAlias = list[tuple[str, str]]
"""A line: pairs of the name of a colour and a text."""

Score: TypeAlias = list[Markup]


class FullScreenHuman(Human):
    """A human at a full screen: prompted after a dot or two spaces, and free to type at any time.

    Args:
        world: returns a picture of the world as text, if there is one (`render` of a world); called for
            each frame.

    Raises:
        UsageError: the standard input or output is not a terminal.
    """

    policy: ClassVar[PromptPolicy] = AFTER_DOT_OR_SPACES

    def __init__(self, *, world: Callable[[], str | None] | None = None, **options: Any) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("a human at a full screen needs a terminal; play as human-line through a pipe")
        super().__init__(**options)
        self._world = world

    def open_console(self, tape: Tape) -> AbstractAsyncContextManager[Console]:
        """Open the terminal."""
        return _full_screen(tape, self._world)


@asynccontextmanager
async def _full_screen(tape: Tape, world: Callable[[], str | None] | None) -> AsyncIterator[Console]:
    # Pasting and focus reports are not needed, and turning them on would query the terminal.
    screen = urwid.display.raw.Screen(bracketed_paste_mode=False, focus_reporting=False)
    screen.register_palette(_PALETTE)
    console = _ScreenConsole(screen, tape, world)
    async with at_screen(screen, console):
        yield console


class _ScreenConsole:
    """A `flagfall.agents.human.player.Console` drawn with urwid; also takes its keys."""

    def __init__(self, screen: Any, tape: Tape, world: Callable[[], str | None] | None) -> None:
        self._screen = screen
        self._tape = tape
        self._world = world
        self._edit = urwid.Edit("say> ", wrap="clip")
        self._lines_in, self._lines = trio.open_memory_channel[str | None](math.inf)
        self._speed = SPEEDS.index(DEFAULT_SPEED)
        self._paused = False
        self._asking = ""
        self._skipping = 0
        self._drawn_at = -math.inf
        self._keys: dict[str, Callable[[], None]] = {
            "enter": self._enter,
            "tab": self._pause,
            "up": lambda: self._change_speed(1),
            "down": lambda: self._change_speed(-1),
            "ctrl n": lambda: self._lines_in.send_nowait(SKIP),
            "ctrl x": lambda: self._lines_in.send_nowait(QUIT),
        }

    # Console

    @property
    def step_seconds(self) -> float:
        return 1 / SPEEDS[self._speed]

    @property
    def asks_anyway(self) -> bool:
        return self._paused

    async def ask(self, *, wanted: bool) -> str | None:
        self._asking = "YOUR TURN" if wanted else "paused: Enter steps"
        self.draw()
        try:
            return await self._lines.receive()
        finally:
            self._asking = ""

    def typed(self) -> str | None:
        try:
            return self._lines.receive_nowait()
        except trio.WouldBlock:
            return None

    def refresh(self, *, skipping: int) -> None:
        self._skipping = skipping
        if time.monotonic() - self._drawn_at >= DRAW_SECONDS:
            self.draw()

    # KeyTaker

    def press(self, key: Any) -> None:
        if key in self._keys:
            self._keys[key]()
        elif isinstance(key, str):
            self._edit.keypress((self._screen.get_cols_rows()[0],), key)

    def hang_up(self) -> None:
        self._lines_in.send_nowait(None)

    def _enter(self) -> None:
        self._lines_in.send_nowait(self._edit.edit_text)
        self._edit.set_edit_text("")

    def _pause(self) -> None:
        self._paused = not self._paused
        if self._asking.startswith("paused"):
            self._lines_in.send_nowait("")  # go on

    def _change_speed(self, by: int) -> None:
        self._speed = min(max(self._speed + by, 0), len(SPEEDS) - 1)

    # Drawing

    def draw(self) -> None:
        columns, rows = self._screen.get_cols_rows()
        header = urwid.AttrMap(urwid.Text(self._status(columns), wrap="clip"), "status")
        typing = urwid.AttrMap(self._edit, None, None)
        footer = urwid.Pile([typing, urwid.Text(_keys_line(), wrap="clip")], focus_item=0)
        frame = urwid.Frame(self._body(columns, rows - 3), header, footer, focus_part="footer")
        self._screen.draw_screen((columns, rows), frame.render((columns, rows), focus=True))
        self._drawn_at = time.monotonic()

    def _body(self, columns: int, rows: int) -> Any:
        world = (self._world() if self._world is not None else None) or ""
        lines = world.splitlines()
        wide = min(max(map(len, lines), default=0), columns - MIN_TAPE_COLUMNS - _WORLD_GAP)
        if wide <= 0:
            return _box(score(self._tape, columns, rows))
        tape = score(self._tape, columns - wide - _WORLD_GAP, rows)
        picture = [[("", line)] for line in lines[:rows]]
        return urwid.Columns([_box(tape), (wide, _box(picture))], dividechars=_WORLD_GAP)

    def _status(self, columns: int) -> Markup:
        tape = self._tape
        last = f" (last {tape.last:+g})" if tape.last else ""
        late = f"    late {tape.missed}" if tape.missed else ""
        left = f" flagfall    time {tape.time}    reward {tape.reward:g}{last}{late}"
        right = f" {self._asking or self._pace_text()} "
        gap = " " * max(1, columns - len(left) - len(right))
        return [("status", left + gap), ("asked" if self._asking else "status", right)]

    def _pace_text(self) -> str:
        if self._skipping:
            return f"skipping, {self._skipping} steps at most"
        speed = SPEEDS[self._speed]
        return "as fast as it goes" if speed == math.inf else f"{speed} steps/s"


def score(tape: Tape, columns: int, rows: int) -> Score:
    """Lay out the tape as lines, like a musical score: systems of three voices, one below the other.

    A system stays where it is while it fills; when the rows are full, the oldest one goes.
    """
    room = max(1, columns - _LABEL_CHARS - 1)
    first = tape.newest_turn + 1 - len(tape.heard)
    voices = tape.newest(len(tape.heard))
    newest_system = max(tape.newest_turn, 0) // room
    oldest_system = max(first // room, newest_system + 1 - max(1, rows // _SYSTEM_ROWS))
    lines: Score = []
    for system in range(oldest_system, newest_system + 1):
        start, end = system * room, (system + 1) * room
        missing = " " * max(0, first - start)
        heard, said, marks = (
            missing + voice[max(0, start - first) : max(0, end - first)] for voice in voices
        )
        at = f"{start} "
        lines += [
            [("dim", at + "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (columns - len(at)))],
            [("dim", _LABELS[0]), *_teacher(heard, newest=system == newest_system)],
            [("dim", _LABELS[1]), ("learner", said), ("learner", "_" * (len(heard) > len(said)))],
            [("dim", _LABELS[2]), *_signs(marks)],
        ]
    return lines


def _teacher(heard: str, *, newest: bool) -> Markup:
    return [("teacher", heard[:-1]), ("newest", heard[-1:])] if newest else [("teacher", heard)]


def _signs(marks: str) -> Markup:
    return [
        ("good" if good else "bad", "".join(run)) for good, run in groupby(marks, key=lambda m: m in "+2")
    ]


def _keys_line() -> Markup:
    keys = {"Enter": "say it", "Up/Down": "speed", "Tab": "pause", "Ctrl-N": "SKIP", "Ctrl-X": "QUIT"}
    return [piece for key, does in keys.items() for piece in (("key", f" {key}"), ("dim", f" {does}  "))]


def _box(lines: Score) -> Any:
    text = [piece for line in lines for piece in (*line, ("", "\n"))]
    return urwid.Filler(urwid.Text(text[:-1] or "", wrap="clip"), valign="top")
