"""Code shared by several commands: option types, checks of their values, and output files.

Values of options are checked by their types, as those of settings are, and usage errors read alike:
``--games x: expected an integer of at least 1``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from annotated_types import Ge, Le
from typer.core import TyperCommand

from rlgo.base import files, settings
from rlgo.base.checks import HUGE, choices_of, convert, expected, split
from rlgo.base.errors import RlgoError
from rlgo.base.settings import MAX_SIZE, MIN_SIZE, BoardSize, FastGames, SeedNumber
from train.console import Progress, message

ENGINE = "rlgo"  # the default player

# ---------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------


MOST_SHAPES = 1_000  # to draw


def whole(low: int, high: int = HUGE) -> Any:
    """Return the type of whole numbers from `low` to `high`."""
    return Annotated[int, Ge(low), Le(high)]


def parser_of(kind: Any) -> Callable[[Any], Any]:
    """Make a parser of what a type allows: whole numbers, which may be written 20_000 or 2e4, numbers, or words."""

    def parse(text: Any) -> Any:
        from train.settings import parse_count  # pydantic, which --help does not need

        if not isinstance(text, str):  # a default
            return text
        read: Any = {int: parse_count, float: float}.get(split(kind)[0], str)
        value: Any = text
        with contextlib.suppress(RlgoError, ValueError):  # what is no number is refused below
            value = read(text)
        if kind is float and isinstance(value, float):  # what takes it knows its bounds
            return value
        try:
            return convert(value, kind)
        except ValueError:
            raise typer.BadParameter(f"{text}: expected {expected(kind, value)}") from None

    return parse


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
    names: str,
    words: str,
    kind: Any = None,
    *,
    parser: Callable[[str], Any] | None = None,
    metavar: str = "",
    **more: Any,
) -> Any:
    """Declare an option, as an annotation of a command's parameter.

    Parameters
    ----------
    names : "--out", or "-o --out"
    words : the text in --help
    kind : the type of its value, numbers or a few words, if it is checked here
    parser : parses any other value
    metavar : name of the value in --help; for numbers N, for words all of them
    more : other keywords of `typer.Option`
    """
    if choices := choices_of(kind):
        more["autocompletion"] = lambda: choices
    metavar = metavar or "|".join(choices) or ("N" if kind else "")
    return typer.Option(
        *names.split(), help=words, parser=parser_of(kind) if kind else parser, metavar=metavar or None, **more
    )


Size = Annotated[int, option("--size", f"Board size, {MIN_SIZE} to {MAX_SIZE}.", BoardSize)]
Komi = Annotated[float, option("--komi", "White's bonus.", settings.Komi, metavar="K")]
Seed = Annotated[int, option("--seed", "Seed of the random numbers.", SeedNumber)]
Player = Annotated[str, option("--player", "Who plays.", metavar="SPEC", autocompletion=player_names)]
Strength = Annotated[
    int | None,
    option(
        "--strength",
        "Level of strength, from 1 (a beginner) to 10.",
        int,
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
PairGames = Annotated[int, option("--games", "Games of each pair.", FastGames)]
Top = Annotated[int, option("--top", "Shapes to draw of each block.", whole(0, MOST_SHAPES))]
Force = Annotated[bool, option("--force", "Overwrite the file if it exists.")]
JsonFile = Annotated[Path | None, option("--json", "Also write the result to this file as JSON.", metavar="FILE")]
PngFile = Annotated[Path | None, option("--png", "Draw the result to this file (needs matplotlib).", metavar="FILE")]


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


class SettingsCommand(TyperCommand):
    """A command whose --set takes several settings: ``--set run.games=1000 learning.alpha=0.2``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat --set before each further setting, since the parser takes only one at a time."""
        return super().parse_args(ctx, list(_repeat_set(args)))


def _repeat_set(args: Sequence[str]) -> Iterator[str]:
    """Yield `args` with --set in front of every setting that follows another one.

    A setting looks like ``section.key=value``; anything else, such as the name of the config, ends the list.
    """
    is_setting, in_list = re.compile(r"[\w.]+\s*=").match, False
    rest = iter(args)
    for arg in rest:
        if in_list and is_setting(arg):
            yield f"--set={arg}"
            continue
        yield arg
        if arg == "--":
            break
        in_list = arg == "--set" or arg.startswith("--set=")
        if arg == "--set":
            yield from itertools.islice(rest, 1)
    yield from rest


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


def check_picture(path: Path | None) -> None:
    """Raise RlgoError now if no picture can be drawn to `path`, rather than after hours of work."""
    if path is not None:
        if path.suffix.lower() not in (".png", ""):
            raise RlgoError(f"--png {path}: expected a name that ends in .png: pictures are PNG files")
        check_writable(path, "--png")

        from train.plots import need_matplotlib

        need_matplotlib()


def check_outputs(json_file: Path | None, png: Path | None) -> None:
    """Raise RlgoError now if the files of --json and --png cannot be written, or are the same."""
    check_writable(json_file)
    check_picture(png)
    check_different(("--json", json_file), ("--png", png))


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
