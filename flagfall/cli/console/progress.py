"""Lines that a run prints on the terminal: its progress, and notices about code that blocks."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack, asynccontextmanager, contextmanager
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from flagfall.errors import __file__ as _errors
from flagfall.events import Event, TurnPlayed
from flagfall.texts import sanitize_terminal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import FrameType

    from rich.console import ConsoleRenderable, RenderableType, RichCast

REFRESHES: Final = 4
"""Refreshes per second. Each costs the event loop about 1 ms, as the display thread takes the GIL."""

_BAR_CHARS: Final = 30

SHOW_AFTER_SECONDS: Final = 1.0
"""Time after which the progress of a command is shown."""


@attrs.define(eq=False)
class Progress:
    """State of the progress line; as a sink of events it counts turns, at most `steps` in a match."""

    _matches: int
    _steps: int | None
    turns: int = 0
    _title: str = ""
    _before: int = 0
    _began: float = attrs.Factory(monotonic)
    _spinner: Spinner = attrs.Factory(lambda: Spinner("dots"))

    def begin(self, number: int, who: str) -> None:
        """Begin the next match, whose number counts from 0."""
        of = f"match {number} ({number + 1} of {self._matches}): " if self._matches > 1 else ""
        self._title = of + who
        self._before += self.turns
        self.turns = 0

    def __call__(self, event: Event) -> None:
        """Count the turn of a `TurnPlayed` event."""
        if type(event) is TurnPlayed:
            self.turns = event.turn + 1

    def __rich__(self) -> Table:
        seconds = max(monotonic() - self._began, 1e-3)
        rate = (self._before + self.turns) / seconds
        cells: list[RenderableType] = [self._spinner, Text(self._title)]
        if self._steps is not None:
            cells.append(ProgressBar(total=self._steps, completed=self.turns, width=_BAR_CHARS))
        text = f"{self.turns:,} turns  {rate:,.0f}/s  {seconds:.0f} s"
        line = Table.grid(padding=(0, 1))
        line.add_row(*cells, Text(text))
        return line


@contextmanager
def show_live(shown: ConsoleRenderable | RichCast, console: Console) -> Iterator[None]:
    """Show progress at a terminal while the context lasts, and clear it afterwards."""
    with Live(
        get_renderable=lambda: shown,
        console=console,
        refresh_per_second=REFRESHES,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


@contextmanager
def watch_turns(title: str, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Return a context with a callback for the number of turns done, which a terminal shows if it takes long.

    Args:
        title: what is done, such as `verifying match.jsonl`.
    """
    console = Console(stderr=True, highlight=False, markup=False)
    progress = Progress(1, None)
    progress.begin(0, sanitize_terminal(title))
    show_at = inf if quiet or not console.is_terminal else monotonic() + SHOW_AFTER_SECONDS
    with ExitStack() as shown:

        def watch(turns: int) -> None:
            nonlocal show_at
            progress.turns = turns
            if monotonic() >= show_at:
                show_at = inf
                shown.enter_context(show_live(progress, console))

        yield watch


def build(host: Any) -> None:
    """Build what an agent in WebAssembly needs, and show at a terminal that this takes long."""
    console = Console(stderr=True, highlight=False, markup=False)
    with ExitStack() as shown:
        if console.is_terminal and not host.is_ready:
            title = f"building {host.name} for WebAssembly, once: up to a minute"
            shown.enter_context(show_live(Spinner("dots", Text(sanitize_terminal(title))), console))
        host.prepare()


NOTICE_SECONDS: Final = 1.0
"""Time without a pass of the event loop after which the notice is printed."""

MAX_NOTICES: Final = 3
"""Most notices of one run: an agent that blocks in every turn would fill the screen."""

_BEAT_SECONDS: Final = 0.25
_OWN_FOLDERS: Final = (str(Path(_errors).parent), str(Path(trio.__file__).parent))


@asynccontextmanager
async def block_notice(say: Callable[[str], None]) -> AsyncIterator[None]:
    """Print a notice by `say`, from another thread, when the event loop has been blocked for a second."""
    watch = _Watch(say)
    thread = threading.Thread(target=watch.run, name="block notice", daemon=True)
    thread.start()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch.beat)
            yield
            nursery.cancel_scope.cancel()
    finally:
        watch.over.set()
        thread.join()


class _Watch:
    def __init__(self, say: Callable[[str], None]) -> None:
        self.over = threading.Event()
        self._say = say
        self._loop_thread = threading.get_ident()
        self._beaten = monotonic()

    async def beat(self) -> None:
        while True:
            self._beaten = monotonic()
            await trio.sleep(_BEAT_SECONDS)

    def run(self) -> None:
        told = 0.0
        notices = 0
        while notices < MAX_NOTICES and not self.over.wait(_BEAT_SECONDS):
            beaten = self._beaten
            blocked = monotonic() - beaten
            if blocked >= NOTICE_SECONDS + _BEAT_SECONDS and beaten != told:
                told = beaten
                notices += 1
                self._say(
                    f"the event loop has been blocked for {blocked:.1f} s{self._place()}; meanwhile no other"
                    " agent can play. --host process runs agents apart"
                )

    def _place(self) -> str:
        """Return where the thread of the event loop is, outside of this package."""
        frame: FrameType | None = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 - the way to see it
        while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDERS):
            frame = frame.f_back
        if frame is None:
            return ""
        return f" in {frame.f_code.co_name} ({Path(frame.f_code.co_filename).name}, line {frame.f_lineno})"
