"""Commands that serve pages: their common options, and the server from its start to Ctrl-C."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from cyclopts import Parameter

from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import trio
    from starlette.routing import BaseRoute

    from flagfall.viewer.server.access import Bind

GENERATED_TOKEN_BYTES: Final = 24
"""Random bytes of a token that is made here: more than can be guessed."""

OpenPage: TypeAlias = Annotated[bool, Parameter(name="--open", show_default=False)]
"""The option `--open`, and `--no-open`: whether the browser of this desktop opens the page."""


@Parameter(name="*")
@dataclass
class ServerOptions:
    """The address of the pages, and who may see them.

    Attributes:
        address: Address to serve the pages at; with `*` any browser that reaches this machine can connect.
        port: Port of the pages; 0 for any free one.
        token_file: File with the token that a browser must present; needed for every address that other
            machines can reach.
        cert: File with the certificate of this host in PEM format; the pages are then served over TLS.
        key: File with the private key, unless the certificate's file has it.
    """

    address: str = "127.0.0.1"
    port: int = 0
    token_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def bind(self, *, need_token: bool = False) -> Bind:
        """Return the address; a token is made if there is no token file but one is needed.

        Raises:
            UsageError: an option is invalid, or the extra `viewer` is not installed.
        """
        import secrets

        from flagfall.agents.wire.admission import JoinPolicy

        _check_installed()
        from flagfall.viewer.server.access import Bind

        token = None if self.token_file is None else JoinPolicy.read_token(self.token_file)
        if token is None and need_token:
            token = secrets.token_urlsafe(GENERATED_TOKEN_BYTES)
        bind = Bind(self.address, self.port, token, self.cert, self.key)
        bind.tls_context()
        return bind


def _check_installed() -> None:
    try:
        import h11
        import starlette
        import wsproto
    except ImportError as error:
        raise UsageError("pages are served with the extra viewer: pip install 'flagfall[viewer]'") from error
    del h11, starlette, wsproto


def serve_pages(
    bind: Bind,
    start: Callable[[trio.Nursery], Awaitable[Sequence[BaseRoute]]],
    *,
    on_ready: Callable[[str], None],
) -> int:
    """Serve pages until Ctrl-C, and return the exit code: 128 plus the number of the signal.

    Args:
        start: returns the routes; the nursery, in which it may start tasks, ends with the server.
        on_ready: called with the address of the first page, without the token, once connections are accepted.
    """
    import trio

    from flagfall.cli.console.interrupts import run_until_interrupted
    from flagfall.viewer.server.access import Access
    from flagfall.viewer.server.app import make_app
    from flagfall.viewer.server.run import serve

    async def run(stop: trio.Event) -> None:
        async with trio.open_nursery() as nursery:
            app = make_app(await start(nursery), access=Access.of(bind))
            await nursery.start(partial(serve, app, bind, on_ready=on_ready))
            await stop.wait()
            nursery.cancel_scope.cancel()

    return run_until_interrupted(run, stopping="closing the pages")


def has_desktop() -> bool:
    """Return whether this machine shows windows, so that it can show a browser."""
    import os

    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def open_in_browser(url: str) -> None:
    """Open a page in the browser of this desktop, if any, in a thread: starting it may take seconds."""
    import threading
    import webbrowser

    if has_desktop():
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
