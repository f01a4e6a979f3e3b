"""The page's HTTP requests: one method for each.

Start reading at `Endpoints.routes`. Answers are computed in worker threads, a few at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rlgo.base.errors import RlgoError
from rlgo.base.threads import Workers
from rlgo.features.weights import Weights
from train.play.web.access.files import Records, WeightFiles
from train.play.web.access.menu import players_menu
from train.play.web.messages import requests as ask
from train.play.web.messages.positions import game_of
from train.play.web.messages.probe import probe, probe_move, shapes
from train.play.web.options import Options

_Json = dict[str, Any]


class RunSource(Protocol):
    """A source of training runs, such as `train.runs.history.RunHistory`."""

    def describe(self) -> _Json:
        """Return the answer to ``GET /api/runs``."""
        ...

    def curves(self, name: str, after: int = 0) -> _Json:
        """Return the numbers that a run has logged from byte `after` of its log on."""
        ...

    def learned(self, name: str) -> tuple[Weights, np.ndarray]:
        """Return the weights of a run, and how often each one's shapes occurred."""
        ...


class Endpoints:
    """The answers to HTTP requests.

    Parameters
    ----------
    options : the options of the server
    weights, records : the files that requests may name
    runs : the training runs to show, if any
    """

    def __init__(
        self,
        options: Options,
        weights: WeightFiles,
        records: Records,
        runs: RunSource | None,
    ) -> None:
        self._options, self._weights, self._records, self._runs = options, weights, records, runs
        self._workers = Workers("http", options.limits.analyses)

    def routes(self) -> list[Route]:
        """Return the routes."""
        gets: dict[str, Callable[[Request], _Json]] = {
            "/api/players": lambda _: {"players": players_menu()},
            "/api/weights": lambda _: self._list_weights(),
            "/api/sgf": lambda _: {"files": self._records.list()},
            "/api/runs": lambda _: self._need_runs().describe(),
            "/api/runs/curves": self._curves,
            "/api/runs/shapes": self._shapes,
        }
        posts: dict[str, tuple[type[ask.Model], Callable[[Any], _Json]]] = {
            "/api/probe": (ask.Probe, self._probe),
            "/api/probe/move": (ask.ProbeMove, self._probe_move),
        }
        return [
            *(Route(path, self._get(answer), methods=["GET"]) for path, answer in gets.items()),
            *(Route(path, self._post(model, answer), methods=["POST"]) for path, (model, answer) in posts.items()),
        ]

    def _get(self, answer: Callable[[Request], _Json]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return JSONResponse(await asyncio.wrap_future(self._workers.submit(lambda: answer(request))))

        return endpoint

    def _post(self, model: type[ask.Model], answer: Callable[[Any], _Json]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            body = ask.read_body(model, await request.body())
            return JSONResponse(await asyncio.wrap_future(self._workers.submit(lambda: answer(body))))

        return endpoint

    # --- files ---

    def _list_weights(self) -> _Json:
        return {
            "weights": [
                {
                    "name": file.name,
                    "size": file.weights.features.size,
                    "komi": file.weights.komi,
                    "games": file.weights.games,
                    "features": file.weights.features.name,
                    "blocks": [block.name for block in file.weights.features.blocks],
                    "is_default": file.is_default,
                }
                for file in self._weights.list()
            ]
        }

    # --- positions ---

    def _probe(self, body: ask.Probe) -> _Json:
        game = game_of(body.position)
        file = self._weights.find(body.weights or "", game.size)
        return probe(file.name, file.weights, game, body.top)

    def _probe_move(self, body: ask.ProbeMove) -> _Json:
        game = game_of(body.position)
        file = self._weights.find(body.weights or "", game.size)
        return probe_move(file.name, file.weights, game, body.move, body.top)

    # --- runs ---

    def _need_runs(self) -> RunSource:
        if self._runs is None:
            raise RlgoError("expected a server with a folder of runs (rlgo web --runs DIR)")
        return self._runs

    def _curves(self, request: Request) -> _Json:
        query = ask.read_query(ask.CurvesQuery, dict(request.query_params))
        return {"run": query.run, **self._need_runs().curves(query.run, query.after)}

    def _shapes(self, request: Request) -> _Json:
        query = ask.read_query(ask.ShapesQuery, dict(request.query_params))
        if (query.run is None) == (query.weights is None):
            raise RlgoError("expected either run or weights")
        occurrences: np.ndarray | None = None
        if query.run is not None:
            weights, occurrences = self._need_runs().learned(query.run)
        else:
            weights = self._weights.find(query.weights or "").weights
        return shapes(weights, occurrences, query.block, query.sort, query.top)
