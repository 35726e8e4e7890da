"""Routes of the live page: the page, its events, and commands to the run where they are allowed."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import msgspec
import trio
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from flagfall.errors import UsageError
from flagfall.texts import one_line
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.run.control import send_command
from flagfall.viewer.live.folder_reader import FolderReader, News
from flagfall.viewer.live.views import ENDINGS, NewsItem, RunView
from flagfall.viewer.pages import served_page
from flagfall.viewer.replay.routes import Replays
from flagfall.viewer.report.data import ENTRY, STYLES, report_data
from flagfall.viewer.report.source import open_source
from flagfall.viewer.server.app import EventResponse, Hub, path_inside, refusal

if TYPE_CHECKING:
    from starlette.requests import Request
READ_SECONDS: Final = 1.0
"""Time between readings of the folder; each takes some milliseconds."""

STANDINGS_SECONDS: Final = 2.0
"""Shortest time between computations of the standings."""

STANDINGS_SHARE: Final = 10
"""After a computation the next one waits this many times its duration: large tournaments take a tenth of one
processor at most."""

KEPT_NEWS: Final = 200
"""Matches that have ended which a page gets when it connects."""

_T = TypeVar("_T")


class Watcher:
    """Reads a folder for all viewers, and sends what has changed: the events `run`, `news`, `standings`."""

    def __init__(self, folder: Path) -> None:
        self.hub: Hub = Hub()
        self._reader = FolderReader(folder)
        self._news: deque[NewsItem] = deque(maxlen=KEPT_NEWS)
        self._begun = False
        self._counted: tuple[object, ...] = ()
        self._changed = trio.Event()
        self._reading = trio.Lock()

    async def run(self) -> None:
        """Watch until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._compute_standings)
            try:
                while True:
                    await self.hub.wait_for_viewer()
                    await self.refresh()
                    await trio.sleep(READ_SECONDS)
            finally:
                self._reader.close()

    async def refresh(self) -> None:
        """Read the folder now, for example after a command."""
        async with self._reading:
            view, news = await _in_thread(self._reader.read)
            self._publish(view, news)

    def _publish(self, view: RunView, news: News) -> None:
        self.hub.publish("run", view)
        if news.items or news.left_out or not self._begun:
            anew = not self._news or not news.items or news.items[0].number <= self._news[-1].number
            if anew:  # the first ones, or the folder was away and perhaps holds another tournament
                self._news.clear()
            self._begun = True
            self._news.extend(news.items)
            kept = {"items": list(self._news), "left_out": 0, "all": True}
            told = {"items": news.items, "left_out": news.left_out, "all": anew}
            self.hub.publish("news", told, keep=kept)
        counted = (view.played, view.state in {"missing", "waiting", "damaged"}, view.state == "ended")
        if counted != self._counted:
            self._counted = counted
            self._changed.set()

    async def _compute_standings(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = trio.Event()
            began = trio.current_time()
            self.hub.publish("standings", await _in_thread(self._reader.read_standings))
            took = trio.current_time() - began
            await trio.sleep(max(STANDINGS_SECONDS, STANDINGS_SHARE * took))


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Call a function that blocks; if this is cancelled, it goes on alone for at most some seconds."""
    return await trio.to_thread.run_sync(work, abandon_on_cancel=True)


LINKS: Final = {"replay": "replay/{match}/", "report": "report"}
"""Addresses of the pages; `{match}` stands for the id of a match."""

MAX_LISTED: Final = 10_000
"""Files of journals being written that are looked through; a run has one for each of its jobs."""

KEEP_SECONDS: Final = 10.0
"""Time for which a report is shown again without reading the results anew."""

KEEP_SHARE: Final = 10
"""A report is also kept for this many times as long as it took."""


def replays_of(folder: Path) -> Replays:
    """Return the replays of a tournament's matches, by their ids; modules that they name are not imported.

    A match that is being played is shown by the journal of its newest attempt.
    """
    return Replays(partial(_journal, folder))


def _journal(folder: Path, match: str) -> Path:
    ended = [f"{JOURNALS}/{match}{ending}" for ending in ENDINGS]
    for name in (*ended, *_newest_attempt(folder / RUNNING, match), *ended):  # it may be moved meanwhile
        try:
            return path_inside(folder, name)
        except UsageError as error:
            problem = error
    raise problem


def _newest_attempt(running: Path, match: str) -> list[str]:
    endings = "|".join(map(re.escape, ENDINGS))
    pattern = re.compile(rf"{re.escape(match)}-([0-9]{{1,9}})(?:{endings})", re.ASCII)
    attempts: dict[int, str] = {}
    with suppress(OSError), os.scandir(running) as entries:  # it comes and goes with the run
        for entry in islice(entries, MAX_LISTED):
            if found := pattern.fullmatch(entry.name):
                attempts[int(found[1])] = f"{RUNNING}/{entry.name}"
    return [attempts[max(attempts)]] if attempts else []


class ReportPage:
    """The report of a tournament, made when it is asked for, and kept for a while."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._making = trio.Lock()
        self._page = b""
        self._until = 0.0

    def route(self) -> Route:
        """Return its route."""
        return Route("/report", self._show, methods=["GET"])

    async def _show(self, _request: Request) -> Response:
        async with self._making:  # one at a time, whatever the number of viewers
            began = trio.current_time()
            if began >= self._until:
                self._page = await _in_thread(self._make)
                now = trio.current_time()
                self._until = now + max(KEEP_SECONDS, KEEP_SHARE * (now - began))
        return Response(self._page, media_type="text/html")

    def _make(self) -> bytes:
        with open_source(self._folder) as source:
            data = report_data(source)
        title = f"{data['title']} - tournament report"
        return served_page(title=title, entry=ENTRY, blocks={"report": data}, styles=STYLES)


BODY_SECONDS: Final = 5.0
"""Longest time until a command has arrived."""

COMMAND_HEADER: Final = "x-flagfall-command"
"""Header with the token that the page holds; a page of another origin can neither read nor send it."""

_TOKEN_BYTES: Final = 24


class _Command(msgspec.Struct, forbid_unknown_fields=True):
    do: Literal["pause", "resume", "cancel"]
    match: Annotated[str, msgspec.Meta(max_length=200)] = ""


_COMMANDS: Final = msgspec.json.Decoder(_Command)


def live_routes(folder: Path, watcher: Watcher, *, allow_control: bool) -> list[Route]:
    """Return the routes of a folder's live page, on which viewers may pause, resume and cancel, or not."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    name = one_line(folder.absolute().name)
    page = served_page(
        title=f"{name} - flagfall",
        entry="live/main.js",
        styles=["live/live.css"],
        blocks={"live": {"folder": name, "command": token if allow_control else None, "links": LINKS}},
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
        await _in_thread(partial(send_command, folder, request))
    except UsageError as error:
        return refusal(409, str(error))
    await watcher.refresh()
    return JSONResponse({"done": command.do})
