"""The Go Text Protocol, version 2, over any `Player`. Knows no algorithm.

Start reading at `GtpEngine.handle`: a line in, an answer out, no pipes. `run` connects it to them.
The standard is Farnebäck's "Specification of the Go Text Protocol, version 2, draft 2", and GNU Go where that
is silent. All stones count as alive.
"""

from __future__ import annotations

import contextlib
import math
import re
import sys
import traceback
from collections.abc import Callable
from typing import BinaryIO

import numpy as np

from rlgo.board import BLACK, WHITE
from rlgo.coords import from_vertex, to_vertex
from rlgo.draw import board_text
from rlgo.errors import RlgoError
from rlgo.game import COLOR_NAMES, Game
from rlgo.player import RESIGN, Player
from rlgo.resources import version
from rlgo.sgf import load_sgf

_COLORS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}


def run(engine: GtpEngine, source: BinaryIO | None = None, sink: BinaryIO | None = None) -> None:
    """Answer the commands of `source` (default: standard input) on `sink` (standard output), up to quit."""
    source = sys.stdin.buffer if source is None else source
    sink = sys.stdout.buffer if sink is None else sink
    # Standard output belongs to GTP: whatever a player prints goes elsewhere.
    with contextlib.redirect_stdout(sys.stderr):
        for line in source:
            answer = engine.handle(line.decode("utf-8", "replace"))
            if answer is not None:
                sink.write(answer.encode("utf-8", "replace"))
                sink.flush()
            if engine.done:
                break


class GtpEngine:
    """A GTP engine that plays as `player`.

    Attributes
    ----------
    game : the game as the controller has told it
    done : whether quit was received
    """

    def __init__(self, player: Player, size: int = 9, komi: float = 7.5) -> None:
        """An empty board. RlgoError for a size that the player does not play on."""
        self.player = player
        self.done = False
        self._told_end = False
        self._check_size(size)
        self.game = Game(size, komi)
        player.warm_up()
        self._commands: dict[str, Callable[[list[str]], str]] = {
            "protocol_version": lambda args: "2",
            "name": lambda args: f"rlgo {self.player.name}",
            "version": lambda args: version(),
            "known_command": self._known_command,
            "list_commands": lambda args: "\n".join(self._commands),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "undo": self._undo,
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "final_score": lambda args: self.game.result,
            "final_status_list": self._final_status_list,
            "loadsgf": self._loadsgf,
            "showboard": self._showboard,
            "gogui-analyze_commands": self._gogui_analyze_commands,
            "rlgo-map": self._map,
        }
        self.player.new_game()

    def handle(self, line: str) -> str | None:
        """Carry out one line; returns the answer, with its empty line, or None to a blank line or a comment.

        A failure leaves the state as it was, and its answer starts with ``?``. Nothing but KeyboardInterrupt
        and the like escapes: a player's bug is answered as ``? internal error``, its traceback on stderr.
        """
        # GTP 2, Section 3.1: drop control characters (a tab is a space), then the comment.
        text = "".join(c for c in line.replace("\t", " ") if not _is_control(c)).partition("#")[0]
        words = text.split()
        if not words:
            return None
        # Digits in front are the command's id, even with no command behind them.
        id_ = words.pop(0) if re.fullmatch("[0-9]+", words[0]) else ""
        try:
            if not words:
                raise RlgoError("syntax error: expected a command")
            command = self._commands.get(words[0])
            if command is None:
                raise RlgoError("unknown command")
            # Like GNU Go, commands ignore arguments beyond their own.
            return _answer("=", id_, command(words[1:]))
        except RlgoError as error:
            return _answer("?", id_, " ".join(str(error).split("\n")))
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            return _answer("?", id_, f"internal error: {type(error).__name__}: {error}".replace("\n", " "))

    # --- the session ---

    def _known_command(self, args: list[str]) -> str:
        (name,) = _take(args, "NAME", str)
        return "true" if name in self._commands else "false"

    def _quit(self, args: list[str]) -> str:
        self.done = True
        return ""

    # --- the game ---

    def _boardsize(self, args: list[str]) -> str:
        (size,) = _take(args, "SIZE", _integer)
        self._check_size(size)
        self._begin(Game(size, self.game.komi))
        return ""

    def _clear_board(self, args: list[str]) -> str:
        self._begin(Game(self.game.size, self.game.komi))
        return ""

    def _komi(self, args: list[str]) -> str:
        (self.game.komi,) = _take(args, "KOMI", _number)
        return ""

    def _fixed_handicap(self, args: list[str]) -> str:
        (n,) = _take(args, "STONES", _integer)
        return self._vertices(self.game.fixed_handicap(n))

    def _place_free_handicap(self, args: list[str]) -> str:
        (n,) = _take(args, "STONES", _integer)
        return self._vertices(self.game.place_free_handicap(n))

    def _set_free_handicap(self, args: list[str]) -> str:
        self.game.set_free_handicap([from_vertex(text, self.game.size) for text in args])
        return ""

    def _play(self, args: list[str]) -> str:
        color, vertex = _take(args, "COLOR VERTEX", _color, str)
        p = from_vertex(vertex, self.game.size)
        why = self.game.why_illegal(p, color)
        if why is not None:
            raise RlgoError(f"illegal move: {why}")
        self._move(p, color)
        return ""

    def _genmove(self, args: list[str]) -> str:
        (color,) = _take(args, "COLOR", _color)
        p = self._choose(color)
        if p == RESIGN:
            return "resign"
        self._move(p, color)
        return to_vertex(p, self.game.size)

    def _reg_genmove(self, args: list[str]) -> str:
        (color,) = _take(args, "COLOR", _color)
        p = self._choose(color)
        return "resign" if p == RESIGN else to_vertex(p, self.game.size)

    def _undo(self, args: list[str]) -> str:
        if not self.game.moves:
            raise RlgoError("cannot undo")
        self.game.undo()
        return ""

    def _time_settings(self, args: list[str]) -> str:
        _take(args, "MAIN_TIME BYO_YOMI_TIME BYO_YOMI_STONES", _integer, _integer, _integer)
        return ""  # nobody here plays by the clock

    def _time_left(self, args: list[str]) -> str:
        _take(args, "COLOR TIME STONES", _color, _integer, _integer)
        return ""

    def _final_status_list(self, args: list[str]) -> str:
        (status,) = _take(args, "STATUS", str)
        if status not in ("alive", "seki", "dead"):
            raise RlgoError("syntax error: expected alive, seki or dead")
        board = self.game.board
        chains: dict[int, list[int]] = {}
        for p in np.flatnonzero((board.color == BLACK) | (board.color == WHITE)).tolist():
            chains.setdefault(int(board.chain[p]), []).append(p)
        return "\n".join(self._vertices(chain) for chain in chains.values()) if status == "alive" else ""

    def _loadsgf(self, args: list[str]) -> str:
        # A name may hold spaces; a number behind it says before which move to stop.
        numbered = len(args) > 1 and re.fullmatch("[0-9]{1,9}", args[-1]) is not None
        name = " ".join(args[:-1] if numbered else args)
        if not name:
            raise RlgoError("syntax error: expected FILE [MOVE_NUMBER]")
        try:
            game = load_sgf(name, self.game.komi, int(args[-1]) - 1 if numbered else None)
            self._check_size(game.size)
        except RlgoError as error:
            raise RlgoError(f"cannot load file: {error}") from None
        self._begin(game)
        return ""

    # --- for people to look at ---

    def _showboard(self, args: list[str]) -> str:
        game = self.game
        color = f"{COLOR_NAMES[game.to_play]} ({'.XO'[game.to_play]})"
        return f"\n{board_text(game.board, game.last_move)}\n{color} to play, komi {game.komi:g}"

    def _gogui_analyze_commands(self, args: list[str]) -> str:
        names = self.player.analyses()
        return "\n".join(f"sboard/{name[:1].upper()}{name[1:]}/rlgo-map {name}" for name in names)

    def _map(self, args: list[str]) -> str:
        """A map of the player's as GoGui's `sboard`: a text for each point, the highest row first."""
        name = " ".join(args)
        maps = self.player.analyses()
        if name not in maps:
            raise RlgoError(f"map {name!r}: expected one of {', '.join(maps) or 'none'}")
        rows = np.flipud(maps[name]).tolist()
        return "\n" + "\n".join(" ".join('""' if math.isnan(v) else f"{v:.2f}" for v in row) for row in rows)

    # --- shared by several commands ---

    def _begin(self, game: Game) -> None:
        self.game = game
        self._told_end = False
        self.player.new_game()

    def _move(self, p: int, color: int) -> None:
        self.game.play(p, color)
        if self.game.is_over() and not self._told_end:
            self._told_end = True  # once a game, be it taken back and ended again
            try:
                self.player.end_game(self.game)
            except RlgoError as error:  # the move has been played: no answer to its command
                print(f"rlgo: {error}", file=sys.stderr)

    def _check_size(self, size: int) -> None:
        sizes = self.player.sizes
        if sizes is not None and size not in sizes:
            known = " or ".join(f"{n}x{n}" for n in sizes)
            raise RlgoError(f"unacceptable size: {self.player.name} plays on {known}")
        try:
            Game(size)
        except RlgoError as error:
            raise RlgoError(f"unacceptable size: {error}") from None

    def _choose(self, color: int) -> int:
        """The player's move for a colour, checked; the game stays as it is."""
        game = self.game
        if color != game.to_play:
            game = game.copy()
            game.to_play = color
        p = int(self.player.genmove(game))
        why = None if p == RESIGN else game.why_illegal(p)
        if why is not None:
            raise RlgoError(f"{self.player.name} chose an illegal move: {why}")
        return p

    def _vertices(self, points: list[int]) -> str:
        return " ".join(to_vertex(p, self.game.size) for p in points)


# ---------------------------------------------------------------------------------------------
# Words and answers
# ---------------------------------------------------------------------------------------------


def _is_control(c: str) -> bool:
    return c < " " or "\x7f" <= c < "\xa0"


def _answer(mark: str, id_: str, text: str) -> str:
    """An answer has no control characters, and no empty line before its end."""
    lines = ("".join(c for c in line if not _is_control(c)).rstrip() for line in text.split("\n"))
    first, *others = lines
    return "\n".join([f"{mark}{id_} {first}".rstrip(), *filter(None, others)]) + "\n\n"


def _take(args: list[str], names: str, *parsers: Callable[[str], object]) -> list:
    """The leading arguments, parsed. ValueError, or one missing, is a syntax error that tells their names."""
    if len(args) >= len(parsers):
        with contextlib.suppress(ValueError):
            return [parse(text) for parse, text in zip(parsers, args, strict=False)]
    raise RlgoError(f"syntax error: expected {names}")


def _color(text: str) -> int:
    if text.lower() not in _COLORS:
        raise ValueError
    return _COLORS[text.lower()]


def _integer(text: str) -> int:
    if not re.fullmatch("-?[0-9]{1,9}", text):
        raise ValueError
    return int(text)


def _number(text: str) -> float:
    # A komi is never large; `float` alone would take nan, 1_0 and digits of other scripts.
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text) or abs(float(text)) > 10_000:
        raise ValueError
    return float(text)
