"""A network, and its outputs for a position, as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlgo.go.board import BLACK, PASS, new_board
from rlgo.go.draw import board_text, values_text
from rlgo.go.game import Game
from rlgo.go.positions import Positions, places_of
from rlgo.network.conv_network import ConvNetwork
from train.games.collect import origin_text


def describe(network: ConvNetwork) -> str:
    """Describe a network in a few lines."""
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


def show_position(network: ConvNetwork, moves: Sequence[str], size: int, komi: float, unicode: bool = True) -> str:
    """Draw the policy and the ownership after some moves.

    moves : vertices, from the empty board on. RlgoError for an illegal one
    """
    game = Game(size, komi)
    for vertex in moves:
        game.play(vertex)
    policy, answer = network.policy(game), network(Positions.of(game, network.history))
    shares = np.full(size * size + 1, np.nan)
    shares[places_of(np.array([*policy]), size)] = [*policy.values()]
    black, color = float(answer["value"][0]), "Black" if game.to_play == BLACK else "White"
    ahead = float(answer["score"][0])
    return "\n\n".join([
        board_text(game.board, game.moves[-1][1] if game.moves else None, unicode),
        f"Policy of {color}, in per cent; pass {policy[PASS]:.1%}",
        values_text(game.board, shares[:-1].reshape(size, size), max(policy, key=lambda p: policy[p]), unicode),
        "Points that become Black's, in per cent",
        values_text(new_board(size), (1 + answer["ownership"][0]) / 2, unicode=unicode),
        f"Black wins with probability {black:.2f}, and is {ahead:+.1f} points ahead",
    ])  # fmt: skip
