"""`flagfall serve`."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flagfall.cli.console.files import Flag
from flagfall.cli.serving import OpenPage, ServerOptions, open_in_browser, serve_pages
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import trio
    from starlette.routing import BaseRoute


_DEFAULTS: Final = ServerOptions()

NICENESS: Final = 10
"""Steps by which pages give way to everything else on the machine, above all to the matches."""


def serve(
    folder: Path,
    /,
    *,
    server: ServerOptions = _DEFAULTS,
    allow_control: Flag = False,
    open_page: OpenPage = True,
) -> int:
    """Show a tournament while it runs, in a browser: standings, matches in progress, results.

    The page follows the folder: the tournament may run, have ended, or begin later. It leads to replays of
    the matches that have ended or are being played, and to the report so far. Ctrl-C ends the server; the
    tournament is not affected.

    Args:
        folder: Folder of the tournament.
        server: Address of the pages, and who may see them.
        allow_control: Let viewers pause and resume the run, and cancel matches. Without `--token-file` a
            token is made, and is part of the address that is printed.
        open_page: Open the page in the browser of this desktop, if there is one.
    """
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}")
    bind = server.bind(need_token=allow_control)
    with contextlib.suppress(OSError):
        os.nice(NICENESS)

    async def start(nursery: trio.Nursery) -> Sequence[BaseRoute]:
        from flagfall.viewer.live.routes import ReportPage, Watcher, live_routes, replays_of
        from flagfall.viewer.replay.routes import replay_routes

        watcher = Watcher(folder)
        nursery.start_soon(watcher.run)
        replays = closing.enter_context(contextlib.closing(replays_of(folder)))
        return [
            *live_routes(folder, watcher, allow_control=allow_control),
            ReportPage(folder).route(),
            *replay_routes(replays, "/replay"),
        ]

    def ready(url: str) -> None:
        # The token, if it was made here, stands nowhere else.
        is_made_here = bind.token is not None and server.token_file is None
        address = f"{url}?token={bind.token}" if is_made_here else url
        print(f"the tournament in {folder} is shown at {address}", flush=True)
        if server.token_file is not None:
            print(f"add ?token=... with the token in {server.token_file}", file=sys.stderr, flush=True)
        if open_page:
            open_in_browser(address)

    with contextlib.ExitStack() as closing:
        return serve_pages(bind, start, on_ready=ready)
