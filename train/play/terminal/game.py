"""A game in the terminal: commands, the engine's moves, and the end.

Start reading at `TerminalGame.handle`: it handles one line of input. `play_in_terminal` connects it to a terminal.
The engine is a `GameSession`, which manages its time, knows when to pass, and decides what is dead at the end.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rlgo.base.errors import RlgoError, nearest
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE
from rlgo.go.clock import parse_time
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.ownership import PLAYOUTS, Ownership
from rlgo.play.player import RESIGN
from rlgo.play.session import GameSession
from train.play.analyze import describe_map
from train.play.terminal import screen
from train.play.terminal.record import RecordFile
from train.play.terminal.screen import PLAIN, Style, style_of
from train.players.spec import make_player
from train.process import interruptible

_HUMAN = "human"  # in game records
_PATIENCE = 1.0  # seconds before the first move in which the engine may get ready
_CANDIDATES = 5  # shown by a hint
_LIKE_VERTEX = re.compile("[A-Za-z][0-9]+")
_WHY = {
    "occupied": "there is a stone already",
    "ko": "ko: you may not retake at once",
    "suicide": "suicide: the stone would have no liberty",
    "superko": "superko: the position has occurred before",
}


class _Command(NamedTuple):
    run: Callable[[str], None]  # receives the argument, or ""
    argument: str  # its name; "" for a command without, [NAME] if it is optional
    help: str


class TerminalGame:
    """A person at a board, against an engine.

    Attributes
    ----------
    session : the engine, its game and its clock
    human : the person's colour
    record : the SGF file of the current game
    done : whether the person has left
    """

    def __init__(
        self,
        session: GameSession,
        human: int,
        read: Callable[[str], str],
        write: Callable[[str], None],
        *,
        style: Style = PLAIN,
        handicap: int = 0,
        record: Path | None = None,
        quiet: bool = False,
    ) -> None:
        """Begin a game.

        Parameters
        ----------
        session : plays the other colour; with `early_pass`, it agrees to end a game that it has won
        human : the person's colour
        read : prompts for a line, like `input`; EOFError and KeyboardInterrupt leave the game
        write : shows a text, like `print`
        style : what the terminal can show
        handicap : number of handicap stones for Black, or 0
        record : an SGF file to keep up to date; further games go to new files next to it
        quiet : show the engine's moves without its opinion of them

        Raises
        ------
        RlgoError : for a handicap that the board does not support.
        """
        self.session, self.human, self.read, self.write = session, human, read, write
        self.style, self.handicap, self.quiet = style, handicap, quiet
        self.record = RecordFile(record, self._sgf)
        self.done = False
        self._early_pass, self._all_alive = session.early_pass, session.all_alive
        self._commands = {
            "pass": _Command(lambda _: self._play("pass"), "", "pass; two passes end the game"),
            "resign": _Command(self._resign, "", "give up"),
            "undo": _Command(self._undo, "", "take back your last move and the engine's reply"),
            "hint": _Command(self._show_hint, "", "what the engine would play here"),
            "auto": _Command(self._auto, "", "let the engine play this move for you"),
            "map": _Command(self._map, "[NAME]", "the engine's value of every move"),
            "ownership": _Command(self._ownership, "", "the expected owner of each point, by playouts"),
            "score": _Command(self._score, "", "the score so far, and dead stones, by playouts"),
            "board": _Command(lambda _: self._show(), "", "show the board again"),
            "moves": _Command(self._moves, "", "the moves so far"),
            "save": _Command(self._save, "[FILE]" if record else "FILE", "write the game to an SGF file"),
            "sgf": _Command(self._save, "[FILE]" if record else "FILE", "the same as save"),
            "new": _Command(self._new, "", "begin another game"),
            "help": _Command(self._help, "", "this list"),
            "quit": _Command(self._quit, "", "leave (so do Ctrl-D and Ctrl-C)"),
        }
        self._begin()

    def _begin(self) -> None:
        """Begin a new game, with its handicap."""
        self.session.all_alive, self.session.early_pass = self._all_alive, self._early_pass
        self._result: str | None = None  # once the game is over
        self._comments: dict[int, str] = {}  # on the engine's moves, by number from 1
        self._hint_for: list[tuple[int, int]] | None = None  # the moves before the position last searched for a hint
        self._hint = PASS
        self.session.new_game()
        if self.handicap:
            self.game.fixed_handicap(self.handicap)

    @property
    def game(self) -> Game:
        """The game so far."""
        return self.session.game

    @property
    def _name(self) -> str:
        return self.session.name

    def run(self) -> None:
        """Play until the person leaves. The record is kept up to date throughout.

        RlgoError if the engine fails; KeyboardInterrupt for Ctrl-C.
        """
        self.write(
            f"You are {COLOR_NAMES[self.human]} against {self._name}, komi {self.game.komi:g}. Enter a move, such as "
            "D4;\nhelp lists the commands. Ctrl-C while the engine thinks makes it move at once."
        )
        self._show()
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
            if self.record.is_saved:
                self.write(f"The game is saved in {self.record.path}.")

    def _turn(self) -> None:
        """Take the next step: end the game, let the engine move, or read a line."""
        if self.game.is_over() and self._result is None:
            self._end()
        elif not self.game.is_over() and self.game.to_play != self.human:
            self._engine_moves()
            self._show()
        else:
            try:
                self.handle(self.read(self._prompt()))
            except RlgoError as error:
                self.write(str(error))

    def handle(self, line: str) -> None:
        """Carry out a line typed by the person. RlgoError, with nothing changed, if that is impossible."""
        word, _, argument = line.strip().partition(" ")
        argument = argument.strip()
        command = self._commands.get(word.lower())
        if command is not None:
            if bool(argument) > bool(command.argument):
                raise RlgoError(f"{word}: expected no argument, found {argument[:20]!r}")
            if not argument and command.argument and not command.argument.startswith("["):
                raise RlgoError(f"{word}: expected {word} {command.argument}")
            command.run(argument)
        elif _LIKE_VERTEX.fullmatch(word) and not argument:
            self._play(word)
        elif word:
            hint = nearest(word.lower(), self._commands, "expected a move, such as D4, or a command; help lists them")
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
        self._hint_for = None
        self._wait()
        with interruptible(self.session.player):
            p = self.session.genmove()
        if p == RESIGN:
            self.game.resign()
            return
        if p == PASS:  # it may have passed without a search
            self.write(f"{color} passes.")
            return
        search = self.session.last_search
        assert search is not None
        opinion = next(
            (screen.opinion(c, search.game, self.session.player) for c in search.candidates if c.move == p), ""
        )
        report = self.session.player.report()
        self._comments[len(self.game.moves)] = "\n".join(filter(None, [opinion, *report]))
        shown = "" if self.quiet else opinion or next(iter(report), "")
        self.write(f"{color} plays {to_vertex(p, self.game.size)}. {shown}".rstrip())

    def _wait(self) -> None:
        """Wait until the engine is ready, which takes long if it has to be compiled."""
        if not self.session.is_ready:
            self.write(f"{self._name} is getting ready ...")
            self.session.wait()

    def _auto(self, _: str) -> None:
        self._check_going_on()
        self._engine_moves()

    def _resign(self, _: str) -> None:
        self._check_going_on()
        self.session.resign()

    def _undo(self, _: str) -> None:
        if self.game.resigned == self.human:
            self.game.resigned = EMPTY
        else:
            mine = [i for i, (color, _) in enumerate(self.game.moves) if color == self.human]
            if not mine:
                raise RlgoError("undo: you have not moved yet")
            self.session.undo(len(self.game.moves) - mine[-1])
        self._result = None
        self._comments = {n: text for n, text in self._comments.items() if n <= len(self.game.moves)}
        self._show()

    def _check_going_on(self) -> None:
        if self.game.is_over():
            raise RlgoError(f"the game is over ({self._result}): expected new, undo, save or quit")

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
            ownership = self.session.ownership()
            self.write(f"Both have passed. {self._dead(ownership)}")
            if ownership.dead():
                self.write(f"\n{screen.draw(ownership.without_dead(), None, self.style)}\n")
            differs = f" (as the board stands: {game.result})" if game.result != self._result else ""
            self.write(f"The score is {self._result}{differs}.")
            if not self._agrees("Do you agree? If not, you play on, and all stones count as alive at the end."):
                self.session.all_alive, self.session.early_pass = True, False
                self._undo("")

    def _agrees(self, question: str) -> bool:
        """Ask until the answer is yes or no."""
        while True:
            answer = self.read(f"{question} [yes/no] ").strip().lower()
            if answer and ("yes".startswith(answer) or "no".startswith(answer)):
                return "yes".startswith(answer)

    # --- the engine's evaluation ---

    def _show_hint(self, _: str) -> None:
        p = self._think()
        search = self.session.last_search
        known = [] if p in (PASS, RESIGN) or search is None else search.candidates
        lines = [f"{self._name} would {screen.phrase(p, self.game.size)}"]
        lines += [screen.hint_row(c, self.game, self.session.player) for c in known[:_CANDIDATES]]
        self.write("\n".join(lines))

    def _map(self, name: str) -> None:
        if self._think() == PASS:
            raise RlgoError(f"{self._name} would pass, and has no values for other moves")
        maps = self.session.player.analyses()
        if not maps:
            raise RlgoError(f"{self._name} has no map")
        name = name or next(iter(maps))
        if name not in maps:
            raise RlgoError(f"map {name!r}: {nearest(name, maps)}")
        others = [other for other in maps if other != name]
        rest = f"; others: {', '.join(others)}" if others else ""
        self.write(f"{name}: {describe_map(name)}, {screen.unit(self.game)}{rest}")
        self.write(screen.draw_map(self.game, maps[name], self.style))

    def _think(self) -> int:
        """Return what the engine would play here. The same position is searched only once."""
        self._check_going_on()
        if self._hint_for != self.game.moves:
            self._hint_for = None
            self._wait()
            with interruptible(self.session.player):
                self._hint = self.session.suggest()
            self._hint_for = self.game.moves.copy()
        return self._hint

    # --- ownership and score ---

    def _ownership(self, _: str) -> None:
        ownership = self.session.ownership()
        self.write(f"How often Black owns each point at the end, {screen.unit(self.game)}")
        self.write(screen.draw_map(self.game, (ownership.map + 1) / 2, self.style))
        self.write(self._dead(ownership))

    def _score(self, _: str) -> None:
        ownership = self.session.ownership()
        lead = f"{'B' if ownership.score > 0 else 'W'}+{abs(ownership.score):.1f}"
        self.write(f"Black wins {ownership.wins:.0%} of {PLAYOUTS} playouts, which end {lead} on average.")
        self.write(self._dead(ownership))
        without = f"; without the dead stones: {ownership.without_dead().result}" if ownership.dead() else ""
        self.write(f"As the board stands, all stones alive: {self.game.result}{without}.")

    def _dead(self, ownership: Ownership) -> str:
        """List the dead stones by colour."""
        color = self.game.board.color
        dead = []
        for side, name in COLOR_NAMES.items():
            points = sorted(p for chain in ownership.dead() for p in chain if color[p] == side)
            if points:
                dead.append(f"{name} {screen.vertices(points, self.game)}")
        return f"Dead, by playouts: {'; '.join(dead)}." if dead else "No stone is dead, by playouts."

    # --- the record ---

    def _moves(self, _: str) -> None:
        if self.game.setup:
            self.write(f"Handicap: {screen.vertices([p for _, p in self.game.setup], self.game)}")
        self.write(screen.list_moves(self.game) or "No moves yet.")

    def _save(self, name: str) -> None:
        path = self.record.save(name, lambda path: self._agrees(f"{path} exists. Overwrite it?"))
        if path is not None:
            self.write(f"Saved to {path}.")

    def _update_record(self) -> None:
        """Save the game if it is recorded and something has happened. A full disk does not end the game."""
        try:
            self.record.update(has_begun=bool(self.game.moves or self.game.resigned))
        except RlgoError as error:
            self.write(str(error))

    def _sgf(self) -> bytes:
        return self.session.to_sgf(_HUMAN, self.human, self._result, self._comments)

    # --- beginning and leaving ---

    def _new(self, _: str) -> None:
        in_progress = self.game.moves and not self.game.is_over()
        if in_progress and not self._agrees("This game is not over. Begin another one?"):
            return
        if self.record.begin():
            self.write(f"The next game will be saved to {self.record.path}.")
        self._begin()
        self._show()

    def _help(self, _: str) -> None:
        lines = [f"  {'D4 ...':16} play at this point"]
        for name, command in self._commands.items():
            lines.append(f"  {f'{name} {command.argument}':16} {command.help}")
        self.write("\n".join(lines))

    def _quit(self, _: str) -> None:
        self.done = True

    # --- output ---

    def _show(self) -> None:
        self.write(f"\n{screen.draw(self.game, self.game.last_move, self.style)}\n")

    def _prompt(self) -> str:
        if self.game.is_over():
            return f"{self._result} (new, undo, save or quit)> "
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
    no_color: bool = False,
    quiet: bool = False,
) -> None:
    """Play a game on standard input and output: `rlgo play`.

    Parameters
    ----------
    spec : the engine; see `make_player`
    size, komi : board size, and points for White
    color : the person's colour, black or white; None means Black, or White if there is a handicap
    handicap, record, quiet : see `TerminalGame`
    force : overwrite an existing record
    seed : seed of the engine; None draws a fresh one each time
    time : the engine's time, see `parse_time`; the person plays without a clock
    no_color : draw the board in plain text

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
        session = GameSession(player, size, komi, early_pass=True, time_settings=settings, ready=lambda _: None)
        with contextlib.suppress(ImportError):  # enables line editing in `input`, where available
            import readline  # noqa: F401
        for stream in (sys.stdin, sys.stdout):  # people may type in any script
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        style = style_of(sys.stdout, no_color)
        TerminalGame(session, human, input, _print, style=style, handicap=handicap, record=record, quiet=quiet).run()


def _print(text: str) -> None:
    print(text, flush=True)
