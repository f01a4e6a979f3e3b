"""Code shared by several commands: option types, checks of their values, and output files.

An option's value is parsed by a function made here (`count`, `number`, `one_of`), so that all usage errors read alike:
``--games x: expected an integer of at least 1``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from rlgo.base import files
from rlgo.base.bounds import HUGE, Whole
from rlgo.base.errors import RlgoError
from rlgo.base.settings import BOARD_SIZE, FAST_GAMES, KOMI, MAX_SIZE, MIN_SIZE, SEED
from train.console import Progress, message

ENGINE = "rlgo"  # the default player

# ---------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------


MOST_SHAPES = 1_000  # to draw


def count(low: int, high: int = HUGE) -> Callable[[Any], int]:
    """Make a parser of whole numbers from `low` to `high`. They may be written 20_000 or 2e4."""

    def parse(text: Any) -> int:
        from train.settings import parse_count  # pydantic, which --help does not need

        try:
            value = parse_count(str(text))
        except RlgoError:
            value = low - 1
        if value < low:
            raise typer.BadParameter(f"{text}: expected an integer of at least {low}")
        if value > high:
            raise typer.BadParameter(f"{text}: expected an integer of at most {high:,}")
        return value

    return parse


def within(bounds: Whole, low: int | None = None) -> Callable[[Any], int]:
    """Make a parser of whole numbers within the bounds of a setting, or from `low` on."""
    assert bounds.ge is not None
    assert bounds.le is not None
    return count(int(bounds.ge) if low is None else low, int(bounds.le))


def integer(text: Any) -> int:
    """Parse a whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text}: expected an integer") from None


def number(text: Any) -> float:
    """Parse a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text}: expected a number") from None


def address(text: str) -> str:
    """Parse the address of a web page."""
    if not text.startswith(("http://", "https://")):
        raise typer.BadParameter(f"{text}: expected an address such as http://localhost:6006")
    return text


def one_of(*choices: str) -> dict[str, Any]:
    """Return the keywords of an option that takes one of a few words: its parser, completion and help."""

    def parse(text: str) -> str:
        if text not in choices:
            raise typer.BadParameter(f"{text}: expected one of {', '.join(choices)}")
        return text

    return {"parser": parse, "autocompletion": lambda: list(choices), "metavar": "|".join(choices)}


def shipped(kind: str = "") -> Callable[[], list[str]]:
    """Make a function that lists the shipped configs of one kind, for completion."""

    def names() -> list[str]:
        from rlgo.base.resources import list_configs

        return list_configs(kind)

    return names


def player_names() -> list[str]:
    """List the players, for completion."""
    from train.players import PLAYERS

    return list(PLAYERS)


# ---------------------------------------------------------------------------------------------
# Options
# ---------------------------------------------------------------------------------------------


def option(
    names: str, words: str, parser: Callable[[Any], Any] | None = None, *, metavar: str = "", **more: Any
) -> Any:
    """Declare an option, as an annotation of a command's parameter.

    Parameters
    ----------
    names : "--out", or "-o --out"
    words : the text in --help
    parser : parses the value
    metavar : name of the value in --help; N if there is a parser
    more : other keywords of `typer.Option`
    """
    metavar = metavar or ("N" if parser else "")
    return typer.Option(*names.split(), help=words, parser=parser, metavar=metavar or None, **more)


Size = Annotated[int, option("--size", f"Board size, {MIN_SIZE} to {MAX_SIZE}.", integer)]
Komi = Annotated[float, option("--komi", "White's bonus.", number, metavar="K")]
Seed = Annotated[int, option("--seed", "Seed of the random numbers.", within(SEED))]
Player = Annotated[str, option("--player", "Who plays.", metavar="SPEC", autocompletion=player_names)]
Strength = Annotated[
    int | None,
    option(
        "--strength",
        "Level of strength, from 1 (a beginner) to 10.",
        integer,
        metavar="LEVEL",
        show_default="1 s a move",
    ),
]


def openings_option(default: str) -> Any:
    """Declare --openings; `default` describes what happens without it."""
    words = "How games begin: balanced, balanced-tuning, random:N, empty, or a file."
    known = ["balanced", "balanced-tuning", "random:4", "empty"]
    return option("--openings", words, metavar="NAME", show_default=default, autocompletion=lambda: known)


OpeningsName = Annotated[str, openings_option("balanced on 9x9, 13x13, 19x19; else random:4")]
OtherOpenings = Annotated[str, openings_option("from the config")]
PairGames = Annotated[int, option("--games", "Games of each pair.", within(FAST_GAMES))]
Top = Annotated[int, option("--top", "Shapes to draw of each block.", count(0, MOST_SHAPES))]
Force = Annotated[bool, option("--force", "Overwrite the file if it exists.")]
JsonFile = Annotated[Path | None, option("--json", "Also write the result to this file as JSON.", metavar="FILE")]
PngFile = Annotated[Path | None, option("--png", "Draw the result to this file (needs matplotlib).", metavar="FILE")]


class Board(NamedTuple):
    """A board size, and points for White."""

    size: int
    komi: float


def board(size: int, komi: float) -> Board:
    """Return board size and komi, checked like those of a config (`train.config.BoardConfig`)."""
    return Board(BOARD_SIZE.check("board.size", size), KOMI.check("board.komi", komi))


def chosen_player(player: str, strength: int | None) -> str:
    """Return the spec of the player that --player and --strength ask for. RlgoError for both of them."""
    if strength is None:
        return player
    if player != ENGINE:
        raise RlgoError(f"--strength cannot be combined with --player {player}")
    return f"{ENGINE},strength={strength}"


def refuse_unused(context: typer.Context, why: str, *unused: str) -> None:
    """Raise RlgoError for an option that was given and has no effect.

    Parameters
    ----------
    why : with or without which other option it has none: ``with --make``
    unused : parameters of the command
    """
    for parameter in context.command.params:
        if parameter.name in unused and is_given(context, parameter.name):
            raise RlgoError(f"{parameter.opts[-1]} has no effect {why}")


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@contextlib.contextmanager
def learning_progress(steps: int) -> Iterator[Callable[[float], None]]:
    """Show the progress of learning; yield a function to call with the mean log-likelihood after each of `steps`."""
    with Progress(steps, "steps") as bar:

        def report(log_likelihood: float) -> None:
            bar.set_postfix(f"log-likelihood {log_likelihood:.3f}")
            bar.update()

        yield report


# ---------------------------------------------------------------------------------------------
# Files to write
# ---------------------------------------------------------------------------------------------


def check_writable(path: Path | None, option: str = "--json") -> None:
    """Raise RlgoError now if `path` cannot be written, rather than after hours of work."""
    if path is not None:
        files.check_writable(path, f"{option} ")


def check_different(*outputs: tuple[str, Path | None]) -> None:
    """Raise RlgoError if two options, each given with its path, name the same file."""
    seen: dict[Path, str] = {}
    for option, path in outputs:
        if path is not None and seen.setdefault(path.resolve(), option) != option:
            raise RlgoError(f"{option} {path}: expected another file than {seen[path.resolve()]}")


def check_folder(path: Path | None, option: str = "--sgf") -> None:
    """Raise RlgoError now if `path` is not a folder and cannot become one, rather than after hours of work."""
    if path is not None:
        files.check_folder(path, f"{option} ")


def check_picture(path: Path | None, option: str = "--png") -> None:
    """Raise RlgoError now if no picture can be drawn to `path`, rather than after hours of work."""
    if path is not None:
        check_png(path, option)

        from train.plots import need_matplotlib

        need_matplotlib()


def check_outputs(json_file: Path | None, png: Path | None) -> None:
    """Raise RlgoError now if the files of --json and --png cannot be written, or are the same."""
    check_writable(json_file)
    check_picture(png)
    check_different(("--json", json_file), ("--png", png))


def check_png(path: Path, option: str = "--png") -> None:
    """Raise RlgoError unless `path` can be written and may be a PNG picture by its name."""
    if path.suffix.lower() not in (".png", ""):
        raise RlgoError(f"{option} {path}: expected a name that ends in .png: pictures are PNG files")
    check_writable(path, option)


def check_new(path: Path, force: bool, option: str = "-o") -> None:
    """Raise RlgoError now if `path` cannot be written, or exists and `force` is false."""
    if path.exists() and not force:
        raise RlgoError(f"{path}: already exists; use --force to overwrite it, or {option} to name another file")
    check_writable(path, option)


def write_json(path: Path | None, data: Any) -> None:
    """Write `data` to `path` as JSON, if there is a path."""
    if path is not None:
        files.write_atomically(path, f"{as_json(data)}\n".encode())


@contextlib.contextmanager
def kept_in(path: Path, what: str) -> Iterator[None]:
    """At Ctrl-C or SIGTERM, say that what there is so far is kept in a file or folder, if it exists.

    what : a plural, such as ``the finished games``
    """
    try:
        yield
    except KeyboardInterrupt:
        if path.exists():
            message(f"rlgo: {what} are in {path}; run the same command again to continue")
        raise


@contextlib.contextmanager
def report_stop(what: str) -> Iterator[None]:
    """Report a Ctrl-C or SIGTERM before anything is finished, that is, before the end of `what`."""
    try:
        yield
    except KeyboardInterrupt:
        message(f"interrupted before the end of {what}")
        raise


def as_json(data: Any) -> str:
    """Return `data` as JSON text, in the format of every command."""
    return json.dumps(data, indent=2)
