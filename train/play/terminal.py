"""A person plays against the engine in the terminal: `rlgo play`.

Start reading at `Session.handle`: a line in, text out, no terminal. `play_in_terminal` connects it to one. The engine
is a `GtpEngine`, which knows how to move in time, when to pass, and what is dead in the end.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from rlgo.archive import write_atomically
from rlgo.board import BLACK, EMPTY, WHITE
from rlgo.clock import Clock, TimeSettings, parse_time
from rlgo.coords import from_vertex, to_vertex
from rlgo.draw import board_ansi, board_text, values_text
from rlgo.errors import RlgoError
from rlgo.game import COLOR_NAMES, Game
from rlgo.gtp import GtpEngine
from rlgo.ownership import PLAYOUTS, Ownership
from rlgo.player import Candidate
from rlgo.sgf import write_sgf
from train.play.analyze import describe_map
from train.players.engines import GtpClient
from train.players.spec import make_player

_HUMAN = "human"  # in game records
_CANDIDATES = 5  # that a hint shows
_LINE = 8  # moves of a principal variation that are shown
_MOVES_PER_ROW = 8
_LIKE_VERTEX = re.compile("[A-Za-z][0-9]+")
_WHY = {
    "occupied": "a stone stands there already",
    "ko": "ko: it would take back at once",
    "suicide": "suicide: the stone would have no liberty",
    "superko": "superko: it would repeat an earlier position",
}


class Style(NamedTuple):
    """What a terminal can show."""

    unicode: bool = False
    colors: bool = False


PLAIN = Style()


def style_of(stream: TextIO, no_color: bool = False) -> Style:
    """What a stream can show: colours on a terminal alone, where neither it, nor the person, nor NO_COLOR objects."""
    unicode = (stream.encoding or "").lower().startswith("utf")
    wanted = not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Style(unicode, unicode and wanted and stream.isatty())


class _Command(NamedTuple):
    run: Callable[[str], None]  # gets its argument, "" where there is none
    argument: str  # what that is; "": it takes none, [...]: it may be left out
    help: str


class Session:
    """A person at a board, and the engine.

    Parameters
    ----------
    engine : plays the other colour; with `early_pass`, it agrees to end a game that it has won
    human : the person's colour
    read : asks for a line, like `input`; EOFError and KeyboardInterrupt leave the game
    say : shows a text, like `print`
    handicap : stones that Black begins with, or 0
    record : an SGF file that is kept up to date with the game; of a second game, another one beside it
    quiet : say no more of the engine's moves than where they are
    """

    def __init__(
        self,
        engine: GtpEngine,
        human: int,
        read: Callable[[str], str],
        say: Callable[[str], None],
        style: Style = PLAIN,
        handicap: int = 0,
        record: Path | None = None,
        quiet: bool = False,
    ) -> None:
        """RlgoError for a handicap that the board does not have."""
        self.engine, self.human, self.read, self.say = engine, human, read, say
        self.style, self.handicap, self.record, self.quiet = style, handicap, record, quiet
        self.done = False
        self._first_record = record
        self._early_pass, self._all_alive = engine.early_pass, engine.all_alive
        self._commands = {
            "pass": _Command(lambda _: self._play("pass"), "", "pass; two passes end the game"),
            "resign": _Command(self._resign, "", "give up"),
            "undo": _Command(self._undo, "", "take back your last move and the engine's answer"),
            "hint": _Command(self._hint, "", "what the engine would play for you"),
            "auto": _Command(self._auto, "", "let the engine play this move for you"),
            "map": _Command(self._map, "[NAME]", "what the engine thinks of every move"),
            "ownership": _Command(self._ownership, "", "who will own what, by playouts"),
            "score": _Command(self._score, "", "the score by now, and dead stones, by playouts"),
            "board": _Command(lambda _: self._show(), "", "show the board again"),
            "moves": _Command(self._moves, "", "the moves so far"),
            "save": _Command(self._save, "[FILE]" if record else "FILE", "write the game to an SGF file"),
            "sgf": _Command(self._save, "[FILE]" if record else "FILE", "the same as save"),
            "new": _Command(self._new, "", "begin another game"),
            "help": _Command(self._help, "", "this list"),
            "quit": _Command(self._quit, "", "leave; so do Ctrl-D and Ctrl-C"),
        }
        self._begin()

    def _begin(self) -> None:
        """A new game, with its handicap."""
        self.engine.all_alive, self.engine.early_pass = self._all_alive, self._early_pass
        self._result: str | None = None  # of a game that is over
        self._comments: dict[int, str] = {}  # on the engine's moves, by number from 1
        self._files: dict[Path, bytes] = {}  # that this game was written to, and their content
        self._thought: tuple[list[tuple[int, int]], str] | None = None  # the moves before, and what to play then
        self._tell("clear_board")
        if self.handicap:
            self._tell(f"fixed_handicap {self.handicap}")

    @property
    def game(self) -> Game:
        """The game so far."""
        return self.engine.game

    def run(self) -> None:
        """Play until the person leaves. The record is up to date however that happens.

        RlgoError where the engine fails; KeyboardInterrupt for Ctrl-C.
        """
        self.say(
            f"You are {COLOR_NAMES[self.human]} against {self.engine.player.name}, komi {self.game.komi:g}. A move is "
            "a vertex, such as D4;\nhelp lists what else there is. Ctrl-C while the engine thinks has it move at once."
        )
        self._show()
        try:
            while not self.done:
                self._turn()
                self._keep()
        except EOFError:
            self.say("")
        except KeyboardInterrupt:
            self.say("")
            raise
        finally:
            self._keep()
            if self.record in self._files:
                self.say(f"The game is saved in {self.record}.")

    def _turn(self) -> None:
        """Whatever comes next: the end of the game, a move of the engine's, or a line of the person's."""
        if self.game.is_over() and self._result is None:
            self._end()
        elif not self.game.is_over() and self.game.to_play != self.human:
            self._engine_moves()
            self._show()
        else:
            try:
                self.handle(self.read(self._prompt()))
            except RlgoError as error:
                self.say(str(error))

    def handle(self, line: str) -> None:
        """Carry out what the person has typed. RlgoError says why it cannot be done; nothing has changed then."""
        word, _, argument = line.strip().partition(" ")
        argument = argument.strip()
        command = self._commands.get(word.lower())
        if command is not None:
            if bool(argument) > bool(command.argument):
                raise RlgoError(f"{word}: expected nothing behind it, found {argument[:20]!r}")
            if not argument and command.argument and not command.argument.startswith("["):
                raise RlgoError(f"{word}: expected {word} {command.argument}")
            command.run(argument)
        elif _LIKE_VERTEX.fullmatch(word) and not argument:
            self._play(word)
        elif word:
            near = _nearest(word.lower(), list(self._commands))
            raise RlgoError(f"{line.strip()[:20]!r}: expected a move, such as D4, or a command; the nearest is {near}")

    # --- moves ---

    def _play(self, vertex: str) -> None:
        self._check_going_on()
        why = self.game.why_illegal(from_vertex(vertex, self.game.size))
        if why is not None:
            raise RlgoError(f"{vertex.upper()} is illegal: {_WHY[why]}")
        self._tell(f"play {COLOR_NAMES[self.human]} {vertex}")

    def _engine_moves(self) -> None:
        """The engine plays for the colour to play, and says what it thinks of that."""
        before = self.game.copy()
        color = COLOR_NAMES[before.to_play]
        vertex = self._search("genmove")
        if vertex == "resign":
            self.game.resign()
            return
        if vertex == "pass":  # perhaps without a search: what is known is of an earlier position
            self.say(f"{color} passes.")
            return
        move = from_vertex(vertex, before.size)
        candidate = next((c for c in self.engine.player.candidates(before) if c.move == move), None)
        report = self.engine.player.report()
        thought = _thought(candidate, before) if candidate else next(iter(report), "")
        self._comments[len(self.game.moves)] = "\n".join(filter(None, [thought if candidate else "", *report]))
        self.say(f"{color} plays {vertex}." + (f" {thought}" if thought and not self.quiet else ""))

    def _auto(self, _: str) -> None:
        self._check_going_on()
        self._engine_moves()

    def _resign(self, _: str) -> None:
        self._check_going_on()
        self.game.resign()

    def _undo(self, _: str) -> None:
        if self.game.resigned == self.human:
            self.game.resigned = EMPTY
        else:
            mine = [i for i, (color, _) in enumerate(self.game.moves) if color == self.human]
            if not mine:
                raise RlgoError("undo: you have made no move yet")
            self._tell(f"gg-undo {len(self.game.moves) - mine[-1]}")
        self._result = None
        self._comments = {n: text for n, text in self._comments.items() if n <= len(self.game.moves)}
        self._show()

    def _check_going_on(self) -> None:
        if self.game.is_over():
            raise RlgoError(f"the game is over ({self._result}): expected new, undo, save or quit")

    # --- the end ---

    def _end(self) -> None:
        """Say who has won; after two passes, the person may disagree, and plays on."""
        game = self.game
        self._result = self._tell("final_score")
        if game.resigned:
            self.say(f"{COLOR_NAMES[game.resigned]} resigns: {self._result}")
        elif self.engine.all_alive:
            self.say(f"Both have passed: {self._result}, all stones alive.")
        else:
            ownership = Ownership.of(game)
            self.say(f"Both have passed. {self._dead(ownership)}")
            if ownership.dead():
                self.say(f"\n{self._draw(ownership.without_dead(), None)}\n")
            differs = f" (as the board stands: {game.result})" if game.result != self._result else ""
            self.say(f"The score is {self._result}{differs}.")
            if not self._agrees("Do you agree? If not, play on, and all stones are alive in the end."):
                self.engine.all_alive, self.engine.early_pass = True, False
                self._undo("")

    def _agrees(self, question: str) -> bool:
        """The person's answer, yes or no."""
        while True:
            answer = self.read(f"{question} [yes/no] ").strip().lower()
            if answer and ("yes".startswith(answer) or "no".startswith(answer)):
                return "yes".startswith(answer)

    # --- what the engine thinks ---

    def _hint(self, _: str) -> None:
        vertex = self._think()
        known = self.engine.player.candidates(self.game) if vertex not in ("pass", "resign") else []
        lines = [f"{self.engine.player.name} would {_phrase(vertex)}"]
        for c in known[:_CANDIDATES]:
            name = to_vertex(c.move, self.game.size)
            visits = f"{c.visits:8,} visits" if c.visits > 1 else ""
            lines.append(f"  {name:4} P(win) {_wins(c, self.game):5.1%}{visits}  {_line(c.line, self.game)}".rstrip())
        self.say("\n".join(lines))

    def _map(self, name: str) -> None:
        if self._think() == "pass":
            raise RlgoError(f"{self.engine.player.name} would pass, and thinks of no other move")
        maps = self.engine.player.analyses()
        if not maps:
            raise RlgoError(f"{self.engine.player.name} has no map")
        name = name or next(iter(maps))
        if name not in maps:
            raise RlgoError(
                f"map {name!r}: expected one of {', '.join(maps)}; the nearest is {_nearest(name, [*maps])}"
            )
        others = [other for other in maps if other != name]
        rest = f"; others: {', '.join(others)}" if others else ""
        self.say(f"{name}: {describe_map(name)}, in per cent{rest}")
        self.say(values_text(self.game.board, maps[name], None, self.style.unicode))

    def _think(self) -> str:
        """What the engine would play here: a vertex, pass or resign. The same position is searched but once."""
        self._check_going_on()
        if self._thought is None or self._thought[0] != self.game.moves:
            self._thought = self.game.moves.copy(), self._search("reg_genmove")
        return self._thought[1]

    def _search(self, command: str) -> str:
        """A GTP command that searches: the first Ctrl-C ends it with the best move so far, the second one everything.

        What it finds replaces what was thought of another position.
        """
        stopped: list[int] = []

        def stop(number: int, frame: Any) -> None:
            if stopped:
                raise KeyboardInterrupt
            stopped.append(number)
            self.engine.interrupt()

        self._thought = None
        before = signal.signal(signal.SIGINT, stop)
        try:
            return self._tell(f"{command} {COLOR_NAMES[self.game.to_play]}")
        finally:
            signal.signal(signal.SIGINT, before)

    def _tell(self, line: str) -> str:
        """The engine's answer to a GTP command; RlgoError where it fails."""
        answer = self.engine.handle(line) or ""
        text = answer[1:].strip()
        if answer.startswith("?"):
            raise RlgoError(text)
        return text

    # --- what will be whose ---

    def _ownership(self, _: str) -> None:
        ownership = Ownership.of(self.game)
        self.say("How often Black owns a point in the end, in per cent")
        self.say(values_text(self.game.board, (ownership.map + 1) / 2, None, self.style.unicode))
        self.say(self._dead(ownership))

    def _score(self, _: str) -> None:
        ownership = Ownership.of(self.game)
        margin = ownership.map.sum() - self.game.komi
        lead = f"{'B' if margin > 0 else 'W'}+{abs(margin):.1f}"
        self.say(f"Black wins {ownership.wins:.0%} of {PLAYOUTS} playouts; on average, they end {lead}.")
        self.say(self._dead(ownership))
        without = f"; without the dead stones: {ownership.without_dead().result}" if ownership.dead() else ""
        self.say(f"As the board stands, all stones alive: {self.game.result}{without}.")

    def _dead(self, ownership: Ownership) -> str:
        """The dead stones, by colour."""
        color = self.game.board.color
        found = []
        for side, name in COLOR_NAMES.items():
            points = sorted(p for chain in ownership.dead() for p in chain if color[p] == side)
            if points:
                found.append(f"{name} {_line(points, self.game, len(points))}")
        return f"Dead, by playouts: {'; '.join(found)}." if found else "No stone is dead, by playouts."

    # --- the record ---

    def _moves(self, _: str) -> None:
        game = self.game
        if game.setup:
            self.say(f"Handicap: {_line([p for _, p in game.setup], game, len(game.setup))}")
        moves = [
            f"{n:3} {COLOR_NAMES[color][0]} {to_vertex(p, game.size):4}" for n, (color, p) in enumerate(game.moves, 1)
        ]
        rows = [" ".join(moves[i : i + _MOVES_PER_ROW]).rstrip() for i in range(0, len(moves), _MOVES_PER_ROW)]
        self.say("\n".join(rows) or "No move has been made.")

    def _save(self, name: str) -> None:
        path = Path(name).expanduser() if name else self.record
        assert path is not None
        if path.is_dir():
            raise RlgoError(f"{path}: expected a file, this is a folder")
        if path not in self._files and path.exists() and not self._agrees(f"{path} exists. Overwrite it?"):
            return
        self._write(path)
        self.say(f"Saved to {path}.")

    def _keep(self) -> None:
        """Bring the record up to date, where there is one and something has happened; a full disk ends no game."""
        if self.record is not None and (self.game.moves or self.game.resigned or self.record in self._files):
            try:
                self._write(self.record)
            except RlgoError as error:
                self.say(str(error))

    def _write(self, path: Path) -> None:
        name = self.engine.player.name
        black, white = (_HUMAN, name) if self.human == BLACK else (name, _HUMAN)
        data = write_sgf(self.game, black, white, self._result, comments=self._comments)
        if self._files.get(path) == data:
            return
        try:
            write_atomically(path, data)
        except OSError as error:
            raise RlgoError(f"{path}: cannot be written: {error.strerror}") from None
        self._files[path] = data

    # --- the session ---

    def _new(self, _: str) -> None:
        is_going_on = self.game.moves and not self.game.is_over()
        if is_going_on and not self._agrees("This game is not over. Begin another one?"):
            return
        if self._first_record is not None and self.record in self._files:
            self.record = _beside(self._first_record)
            self.say(f"The next game will be saved to {self.record}.")
        self._begin()
        self._show()

    def _help(self, _: str) -> None:
        lines = [f"  {'D4 ...':16} play there"]
        for name, command in self._commands.items():
            lines.append(f"  {f'{name} {command.argument}':16} {command.help}")
        self.say("\n".join(lines))

    def _quit(self, _: str) -> None:
        self.done = True

    # --- what is shown ---

    def _show(self) -> None:
        self.say(f"\n{self._draw(self.game, self.game.last_move)}\n")

    def _draw(self, game: Game, last: int | None) -> str:
        return board_ansi(game.board, last) if self.style.colors else board_text(game.board, last, self.style.unicode)

    def _prompt(self) -> str:
        if self.game.is_over():
            return f"{self._result}> "
        return f"{len(self.game.moves) + 1} {COLOR_NAMES[self.game.to_play]}> "


def _wins(candidate: Candidate, game: Game) -> float:
    """P(win) after a move, for the colour to play."""
    return candidate.value if game.to_play == BLACK else 1 - candidate.value


def _thought(candidate: Candidate, game: Game) -> str:
    """What the engine thinks of the move that it has made in the position of `game`."""
    visits = f", {candidate.visits:,} visits" if candidate.visits > 1 else ""
    expected = _line(candidate.line[1:], game)
    return f"P(win) {_wins(candidate, game):.1%}{visits}" + (f", expects {expected}" if expected else "")


def _line(points: list[int], game: Game, most: int = _LINE) -> str:
    return " ".join(to_vertex(p, game.size) for p in points[:most])


def _phrase(vertex: str) -> str:
    return vertex if vertex in ("pass", "resign") else f"play {vertex}"


def _nearest(word: str, names: list[str]) -> str:
    return difflib.get_close_matches(word, names, 1, 0.0)[0]


def _beside(path: Path) -> Path:
    """The first free name of NAME-2.sgf, NAME-3.sgf ..."""
    n = 2
    while (found := path.with_name(f"{path.stem}-{n}{path.suffix}")).exists():
        n += 1
    return found


def play_in_terminal(
    spec: str,
    size: int = 9,
    komi: float = 7.5,
    color: str | None = None,
    handicap: int = 0,
    record: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    time: str | None = None,
    no_color: bool = False,
    quiet: bool = False,
) -> None:
    """`rlgo play`: a session on standard input and output.

    Parameters
    ----------
    spec : the engine, see `make_player`
    color : the person's, black or white; None: Black, or White where the engine gets a handicap
    handicap, record, quiet : as in `Session`
    force : overwrite a record that is there
    time : the engine's, as `parse_time` reads it; the person has all the time in the world

    Raises
    ------
    RlgoError : for bad settings, a record that is there already, an engine that fails. The game is recorded by then.
    """
    if record is not None and record.exists() and not force:
        raise RlgoError(f"{record}: exists already; --force overwrites it, another --sgf leaves it alone")
    settings: TimeSettings | None = None if time is None else parse_time(time)
    human = {"black": BLACK, "white": WHITE, None: WHITE if handicap else BLACK}[color]
    player = make_player(spec, size, seed)
    try:
        print(f"rlgo: {player.name} gets ready ...", file=sys.stderr, flush=True)
        engine = GtpEngine(player, size, komi, early_pass=True)
        engine.clock = Clock(settings)
        with contextlib.suppress(ImportError):  # what `input` edits lines with; not every system has it
            import readline  # noqa: F401
        for stream in (sys.stdin, sys.stdout):  # what is typed, and repeated, may be in any script
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        style = style_of(sys.stdout, no_color)
        Session(engine, human, input, _print, style, handicap, record, quiet).run()
    finally:
        if isinstance(player, GtpClient):
            player.close()


def _print(text: str) -> None:
    print(text, flush=True)
