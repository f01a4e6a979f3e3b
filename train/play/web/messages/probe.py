"""The value of a position, taken apart by window, and what a move changes.

Start reading at `probe`. `rlgo.learning.contributions` computes the sums; this module only writes them as JSON.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.features.weights import Weights, shape_of
from rlgo.go.board import PASS
from rlgo.go.coords import from_row_col, from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.positions import places_of
from rlgo.learning.contributions import Change, Window, changes, contributions, logit_of, strongest, value_of
from rlgo.learning.value import ValueFunction

_DIGITS = 6


def probe(name: str, weights: Weights, game: Game, top: int) -> dict[str, Any]:
    """Take V of a position apart by block, with the `top` windows of each that contribute most.

    name : of the weight file
    """
    windows = contributions(weights, game.board)
    x = logit_of(windows)
    return {
        "weights": name,
        "value": round(value_of(weights, x), _DIGITS),
        "logit": x,
        "kind": weights.value,
        "blocks": [
            _block(block.name, [window for window in windows if window.block == block.name], top, game.size)
            for block in weights.features.blocks
        ],
        "moves": _values(weights, game),
    }


def _block(name: str, windows: list[Window], top: int, size: int) -> dict[str, Any]:
    return {
        "block": name,
        "size": max(side for window in windows for side in window.cells.shape),
        "kind": windows[0].kind,
        "sum": logit_of(windows),
        "windows": len(windows),
        "in_use": sum(window.weight != 0 for window in windows),
        "top": [_window(window, size) for window in strongest(windows, top)],
    }


def _corner(window: Window, size: int) -> dict[str, Any]:
    return {
        "vertex": to_vertex(from_row_col(window.row, window.col, size), size),
        "row": window.row,
        "col": window.col,
        "size": max(window.cells.shape),
        "kind": window.kind,
    }


def _window(window: Window, size: int) -> dict[str, Any]:
    return {**_corner(window, size), "weight": round(window.weight, _DIGITS), "cells": window.cells.tolist()}


def _values(weights: Weights, game: Game) -> dict[str, float]:
    """Return V after each legal move and after a pass, by vertex."""
    moves = [*game.legal_moves(), PASS]
    values = ValueFunction(weights).afterstates(game.board)[places_of(np.array(moves), game.size)]
    return {to_vertex(p, game.size): round(float(v), _DIGITS) for p, v in zip(moves, values, strict=True)}


def probe_move(name: str, weights: Weights, game: Game, vertex: str, top: int) -> dict[str, Any]:
    """Take apart what a move of the side to play changes, window by window. RlgoError if it is illegal."""
    p = from_vertex(vertex, game.size)
    after = game.copy()
    why = after.why_illegal(p)
    if why is not None:
        raise RlgoError(f"move {vertex}: illegal: {why}")
    after.play(p)
    found = sorted(changes(weights, game.board, after.board), key=lambda change: -abs(change.difference))
    logits = [logit_of(contributions(weights, position.board)) for position in (game, after)]
    before_and_after = [{"value": round(value_of(weights, x), _DIGITS), "logit": x} for x in logits]
    return {
        "weights": name,
        "move": to_vertex(p, game.size),
        "before": before_and_after[0],
        "after": before_and_after[1],
        "difference": sum(change.difference for change in found),
        "windows": [_change(change, game.size) for change in found[:top]],
        "left_out": {"windows": len(found[top:]), "difference": sum(change.difference for change in found[top:])},
    }


def _change(change: Change, size: int) -> dict[str, Any]:
    return {
        **_corner(change.after, size),
        "before": round(change.before.weight, _DIGITS),
        "after": round(change.after.weight, _DIGITS),
        "difference": change.difference,
        "cells_before": change.before.cells.tolist(),
        "cells_after": change.after.cells.tolist(),
    }


def shapes(weights: Weights, occurrences: np.ndarray | None, block: str, sort: str, top: int) -> dict[str, Any]:
    """List the strongest shapes of a block, or the most frequent ones.

    Parameters
    ----------
    weights : the weights
    occurrences : int64[n_weights + 1], how often each weight's shapes occurred; None: unknown
    block : its name; empty: the last block
    sort : ``weight`` or ``occurrences``
    top : how many
    """
    blocks = {known.name: known for known in weights.features.blocks}
    chosen = blocks.get(block or list(blocks)[-1])
    if chosen is None:
        raise RlgoError(f"block {block!r}: expected one of {', '.join(blocks)}")
    if sort == "occurrences" and occurrences is None:
        raise RlgoError("sort = occurrences: expected a run; weight files do not count them")
    by = np.abs(weights.theta) if occurrences is None or sort == "weight" else occurrences
    order = chosen.start + np.argsort(-by[chosen.start : chosen.stop], kind="stable")[:top]
    found = [_shape(weights, int(i), occurrences) for i in order if by[i]]
    return {"blocks": list(blocks), "block": chosen.name, "sort": sort, "shapes": found}


def _shape(weights: Weights, i: int, occurrences: np.ndarray | None) -> dict[str, Any]:
    weight, cells, row, col = shape_of(weights, i)
    size = weights.features.size
    return {
        "weight": round(weight, _DIGITS),
        "occurrences": None if occurrences is None else int(occurrences[i]),
        "vertex": to_vertex(from_row_col(row, col, size), size),
        "row": row,
        "col": col,
        "cells": cells.tolist(),
    }
