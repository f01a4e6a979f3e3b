"""Access to the server: the token, the Host and Origin headers, and the headers of every answer.

Start reading at `Guard.__call__`. A page of another site can make a browser send requests here, even under its own
domain name if that resolves to 127.0.0.1 (DNS rebinding). But it does not know the token, and the browser puts its
name in the headers. So both are checked first.
"""

from __future__ import annotations

import hmac
import html
import ipaddress
import os
import re
import secrets
import socket
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rlgo.base.errors import RlgoError

STATIC = "/static/"
_REFUSED = Path(__file__).parents[1] / "static" / "refused.html"
_TOKEN = re.compile(r"[\w-]{32,}", re.ASCII)
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_FORBIDDEN = 1008  # WebSocket close code: policy violation

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def new_token() -> str:
    """Return a new token: 32 random bytes, as text for URLs."""
    return secrets.token_urlsafe(32)


def kept_token(file: Path) -> str:
    """Return the token in a file, which gets a new one if it does not exist. RlgoError if it holds something else."""
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
            new.write(f"{new_token()}\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise RlgoError(f"{file}: cannot be written: {error.strerror}") from None
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    if not _TOKEN.fullmatch(text):
        raise RlgoError(f"{file}: expected a token, 32 or more letters, digits, - and _; without the file, one is made")
    return text


class Guard:
    """The outermost layer of the application.

    Parameters
    ----------
    app : the application to guard
    token : the token that requests must contain
    host : the address that the server is bound to, or a name it is known by
    most_bytes : size of the largest request body
    """

    def __init__(self, app: ASGIApp, token: str, host: str, most_bytes: int) -> None:
        self.app, self.token, self.host, self.most_bytes = app, token, host, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an allowed request on, and refuse all others."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _FORBIDDEN})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-cache" if scope["path"].startswith(STATIC) else "no-store")
            await send(message)

        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
        elif refusal is not None:
            await refusal(scope, receive, send_with_headers)
        else:
            await self._pass_on(scope, receive, send_with_headers)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request, unless its body is too large."""
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > self.most_bytes:
            await JSONResponse({"error": self._too_large}, 413)(scope, receive, send)
            return
        received = 0

        async def receive_some() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.most_bytes:
                raise HTTPException(413, self._too_large)
            return message

        await self.app(scope, receive_some, send)

    @property
    def _too_large(self) -> str:
        return f"expected a request of at most {self.most_bytes:,} bytes"

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not allowed, or to the first one, which leads to the page."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_our_name(_without_port(host)):
            return _forbidden(headers, f"Host {host!r}: expected this server's own name or address")
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return _forbidden(headers, f"Origin {origin!r}: expected this server")
        if scope["path"].startswith(STATIC):
            return None
        in_url = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        in_cookie = cookie_parser(headers.get("cookie", "")).get(cookie_name(host), "")
        if not any(self._is_token(given) for given in (in_url, in_cookie)):
            return _forbidden(headers, "the token is missing or wrong: open the address that rlgo web printed")
        if in_url and scope["path"] == "/" and scope["type"] == "http":
            answer = RedirectResponse("/", 303)  # so that the token does not stay in the address bar
            if self._is_token(in_url):  # not if it comes from an old bookmark, and only the cookie is right
                answer.set_cookie(cookie_name(host), in_url, httponly=True, samesite="lax")
            return answer
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _is_our_name(self, name: str) -> bool:
        """Whether a name in a Host header cannot be that of another site that resolves to this server."""
        if name in _LOOPBACK or name == self.host:
            return True
        if self.host in _LOOPBACK:
            return False
        return name.lower() == socket.gethostname().lower() or _is_address(name)


def _forbidden(headers: Headers, why: str) -> Response:
    """Return why a request is refused: a page for people, JSON for programs."""
    if "text/html" in headers.get("accept", ""):
        return HTMLResponse(_REFUSED.read_text("utf-8").replace("{why}", html.escape(why)), 403)
    return JSONResponse({"error": why}, 403)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).strip("[]")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def cookie_name(host: str) -> str:
    """Return the name of the cookie that holds the token: servers at several ports share their cookies."""
    port = host.rpartition(":")[2]
    return f"rlgo-token-{port}" if port.isdecimal() else "rlgo-token"
