"""Headers of every response: browsers run nothing but the package's own scripts, and keep no data."""

from __future__ import annotations

__all__ = ["Headers"]

from typing import TYPE_CHECKING, Final

from starlette.datastructures import MutableHeaders

from flagfall.viewer.pages import content_security_policy

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

_UNLESS_SET: Final = {
    "Content-Security-Policy": content_security_policy(),
    "Cache-Control": "no-store",
}

_STARTS: Final = frozenset({"http.response.start", "websocket.http.response.start"})


class Headers:
    """Middleware that adds the headers to each response.

    Args:
        app: the pages.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] in _STARTS:
                headers = MutableHeaders(scope=message)
                headers.update(_ALWAYS)
                for name, value in _UNLESS_SET.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
