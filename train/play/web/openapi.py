"""The description of the API, made from the models that check requests: ``GET /api/openapi.json``.

Start reading at `openapi`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from rlgo.base.resources import version
from train.play.web import answers
from train.play.web import requests as ask

_REFUSALS = {400: "impossible", 403: "not allowed", 413: "too large", 422: "malformed", 503: "the server is busy"}
GETS: dict[str, tuple[type[BaseModel], type[BaseModel] | None]] = {
    "/api/players": (answers.Players, None),
    "/api/weights": (answers.WeightFilesOf, ask.SizeQuery),
    "/api/sgf": (answers.Files, None),
    "/api/runs": (answers.Runs, None),
    "/api/runs/curves": (answers.Curves, ask.CurvesQuery),
    "/api/runs/shapes": (answers.Shapes, ask.ShapesQuery),
}
POSTS: dict[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "/api/analysis": (answers.Search, ask.Analysis),
    "/api/probe": (answers.Probe, ask.Probe),
    "/api/probe/move": (answers.ProbeMove, ask.ProbeMove),
}


@cache
def openapi() -> dict[str, Any]:
    """Return the whole API as OpenAPI 3.1; the messages of the WebSocket are in `components.schemas`, too."""
    models = [*get_args(ask.AnyRequest), *answers.MESSAGES, answers.Refusal]
    models += [model for pair in (*GETS.values(), *POSTS.values()) for model in pair if model is not None]
    references, definitions = models_json_schema(
        [(model, "validation") for model in dict.fromkeys(models)], ref_template="#/components/schemas/{model}"
    )

    def reference(model: type[BaseModel]) -> dict[str, Any]:
        return references[model, "validation"]

    paths: dict[str, Any] = {}
    for path, (answer, query) in GETS.items():
        paths[path] = {"get": {"summary": answer.__doc__, "responses": _responses(answer, reference)}}
        if query is not None:
            paths[path]["get"]["parameters"] = _parameters(query)
    for path, (answer, body) in POSTS.items():
        paths[path] = {
            "post": {
                "summary": body.__doc__,
                "requestBody": {"required": True, "content": {"application/json": {"schema": reference(body)}}},
                "responses": _responses(answer, reference),
            }
        }
    paths["/api/session"] = {
        "get": {
            "summary": "The WebSocket of a tab.",
            "responses": {101: {"description": "requests and messages as in x-requests and x-messages"}},
            "x-requests": [reference(model) for model in get_args(ask.AnyRequest)],
            "x-messages": [reference(model) for model in answers.MESSAGES],
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "rlgo web", "version": version()},
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _responses(answer: type[BaseModel], reference: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": reference(answer)}}
    refusal = {"application/json": {"schema": reference(answers.Refusal)}}
    return {
        "200": {"description": answer.__doc__, "content": content},
        **{str(status): {"description": why, "content": refusal} for status, why in _REFUSALS.items()},
    }


def _parameters(query: type[BaseModel]) -> list[dict[str, Any]]:
    schema = query.model_json_schema()
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": kind}
        for name, kind in schema["properties"].items()
    ]
