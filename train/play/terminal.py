"""A game against an engine in the terminal: `rlgo play`.

Start reading at `TerminalGame.handle`: it handles one line of input. `play_in_terminal` connects it to a terminal.
The engine is a `GameSession`, which manages its time, knows when to pass, and decides what is dead at the end. The web
page (`rlgo web`) shows more of what the engine thinks.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

from rlgo.base.errors import RlgoError, nearest
from rlgo.base.files import user_path, write_atomically
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE
from rlgo.go.clock import parse_time
from rlgo.go.coords import from_vertex, to_vertex, vertices
from rlgo.go.draw import board_text
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.ending import Ending
from rlgo.play.player import RESIGN, Candidate, name_of_move, won_by
from rlgo.play.session import GameSession
from train.console import unicode_output
from train.players.networks import make_judge
from train.players.spec import make_player, strongest
from train.process import interruptible

_HUMAN = "human"  # in game records
_PATIENCE = 1.0  # seconds before the first move in which the engine may get ready
_CANDIDATES, _LINE_MOVES = 5, 8  # shown by a hint, and of each principal variation
_LIKE_VERTEX = re.compile("[A-Za-z][0-9]+")
_WHY = {
    "occupied": "there is a stone already",
    "ko": "ko: you may not retake at once",
    "suicide": "suicide: the stone would have no liberty",
    "superko": "superko: the position has occurred before",
}
_HELP = """\
  D4 ...     play at this point
  pass       pass; two passes end the game
  resign     give up
  undo       take back your last move and the engine's reply
  hint       what the strongest engine would play here
  score      the score so far, and dead stones, by a search
  save FILE  write the game to an SGF file
  help       this list
  quit       leave (so do Ctrl-D and Ctrl-C)"""
_GONE = ("auto", "board", "map", "moves", "new", "ownership")  # commands that the terminal once had


class TerminalGame:
    """A person at a board, against an engine.

    Attributes
    ----------
    session : the engine, its game and its clock
    human : the person's colour
    done : whether the person has left
    """

    def __init__(
        self,
        session: GameSession,
        human: int,
        read: Callable[[str], str],
        write: Callable[[str], None],
        *,
        unicode: bool = False,
        handicap: int = 0,
        record: Path | None = None,
    ) -> None:
        """Begin a game.

        Parameters
        ----------
        session : plays the other colour; with `early_pass`, it agrees to end a game that it has won
        human : the person's colour
        read : prompts for a line, like `input`; EOFError and KeyboardInterrupt leave the game
        write : shows a text, like `print`
        unicode : draw stones as Unicode characters
        handicap : number of handicap stones for Black, or 0
        record : an SGF file to keep up to date

        Raises
        ------
        RlgoError : for a handicap that the board does not support.
        """
        self.session, self.human, self.read, self.write = session, human, read, write
        self.done = False
        self._unicode, self._record = unicode, record
        self._saved: dict[Path, bytes] = {}  # the files that the game was saved to, and their content
        self._result: str | None = None  # once the game is over
        self._commands: dict[str, Callable[[], None]] = {
            "pass": lambda: self._play("pass"),
            "resign": self._resign,
            "undo": self._undo,
            "hint": self._hint,
            "score": self._score,
            "help": lambda: self.write(_HELP),
            "quit": self._quit,
        }
        if handicap:
            self.game.fixed_handicap(handicap)

    @property
    def game(self) -> Game:
        """The game so far."""
        return self.session.game

    def run(self) -> None:
        """Play until the person leaves. The record is kept up to date throughout.

        RlgoError if the engine fails; KeyboardInterrupt for Ctrl-C.
        """
        self.write(
            f"You are {COLOR_NAMES[self.human]} against {self.session.name}, komi {self.game.komi:g}. Enter a move, "
            "such as D4;\nhelp lists the commands. Ctrl-C while the engine thinks makes it move at once."
        )
        self._show(self.game)
        self.session.wait(_PATIENCE)  # what is said on the way comes before the prompt
        try:
            while not self.done:
                self._turn()
                self._update_record()
        except EOFError:
            self.write("")
        except KeyboardInterrupt:
            self.write("")
            raise
        finally:
            self._update_record()
            if self._record in self._saved:
                self.write(f"The game is saved in {self._record}.")

    def _turn(self) -> None:
        """Take the next step: end the game, let the engine move, or read a line."""
        if self.game.is_over() and self._result is None:
            self._end()
        elif not self.game.is_over() and self.game.to_play != self.human:
            self._engine_moves()
            self._show(self.game)
        else:
            try:
                self.handle(self.read(self._prompt()))
            except RlgoError as error:
                self.write(str(error))

    def handle(self, line: str) -> None:
        """Carry out a line typed by the person. RlgoError, with nothing changed, if that is impossible."""
        word, _, argument = line.strip().partition(" ")
        name = word.lower()
        if name == "save":
            self._save(argument.strip())
        elif name in self._commands and not argument:
            self._commands[name]()
        elif name in self._commands:
            raise RlgoError(f"{word}: expected no argument, found {argument.strip()[:20]!r}")
        elif name in _GONE:
            raise RlgoError(f"{word} is gone from the terminal: `rlgo web` has it")
        elif _LIKE_VERTEX.fullmatch(word) and not argument:
            self._play(word)
        elif word:
            known = [*self._commands, "save"]
            hint = nearest(name, known, "expected a move, such as D4, or a command; help lists them")
            raise RlgoError(f"{line.strip()[:20]!r}: {hint}")

    # --- moves ---

    def _play(self, vertex: str) -> None:
        self._check_going_on()
        p = from_vertex(vertex, self.game.size)
        why = self.game.why_illegal(p)
        if why is not None:
            raise RlgoError(f"{vertex.upper()} is illegal: {_WHY[why]}")
        self.session.play(p, self.human)

    def _engine_moves(self) -> None:
        """Let the engine play for the side to move, and show its opinion of the move."""
        color = COLOR_NAMES[self.game.to_play]
        self._wait()
        with interruptible(self.session.player):
            p = self.session.genmove()
        if p == RESIGN:
            self.game.resign()
        elif p == PASS:  # it may have passed without a search
            self.write(f"{color} passes.")
        else:
            search = self.session.last_search
            assert search is not None
            opinion = next((self._opinion(c, search.game, self.session) for c in search.candidates if c.move == p), "")
            self.write(f"{color} plays {to_vertex(p, self.game.size)}. {opinion}".rstrip())

    def _wait(self) -> None:
        """Wait until the engine is ready, which takes long if it has to be compiled."""
        if not self.session.is_ready:
            self.write(f"{self.session.name} is getting ready ...")
            self.session.wait()

    def _resign(self) -> None:
        self._check_going_on()
        self.session.resign()

    def _undo(self) -> None:
        if self.game.resigned == self.human:
            self.game.resigned = EMPTY
        else:
            mine = [i for i, (color, _) in enumerate(self.game.moves) if color == self.human]
            if not mine:
                raise RlgoError("undo: you have not moved yet")
            self.session.undo(len(self.game.moves) - mine[-1])
        self._result = None
        self._show(self.game)

    def _check_going_on(self) -> None:
        if self.game.is_over():
            raise RlgoError(f"the game is over ({self._result}): expected undo, save or quit")

    # --- the end ---

    def _end(self) -> None:
        """Announce the result. After two passes, the person may disagree and play on."""
        game = self.game
        self._result = self.session.result()
        if game.resigned:
            self.write(f"{COLOR_NAMES[game.resigned]} resigns: {self._result}")
        elif self.session.all_alive:
            self.write(f"Both have passed: {self._result}, all stones alive.")
        else:
            ending = self.session.ending()
            self.write(f"Both have passed. {self._describe_end(ending)}")
            if ending.dead:
                self._show(ending.rest)
            differs = f" (as the board stands: {game.result})" if game.result != self._result else ""
            self.write(f"The score is {self._result}{differs}.")
            if not self._agrees("Do you agree? If not, you play on, and all stones count as alive at the end."):
                self.session.all_alive, self.session.early_pass = True, False
                self._undo()

    def _agrees(self, question: str) -> bool:
        """Ask until the answer is yes or no."""
        while True:
            answer = self.read(f"{question} [yes/no] ").strip().lower()
            if answer and ("yes".startswith(answer) or "no".startswith(answer)):
                return "yes".startswith(answer)

    # --- what the engine thinks ---

    def _opinion(self, candidate: Candidate, game: Game, session: GameSession) -> str:
        """Describe an engine's evaluation of a move in the position of `game`."""
        wins = won_by(game.to_play, session.player.chance(candidate.value, game))
        visits = f", {candidate.visits:,} visits" if candidate.visits > 1 else ""
        expected = vertices(candidate.line[1 : 1 + _LINE_MOVES], game.size)
        return f"P(win) {wins:.1%}{visits}" + (f", expects {expected}" if expected else "")

    def _hint(self) -> None:
        self._check_going_on()
        self._wait()
        session = self.session.analyst
        with interruptible(session.player):
            p = session.suggest()
        search, game = session.last_search, self.game
        known = [] if p in (PASS, RESIGN) or search is None else search.candidates
        move = name_of_move(p, self.game.size)
        lines = [f"{session.name} would {move if p in (PASS, RESIGN) else f'play {move}'}"]
        lines += [f"  {to_vertex(c.move, game.size):4} {self._opinion(c, game, session)}" for c in known[:_CANDIDATES]]
        self.write("\n".join(lines))

    def _score(self) -> None:
        ending = self.session.ending()
        self.write(self._describe_end(ending))
        without = f"; without the dead stones: {ending.rest.result}" if ending.dead else ""
        self.write(f"As the board stands, all stones alive: {self.game.result}{without}.")

    def _describe_end(self, ending: Ending) -> str:
        """List the stones that are dead and in seki by colour, and what is unfinished."""
        color, texts = self.game.board.color, []
        for chains, what in ((ending.dead, "Dead"), (ending.seki, "In seki")):
            points = {
                name: sorted(p for chain in chains for p in chain if color[p] == side)
                for side, name in COLOR_NAMES.items()
            }
            named = "; ".join(f"{name} {vertices(found, self.game.size)}" for name, found in points.items() if found)
            texts += [f"{what}: {named}."] if named else []
        texts = texts or ["No stone is dead."]
        if ending.unfinished:
            texts.append(f"Unfinished, for whoever moves first: {vertices(ending.unfinished, self.game.size)}.")
        return " ".join(texts)

    # --- the record ---

    def _save(self, name: str) -> None:
        path = user_path(name) if name else self._record
        if path is None:
            raise RlgoError("save: expected save FILE")
        try:
            is_folder, exists = path.is_dir(), path.exists()
        except OSError as error:  # a name that is too long
            raise RlgoError(f"{path}: {error.strerror}") from None
        if is_folder:
            raise RlgoError(f"{path}: expected a file, found a folder")
        if path in self._saved or not exists or self._agrees(f"{path} exists. Overwrite it?"):
            self._write_record(path)
            self.write(f"Saved to {path}.")

    def _update_record(self) -> None:
        """Save the game if it is recorded and has begun. A full disk does not end the game."""
        if self._record is not None and (self.game.moves or self.game.resigned or self._record in self._saved):
            try:
                self._write_record(self._record)
            except RlgoError as error:
                self.write(str(error))

    def _write_record(self, path: Path) -> None:
        data = self.session.to_sgf(_HUMAN, self.human, self._result)
        if self._saved.get(path) != data:
            write_atomically(path, data)
            self._saved[path] = data

    # --- leaving and output ---

    def _quit(self) -> None:
        self.done = True

    def _show(self, game: Game) -> None:
        self.write(f"\n{board_text(game.board, game.last_move, self._unicode)}\n")

    def _prompt(self) -> str:
        if self.game.is_over():
            return f"{self._result} (undo, save or quit)> "
        return f"{len(self.game.moves) + 1} {COLOR_NAMES[self.game.to_play]}> "


def play_in_terminal(
    spec: str,
    size: int = DEFAULT_SIZE,
    komi: float = DEFAULT_KOMI,
    *,
    color: str | None = None,
    handicap: int = 0,
    record: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    time: str | None = None,
) -> None:
    """Play a game on standard input and output: `rlgo play`.

    Parameters
    ----------
    spec : the engine; see `make_player`
    size, komi : board size, and points for White
    color : the person's colour, black or white; None means Black, or White if there is a handicap
    handicap, record : see `TerminalGame`
    force : overwrite an existing record
    seed : seed of the engine; None draws a fresh one each time
    time : the engine's time, see `parse_time`; the person plays without a clock

    Raises
    ------
    RlgoError : for bad settings, an existing record, or an engine that fails, after the game is saved.
    """
    if record is not None and record.exists() and not force:
        raise RlgoError(f"{record}: already exists; use --force to overwrite it, or --sgf to name another file")
    settings = None if time is None else parse_time(time)
    if handicap:  # refused now, rather than after compiling
        Game(size, komi).fixed_handicap(handicap)
    human = {"black": BLACK, "white": WHITE, None: WHITE if handicap else BLACK}[color]
    with contextlib.closing(make_player(spec, size, seed)) as player:
        make_analyst = None if strongest(spec) == spec else lambda n: make_player(strongest(spec), n, seed)
        session = GameSession(
            player,
            size,
            komi,
            early_pass=True,
            resigns=True,
            time_settings=settings,
            ready=lambda _: None,
            judge=make_judge,
            make_analyst=make_analyst,
        )
        with contextlib.suppress(ImportError):  # enables line editing in `input`, where available
            import readline  # noqa: F401
        for stream in (sys.stdin, sys.stdout):  # people may type in any script
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        TerminalGame(session, human, input, _print, unicode=unicode_output(), handicap=handicap, record=record).run()


def _print(text: str) -> None:
    print(text, flush=True)
