"""Static files of the package: scripts, styles and pictures of `flagfall/viewer/static`, and no others."""

from __future__ import annotations

__all__ = ["static_route"]

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from flagfall.viewer.pages import STATIC

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
"""Content types by ending; other files of the folder are not served."""


def static_route() -> Route:
    """Return the route of the static files."""
    return Route("/static/{name:path}", _serve, methods=["GET"])


@cache
def _names() -> dict[str, Path]:
    """Return the files by their names below `/static/`; a request opens no other path."""
    return {
        path.relative_to(STATIC).as_posix(): path
        for path in sorted(STATIC.rglob("*"))
        if path.suffix in _TYPES and path.is_file() and not path.is_symlink()
    }


async def _serve(request: Request) -> Response:
    path = _names().get(request.path_params["name"])
    if path is None:
        raise HTTPException(404)
    content = path.read_bytes()  # of the package, and small
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[path.suffix], headers=headers)
