"""The server process of `rlgo web`.

Start reading at `serve`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, shown

try:
    import starlette  # noqa: F401 - only tried
    import uvicorn
    import websockets  # noqa: F401 - only tried
except ImportError:
    raise RlgoError("needs Starlette, uvicorn and websockets: pip install 'rlgo[web]'") from None

from train.console import message
from train.play.web.options import Options
from train.play.web.server.app import create_app
from train.play.web.server.endpoints import RunSource
from train.play.web.server.guard import kept_token, new_token
from train.process import StopRequest

PORT = 8000
_PING_SECONDS = 10.0  # after which a browser that vanished is noticed
_GRACE_SECONDS = 1


class _Server(uvicorn.Server):
    """uvicorn without its own handling of signals: it would end the process in its own way."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(
    options: Options,
    port: int | None,
    *,
    runs: RunSource | None = None,
    token_file: Path | None = None,
    opens_browser: bool = True,
) -> None:
    """Print the page's address, and serve it until Ctrl-C, which becomes a KeyboardInterrupt.

    Parameters
    ----------
    options : see `Options`
    port : 0 for any free one; None for PORT, or any free one if that is in use
    runs : the training runs to show, if any
    token_file : keeps the token, so that pages connect again after a restart; None: a new token
    opens_browser : open the page in the default browser

    Raises
    ------
    RlgoError : if the address cannot be used, and as `create_app` does.
    """
    with _listen(options.host, port) as listening:
        token = new_token() if token_file is None else kept_token(token_file)
        server, url = _make_server(options, listening, runs, token)

        def end(_: int) -> None:
            server.should_exit = True

        message(f"rlgo: the page is at\n\n    {url}\n\nCtrl-C ends it.")
        if opens_browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        with StopRequest(on_request=end) as request:
            asyncio.run(server.serve(sockets=[listening]))
        if request:
            raise KeyboardInterrupt(request.signal)


@contextlib.contextmanager
def in_background(options: Options) -> Iterator[str]:
    """Serve in a thread, at any free port; yields the address of the WebSocket, token included."""
    with _listen(options.host, 0) as listening:
        server, url = _make_server(options, listening, None, new_token())
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        try:
            yield url.replace("http://", "ws://").replace("/?", "/api/session?")
        finally:
            server.should_exit = True
            thread.join()


def _make_server(options: Options, listening: socket.socket, runs: RunSource | None, token: str) -> tuple[_Server, str]:
    """Return a server for a socket, and the address of its page."""
    config = uvicorn.Config(
        create_app(options, token, runs),
        ws="websockets-sansio",
        ws_max_size=2 * options.limits.message_bytes,  # up to this size, a tab gets an error message
        ws_ping_interval=_PING_SECONDS,
        ws_ping_timeout=_PING_SECONDS,
        lifespan="off",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    return _Server(config), f"http://{_address(options.host, listening.getsockname()[1])}/?token={token}"


def _listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens. RlgoError if the address cannot be used."""
    port = check("port", port, Annotated[int, Ge(0), Le(65_535)] | None)
    try:
        socket.getaddrinfo(host, None)  # refuses an empty name, which a socket takes for all addresses of this computer
    except (OSError, UnicodeError):
        raise RlgoError(f"--host {shown(host)}: there is no such host") from None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reason = ""
    for candidate in (PORT, 0) if port is None else (port,):
        try:
            return socket.create_server((host, candidate), family=family, backlog=128)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
    raise RlgoError(f"--host {host} --port {port if port is not None else PORT}: cannot be used: {reason}")


def _address(host: str, port: int) -> str:
    # For display, not for listening.
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # nosec B104
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
