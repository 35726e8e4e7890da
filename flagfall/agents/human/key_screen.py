"""The full screen of a human who plays by keys, drawn with urwid: a picture in half blocks, or a text."""

from __future__ import annotations

__all__ = ["KeyScreen", "key_screen", "require_terminal"]

import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import trio

from flagfall.agents.human.half_blocks import HALF_BLOCK, fitted, half_block_runs
from flagfall.agents.human.keys import SPEEDS, USUAL_SPEED, KeyConsole, Shown
from flagfall.agents.human.player import QUIT
from flagfall.agents.human.terminal import at_screen
from flagfall.errors import UsageError

try:
    import urwid
except ModuleNotFoundError as error:
    raise UsageError("to play by keys needs urwid: pip install 'flagfall[human]'") from error

MAX_WAITING: Final = 16
"""So many keys wait to be played while the game waits; older ones are forgotten."""

ALL_COLOURS: Final = 2**24

_QUIT_KEYS: Final = ("ctrl x", "esc", "q")
_NAMES: Final = {" ": "Space"}


def require_terminal() -> None:
    """Check that there is a terminal to play at.

    Raises:
        UsageError: the standard input or output is none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("to play by keys needs a terminal, and a pipe is none")


@asynccontextmanager
async def key_screen(keys: Mapping[str, Any], speed: int = USUAL_SPEED) -> AsyncIterator[KeyConsole]:
    """The terminal; when the context ends, it is as it was.

    Args:
        keys: which keys play something.
        speed: steps a second at first, one of `SPEEDS`.
    """
    screen = urwid.display.raw.Screen(bracketed_paste_mode=False, focus_reporting=False)
    screen.set_terminal_properties(colors=ALL_COLOURS)
    console = KeyScreen(screen, keys, speed)
    async with at_screen(screen, console):
        yield console


class KeyScreen:
    """See `flagfall.agents.human.keys.KeyConsole`.

    Args:
        screen: of urwid.
        keys: which keys play something.
        speed: steps a second at first, one of `SPEEDS`.
    """

    def __init__(self, screen: Any, keys: Mapping[str, Any], speed: int) -> None:
        self._screen = screen
        self._keys = keys
        self._waiting: deque[str] = deque(maxlen=MAX_WAITING)
        self._pressed = trio.Event()
        self._speed = SPEEDS.index(speed)
        self._shown = Shown()

    async def key(self) -> str | None:
        """The newest key of this step; while the game waits, the oldest that was not played."""
        if SPEEDS[self._speed]:
            await trio.sleep(1 / SPEEDS[self._speed])
        if SPEEDS[self._speed]:
            key = self._waiting[-1] if self._waiting else None
            self._waiting.clear()
            return key
        while not self._waiting and SPEEDS[self._speed] == 0:
            self._pressed = trio.Event()
            await self._pressed.wait()
        return self._waiting.popleft() if self._waiting else None

    def show(self, shown: Shown) -> None:
        """Draw this."""
        self._shown = shown
        self.draw()

    def press(self, key: Any) -> None:
        """See `flagfall.agents.human.terminal.KeyTaker`."""
        if key in _QUIT_KEYS:
            self._waiting.append(QUIT)
        elif key in ("+", "-"):
            self._speed = min(max(self._speed + (1 if key == "+" else -1), 0), len(SPEEDS) - 1)
        elif key in self._keys and QUIT not in self._waiting:
            self._waiting.append(key)
        self._pressed.set()

    def hang_up(self) -> None:
        """Likewise: nobody is left to play."""
        self.press(_QUIT_KEYS[0])

    def draw(self) -> None:
        """Likewise."""
        columns, rows = self._screen.get_cols_rows()
        lines = self._picture(columns, rows - 2) + self._shown.text.splitlines()
        body = urwid.Filler(
            urwid.Pile([urwid.Text(line, wrap="clip") for line in lines or [""]]), valign="top"
        )
        frame = urwid.Frame(
            body, header=urwid.Text(self._status(), wrap="clip"), footer=urwid.Text(self._help(), wrap="clip")
        )
        self._screen.draw_screen((columns, rows), frame.render((columns, rows)))

    def _picture(self, columns: int, rows: int) -> list[Any]:
        if self._shown.picture is None:
            return []
        below = len(self._shown.text.splitlines())
        return [
            [(urwid.AttrSpec(upper, lower, ALL_COLOURS), HALF_BLOCK * count) for upper, lower, count in line]
            for line in half_block_runs(fitted(self._shown.picture, columns, rows - below))
        ]

    def _status(self) -> str:
        shown = self._shown
        speed = SPEEDS[self._speed]
        pace = f"{speed} steps/s" if speed else "waits for a key"
        last = f" (last {shown.last:+g})" if shown.last else ""
        return f" flagfall    step {shown.steps}    reward {shown.reward:g}{last}    {pace}"

    def _help(self) -> str:
        playing = " ".join(_NAMES.get(key, key) for key in self._keys)
        return f" q quit   + - speed   {playing}"
