"""The GTP engine: parse a line, look up the command, and format the answer.

Start reading at `GtpEngine.handle`. The commands are in the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.base.resources import version
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE
from rlgo.play.gtp.arguments import take
from rlgo.play.gtp.lines import format_answer, one_line, printable, split_line
from rlgo.play.notes import print_bug, print_note
from rlgo.play.player import Player
from rlgo.play.session import GameSession

Write = Callable[[str], None]
Handler = Callable[..., str | None]

# ---------------------------------------------------------------------------------------------
# Commands
# ---------------------------------------------------------------------------------------------


class Command(NamedTuple):
    """A registered command."""

    run: Handler  # (session, args) -> answer; with streams: (session, args, stream) -> None
    streams: bool  # whether it writes its answer piece by piece


COMMANDS: dict[str, Command] = {}  # by name, shared by all engines


def command(*names: str, streams: bool = False) -> Callable[[Handler], Handler]:
    """Register a function as a GTP command of all engines, under one or more names.

    The function gets the `GameSession` and the list of arguments, and returns the text of the answer, or None.
    If it raises an RlgoError, the answer is a failure with its message.

    Parameters
    ----------
    names : names of the command; existing commands of these names are replaced
    streams : the function gets a third argument, a `Stream`, to which it writes its answer line by line

    Examples
    --------
    >>> @command("my-move-number")
    ... def move_number(session, args):
    ...     return str(len(session.game.moves))
    """

    def register(function: Handler) -> Handler:
        COMMANDS.update(dict.fromkeys(names, Command(function, streams)))
        return function

    return register


class Stream:
    """The output of a command that answers piece by piece.

    Attributes
    ----------
    is_over : whether the command should end: it was interrupted, or another command is waiting
    """

    def __init__(self, id_: str, write: Write | None, is_over: Callable[[], bool]):
        self.is_over = is_over
        self._id, self._parts = id_, list[str]()
        self._write = self._parts.append if write is None else write
        self._began = False

    def write(self, text: str = "") -> None:
        """Write lines of the answer; empty ones are left out. The first call announces success."""
        lines = [line for line in printable(text) if line]
        if not self._began:
            lines.insert(0, f"={self._id}")
            self._began = True
        if lines:
            self._write("\n".join(lines) + "\n")

    def end(self) -> str:
        """Return the rest of the answer."""
        if not self._began:
            self.write()
        return "".join(self._parts) + "\n"

    def fail(self, why: str) -> str:
        """Return the rest of the answer of a failed command. If success was already announced, the answer just ends."""
        if self._began:
            print_note(why)
            return self.end()
        return format_answer("?", self._id, why)


# ---------------------------------------------------------------------------------------------
# The engine
# ---------------------------------------------------------------------------------------------


class GtpEngine:
    """A GTP engine: answers commands about one game session.

    Attributes
    ----------
    session : the player, the game, the clock and the rules
    done : whether ``quit`` was received
    has_input : polled during an analysis, which ends when it returns True. `streams.run` sets it; by default an
        analysis ends at once
    """

    def __init__(
        self,
        player: Player,
        size: int = DEFAULT_SIZE,
        komi: float = DEFAULT_KOMI,
        *,
        title: str | None = None,
        **options: Any,
    ) -> None:
        """Begin a session on an empty board. RlgoError for a bad size.

        Parameters
        ----------
        player, size, komi, options : see `GameSession`
        title : follows "rlgo" in the answer to ``name``; None: the player's name
        """
        self.session = GameSession(player, size, komi, **options)
        self.session.stop = self._is_interrupted
        self.done = False
        self.has_input: Callable[[], bool] = lambda: True
        self._number = self._interrupted = 0  # numbers of the current line, and of the last one to interrupt
        own: dict[str, Handler] = {
            "protocol_version": lambda _session, _args: "2",
            "name": lambda session, _args: f"rlgo {session.player.name if title is None else title}".strip(),
            "version": lambda _session, _args: version(),
            "known_command": self._known_command,
            "list_commands": lambda _session, _args: "\n".join(self._commands()),
            "help": lambda _session, _args: "\n".join(self._commands()),
            "quit": self._quit,
        }
        self._own = {name: Command(function, False) for name, function in own.items()}
        self._registered: dict[str, Command] = {}

    def __repr__(self) -> str:
        return f"<GtpEngine over {self.session!r}>"

    def register(self, name: str, function: Handler, streams: bool = False) -> None:
        """Add a command to this engine only; `command` explains the function's arguments and answer."""
        self._registered[name] = Command(function, streams)

    def handle(self, line: str, write: Write | None = None, number: int | None = None) -> str | None:
        """Carry out one line.

        A failure leaves the game as it was, and its answer starts with ``?``. A bug in a command or a player is
        answered with ``? internal error``, and its traceback goes to standard error.

        Parameters
        ----------
        line : with or without its end
        write : receives all but the last part of an answer that comes in parts; None: they are returned, too
        number : line number, for `interrupt`; None: one more than the last

        Returns
        -------
        the answer, including the empty line that ends it; None for a blank line or a comment.
        """
        id_, words = split_line(line)
        if not id_ and not words:
            return None
        self._number = self._number + 1 if number is None else number
        self.session.log(f"> {' '.join([id_, *words]).strip()}")
        stream = Stream(id_, write, lambda: self._is_interrupted() or self.has_input())
        try:
            answer = self._answer(id_, words, stream)
        except RlgoError as error:
            answer = stream.fail(one_line(str(error)))
        except MemoryError as error:
            answer = stream.fail(one_line(f"not enough memory: {error}"))
        except BrokenPipeError:  # the controller is gone
            raise
        except Exception as error:
            print_bug()
            answer = stream.fail(one_line(f"internal error: {type(error).__name__}: {error}"))
        self.session.log(f"< {answer.strip()}")
        return answer

    def interrupt(self, number: int | None = None) -> None:
        """End the search of a line, and of all lines before it, with the best move so far.

        May be called from any thread.

        number : line number; None: the current line
        """
        self._interrupted = self._number if number is None else number

    def _answer(self, id_: str, words: list[str], stream: Stream) -> str:
        if not words:
            raise RlgoError("syntax error: expected a command")
        name, *args = words
        entry = self._commands().get(name)
        if entry is None:
            raise RlgoError("unknown command")
        if entry.streams:
            entry.run(self.session, args, stream)
            return stream.end()
        return format_answer("=", id_, entry.run(self.session, args) or "")

    def _commands(self) -> dict[str, Command]:
        return {**self._own, **COMMANDS, **self._registered}

    def _is_interrupted(self) -> bool:
        return self._interrupted >= self._number > 0

    def _known_command(self, _session: GameSession, args: list[str]) -> str:
        (name,) = take(args, "NAME", str)
        return "true" if name in self._commands() else "false"

    def _quit(self, _session: GameSession, _args: list[str]) -> None:
        self.done = True
