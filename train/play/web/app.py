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
from train.play.web.endpoints import BusyError, Endpoints, RunSource
from train.play.web.files import Records, WeightFiles
from train.play.web.guard import Guard
from train.play.web.options import Options
from train.play.web.requests import MalformedError
from train.play.web.searcher import Commons
from train.play.web.socket import TRY_LATER, serve_tab
from train.play.web.specs import Specs
from train.play.web.tab import Tab
from train.play.web.turns import Turns
from train.provenance import processors

STATIC = Path(__file__).parent / "static"


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
    commons = Commons(specs, options.limits, Turns(processors()))
    endpoints = Endpoints(options, weights, records, runs)
    app = Starlette(
        routes=[
            Route("/", _page, methods=["GET"]),
            Mount("/static", StaticFiles(directory=STATIC), name="static"),
            WebSocketRoute("/api/session", _session(options, commons, records, runs is not None)),
            *endpoints.routes(),
        ],
        exception_handlers={HTTPException: _http_error, RlgoError: _error, Exception: _bug},
    )
    return Guard(app, token, options.host, options.limits.message_bytes)


def _page(_: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-store"})


def _session(options: Options, commons: Commons, records: Records, has_runs: bool) -> Callable[[WebSocket], Any]:
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
                lambda send: Tab(options, commons, records, send, has_runs=has_runs),
            )
        finally:
            open_tabs -= 1

    return session


def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _error(_: Request, error: Exception) -> Response:
    status = 422 if isinstance(error, MalformedError) else 503 if isinstance(error, BusyError) else 400
    return JSONResponse({"error": str(error)}, status)


def _bug(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"internal error: {type(error).__name__}"}, 500)
