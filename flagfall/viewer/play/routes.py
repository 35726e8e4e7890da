"""The page of a match with a person, and its connection.

The connection is a WebSocket. The guard of the server checks the host name, the token and the origin of
its request (`flagfall.viewer.server.access`); here a request without an origin is refused too, as every
browser sends one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from flagfall.viewer.pages import served_page
from flagfall.viewer.play.host import MAX_TAB_CHARS, MOVED, OVER, TAKEN, Desk, Page
from flagfall.viewer.replay.routes import Replays, replay_routes
from flagfall.viewer.server.app import refusal

if TYPE_CHECKING:
    from starlette.requests import Request


def play_routes(about: dict[str, Any], desk: Desk, replays: Replays) -> list[BaseRoute]:
    """Return the routes of a match: the page, which shows plain values before it, its connection, replays."""
    page = served_page(
        title=f"Play {about['task']}", entry="play/main.js", blocks={"play": about}, styles=("play/play.css",)
    )

    async def show(_request: Request) -> Response:
        return HTMLResponse(page)

    async def connect(socket: WebSocket) -> None:
        await _serve(socket, desk)

    return [
        Route("/", show, methods=["GET"]),
        WebSocketRoute("/socket", connect),
        *replay_routes(replays, "/replay"),
    ]


async def _serve(socket: WebSocket, desk: Desk) -> None:
    """Serve one connection of a page until either end closes it."""
    tab = socket.query_params.get("tab", "")
    if "origin" not in socket.headers:
        await socket.send_denial_response(refusal(403, "this address is for the page of the match"))
        return
    if not 0 < len(tab) <= MAX_TAB_CHARS:
        await socket.send_denial_response(refusal(400, "the tab is not named"))
        return
    await socket.accept()
    page = Page(lambda message: _send(socket, message), tab)

    async def receive() -> bytes | None:
        message = await socket.receive()
        if message["type"] != "websocket.receive":
            return None
        text = message.get("text")
        return text.encode(errors="replace") if text is not None else message.get("bytes") or b""

    has_place = await desk.seat(page, receive)
    if not has_place:
        await socket.close(TAKEN, "another tab has the place")
    elif page.scope.cancelled_caught:
        await socket.close(page.close_code, {MOVED: "the page was opened again", OVER: ""}[page.close_code])


async def _send(socket: WebSocket, message: str | bytes) -> None:
    try:
        if isinstance(message, bytes):
            await socket.send_bytes(message)
        else:
            await socket.send_text(message)
    except (WebSocketDisconnect, RuntimeError) as error:  # it is closed
        raise trio.BrokenResourceError from error
