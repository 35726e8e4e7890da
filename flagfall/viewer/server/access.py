"""Access to pages: which requests are answered, and which browsers may see the pages.

| the request | its outcome |
|---|---|
| has a path with query of more than `MAX_TARGET_BYTES` | 414 |
| names a host that this server is not: a page elsewhere whose name was bound to this address | 403 |
| comes from a page of another origin | 403 |
| has another method than GET, HEAD and POST; POST where a route does not take it | 405 |
| has a body with GET or HEAD, or one of more than `MAX_BODY_BYTES` | 400, 413 |
| does not have the token, where one is required | 401 |

A token comes once in the address (`?token=...`); from then on the browser holds a cookie that is derived from
it. Programs may send `Authorization: Bearer TOKEN` instead.
"""

from __future__ import annotations

import hmac
import html
import warnings
from collections.abc import Iterator
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import attrs
import trio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.websockets import WebSocket

from flagfall.agents.admission import LOOPBACK, checked_address, checked_port, is_loopback
from flagfall.agents.wire.admission import JoinPolicy
from flagfall.errors import UsageError
from flagfall.viewer.pages import content_security_policy

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


BACKLOG: Final = 128
"""Connections waiting to be accepted."""

_ALL_IPV4: Final = "0.0.0.0"  # noqa: S104 - only where the user asks for all addresses


@attrs.frozen
class Bind:
    """An address to serve pages at.

    Attributes:
        address: an IP address of this machine, `localhost`, or `*` for all.
        port: 1 to 65535, or 0 for any free one.
        token: the token that a browser must present; `None` for none. Never shown.
        certificate: a file with the certificate chain of this host, in PEM, for TLS; `None` for plain HTTP.
        key: a file with its key; `None` if the key is in the same file.

    Raises:
        UsageError: a value is invalid, or others can reach the address and no token is required.
    """

    address: str = attrs.field(default=LOOPBACK, converter=checked_address)
    port: int = attrs.field(default=0)
    token: str | None = attrs.field(default=None, repr=False)
    certificate: Path | None = None
    key: Path | None = None

    def __attrs_post_init__(self) -> None:
        if self.port != 0:
            checked_port(self.port)
        if self.key is not None and self.certificate is None:
            raise UsageError("a key goes with a certificate")
        if self.is_loopback:
            return
        if self.token is None:
            raise UsageError(f"{self.address}: others can reach it, so it needs a token: name a token file")
        if self.certificate is None:
            warnings.warn(
                f"{self.address} is not secured: anyone who reads the network sees the token and the pages;"
                " name a certificate",
                stacklevel=3,
            )

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the address."""
        return is_loopback(self.address)

    def tls_context(self) -> SSLContext | None:
        """Return the TLS settings; `None` for plain HTTP. An unusable certificate is a `UsageError`."""
        if self.certificate is None:
            return None
        context = JoinPolicy(certificate=self.certificate, key=self.key).context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    async def open_listeners(self) -> list[trio.SocketListener]:
        """Bind the port; a `UsageError` if that cannot be done."""
        host: str | None = self.address
        if self.address == "*":
            host = None if self.port else _ALL_IPV4  # a free port of IPv4 may be taken for IPv6
        try:
            return await trio.open_tcp_listeners(self.port, host=host, backlog=BACKLOG)
        except OSError as error:
            why = error.strerror or error
            raise UsageError(
                f"port {self.port} at {self.address} cannot be bound: {why}; choose another port, or 0 for"
                " any free one"
            ) from error

    def url(self, port: int) -> str:
        """Return the address of the first page at the port that was bound, without the token."""
        scheme = "http" if self.certificate is None else "https"
        host = LOOPBACK if self.address == "*" else self.address
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"


_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

_UNLESS_SET: Final = {"Content-Security-Policy": content_security_policy(), "Cache-Control": "no-store"}

_STARTS: Final = frozenset({"http.response.start", "websocket.http.response.start"})


@attrs.frozen
class PageHeaders:
    """Middleware that adds the headers to each response."""

    _app: ASGIApp

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


MAX_TARGET_BYTES: Final = 4_096
"""Longest path with its query; those of the pages have less than 200 bytes."""

MAX_BODY_BYTES: Final = 16_384
"""Longest body of a POST; the commands of the pages have less than 300 bytes."""

MAX_QUERY_FIELDS: Final = 16
"""Most fields of a query."""

_LOOPBACK_HOSTS: Final = frozenset({"localhost", LOOPBACK, "::1"})
_METHODS: Final = frozenset({"GET", "HEAD", "POST"})
_COOKIE_PURPOSE: Final = b"cookie of the pages"


@attrs.frozen
class Access:
    """Rules for requests.

    Attributes:
        token: the token that is required; `None` for none. Never shown.
        hosts: names in the `Host` header that are answered; `None` for any, as a page elsewhere does not have
            the token.
        secure: the pages are served over TLS, so the cookie is sent over nothing else.
    """

    token: str | None = attrs.field(default=None, repr=False)
    hosts: frozenset[str] | None = _LOOPBACK_HOSTS
    secure: bool = False

    @classmethod
    def of(cls, bind: Bind) -> Access:
        """Return the rules for an address."""
        hosts = _LOOPBACK_HOSTS | {bind.address} if bind.is_loopback else None
        return cls(bind.token, hosts, secure=bind.certificate is not None)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request, of HTTP or WebSocket, that is not for the pages; else `None`."""
        headers = Headers(scope=scope)
        return (
            _check_size(scope)
            or self._check_host(headers)
            or _check_origin(headers)
            or _check_method(scope, headers)
            or self._check_token(scope, headers)
        )

    def _check_host(self, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not hosts[0]:
            return _refused(400, "one Host header is needed")
        if self.hosts is not None and _host_name(hosts[0]) not in self.hosts:
            line = "this host name is not served here: open the address that flagfall has printed"
            return _refused(403, line)
        return None

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        if self.token is None:
            return None
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._matches(bearer.strip(), self.token):
            return None
        name = self._cookie_name(headers)
        wanted = self._cookie_value()
        if any(self._matches(value, wanted) for value in _cookies(headers, name)):
            return self._admit(scope, name) if _query_token(scope) is not None else None
        offered = _query_token(scope)
        if offered is not None and scope.get("method") == "GET" and self._matches(offered, self.token):
            return self._admit(scope, name)
        if offered is not None:
            return _refused(401, "wrong token: open the address that flagfall has printed")
        return _refused(401, "these pages need a token: open the address that flagfall has printed")

    @staticmethod
    def _matches(offered: str, wanted: str) -> bool:
        return hmac.compare_digest(offered.encode(errors="replace"), wanted.encode(errors="replace"))

    def _cookie_name(self, headers: Headers) -> str:
        """Return the cookie's name: browsers send cookies to every port of a host, so it names the port."""
        port = _port_of(headers["host"])
        return f"{'__Host-' if self.secure else ''}flagfall-{port or 'default'}"

    def _cookie_value(self) -> str:
        assert self.token is not None
        return hmac.digest(self.token.encode(errors="replace"), _COOKIE_PURPOSE, "sha256").hex()

    def _admit(self, scope: Scope, cookie: str) -> Response:
        """Give a browser the cookie, and lead it to the same page without the token in its address.

        A redirect would not do: after a link from elsewhere, browsers send no cookie of `SameSite=Strict`
        along with it.
        """
        fields = [(name, value) for name, value in _query(scope) if name != "token"]
        path = "/" + quote(scope["path"].lstrip("/"), safe="/")  # `//host` would be another host
        target = f"{path}?{urlencode(fields)}" if fields else path
        response = HTMLResponse(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>flagfall</title>'
            '<link rel="icon" href="data:,">'
            f'<meta http-equiv="refresh" content="0; url={html.escape(target)}">'
            f'<p><a href="{html.escape(target)}">Continue</a></p></html>\n'
        )
        response.set_cookie(
            cookie, self._cookie_value(), path="/", secure=self.secure, httponly=True, samesite="strict"
        )
        return response


@attrs.frozen
class Guard:
    """Middleware that answers the requests that `Access` refuses."""

    _app: ASGIApp
    _access: Access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        refusal = self._access.refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(refusal)
        else:
            await refusal(scope, receive, send)


def _refused(status: int, line: str, **headers: str) -> Response:
    return PlainTextResponse(f"{status} {line}\n", status, headers)


def _check_size(scope: Scope) -> Response | None:
    if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_TARGET_BYTES:
        return _refused(414, f"the address is longer than {MAX_TARGET_BYTES} bytes")
    return None


def _check_origin(headers: Headers) -> Response | None:
    """Refuse requests of pages from elsewhere, which browsers mark.

    Links from elsewhere may be followed: then a browser shows the page instead of the one with the link.
    """
    origin = headers.get("origin")
    if origin is None:
        is_elsewhere = headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}
        refused = is_elsewhere and headers.get("sec-fetch-mode") != "navigate"
    else:
        refused = _host_of(origin) != headers["host"].lower()
    return _refused(403, "a page of another origin may not use these pages") if refused else None


def _host_of(origin: str) -> str | None:
    """Return the host with its port that an origin names, in small letters; `None` if it names none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _check_method(scope: Scope, headers: Headers) -> Response | None:
    if scope["type"] == "websocket":
        return None
    method = scope["method"]
    if method not in _METHODS:
        return _refused(405, "only GET and HEAD are answered here", Allow="GET, HEAD")
    length = headers.get("content-length", "0")
    if method != "POST":
        if length.strip("0") or "transfer-encoding" in headers:
            return _refused(400, "a request to read has no body")
    elif "transfer-encoding" in headers or not length.isdecimal():
        return _refused(411, "a body needs its Content-Length")
    elif len(length) > len(str(MAX_BODY_BYTES)) or int(length) > MAX_BODY_BYTES:
        return _refused(413, f"the body is longer than {MAX_BODY_BYTES} bytes")
    return None


def _host_name(host: str) -> str:
    """Return the name in a `Host` header, in small letters and without its port."""
    name, colon, port = host.lower().rpartition(":")
    if not colon or not port.isdecimal():
        name = host.lower()
    return name.removeprefix("[").removesuffix("]")


def _port_of(host: str) -> int | None:
    try:
        return urlsplit(f"//{host}").port
    except ValueError:
        return None


def _cookies(headers: Headers, name: str) -> Iterator[str]:
    """Yield the values of cookies with a name; ours need no unquoting, which takes long in the library."""
    for line in headers.getlist("cookie"):
        for pair in line.split(";"):
            found, _, value = pair.partition("=")
            if found.strip() == name:
                yield value.strip()


def _query(scope: Scope) -> list[tuple[str, str]]:
    try:
        return parse_qsl(scope["query_string"].decode("latin-1"), True, max_num_fields=MAX_QUERY_FIELDS)
    except ValueError:  # too many fields
        return []


def _query_token(scope: Scope) -> str | None:
    return next((value for name, value in _query(scope) if name == "token"), None)
