"""The Go Text Protocol, version 2, over any `Player`. Knows no algorithm.

Start reading at `GtpEngine.handle`: a line in, an answer out, no pipes. `run` connects it to them, and thinks in the
opponent's time. The standard is Farnebäck's "Specification of the Go Text Protocol, version 2, draft 2", and GNU Go
where that is silent; beyond it there are the commands of GoGui, of KGS and CGOS, and `lz-analyze` with its relatives,
whose texts stand in `gtp_analysis.py`.
"""

from __future__ import annotations

import contextlib
import queue
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from rlgo.board import BLACK, PASS, WHITE
from rlgo.clock import Clock, TimeSettings
from rlgo.coords import from_vertex, to_vertex
from rlgo.draw import board_text
from rlgo.errors import RlgoError
from rlgo.game import COLOR_NAMES, Game
from rlgo.gtp_analysis import dboard, info_line, sboard, shapes_on_board, variation
from rlgo.ownership import CERTAIN, Ownership
from rlgo.player import RESIGN, Candidate, Player, known_sizes, moves_to_try, won_by
from rlgo.resources import version
from rlgo.sgf import load_sgf

_COLORS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_INTERRUPT = "# interrupt"  # what GoGui sends in the midst of a command
_MAX_LINE = 1 << 20  # bytes
_TOO_LONG = b"\n\n"  # what stands for a longer line; no line is this
_ANALYZE_EVERY = 0.5  # seconds, where the controller does not say
_POLL_SECONDS = 0.01

Log = Callable[[str], None]
Say = Callable[[str], None]


def _nothing(text: str) -> None:
    return


# ---------------------------------------------------------------------------------------------
# Streams
# ---------------------------------------------------------------------------------------------


def run(engine: GtpEngine, source: BinaryIO | None = None, sink: BinaryIO | None = None) -> None:
    """Answer the commands of `source` (default: standard input) on `sink` (standard output), up to quit."""
    # Not sys.stdin: a thread that still waits for it would be in the way when Python ends.
    source = open(0, "rb", closefd=False) if source is None else source
    out = sys.stdout.buffer if sink is None else sink
    lines: queue.SimpleQueue[tuple[int, bytes | None]] = queue.SimpleQueue()

    def say(text: str) -> None:
        out.write(text.encode("utf-8", "replace"))
        out.flush()

    def is_waited_for() -> bool:
        return not lines.empty()

    engine.is_waited_for = is_waited_for
    reader = threading.Thread(target=_read, args=(source, lines.put, engine.interrupt), daemon=True, name="gtp")
    # Standard output belongs to GTP: whatever a player prints goes elsewhere.
    with contextlib.redirect_stdout(sys.stderr):
        reader.start()
        while not engine.done:
            engine.ponder(is_waited_for)
            number, line = lines.get()
            if line is None:
                break
            if line == _TOO_LONG:
                say(_answer("?", "", f"line too long: expected at most {_MAX_LINE:,} bytes"))
                continue
            answer = engine.handle(line.decode("utf-8", "replace"), say, number)
            if answer is not None:
                say(answer)


def _read(source: BinaryIO, put: Callable[[tuple[int, bytes | None]], None], interrupt: Callable[[int], None]) -> None:
    """Read ahead, since an interrupt comes while a command is carried out; no further than quit. Lines are numbered."""
    number = 0
    with contextlib.suppress(ValueError, OSError):  # closed under our hands
        while line := source.readline(_MAX_LINE):
            if len(line) == _MAX_LINE and not line.endswith(b"\n"):
                while (rest := source.readline(_MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                line = _TOO_LONG
            text = line.decode("utf-8", "replace")
            if text.strip() == _INTERRUPT:
                interrupt(number)  # the command before it, be it under way or still waiting
                continue
            number += 1
            put((number, line))
            if _words(text)[1][:1] == ["quit"]:
                break
    put((number + 1, None))


# ---------------------------------------------------------------------------------------------
# The engine
# ---------------------------------------------------------------------------------------------


class GtpEngine:
    """A GTP engine that plays as `player`.

    Parameters
    ----------
    size, komi : of the empty board that it begins with
    ponders : think in the opponent's time
    all_alive : every stone on the board counts as alive in the end (as on CGOS); otherwise playouts tell what is dead
    early_pass : pass after the opponent's pass in a game that is certainly won without the opponent's dead stones,
        though they still stand; where the controller counts them as alive, that may lose
    log : gets a line of text for every command, answer and search

    Attributes
    ----------
    game : the game as the controller has told it
    clock : both sides' time
    done : whether quit was received
    is_waited_for : asked during an analysis, which ends where True; `run` sets it. Otherwise it ends at once
    """

    def __init__(
        self,
        player: Player,
        size: int = 9,
        komi: float = 7.5,
        ponders: bool = False,
        all_alive: bool = False,
        early_pass: bool = False,
        log: Log = _nothing,
    ) -> None:
        """Warms the player up. RlgoError for a size that the player does not play on."""
        self.player = player
        self.ponders, self.all_alive, self.early_pass, self.log = ponders, all_alive, early_pass, log
        self.done = False
        self.is_waited_for: Callable[[], bool] = lambda: True
        self.clock = Clock()
        self._told_end = False
        self._moved = False  # whether the last thing that happened to the game is a move of ours
        self._number = self._interrupted = 0  # of the line that is carried out, and the last one that is to end
        self._thought: tuple[Game, list[Candidate]] | None = None  # of the last search for a move
        self._check_size(size)
        self.game = Game(size, komi)
        player.stop = self._is_interrupted
        player.warm_up()
        if not all_alive:
            Ownership.of(self.game, 1)  # compiles now, since it may be needed while a clock runs
        self._commands: dict[str, Callable[[list[str]], str]] = {
            "protocol_version": lambda args: "2",
            "name": lambda args: f"rlgo {self.player.name}",
            "version": lambda args: version(),
            "known_command": self._known_command,
            "list_commands": lambda args: "\n".join([*self._commands, *self._streams]),
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
            "final_score": self._final_score,
            "final_status_list": self._final_status_list,
            "loadsgf": self._loadsgf,
            "showboard": self._showboard,
            "list_stones": self._list_stones,
            "cputime": lambda args: f"{time.process_time():.3f}",
            "gg-undo": self._gg_undo,
            "gogui-title": lambda args: f"rlgo {self.player.name}",
            "gogui-interrupt": lambda args: "",
            "gogui-play_sequence": self._gogui_play_sequence,
            "gogui-analyze_commands": self._gogui_analyze_commands,
            "rlgo-map": self._map,
            "rlgo-variation": self._variation,
            "rlgo-ownership": lambda args: dboard(Ownership.of(self.game).map),
            "rlgo-shapes": self._shapes,
            "rlgo-report": lambda args: "\n".join(self.player.report()) or "nothing has been searched",
            "kgs-time_settings": self._kgs_time_settings,
            "kgs-genmove_cleanup": self._kgs_genmove_cleanup,
            "kgs-rules": self._kgs_rules,
            "kgs-game_over": lambda args: "",
            "cgos-opponent_name": lambda args: "",
            "cgos-gameover": lambda args: "",
        }
        # Those that say something before they are done.
        self._streams: dict[str, Callable[[list[str], Say], None]] = {
            **dict.fromkeys(("analyze", "lz-analyze"), self._analyze),
            **dict.fromkeys(("genmove_analyze", "lz-genmove_analyze"), self._genmove_analyze),
        }
        self.player.new_game()

    def handle(self, line: str, say: Say | None = None, number: int | None = None) -> str | None:
        """Carry out one line; returns the answer, with its empty line, or None to a blank line or a comment.

        say : where the first parts of an answer go that comes in parts; the rest is returned. Without it, all is.
        number : of the line, for `interrupt`; None: one more than the last

        A failure leaves the state as it was, and its answer starts with ``?``. Nothing but KeyboardInterrupt
        and the like escapes: a player's bug is answered as ``? internal error``, its traceback on stderr.
        """
        id_, words = _words(line)
        if not id_ and not words:
            return None
        self._number = self._number + 1 if number is None else number
        self._note(f"> {' '.join([id_, *words]).strip()}")
        answer = _Answer(id_, say)
        try:
            if not words:
                raise RlgoError("syntax error: expected a command")
            name, *args = words
            # Like GNU Go, commands ignore arguments beyond their own.
            if name in self._streams:
                self._streams[name](args, answer.add)
                text = answer.end()
            elif name in self._commands:
                text = _answer("=", id_, self._commands[name](args))
            else:
                raise RlgoError("unknown command")
        except RlgoError as error:
            text = answer.fail(" ".join(str(error).split("\n")))
        except Exception as error:
            _tell_bug()
            text = answer.fail(f"internal error: {type(error).__name__}: {error}".replace("\n", " "))
        self._note(f"< {text.strip()}")
        return text

    def interrupt(self, number: int | None = None) -> None:
        """End the search of a line, and of all before it, with the best move so far. Any thread may call it.

        number : of the line; None: the one that is carried out
        """
        self._interrupted = self._number if number is None else number

    def _is_interrupted(self) -> bool:
        return self._interrupted >= self._number > 0

    def _note(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a full disk ends no game
            self.log(text)

    def ponder(self, stop: Callable[[], bool]) -> None:
        """Think in the opponent's time, until `stop`; returns at once where it is not that, or pondering is off."""
        if not self.ponders or not self._moved or self.game.is_over():
            return
        try:
            self.player.ponder(self.game, stop)
        except Exception as error:
            self._moved = False  # do not try this position again
            _tell_bug()
            self._note(f"pondering: {error}")

    # --- the session ---

    def _known_command(self, args: list[str]) -> str:
        (name,) = _take(args, "NAME", str)
        return "true" if name in self._commands or name in self._streams else "false"

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
        self._play_checked(self.game, color, vertex)
        self._note_end()
        return ""

    def _gogui_play_sequence(self, args: list[str]) -> str:
        if len(args) % 2:
            raise RlgoError("syntax error: expected COLOR VERTEX ...")
        # All or none: on a copy first.
        trial = self.game.copy()
        moves = [_take(args[i : i + 2], "COLOR VERTEX ...", _color, str) for i in range(0, len(args), 2)]
        for color, vertex in moves:
            self._play_checked(trial, color, vertex)
        self.game = trial
        self._note_end()
        return ""

    def _play_checked(self, game: Game, color: int, vertex: str) -> None:
        p = from_vertex(vertex, game.size)
        why = game.why_illegal(p, color)
        if why is not None:
            raise RlgoError(f"illegal move: {why}")
        game.play(p, color)
        self._moved = False

    def _genmove(self, args: list[str], choose: Callable[[Game], int] | None = None) -> str:
        (color,) = _take(args, "COLOR", _color)
        p = self._choose(color, choose or self.player.genmove, spends=True)
        if p == RESIGN:
            return "resign"
        self.game.play(p, color)
        self._moved = True
        self._note_end()
        return to_vertex(p, self.game.size)

    def _reg_genmove(self, args: list[str]) -> str:
        (color,) = _take(args, "COLOR", _color)
        p = self._choose(color, self.player.genmove)
        return "resign" if p == RESIGN else to_vertex(p, self.game.size)

    def _undo(self, args: list[str]) -> str:
        self._take_back(1)
        return ""

    def _gg_undo(self, args: list[str]) -> str:
        (n,) = _take(args or ["1"], "MOVES", _integer)
        self._take_back(n)
        return ""

    def _take_back(self, n: int) -> None:
        if not 0 <= n <= len(self.game.moves):
            raise RlgoError("cannot undo")
        for _ in range(n):
            self.game.undo()
        self._moved = False

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

    # --- time ---

    def _time_settings(self, args: list[str]) -> str:
        main, period, stones = _take(args, "MAIN_TIME BYO_YOMI_TIME BYO_YOMI_STONES", _seconds, _seconds, _count)
        # GTP 2, Section 4.2: overtime without stones is no limit. Neither is no time at all.
        if (period and not stones) or not (main or period):
            self.clock = Clock()
        else:
            self.clock = Clock(TimeSettings(main, period, stones if period else 0))
        return ""

    def _kgs_time_settings(self, args: list[str]) -> str:
        kinds: dict[str, tuple[str, tuple[Any, ...], Callable[..., TimeSettings | None]]] = {
            "none": ("none", (), lambda: None),
            "absolute": ("absolute MAIN_TIME", (_seconds,), TimeSettings),
            "byoyomi": (
                "byoyomi MAIN_TIME PERIOD_TIME PERIODS",
                (_seconds, _seconds, _count),
                lambda main, period, n: TimeSettings(main, period, 1, n) if period and n else TimeSettings(main),
            ),
            "canadian": (
                "canadian MAIN_TIME PERIOD_TIME STONES",
                (_seconds, _seconds, _count),
                lambda main, period, n: TimeSettings(main, period, n) if period and n else TimeSettings(main),
            ),
        }
        if not args or args[0] not in kinds:
            raise RlgoError(f"syntax error: expected {', '.join(kinds)}")
        form, parsers, make = kinds[args[0]]
        self.clock = Clock(make(*_take(args[1:], form, *parsers)))
        return ""

    def _time_left(self, args: list[str]) -> str:
        color, seconds, stones = _take(args, "COLOR TIME STONES", _color, _seconds, _count)
        self.clock.tell(color, seconds, stones)
        return ""

    # --- the end ---

    def _final_score(self, args: list[str]) -> str:
        if self.all_alive or self.game.resigned:
            return self.game.result
        return Ownership.of(self.game).without_dead().result

    def _final_status_list(self, args: list[str]) -> str:
        (status,) = _take(args, "STATUS", str)
        if status not in ("alive", "seki", "dead"):
            raise RlgoError("syntax error: expected alive, seki or dead")
        ownership = Ownership.of(self.game)
        dead = [] if self.all_alive else ownership.dead()
        # Chains in seki count as alive, since area does not tell the difference.
        wanted = {"alive": [c for c in ownership.chains if c not in dead], "dead": dead, "seki": []}[status]
        return "\n".join(self._vertices(points) for points in wanted)

    def _kgs_genmove_cleanup(self, args: list[str]) -> str:
        return self._genmove(args, self._clean_up)

    def _clean_up(self, game: Game) -> int:
        """A move that does not agree to the end while dead stones of the opponent's are left."""
        if all(game.board.color[chain[0]] == game.to_play for chain in Ownership.of(game).dead()):
            return self.player.genmove(game)
        while game.moves and game.moves[-1][1] == PASS:
            game = game.copy()  # a pass that nobody has heard needs no answer
            game.moves.pop()
        p = self.player.genmove(game)
        if p == PASS or p == RESIGN:
            others = [c.move for c in self.player.candidates(game) if c.move != PASS and game.is_legal(c.move)]
            p = next(iter([*others, *game.sensible_moves()]), PASS)
        return p

    def _kgs_rules(self, args: list[str]) -> str:
        (rules,) = _take(args, "RULES", str)
        known = ("chinese", "aga", "new_zealand")
        if rules.lower() not in known:
            raise RlgoError(f"rules {rules}: expected {', '.join(known)}: games are scored by area")
        return ""

    # --- analysis ---

    def _showboard(self, args: list[str]) -> str:
        game = self.game
        color = f"{COLOR_NAMES[game.to_play]} ({'.XO'[game.to_play]})"
        return f"\n{board_text(game.board, game.last_move)}\n{color} to play, komi {game.komi:g}"

    def _list_stones(self, args: list[str]) -> str:
        (color,) = _take(args, "COLOR", _color)
        return self._vertices([p for p, c in enumerate(self.game.board.color.tolist()) if c == color])

    def _gogui_analyze_commands(self, args: list[str]) -> str:
        maps = [f"sboard/{name[:1].upper()}{name[1:]}/rlgo-map {name}" for name in self.player.analyses()]
        rest = ["gfx/Principal variation/rlgo-variation", "dboard/Ownership/rlgo-ownership"]
        shapes = ["string/Strongest shapes/rlgo-shapes"] if self.player.value_weights() is not None else []
        return "\n".join([*maps, *rest, *shapes, "string/Last search/rlgo-report"])

    def _map(self, args: list[str]) -> str:
        """A map of the player's as GoGui's `sboard`."""
        name = " ".join(args)
        maps = self.player.analyses()
        if name not in maps:
            raise RlgoError(f"map {name!r}: expected one of {', '.join(maps) or 'none'}")
        return sboard(maps[name])

    def _variation(self, args: list[str]) -> str:
        if self._thought is None:
            return "TEXT nothing has been searched"
        searched, candidates = self._thought
        return variation(candidates, searched, self.game)

    def _shapes(self, args: list[str]) -> str:
        weights = self.player.value_weights()
        if weights is None:
            raise RlgoError(f"{self.player.name} has no weights")
        if weights.features.size != self.game.size:
            raise RlgoError(f"{self.player.name} has weights for {weights.features.size}x{weights.features.size}")
        return shapes_on_board(weights, self.game)

    def _analyze(self, args: list[str], say: Say) -> None:
        """Search without playing, and tell what is found now and then, until another command comes."""
        color, every = _analysis(args, self.game.to_play)
        game = self._game_for(color)
        report = _Reporter(every, lambda: self._say_info(game, say), self._ends_analysis)
        say("")
        self.player.ponder(game, report.stop)
        self._say_info(game, say)
        while not self._ends_analysis():  # nothing more can be found
            time.sleep(_POLL_SECONDS)

    def _ends_analysis(self) -> bool:
        return self._is_interrupted() or self.is_waited_for()

    def _genmove_analyze(self, args: list[str], say: Say) -> None:
        """genmove that tells what it finds."""
        color, every = _analysis(args, self.game.to_play)
        game = self._game_for(color).copy()  # which stays when the move is played
        report = _Reporter(every, lambda: self._say_info(game, say), self._is_interrupted)
        say("")
        self.player.stop = report.stop
        try:
            vertex = self._genmove([COLOR_NAMES[color]])
        finally:
            self.player.stop = self._is_interrupted
        self._say_info(game, say)
        say(f"play {vertex}")

    def _say_info(self, game: Game, say: Say) -> None:
        candidates = self.player.candidates(game)
        if candidates:
            say(info_line(candidates, game))

    # --- shared by several commands ---

    def _begin(self, game: Game) -> None:
        self.game = game
        self._told_end = self._moved = False
        self._thought = None
        self.clock.restart()
        self.player.new_game()

    def _note_end(self) -> None:
        if self.game.is_over() and not self._told_end:
            self._told_end = True  # once a game, be it taken back and ended again
            try:
                self.player.end_game(self.game)
            except RlgoError as error:  # the move has been played: no answer to its command
                print(f"rlgo: {error}", file=sys.stderr)
            except Exception:
                _tell_bug()

    def _check_size(self, size: int) -> None:
        sizes = self.player.sizes
        if sizes is not None and size not in sizes:
            raise RlgoError(f"unacceptable size: {self.player.name} plays on {known_sizes(sizes)}")
        try:
            Game(size)
        except RlgoError as error:
            raise RlgoError(f"unacceptable size: {error}") from None

    def _game_for(self, color: int) -> Game:
        """The game with this colour to play; the engine's own where it is."""
        if color == self.game.to_play:
            return self.game
        game = self.game.copy()
        game.to_play = color
        return game

    def _choose(self, color: int, choose: Callable[[Game], int], spends: bool = False) -> int:
        """A move for a colour, checked; the game stays as it is. `spends`: its clock runs."""
        start = time.monotonic()
        game = self._game_for(color)
        budget = self.clock.budget(color, game.size)
        self._thought = None
        try:
            if self.early_pass and self._may_agree(game):
                p = PASS
            else:
                self.player.limit = budget
                p = int(choose(game))
            why = None if p == RESIGN else game.why_illegal(p)
            if why is not None:
                raise RlgoError(f"{self.player.name} chose an illegal move: {why}")
        finally:
            seconds = time.monotonic() - start
            if spends:
                self.clock.spend(color, seconds, budget)
        self._thought = game.copy(), self.player.candidates(game)
        self._note(f"{COLOR_NAMES[color]} {seconds:.3f} s" + ("" if budget is None else f" of {budget:.3f} s"))
        for line in self.player.report():
            self._note(line)
        return p

    def _may_agree(self, game: Game) -> bool:
        """Whether the opponent has passed, and the game is certainly won without the opponent's dead stones."""
        if not game.moves or game.moves[-1] != (3 - game.to_play, PASS) or not moves_to_try(game):
            return False
        ownership = Ownership.of(game)
        rest = ownership.without_dead()
        return won_by(game.to_play, rest.outcome) == 1 and won_by(game.to_play, ownership.wins) >= CERTAIN

    def _vertices(self, points: list[int]) -> str:
        return " ".join(to_vertex(p, self.game.size) for p in points)


class _Reporter:
    """A `stop` that also calls `report` now and then."""

    def __init__(self, every: float, report: Callable[[], None], stop: Callable[[], bool]):
        self._every, self._report, self._stop = every, report, stop
        self._last = time.monotonic()

    def stop(self) -> bool:
        now = time.monotonic()
        if now - self._last >= self._every:
            self._last = now
            self._report()
        return self._stop()


# ---------------------------------------------------------------------------------------------
# Words and answers
# ---------------------------------------------------------------------------------------------


def _words(line: str) -> tuple[str, list[str]]:
    """A line's id, "" without one, and its words.

    GTP 2, Section 3.1: drop control characters (a tab is a space), then the comment. Digits in front are the command's
    id, even with no command behind them.
    """
    text = "".join(c for c in line.replace("\t", " ") if not _is_control(c)).partition("#")[0]
    words = text.split()
    id_ = words.pop(0) if words and re.fullmatch("[0-9]+", words[0]) else ""
    return id_, words


def _tell_bug() -> None:
    """The traceback of an error that should not be, on stderr, if that is there."""
    with contextlib.suppress(OSError, ValueError):
        traceback.print_exc(file=sys.stderr)


def _is_control(c: str) -> bool:
    return c < " " or "\x7f" <= c < "\xa0"


def _printable(text: str) -> list[str]:
    """The lines of a text without control characters."""
    return ["".join(c for c in line if not _is_control(c)).rstrip() for line in text.split("\n")]


def _answer(mark: str, id_: str, text: str) -> str:
    """An answer has no control characters, and no empty line before its end."""
    first, *others = _printable(text)
    return "\n".join([f"{mark}{id_} {first}".rstrip(), *filter(None, others)]) + "\n\n"


class _Answer:
    """An answer that may come in parts."""

    def __init__(self, id_: str, say: Say | None):
        self._id, self._parts = id_, list[str]()
        self._say = self._parts.append if say is None else say
        self._began = False

    def add(self, text: str) -> None:
        """Say these lines; empty ones only begin the answer."""
        lines = [line for line in _printable(text) if line]
        if not self._began:
            lines.insert(0, f"={self._id}")
            self._began = True
        if lines:
            self._say("\n".join(lines) + "\n")

    def end(self) -> str:
        """What is left to be said."""
        if not self._began:
            self.add("")
        return "".join(self._parts) + "\n"

    def fail(self, why: str) -> str:
        """The same, where the command failed: a success that was announced already only ends."""
        if self._began:
            print(f"rlgo: {why}", file=sys.stderr)
            return self.end()
        return _answer("?", self._id, why)


def _take(args: list[str], names: str, *parsers: Callable[[str], object]) -> list:
    """The leading arguments, parsed. ValueError, or one missing, is a syntax error that tells their names."""
    if len(args) >= len(parsers):
        with contextlib.suppress(ValueError):
            return [parse(text) for parse, text in zip(parsers, args, strict=False)]
    raise RlgoError(f"syntax error: expected {names}")


def _analysis(args: list[str], to_play: int) -> tuple[int, float]:
    """The colour and the seconds between two reports of ``[COLOR] [[interval] CENTISECONDS] [minmoves N] ...``."""
    rest = [text.lower() for text in args]
    color = _COLORS[rest.pop(0)] if rest and rest[0] in _COLORS else to_play
    every = _ANALYZE_EVERY
    while rest:
        word = rest.pop(0)
        if word in ("minmoves", "maxmoves") and rest:  # all are told anyway
            rest.pop(0)
            continue
        if word == "interval" and rest:
            word = rest.pop(0)
        if not re.fullmatch("[0-9]{1,6}", word):
            raise RlgoError("syntax error: expected [COLOR] [CENTISECONDS]")
        every = int(word) / 100
    return color, max(every, _POLL_SECONDS)


def _color(text: str) -> int:
    if text.lower() not in _COLORS:
        raise ValueError
    return _COLORS[text.lower()]


def _integer(text: str) -> int:
    if not re.fullmatch("-?[0-9]{1,9}", text):
        raise ValueError
    return int(text)


def _count(text: str) -> int:
    n = _integer(text)
    if n < 0:
        raise ValueError
    return n


def _number(text: str) -> float:
    # A komi is never large; `float` alone would take nan, 1_0 and digits of other scripts.
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text) or abs(float(text)) > 10_000:
        raise ValueError
    return float(text)


def _seconds(text: str) -> float:
    # The standard has whole seconds; some controllers tell parts of them.
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise ValueError
    return float(text)
