"""The full screen of a human who plays by keys, drawn with urwid: a picture in half blocks, or a text."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import trio

from flagfall.agents.human.dialogue import QUIT
from flagfall.agents.human.key_console import (
    DEFAULT_SPEED,
    HALF_BLOCK,
    SPEEDS,
    Frame,
    fitted,
    half_block_runs,
)
from flagfall.agents.human.terminal import at_screen
from flagfall.errors import UsageError

try:
    import urwid
except ModuleNotFoundError as _error:
    raise UsageError("playing by keys needs urwid: pip install 'flagfall[human]'") from _error

MAX_WAITING: Final = 16
"""Keys that are kept while the game waits for keys; older ones are dropped."""

ALL_COLOURS: Final = 2**24

_QUIT_KEYS: Final = ("ctrl x", "esc", "q")
_NAMES: Final = {" ": "Space"}


def require_terminal() -> None:
    """Raise `UsageError` where the standard input or output is not a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("playing by keys needs a terminal: the standard input or output is not one")


@asynccontextmanager
async def key_screen(keys: Mapping[str, Any], speed: int = DEFAULT_SPEED) -> AsyncIterator[KeyScreen]:
    """Open the terminal as a `KeyScreen`; when the context ends, the terminal is as before."""
    screen = urwid.display.raw.Screen(bracketed_paste_mode=False, focus_reporting=False)
    screen.set_terminal_properties(colors=ALL_COLOURS)
    console = KeyScreen(screen, keys, speed)
    async with at_screen(screen, console):
        yield console


class KeyScreen:
    """A terminal at which a human presses keys, drawn with urwid."""

    def __init__(self, screen: Any, keys: Mapping[str, Any], speed: int) -> None:
        self._screen = screen
        self._keys = keys
        self._waiting: deque[str] = deque(maxlen=MAX_WAITING)
        self._pressed = trio.Event()
        self._speed = SPEEDS.index(speed)
        self._frame = Frame()

    async def key(self) -> str | None:
        """Return the newest key of this step; while the game waits, the oldest that was not played.

        `QUIT` means that the human leaves, or that the terminal is gone; `None`, that no key was pressed. If
        the call is cancelled, a pressed key stays for the next step.
        """
        if SPEEDS[self._speed]:
            await trio.sleep(1 / SPEEDS[self._speed])
        if SPEEDS[self._speed]:  # it may have changed meanwhile
            key = self._waiting[-1] if self._waiting else None
            self._waiting.clear()
            return key
        while not self._waiting and SPEEDS[self._speed] == 0:
            self._pressed = trio.Event()
            await self._pressed.wait()
        return self._waiting.popleft() if self._waiting else None

    def show(self, frame: Frame) -> None:
        """Draw a frame."""
        self._frame = frame
        self.draw()

    def press(self, key: Any) -> None:
        """Take a key; see `flagfall.agents.human.full_screen.KeyTaker`."""
        if key in _QUIT_KEYS:
            self._waiting.append(QUIT)
        elif key in ("+", "-"):
            self._speed = min(max(self._speed + (1 if key == "+" else -1), 0), len(SPEEDS) - 1)
        elif key in self._keys and QUIT not in self._waiting:
            self._waiting.append(key)
        self._pressed.set()

    def hang_up(self) -> None:
        """Quit: the terminal is gone."""
        self.press(_QUIT_KEYS[0])

    def draw(self) -> None:
        """Redraw the screen."""
        columns, rows = self._screen.get_cols_rows()
        lines = self._picture(columns, rows - 2) + self._frame.text.splitlines()
        body = urwid.Pile([urwid.Text(line, wrap="clip") for line in lines or [""]])
        header, footer = (urwid.Text(text, wrap="clip") for text in (self._status(), self._help()))
        screen = urwid.Frame(urwid.Filler(body, valign="top"), header, footer)
        self._screen.draw_screen((columns, rows), screen.render((columns, rows)))

    def _picture(self, columns: int, rows: int) -> list[Any]:
        if self._frame.picture is None:
            return []
        below = len(self._frame.text.splitlines())
        return [
            [(urwid.AttrSpec(upper, lower, ALL_COLOURS), HALF_BLOCK * count) for upper, lower, count in line]
            for line in half_block_runs(fitted(self._frame.picture, columns, rows - below))
        ]

    def _status(self) -> str:
        frame = self._frame
        speed = SPEEDS[self._speed]
        pace = f"{speed} steps/s" if speed else "waits for a key"
        last = f" (last {frame.last:+g})" if frame.last else ""
        return f" flagfall    step {frame.steps}    reward {frame.reward:g}{last}    {pace}"

    def _help(self) -> str:
        return f" q quit   + - speed   {' '.join(_NAMES.get(key, key) for key in self._keys)}"
