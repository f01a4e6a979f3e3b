"""A client of the Computer Go Server (CGOS): it plays rated games there, for as long as it is let.

Start reading at `CgosClient._obey`: a line of the server's in, an answer out. `CgosClient.run` keeps the connection.
The protocol is the server's "e1", of lines of text; what it sends, as the public server (zakki/cgos on GitHub) has it:

    protocol ..., username, password        the login; who we are
    info TEXT                               for people
    setup ID SIZE KOMI MS WHITE(RATING) BLACK(RATING) [MOVE MS]...
                                            a game begins, or goes on: its moves so far, Black's first
    play COLOUR MOVE MS                     the opponent's move, and the time it has left
    genmove COLOUR MS                       our move is wanted, and the time we have left
    gameover DATE RESULT [REASON]           answered by ``ready`` for the next game, or by ``quit``

MS are milliseconds; each side has its main time, and loses when that is used up. Games are played out: all stones
count as alive. Positional superko.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import re
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn, Protocol, TextIO

from pydantic import Field

from rlgo.coords import from_vertex, to_row_col
from rlgo.errors import RlgoError
from rlgo.gtp import GtpEngine
from rlgo.resources import config_path, version
from train.config import BoardSize, check_keys, read_toml, section_from
from train.players.engines import EngineError, GtpClient
from train.players.spec import make_player, parse_spec
from train.settings import Count, Expected, Line, Section, SpecText, expected, section

CONNECT_TIMEOUT = 30.0  # seconds
LONGEST_DELAY = 60.0  # seconds between two attempts to connect, but for the jitter
_MAX_LINE = 1_000_000  # bytes; a setup with the longest game has some 10,000
_MAX_LOGGED = 500  # characters of a line
_COLORS = ("b", "w")

# ---------------------------------------------------------------------------------------------
# The config
# ---------------------------------------------------------------------------------------------

_SECRET = "a string of at least 3 ASCII characters, no spaces"

Secret = Annotated[str, Field(pattern=r"^([!-~]{3,100})?$"), Expected(_SECRET)]
AnyPath = Annotated[Line, Expected("a path, or nothing")]


@section
class Cgos(Section):
    """Where to play, as whom, and with which player. configs/cgos/example.toml explains every key."""

    host: Annotated[Line, Field(pattern=r"^\S+$"), Expected("the address of a CGOS server")] = Field(
        default="", description="Address of the server."
    )
    port: Annotated[int, Field(ge=1, le=65_535)] = Field(default=0, description="Its port.")
    user: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9._-]{3,18}$"),
        Expected("a name of 3 to 18 letters, digits, '.', '_' and '-'"),
    ] = Field(default="", description="Our account.")
    password: Secret = Field(
        default="", repr=False, description="Its password; never shown. `load_cgos` reads it from `password_file`."
    )
    password_file: AnyPath = Field(default="", description="A file with the password, in place of `password`.")
    player: SpecText = Field(default="", description="Who plays: a player spec.")
    size: BoardSize = Field(default=9, description="Board size of its games; the player is ready before the login.")
    games: Annotated[Count, Field(ge=0)] = Field(default=0, description="Stop after this many games; 0: at Ctrl-C.")
    ponder: bool = Field(default=False, description="Think during the opponent's time.")
    lag: float = Field(
        default=0.5, ge=0, description="Seconds on the way to the server and back, which the player does not get."
    )
    timeout: Annotated[float, Field(gt=0, le=86_400), Expected("a number of seconds up to a day")] = Field(
        default=600.0, description="Seconds without a word from the server after which the connection counts as lost."
    )
    log: AnyPath = Field(default="", description="A file that receives whatever stderr does; empty: none.")
    sgf: AnyPath = Field(default="", description="A folder for game records; empty: none.")

    def __post_init__(self) -> None:
        """Refuse two passwords, and a bad spec."""
        if bool(self.password) == bool(self.password_file):
            found = "both" if self.password else "neither"
            raise RlgoError(f"password_file: expected either it or password, found {found}")
        parse_spec(self.player)


def load_cgos(path: str | Path) -> Cgos:
    """Read a client's config.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped config (see `resources.config_path`)

    Returns
    -------
    the config, with the password in it wherever it stood

    Raises
    ------
    RlgoError : naming the file, the key and what was expected; never the password.
    """
    file = config_path(str(path), "cgos")
    table = read_toml(file)
    check_keys(Cgos, table, str(file))
    for key in ("host", "port", "user", "player"):
        if key not in table:
            raise RlgoError(f"{file}: {key}: missing; expected {expected(Cgos.fields()[key])}")
    config: Cgos = section_from(Cgos, table, str(file))
    if config.password:
        _warn_if_readable(file)
        return config
    secret_file = Path(config.password_file).expanduser()
    password = _read_secret(secret_file, f"{file}: password_file = {config.password_file}")
    _warn_if_readable(secret_file)
    return dataclasses.replace(config, password=password, password_file="")


def _read_secret(file: Path, where: str) -> str:
    """The first line of a password file."""
    try:
        with file.open(encoding="utf-8") as source:
            password = source.readline(1000).strip()
    except OSError as error:
        raise RlgoError(f"{where}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RlgoError(f"{where}: expected a text file") from None
    if not password:
        raise RlgoError(f"{where}: expected the password in its first line")
    if not re.fullmatch(r"[!-~]{3,100}", password):
        raise RlgoError(f"{where}: expected {_SECRET} (not shown here)")
    return password


def _warn_if_readable(file: Path) -> None:
    if os.name == "posix" and file.stat().st_mode & 0o077:
        print(f"rlgo: warning: {file} holds a password, and others may read it: chmod 600 {file}", file=sys.stderr)


def main(path: str | Path) -> None:
    """Play as the config of `path` says; see `run_cgos`."""
    run_cgos(load_cgos(path))


def run_cgos(config: Cgos) -> None:
    """Play on a server until the games of the config are played, or until Ctrl-C.

    Raises
    ------
    RlgoError : for a refused login, a player that cannot be made, files that cannot be written.
    KeyboardInterrupt : for a second Ctrl-C, which leaves in the midst of a game.
    """
    with contextlib.ExitStack() as players:

        def make_engine(size: int, komi: float) -> Engine:
            players.close()  # that of the size before
            player = make_player(config.player, size)
            if isinstance(player, GtpClient):
                players.callback(player.close)
            return GtpEngine(player, size, komi, config.ponder, all_alive=True)

        client = CgosClient(config, make_engine)
        client.prepare(config.size)
        client.run()


# ---------------------------------------------------------------------------------------------
# The client
# ---------------------------------------------------------------------------------------------


class Engine(Protocol):
    """What plays, spoken to in GTP; see `rlgo.gtp.GtpEngine`."""

    def handle(self, line: str) -> str | None:
        """The answer to a command, with its mark and its empty line; None to a blank one."""
        ...

    def ponder(self, stop: Callable[[], bool]) -> None:
        """Think in the opponent's time until `stop()` is true, or for as long as there is something to think."""
        ...


class _Lost(Exception):
    """A connection is of no more use: it was closed, or silent for too long, or talked nonsense."""


@dataclass
class _Game:
    """A game, as the server has told it."""

    id: str
    size: int
    komi: float
    main_ms: int
    white: str
    black: str
    color: str  # ours; empty where the server has named us neither
    moves: list[tuple[str, str]]  # (colour, vertex)
    left_ms: dict[str, int]  # by colour, as last told
    broken: bool = False  # the engine cannot follow it

    @property
    def to_play(self) -> str:
        return _COLORS[len(self.moves) % 2]

    @property
    def opponent(self) -> str:
        return self.black if self.color == "w" else self.white


class CgosClient:
    """One account on one server, and an engine that plays for it."""

    def __init__(
        self,
        config: Cgos,
        make_engine: Callable[[int, float], Engine],
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Prepare the files; nothing is connected yet.

        Parameters
        ----------
        config : as `load_cgos` gives it, with the password in it
        make_engine : makes an engine for a board size and a komi, whenever the size is another than before; RlgoError
            if it does not play on that one.
        sleep : waits for so many seconds before the next attempt to connect.
        jitter : random numbers in [0, 1), which keep many clients from all coming back at once.

        Raises
        ------
        RlgoError : if the log or the folder of game records cannot be written.
        """
        self._config = config
        self._make_engine = make_engine
        self._sleep = sleep
        self._jitter = jitter
        self._sgf = Path(config.sgf).expanduser() if config.sgf else None
        if self._sgf is not None:
            try:
                self._sgf.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RlgoError(f"sgf = {config.sgf}: expected a folder to write to: {error.strerror}") from None
        assert config.password
        self._log = _Log(config.log, config.password)
        self._engine: Engine | None = None
        self._engine_size = 0
        self._optional: set[str] = set()  # the commands that the engine knows
        self._game: _Game | None = None
        self._games = 0  # finished
        self._failures = 0  # to connect and log in, since the last success
        self._known_there = False  # whether a login has succeeded
        self._interrupts = 0
        self._done = False
        self._fatal = ""  # why the next game cannot be played

    def prepare(self, size: int, komi: float = 7.5) -> None:
        """Make the engine now, for games of this size, so that no clock runs meanwhile. RlgoError if it cannot be."""
        self._engine = self._make_engine(size, komi)
        self._engine_size = size
        self._optional = set(self._ask("list_commands").split())

    def run(self) -> None:
        """Connect, log in and play, and again after every lost connection; see `run_cgos` for the end of it.

        The first Ctrl-C lets a running game be finished. Where this is not the main thread, Ctrl-C is not looked after.
        """
        with self._log, self._interruptible():
            try:
                while not self._done:
                    try:
                        self._talk()
                    except _Lost as lost:
                        self._wait(str(lost))
            except KeyboardInterrupt:
                if self._interrupts != 1:
                    raise
            self._log.note(f"done, {self._games} games played")

    def interrupt(self) -> None:
        """What Ctrl-C does: ask for an end after the running game; without one, or the second time, end at once."""
        self._interrupts += 1
        if self._game is None or self._interrupts > 1:
            raise KeyboardInterrupt
        self._log.note("Ctrl-C: this game is the last one; once more leaves it at once")

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, lambda number, frame: self.interrupt())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    # --- the connection ---

    def _wait(self, why: str) -> None:
        """Wait before the next attempt to connect, longer each time it fails."""
        delay = min(LONGEST_DELAY, 2.0 ** min(self._failures, 10))
        delay *= 1 + self._jitter() / 4
        self._failures += 1
        self._log.note(f"{why}; next attempt in {delay:.1f} s")
        self._sleep(delay)

    def _talk(self) -> None:
        """One connection, from the login to the end. _Lost when it breaks."""
        config = self._config
        self._log.note(f"connecting to {config.host}:{config.port}")
        connection = _Connection(config.host, config.port, config.timeout, self._log)
        try:
            while not self._done:
                self._ponder(connection)
                self._obey(connection.read(), connection)
        except KeyboardInterrupt:
            if self._game is None:
                with contextlib.suppress(_Lost):
                    connection.send("quit")
            raise
        finally:
            connection.close()
        if self._fatal:
            raise RlgoError(self._log.shown(self._fatal))

    def _ponder(self, connection: _Connection) -> None:
        game = self._game
        if not self._config.ponder or game is None or game.broken or game.color in ("", game.to_play):
            return
        if not connection.logged_in or connection.has_news():
            return
        assert self._engine is not None
        try:
            self._engine.ponder(connection.has_news)
        except Exception as error:  # a player's bug must not end the game
            self._log.note(f"pondering failed: {type(error).__name__}: {error}")

    # --- what the server says ---

    def _obey(self, line: str, connection: _Connection) -> None:
        """Do what a line of the server's asks for. _Lost if it makes no sense, RlgoError for a refused login."""
        command, *args = line.split() or [""]
        if command == "protocol":
            connection.send(f"e1 rlgo {version()}")
        elif command == "username":
            connection.send(self._config.user)
        elif command == "password":
            connection.send(self._config.password)
            connection.asked_password = True
        elif command == "info":
            self._welcome(connection)
            if self._game is not None and connection.logged_in and not connection.game_told:
                # A server tells of a running game at once: there is none.
                self._finish("?", "ended while there was no connection")
                self._go_on(connection, "")
        elif command == "setup":
            self._welcome(connection)
            connection.game_told = True
            self._setup(line, args)
        elif command == "play":
            self._play(line, args)
        elif command == "genmove":
            connection.send(self._genmove(line, args))
        elif command == "gameover":
            self._gameover(line, args)
            self._go_on(connection, "ready")
        elif command.lower().startswith(("error", "sorry")) and not connection.logged_in:
            self._refused(line)
        else:
            self._log.note("that was not understood")

    def _welcome(self, connection: _Connection) -> None:
        """The server talks to us as to a user: there is no other answer to a good password."""
        if connection.asked_password and not connection.logged_in:
            connection.logged_in = self._known_there = True
            self._failures = 0

    def _refused(self, line: str) -> NoReturn:
        if self._known_there and "already logged on" in line.lower():
            # Not yet aware that the connection before was lost.
            raise _Lost("the server still knows the connection before")
        where = f"{self._config.host}:{self._config.port}"
        raise RlgoError(self._log.shown(f"{where} refused the login of {self._config.user}: {line}"))

    def _setup(self, line: str, args: list[str]) -> None:
        game = _parse_setup(line, args, self._config.user)
        if self._game is not None and self._game.id != game.id:
            self._finish("?", "the server went on to another one")
        self._game = game
        self._log.note(f"game {game.id}: {game.white} (White) against {game.black} (Black)")
        if not game.color:
            self._log.note(f"game {game.id}: neither is {self._config.user}")
        try:
            if self._engine is None or self._engine_size != game.size:
                self._engine = None
                self.prepare(game.size, game.komi)
                self._fatal = ""
        except RlgoError as error:
            # Who cannot play here should not go on losing games.
            self._fatal = f"game {game.id}, {game.size}x{game.size}: {error}"
            self._give_up(str(error))
            return
        try:
            self._tell_game()
        except EngineError as error:
            self._give_up(str(error))

    def _play(self, line: str, args: list[str]) -> None:
        game = self._running(line)
        color, vertex, ms = _parse(line, args, _color, _vertex, _ms)
        if color != game.to_play:
            raise _Lost(f"{line}: expected a move of {game.to_play}")
        game.moves.append((color, vertex))
        game.left_ms[color] = ms
        if game.broken:
            return
        try:
            self._ask(f"play {color} {vertex}")
        except EngineError as error:
            self._log.note(f"{error}; telling the engine the whole game")
            try:
                self._tell_game()
            except EngineError as again:
                self._give_up(str(again))
            return
        self._offer(f"time_left {color} {_seconds(ms)} 0")

    def _genmove(self, line: str, args: list[str]) -> str:
        """The answer: a vertex, or ``resign``."""
        game = self._running(line)
        color, ms = _parse(line, args, _color, _ms)
        if color != game.to_play:
            raise _Lost(f"{line}: expected a move of {game.to_play}")
        game.color = color
        game.left_ms[color] = ms
        if game.broken:
            return "resign"
        try:
            answer = self._choose(game)
        except EngineError as error:
            self._log.note(f"{error}; telling the engine the whole game")
            try:
                self._tell_game()
                answer = self._choose(game)
            except EngineError as again:
                self._give_up(str(again))
                return "resign"
        if answer != "resign":
            game.moves.append((color, answer))
        return answer

    def _gameover(self, line: str, args: list[str]) -> None:
        if self._game is None:
            self._log.note("that was no game of ours")
            return
        if len(args) < 2:
            raise _Lost(f"{line}: expected gameover DATE RESULT [REASON]")
        date, result, *reason = args
        self._finish(result, " ".join(reason), date)

    def _finish(self, result: str, reason: str = "", date: str = "") -> None:
        game, self._game = self._game, None
        assert game is not None
        self._games += 1
        winner = result[:1].lower()
        ended = "no winner" if winner not in _COLORS else "won" if winner == game.color else "lost"
        self._log.note(f"game {game.id}: {ended}, {result}" + (f" ({reason})" if reason else ""))
        if not game.broken:
            self._offer(f"cgos-gameover {result}")
        if self._sgf is not None:
            file = self._sgf / f"{game.id}.sgf"
            try:
                file.write_bytes(_to_sgf(game, result, reason, date, self._config.host, self._log.shown))
            except (OSError, ValueError) as error:
                self._log.note(f"{file}: cannot be written: {error}")

    def _go_on(self, connection: _Connection, answer: str) -> None:
        """After a game: the next one, or the end."""
        enough = 0 < self._config.games <= self._games
        self._done = bool(self._interrupts or enough or self._fatal)
        if self._done or answer:
            connection.send("quit" if self._done else answer)

    def _running(self, line: str) -> _Game:
        # With a new connection, the server tells the game that it means.
        if self._game is None:
            raise _Lost(f"{line}: there is no game")
        return self._game

    # --- the engine ---

    def _ask(self, command: str) -> str:
        """The answer to a GTP command; EngineError if it fails."""
        assert self._engine is not None
        answer = (self._engine.handle(command) or "").strip()
        if not answer.startswith("="):
            raise EngineError(f"engine: {command}: failed: {answer.removeprefix('?').strip() or 'no answer'}")
        return answer[1:].strip()

    def _offer(self, command: str) -> None:
        """Tell the engine what it may do without."""
        if command.split()[0] in self._optional:
            try:
                self._ask(command)
            except EngineError as error:
                self._log.note(str(error))

    def _tell_game(self) -> None:
        """Tell the engine the whole game, from the empty board; EngineError if it cannot follow."""
        game = self._game
        assert game is not None
        self._ask(f"boardsize {game.size}")
        self._ask("clear_board")
        self._offer("kgs-rules chinese")  # area, positional superko
        self._ask(f"komi {game.komi:g}")
        self._offer(f"time_settings {_seconds(game.main_ms)} 0 0")
        self._offer(f"cgos-opponent_name {game.opponent}")
        for color, vertex in game.moves:
            self._ask(f"play {color} {vertex}")
        for color, ms in game.left_ms.items():
            self._offer(f"time_left {color} {_seconds(ms)} 0")

    def _choose(self, game: _Game) -> str:
        """The engine's move for the colour to play, which it has then played; EngineError if there is none."""
        color = game.to_play
        self._offer(f"time_left {color} {_seconds(game.left_ms[color], self._config.lag)} 0")
        answer = self._ask(f"genmove {color}")
        if answer.lower() == "resign":
            return "resign"
        try:
            from_vertex(answer, game.size)
        except RlgoError as error:
            raise EngineError(f"engine: genmove {color}: {error}") from None
        return answer.upper()

    def _give_up(self, why: str) -> None:
        """The engine cannot follow the game: resign it at the next move, rather than play nonsense until the end."""
        assert self._game is not None
        self._game.broken = True
        self._log.note(f"{why}; game {self._game.id} will be resigned")


def _parse_setup(line: str, args: list[str], user: str) -> _Game:
    if len(args) < 6 or len(args) % 2:
        raise _Lost(f"{line}: expected setup ID SIZE KOMI MS WHITE BLACK [MOVE MS]...")
    id_, size, komi, ms = _parse(line, args, _id, _size, _komi, _ms)
    white, black = (name.partition("(")[0] for name in args[4:6])
    moves, left_ms = [], {}
    for i, (vertex, left) in enumerate(zip(args[6::2], args[7::2], strict=True)):
        moves.append((_COLORS[i % 2], *_parse(line, [vertex], _vertex)))
        (left_ms[_COLORS[i % 2]],) = _parse(line, [left], _ms)
    color = "b" if black == user else "w" if white == user else ""
    return _Game(id_, size, komi, ms, white, black, color, moves, left_ms)


def _parse(line: str, args: list[str], *parsers: Callable[[str], Any]) -> list[Any]:
    """The leading arguments, parsed; _Lost if one is missing or makes no sense."""
    if len(args) >= len(parsers):
        with contextlib.suppress(ValueError):
            return [parse(word) for parse, word in zip(parsers, args, strict=False)]
    raise _Lost(f"{line}: does not make sense")


def _matching(pattern: str, convert: Callable[[str], Any]) -> Callable[[str], Any]:
    matches = re.compile(pattern, re.ASCII).fullmatch

    def parse(word: str) -> Any:
        if not matches(word):
            raise ValueError
        return convert(word)

    return parse


_id = _matching(r"[\w-]{1,40}", str)  # names a file, too
_size = _matching(r"\d{1,2}", int)
_komi = _matching(r"-?\d{1,4}(\.\d{1,4})?", float)
_ms = _matching(r"-?\d{1,12}", int)
_color = _matching(r"(?i:b|w|black|white)", lambda word: word[0].lower())
_vertex = _matching(r"(?i:pass|[a-hj-z]\d{1,2})", str.upper)


def _seconds(ms: int, less: float = 0.0) -> str:
    """Milliseconds as GTP's seconds, `less` seconds fewer, but at least 0."""
    return f"{max(0.0, ms / 1000 - less):.3f}".rstrip("0").rstrip(".")


def _to_sgf(game: _Game, result: str, reason: str, date: str, host: str, shown: Callable[[str], str]) -> bytes:
    """A game record; ValueError if the game cannot be written. `shown` makes a server's words fit for a file."""
    from sgfmill import sgf

    record = sgf.Sgf_game(game.size, encoding="UTF-8")
    root = record.get_root()
    root.set("KM", game.komi)
    root.set("TM", game.main_ms / 1000)
    root.set("RU", "Chinese")
    for name, value in (("PW", game.white), ("PB", game.black), ("PC", f"CGOS {host}"), ("DT", date), ("RE", result)):
        root.set(name, shown(value))
    if reason:
        root.set("GC", shown(reason))
    for color, vertex in game.moves:
        try:
            point = from_vertex(vertex, game.size)
        except RlgoError as error:
            raise ValueError(str(error)) from None
        record.extend_main_sequence().set_move(color, None if vertex == "PASS" else to_row_col(point, game.size))
    return bytes(record.serialise())


# ---------------------------------------------------------------------------------------------
# Lines
# ---------------------------------------------------------------------------------------------


class _Log:
    """What is said in either direction, on stderr and in a file: a line each, with the time. Never the password."""

    def __init__(self, path: str, secret: str) -> None:
        """RlgoError if the file cannot be written."""
        self._secret = secret
        self._file: TextIO | None = None
        if path:
            try:
                self._file = Path(path).expanduser().open("a", encoding="utf-8")
            except OSError as error:
                raise RlgoError(f"log = {path}: expected a file that can be written: {error.strerror}") from None

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()

    def shown(self, words: str) -> str:
        """Anybody's words, fit to be shown: without the password, without control characters, and not too long."""
        # In this order: nothing may put the password together again, or cut it in two.
        printable = "".join(c if c.isprintable() else "?" for c in words)
        public = printable.replace(self._secret, "***")
        return public if len(public) <= _MAX_LOGGED else public[: _MAX_LOGGED - 3] + "..."

    def received(self, line: str) -> None:
        self._write("<", line)

    def sent(self, line: str) -> None:
        self._write(">", line)

    def note(self, words: str) -> None:
        """The client's own words."""
        self._write("-", words)

    def _write(self, direction: str, words: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {direction} {self.shown(words)}"
        for sink in (sys.stderr, self._file):
            # A full disk, or a terminal that is gone, must not end a game; nor must Ctrl-C in the midst of this.
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                if sink is not None:
                    print(line, file=sink, flush=True)


class _Connection:
    """Lines to and from the server, all of them logged. Whatever goes wrong is a _Lost.

    Attributes
    ----------
    asked_password, logged_in, game_told : how far the server has come with us
    """

    def __init__(self, host: str, port: int, timeout: float, log: _Log) -> None:
        self.asked_password = False
        self.logged_in = False
        self.game_told = False
        self._timeout = timeout
        self._log = log
        self._buffer = b""
        self._ended = False
        try:
            self._socket = socket.create_connection((host, port), CONNECT_TIMEOUT)
        except (OSError, UnicodeError) as error:  # the latter for a host that no name server would take
            raise _Lost(f"cannot connect: {getattr(error, 'strerror', None) or error}") from None
        self._socket.settimeout(timeout)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # our clock runs
        self._last = time.monotonic()  # something went either way

    def read(self) -> str:
        """The next line, once there is one, without its end."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > _MAX_LINE:
                raise _Lost("the server sends a line without an end")
            if self._ended:
                raise _Lost("the server closed the connection")
            # In slices, since not every system lets Ctrl-C interrupt a wait.
            while not self._readable(min(1.0, self._timeout)):
                if time.monotonic() > self._last + self._timeout:
                    raise _Lost(f"no word from the server for {self._timeout:g} s")
            try:
                data = self._socket.recv(65_536)
            except OSError as error:
                raise _Lost(f"the connection broke: {error.strerror or error}") from None
            self._last = time.monotonic()
            self._ended = not data
            # Last words may come without an end.
            self._buffer += data if data or not self._buffer else b"\n"
        line, _, self._buffer = self._buffer.partition(b"\n")
        words = line.decode("utf-8", "replace").strip()
        self._log.received(words)
        return words

    def has_news(self) -> bool:
        """Whether `read` would return, or fail, at once."""
        if b"\n" in self._buffer or self._ended or time.monotonic() > self._last + self._timeout:
            return True
        return self._readable(0.0)

    def _readable(self, wait: float) -> bool:
        """Whether something has come after at most so many seconds; an error counts, since `recv` will name it."""
        try:
            return bool(select.select([self._socket], [], [], wait)[0])
        except (OSError, ValueError):
            return True

    def send(self, line: str) -> None:
        self._log.sent(line)
        try:
            self._socket.sendall(f"{line}\n".encode())
        except OSError as error:
            raise _Lost(f"the connection broke: {error.strerror or error}") from None
        self._last = time.monotonic()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()
