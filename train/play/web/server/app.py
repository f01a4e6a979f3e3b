"""The application: everything between a connection and the engine.

Start reading at `create_app`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from rlgo.base.errors import RlgoError
from train.play.web.access.files import Records, WeightFiles
from train.play.web.access.specs import Specs
from train.play.web.messages.requests import MalformedError
from train.play.web.options import Options
from train.play.web.searching.searcher import Shared
from train.play.web.server.endpoints import Endpoints, RunSource
from train.play.web.server.guard import Guard
from train.play.web.server.socket import TRY_LATER, serve_tab
from train.play.web.tab.tab import Tab

STATIC = Path(__file__).parents[1] / "static"


def create_app(options: Options, token: str, runs: RunSource | None = None) -> ASGIApp:
    """Make the application.

    Parameters
    ----------
    options : see `Options`
    token : the token that every request must contain, see `guard.new_token`
    runs : the training runs to show, if any, such as `train.runs.history.RunHistory`

    Raises
    ------
    RlgoError : for an invalid player, and for folders that do not exist.
    """
    for folder in (*options.weights, *options.sgf):
        if not folder.is_dir():
            raise RlgoError(f"{folder}: expected a folder")
    weights, records = WeightFiles(options.weights), Records(options.sgf)
    specs = Specs(options, weights)
    specs.check(options.player, options.size)
    shared = Shared(specs, options.limits)
    endpoints = Endpoints(options, weights, records, runs)
    app = Starlette(
        routes=[
            Route("/", _page, methods=["GET"]),
            Mount("/static", StaticFiles(directory=STATIC), name="static"),
            WebSocketRoute("/api/session", _session(options, shared, records, runs is not None)),
            *endpoints.routes(),
        ],
        exception_handlers={HTTPException: _http_error, RlgoError: _error, Exception: _bug},
    )
    return Guard(app, token, options.host, options.limits.message_bytes)


def _page(_: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-store"})


def _session(options: Options, shared: Shared, records: Records, has_runs: bool) -> Callable[[WebSocket], Any]:
    open_tabs = 0

    async def session(socket: WebSocket) -> None:
        nonlocal open_tabs
        if open_tabs >= options.limits.tabs:
            await socket.accept()
            await socket.close(TRY_LATER, f"all {options.limits.tabs} tabs are in use")
            return
        open_tabs += 1
        try:
            await serve_tab(
                socket,
                options.limits.message_bytes,
                lambda send: Tab(options, shared, records, send, has_runs=has_runs),
            )
        finally:
            open_tabs -= 1

    return session


def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _error(_: Request, error: Exception) -> Response:
    status = 422 if isinstance(error, MalformedError) else 400
    return JSONResponse({"error": str(error)}, status)


def _bug(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"internal error: {type(error).__name__}"}, 500)
