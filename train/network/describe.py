"""A network, and its outputs for a position, as text."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from mcts.outside.onnx import OnnxNetwork
from rlgo.features.planes import plane_names
from rlgo.go.board import BLACK, PASS, new_board
from rlgo.go.draw import board_text, values_text
from rlgo.go.game import Game
from rlgo.go.positions import HISTORY, Positions, places_of
from rlgo.network.conv_network import ConvNetwork
from rlgo.network.policy_network import PolicyNetwork
from train.games.collect import origin_text


def describe(network: PolicyNetwork) -> str:
    """Describe a network in a few lines."""
    return _describe_own(network) if isinstance(network, ConvNetwork) else _describe_other(network.evaluator)  # type: ignore[attr-defined]


def _describe_own(network: ConvNetwork) -> str:
    s, made = network.shape, network.provenance
    lines = [
        f"{s.blocks} blocks of {s.channels} channels, {s.head_channels} channels and {s.value_hidden} units of heads",
        f"{sum(a.size for a in network.parameters):,} weights",
    ]
    if "step" in made:
        lines.append(f"learned in {made['step']:,} steps from {made['positions']:,} positions of these games:")
        lines += [f"  {origin_text(recipe)}" for games in made["games"].values() for recipe in games["collection"]]
    lines += [f"{key} {made[key]}" for key in ("command", "commit", "onnx") if made.get(key)]
    return "\n".join(lines)


def _describe_other(evaluator: Any) -> str:
    """Describe a network in ONNX, or an evaluator in Python, as far as it tells."""
    if isinstance(evaluator, OnnxNetwork):
        kinds = evaluator.description.planes.split("+")
        lines = [f"ONNX: input {evaluator.input_shape}, {len(plane_names(kinds))} planes"]
        return "\n".join(lines + [f"{key} {text}" for key, text in evaluator.description._asdict().items() if text])
    about = inspect.getdoc(evaluator) or "an evaluator in Python, without a docstring"
    seen = getattr(evaluator, "history", HISTORY)
    return f"{about}\nsees {seen} position{'s' * (seen > 1)} of a game"


def show_position(network: PolicyNetwork, moves: Sequence[str], size: int, komi: float, unicode: bool = True) -> str:
    """Draw the policy, the ownership and the value after some moves, as far as the network has them.

    moves : vertices, from the empty board on. RlgoError for an illegal one
    """
    game = Game(size, komi)
    for vertex in moves:
        game.play(vertex)
    network.warm_up(size)
    answer, color = network(Positions.of(game, network.history)), "Black" if game.to_play == BLACK else "White"
    shown = [board_text(game.board, game.moves[-1][1] if game.moves else None, unicode)]
    if "logits" in answer:
        policy = network.policy(game)
        shares = np.full(size * size + 1, np.nan)
        shares[places_of(np.array([*policy]), size)] = [*policy.values()]
        best = max(policy, key=lambda p: policy[p])
        shown.append(f"Policy of {color}, in per cent; pass {policy[PASS]:.1%}")
        shown.append(values_text(game.board, shares[:-1].reshape(size, size), best, unicode))
    if "ownership" in answer:
        shown.append("Points that become Black's, in per cent")
        shown.append(values_text(new_board(size), (1 + answer["ownership"][0]) / 2, unicode=unicode))
    if "value" in answer:
        ahead = f", and is {float(answer['score'][0]):+.1f} points ahead" if "score" in answer else ""
        shown.append(f"Black wins with probability {float(answer['value'][0]):.2f}{ahead}")
    return "\n\n".join(shown)
