"""Real players behind GTP: with enough time, a clock changes no move; and a GUI may change the size."""

from __future__ import annotations

import pytest

from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.play.gtp import GtpEngine
from rlgo.play.player import Player
from train.players import make_player

PLAYER = "mc_rave,sims=200,seed=1"


def answer(engine: GtpEngine, line: str) -> str:
    text = engine.handle(line)
    assert text is not None
    assert text.startswith("="), (line, text)
    return text[1:].strip()


def begin(engine: GtpEngine, clock: str = "") -> None:
    """As GoGui's twogtp begins a game: it states the time, but never what is left of it."""
    for line in ("boardsize 9", "clear_board", "komi 7.5", *([clock] if clock else [])):
        answer(engine, line)


def self_play(engine: GtpEngine, clock: str, tell: bool) -> list[str]:
    begin(engine, clock)
    moves = []
    for i in range(16):
        color = "bw"[i % 2]
        if tell:
            answer(engine, f"time_left {color} {5_000_000 - i} 0")
        moves.append(answer(engine, f"genmove {color}"))
    return moves


def test_a_clock_with_time_enough_changes_no_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """The moves are those of a match without a clock from the same seed, game after game."""
    # On a slow machine, short slices would let a search end sooner once its move is decided.
    monkeypatch.setattr("mcts.threads.SLICE_SECONDS", 1e6)

    def engine() -> GtpEngine:
        return GtpEngine(make_player(PLAYER, 9), all_alive=True)

    player: Player = make_player(PLAYER, 9)
    game, expected = Game(9, 7.5), list[str]()
    player.new_game()
    for _ in range(16):
        p = player.genmove(game)
        game.play(p)
        expected.append(to_vertex(p, 9))
    for clock, tell in (("", False), ("time_settings 5000000 0 0", False), ("time_settings 5000000 0 0", True)):
        assert self_play(engine(), clock, tell) == expected, clock
