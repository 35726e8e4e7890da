"""`flagfall replay`."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagfall.cli.console.files import Flag, Output, reading, replacing
from flagfall.cli.serving import OpenPage, ServerOptions, open_in_browser, serve_pages
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import trio
    from starlette.routing import BaseRoute


def replay(
    file: Path,
    /,
    *,
    output: Output = None,
    turns: str | None = None,
    config: str | None = None,
    trust: Flag = False,
    open_page: OpenPage = True,
    options: ServerOptions = ServerOptions(),  # noqa: B008 - a default of the command line
) -> int:
    """Show a recorded match in the browser, or write it into one HTML file.

    The page shows the world of each turn, the time that each turn took and its limits, observations, actions,
    rewards and events. Pictures are made by executing the match again, as `verify` does.

    Args:
        file: A journal; it may still be growing.
        output: Write one HTML file that works without a server instead of opening the browser.
        turns: With -o, the turns to write, such as `0:5000`.
        config: The Python configuration of the match, if it had one, as for `verify`.
        trust: Import the modules that the journal names, to draw pictures. Without this option `replay` asks
            at a terminal, and elsewhere shows what the journal itself holds.
        open_page: Open the page in the browser of this desktop, if there is one.
    """
    if turns is not None and output is None:
        raise UsageError("--turns chooses what -o writes: add -o FILE.html")
    span = None if turns is None else turn_span(turns)
    with reading(file):
        chosen = chosen_tasks(file, config, trust=trust)
        if output is None:
            bind = _bind(options)
        else:
            _write(file, output, span, chosen)
            return 0
    return _serve(file, bind, chosen, open_page=open_page)


def _bind(options: ServerOptions) -> Any:
    try:
        return options.bind()
    except UsageError as error:
        hint = "; or write a file, with -o FILE.html" if isinstance(error.__cause__, ImportError) else ""
        raise UsageError(f"{error}{hint}") from error


def turn_span(text: str) -> tuple[int, int]:
    """Return the first and the last turn of an option `--turns`."""
    match = re.fullmatch(r"(\d{1,18}):(\d{1,18})", text)
    if match is None:
        raise UsageError(f"--turns {text!r}: write the first and the last turn, such as 0:5000")
    return int(match[1]), int(match[2])


def chosen_tasks(file: Path, config: str | None, *, trust: bool) -> dict[str, Any]:
    """Return how the tasks of the match are made."""
    from flagfall.cli.runs.plan import decide_trust, from_config
    from flagfall.viewer.replay.index import Index

    header = Index(file).header
    if config is not None:
        rebuild = partial(from_config, config)
        rebuild(header).close()  # so that a mistake in it is reported here
        return {"rebuild": rebuild}
    return {"trust": trust or decide_trust(file, header)}


def _write(file: Path, output: Path, span: tuple[int, int] | None, chosen: dict[str, Any]) -> None:
    from flagfall.cli.console.progress import watch_turns
    from flagfall.viewer.replay.page import replay_parts

    notes: list[str] = []
    with watch_turns(f"writing {output}") as watch, replacing(output) as writing:
        parts = replay_parts(file, turns=span, watch=watch, report=notes.append, **chosen)
        written = sum(writing.buffer.write(part) for part in parts)
    print(f"{output}: {written / 1024**2:,.1f} MB")
    for note in notes:
        print(f"flagfall: {output}: {note}", file=sys.stderr)


def _serve(file: Path, bind: Any, chosen: dict[str, Any], *, open_page: bool) -> int:
    from flagfall.viewer.replay.routes import Replays, replay_routes

    replays = Replays.of(file, **chosen)

    async def start(_nursery: trio.Nursery) -> Sequence[BaseRoute]:
        return replay_routes(replays)

    def show(url: str) -> None:
        print(f"{file}: {url}  (Ctrl-C ends)", flush=True)
        if open_page:
            open_in_browser(url)

    try:
        return serve_pages(bind, start, on_ready=show)
    finally:
        replays.close()
