"""The application of a server of pages: routes behind access rules; every failure is answered in one line."""

from __future__ import annotations

__all__ = ["make_app", "refusal", "say_on_stderr"]

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response

from flagfall.errors import FlagfallError, UsageError
from flagfall.terminal_text import one_line
from flagfall.viewer.server.access import Access, Guard
from flagfall.viewer.server.headers import Headers
from flagfall.viewer.server.static import static_route

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DETAILS: Final = {404: "no such page", 405: "only GET and HEAD are answered here"}


def make_app(
    routes: Sequence[BaseRoute], *, access: Access, say: Callable[[str], None] | None = None
) -> Starlette:
    """Return the application for routes, with the package's static files at `/static/`.

    A route raises `UsageError` for what it cannot show, and the browser gets its message.

    Args:
        routes: the pages and their data.
        access: the rules for requests.
        say: prints a line for the user of this program; by default on the standard error.
    """
    return Starlette(
        routes=[*routes, static_route()],
        middleware=[
            Middleware(Headers),
            Middleware(_Failures, say=say or say_on_stderr),
            Middleware(Guard, access=access),
        ],
        exception_handlers={HTTPException: _http_exception, UsageError: _usage_error},
    )


def refusal(status: int, line: str) -> Response:
    """Return an answer of one line.

    Args:
        status: the status of HTTP.
        line: the reason, and what to do.
    """
    return PlainTextResponse(f"{status} {one_line(line)}\n", status)


def _http_exception(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = refusal(error.status_code, _DETAILS.get(error.status_code, error.detail))
    response.headers.update(error.headers or {})
    return response


def _usage_error(_request: Request, error: Exception) -> Response:
    return refusal(400, str(error))


def say_on_stderr(line: str) -> None:
    """Print a line for the user of this program on the standard error.

    Args:
        line: without a line feed.
    """
    with suppress(OSError):  # the terminal was closed
        sys.stderr.write(f"flagfall: {line}\n")
        sys.stderr.flush()


class _Failures:
    """Middleware that answers a request whose page failed, and reports the failure in one line.

    Args:
        app: the pages.
        say: prints a line for the user of this program.
    """

    def __init__(self, app: ASGIApp, say: Callable[[str], None]) -> None:
        self._app = app
        self._say = say

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        begun = False

        async def send_noting(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] != "websocket.close"
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        except ClientDisconnect:  # in the middle of a body
            pass
        except Exception as error:  # noqa: BLE001 - one page must not end the server
            line = _describe(error)
            self._say(f"the page {one_line(str(scope['path']), 200)} failed: {line}")
            if scope["type"] == "http" and not begun:
                await refusal(500, f"this page failed: {line}")(scope, receive, send)


def _describe(error: BaseException) -> str:
    """Return an error in one line, with its place in the code unless it is one that users can act on."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, OSError | FlagfallError):
        return one_line(str(error))
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
    return one_line(text + place)
