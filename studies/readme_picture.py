"""Draw the picture of README.md, a game of `rlgo` against `mc_rave`: `python studies/readme_picture.py`.

It writes docs/game.gif, a frame for each move, with what `rlgo` thinks of every position. Needs matplotlib; takes about
a minute. The seeds are fixed.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

import rlgo
from rlgo.go.coords import to_vertex
from rlgo.go.draw import colors_of
from train.board_pictures import draw_board, write_values
from train.players import make_player
from train.plots import INK, SECOND, light_frame, make_figure, percent

FILE = Path(__file__).resolve().parents[1] / "docs" / "game.gif"
MOVES, FRAME_MS, LAST_MS = 40, 600, 4_000


def frame(game: rlgo.Game, move: int, visits: np.ndarray, chances: list[float]) -> Image.Image:
    """Draw a position with the shares of simulations, the move that was chosen, and Black's chance so far."""
    figure, axes = make_figure(1, 2, 8, 3.9)
    left, right = axes[0]
    colors, seen = colors_of(game.board), np.where(visits < 0.01, np.nan, visits)
    draw_board(left, colors, 0.5 + 0.5 * seen, last=game.moves[-1][1] if game.moves else None)
    write_values(left, colors, seen)
    color = "Black" if game.to_play == rlgo.BLACK else "White"
    left.set_title(f"rlgo's 1,000 simulations, in %; {color} plays {to_vertex(move, 9)}", fontsize=10)
    right.plot(range(1, len(chances) + 1), chances, "o-", color=SECOND, ms=3)
    right.axhline(0.5, color=INK, lw=0.8, ls=":")
    right.set(xlim=(0, MOVES + 1), ylim=(0, 1), xlabel="move", title="P(Black wins), by rlgo")
    right.title.set_fontsize(10)
    percent(right.yaxis)
    light_frame(right)
    pixels = io.BytesIO()
    figure.savefig(pixels, dpi=75)
    return Image.open(pixels).convert("RGB").quantize(32)


def main() -> None:
    """Play, and write the picture."""
    player, opponent = make_player("rlgo,sims=1000", 9, seed=1), make_player("mc_rave,sims=1000", 9, seed=2)
    game, frames, chances = rlgo.Game(9), [], []
    for _ in range(MOVES):
        move = player.genmove(game)
        chances.append(player.candidates(game)[0].value)
        if game.to_play == rlgo.WHITE:
            move = opponent.genmove(game)
        frames.append(frame(game, move, player.analyses()["visits"], chances))
        game.play(move)
    times = [FRAME_MS] * (MOVES - 1) + [LAST_MS]
    frames[0].save(FILE, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


if __name__ == "__main__":
    main()
