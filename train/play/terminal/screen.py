"""Boards, maps and moves as text that fits the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import NamedTuple, TextIO

import numpy as np

from rlgo.go.board import PASS
from rlgo.go.coords import to_vertex
from rlgo.go.draw import board_ansi, board_narrow, board_text, values_narrow, values_text
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.player import RESIGN, Candidate, Player, name_of_move, won_by
from train.console import color_output, unicode_output

_LINE_MOVES = 8  # shown of a principal variation
_MOVE_CHARACTERS = 10  # in the list of moves
_BOARD_CHARACTERS, _MAP_CHARACTERS, _MARGIN = 2, 4, 7  # of a drawing: for each column, and for the coordinates


class Style(NamedTuple):
    """What a terminal can show."""

    unicode: bool = False
    colors: bool = False


PLAIN = Style()


def style_of(stream: TextIO, no_color: bool = False) -> Style:
    """Return what a stream can show; see `train.console.color_output` for when colours are used."""
    unicode = unicode_output(stream)
    return Style(unicode, unicode and not no_color and color_output(stream))


def draw(game: Game, last: int | None, style: Style) -> str:
    """Draw the board, with the last move marked."""
    if not _fits(game, _BOARD_CHARACTERS):
        return board_narrow(game.board, last, style.unicode)
    return board_ansi(game.board, last) if style.colors else board_text(game.board, last, style.unicode)


def draw_map(game: Game, values: np.ndarray, style: Style) -> str:
    """Draw a map of values from 0 to 1, in the unit that `unit` names."""
    draw_values = values_text if _fits(game, _MAP_CHARACTERS) else values_narrow
    return draw_values(game.board, values, unicode=style.unicode)


def unit(game: Game) -> str:
    """Return the unit in which a map of values fits the window."""
    return "in per cent" if _fits(game, _MAP_CHARACTERS) else "in tenths"


def _fits(game: Game, characters: int) -> bool:
    """Return whether the window is wide enough for this many characters a column, and for the coordinates."""
    return shutil.get_terminal_size().columns >= characters * game.size + _MARGIN


def list_moves(game: Game) -> str:
    """List the moves so far, in columns."""
    moves = [f"{n:3} {COLOR_NAMES[color][0]} {to_vertex(p, game.size):4}" for n, (color, p) in enumerate(game.moves, 1)]
    n = min(8, max(1, (shutil.get_terminal_size().columns + 1) // (_MOVE_CHARACTERS + 1)))
    return "\n".join(" ".join(moves[i : i + n]).rstrip() for i in range(0, len(moves), n))


def opinion(candidate: Candidate, game: Game, player: Player) -> str:
    """Describe the engine's evaluation of its move in the position of `game`."""
    visits = f", {candidate.visits:,} visits" if candidate.visits > 1 else ""
    expected = vertices(candidate.line[1 : 1 + _LINE_MOVES], game)
    wins = won_by(game.to_play, player.chance(candidate.value, game))
    return f"P(win) {wins:.1%}{visits}" + (f", expects {expected}" if expected else "")


def hint_row(candidate: Candidate, game: Game, player: Player) -> str:
    """Describe a candidate as a row of a table."""
    visits = f"{candidate.visits:8,} visits" if candidate.visits > 1 else ""
    wins = won_by(game.to_play, player.chance(candidate.value, game))
    line = vertices(candidate.line[:_LINE_MOVES], game)
    return f"  {to_vertex(candidate.move, game.size):4} P(win) {wins:5.1%}{visits}  {line}".rstrip()


def vertices(points: Iterable[int], game: Game) -> str:
    """Format points, separated by spaces."""
    return " ".join(to_vertex(p, game.size) for p in points)


def phrase(point: int, size: int) -> str:
    """Say what a player would do: "play D4", "pass" or "resign"."""
    name = name_of_move(point, size)
    return name if point in (PASS, RESIGN) else f"play {name}"
