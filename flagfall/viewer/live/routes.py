"""Routes of the live page: the page, its events, and commands to the run where they are allowed."""

from __future__ import annotations

__all__ = ["live_routes"]

import hmac
import secrets
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
import trio
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from flagfall.errors import UsageError
from flagfall.terminal_text import one_line
from flagfall.tournament.run.control_client import send_command
from flagfall.viewer.pages import served_page
from flagfall.viewer.server.app import refusal
from flagfall.viewer.server.sse import EventResponse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.requests import Request

    from flagfall.viewer.live.watcher import Watcher

BODY_SECONDS: Final = 5.0
"""Longest time until a command has arrived."""

COMMAND_HEADER: Final = "x-flagfall-command"
"""Header with the token that the page holds; a page of another origin can neither read nor send it."""

_TOKEN_BYTES: Final = 24


class _Command(msgspec.Struct, forbid_unknown_fields=True):
    do: Literal["pause", "resume", "cancel"]
    match: Annotated[str, msgspec.Meta(max_length=200)] = ""


_COMMANDS: Final = msgspec.json.Decoder(_Command)


def live_routes(
    folder: Path, watcher: Watcher, *, allow_control: bool, links: Mapping[str, str]
) -> list[Route]:
    """Return the routes of a folder's live page.

    Args:
        folder: the folder of the tournament.
        watcher: the watcher of the folder.
        allow_control: viewers may pause and resume the run, and cancel its matches.
        links: addresses of other pages: `replay`, with `{match}` for the match, and `report`.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    name = one_line(folder.absolute().name)
    page = served_page(
        title=f"{name} - flagfall",
        entry="live/main.js",
        styles=["live/live.css"],
        blocks={"live": {"folder": name, "command": token if allow_control else None, "links": dict(links)}},
    )

    async def show(_request: Request) -> Response:
        return Response(page, media_type="text/html")

    async def events(_request: Request) -> Response:
        return EventResponse(watcher.hub)

    async def command(request: Request) -> Response:
        if not allow_control:
            return refusal(403, "this page may not control the run: start it with --allow-control")
        sent = request.headers.get(COMMAND_HEADER, "")
        if not hmac.compare_digest(sent.encode(errors="replace"), token.encode()):
            return refusal(403, "this command comes from no open page: reload the page")
        body = await _body(request)
        if body is None:
            return refusal(408, f"no command arrived within {BODY_SECONDS:g} s")
        try:
            decoded = _COMMANDS.decode(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            return refusal(400, f"this is not a command: {error}")
        return await _carry_out(folder, watcher, decoded)

    return [
        Route("/", show, methods=["GET"]),
        Route("/events", events, methods=["GET"]),
        Route("/command", command, methods=["POST"]),
    ]


async def _body(request: Request) -> bytes | None:
    with trio.move_on_after(BODY_SECONDS):
        return await request.body()
    return None


async def _carry_out(folder: Path, watcher: Watcher, command: _Command) -> Response:
    request: dict[str, Any] = {"do": command.do}
    if command.do == "cancel":
        request["match"] = command.match
    try:
        await trio.to_thread.run_sync(partial(send_command, folder, request), abandon_on_cancel=True)
    except UsageError as error:
        return refusal(409, str(error))
    await watcher.refresh()
    return JSONResponse({"done": command.do})
