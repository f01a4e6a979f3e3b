"""The `rlgo` command.

Start reading at `main`. Parsing imports nothing heavy: numba and scipy are imported by the handlers, so that
``rlgo --help`` answers at once. Whatever a person can mend is an `RlgoError`, printed on one line; status 2.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from rlgo.errors import RlgoError

# ---------------------------------------------------------------------------------------------
# Handlers, one for each command
# ---------------------------------------------------------------------------------------------


def _train(args: argparse.Namespace) -> None:
    if (args.config is None) == (args.resume is None):
        raise RlgoError("train: expected either a CONFIG or --resume DIR (see rlgo train --help)")
    if args.resume is not None:
        games = _games_of(args.set)

        from train.run import resume

        resume(args.resume, games)
        return

    import dataclasses

    from train.config import load_config

    config = load_config(args.config, args.set)
    if args.out is not None:
        config = dataclasses.replace(config, run=dataclasses.replace(config.run, out=args.out))

    from train.run import train

    train(config)


def _games_of(overrides: Sequence[str]) -> int | None:
    """``run.games`` of --set; nothing else of a run changes when it is resumed."""
    from train.config import config_from_dict, parse_override

    games = None
    for text in overrides:
        data = parse_override(text)
        if [*data] != ["run"] or not isinstance(data["run"], dict) or [*data["run"]] != ["games"]:
            raise RlgoError(f"--set {text}: expected run.games=N with --resume, where nothing else can change")
        games = config_from_dict(data, "--set").run.games
    return games


def _weights_info(args: argparse.Namespace) -> None:
    from rlgo.weights import describe, load_weights

    print(describe(load_weights(args.file)))


def _weights_show(args: argparse.Namespace) -> None:
    from rlgo.draw import png
    from rlgo.weights import load_weights, show, show_image

    weights = load_weights(args.file)
    print(show(weights, args.top, unicode=(sys.stdout.encoding or "").lower().startswith("utf")))
    if args.png is not None:
        args.png.write_bytes(png(show_image(weights, args.top)))


def _gtp(args: argparse.Namespace) -> None:
    board = _board(args)

    from rlgo.gtp import GtpEngine, run
    from train.players import make_player

    run(GtpEngine(make_player(args.player, board.size), board.size, board.komi))


def _match(args: argparse.Namespace) -> None:
    board = _board(args)
    _check_writable(args.json)

    from train.match import play_match

    result = play_match(
        args.a, args.b, games=args.games, size=board.size, komi=board.komi, seed=args.seed, fast=args.fast
    )
    print(result)
    _write_json(args.json, result.to_json())


def _bench(args: argparse.Namespace) -> None:
    _check_writable(args.json)

    from train.bench import main as bench

    _write_json(args.json, bench())


def _board(args: argparse.Namespace) -> Any:
    """Size and komi, checked as those of a config."""
    from train.config import Board

    return Board(size=args.size, komi=args.komi)


def _check_writable(path: Path | None) -> None:
    """Fail before the hours of work whose result would go to `path`."""
    if path is not None and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
        raise RlgoError(f"--json {path}: expected a file that can be written")


def _write_json(path: Path | None, data: Any) -> None:
    if path is not None:
        path.write_text(json.dumps(data, indent=2) + "\n", "utf-8")


# ---------------------------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """argparse, with its errors on one line like all others."""

    def error(self, message: str) -> NoReturn:
        raise RlgoError(f"{message} (see {self.prog} --help)")


class _Version(argparse.Action):
    """``--version``, which looks the version up only when asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from rlgo.resources import version

        print(f"rlgo {version()}")
        parser.exit()


def _at_least(low: int) -> Any:
    def parse(text: str) -> int:
        value = int(text) if text.removeprefix("-").isdecimal() else low - 1
        if value < low:
            raise argparse.ArgumentTypeError(f"{text!r}: expected an integer of at least {low}")
        return value

    return parse


def make_parser() -> argparse.ArgumentParser:
    """The whole command line; a parsed namespace's `handler` does the work."""
    parser = _Parser(prog="rlgo", description="Reinforcement learning for computer Go.", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(parent: Any, name: str, handler: Any, help: str, epilog: str = "") -> argparse.ArgumentParser:
        sub = parent.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        sub.set_defaults(handler=handler)
        return sub

    def add_board(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--size", type=int, default=9, metavar="N", help="board size, 5 to 19 (default: 9)")
        sub.add_argument("--komi", type=float, default=7.5, metavar="K", help="White's bonus (default: 7.5)")

    players = "A player is written NAME[,key=value...], for instance random or greedy,weights=FILE."

    sub = command(commands, "train", _train, "train a value function by self-play")
    sub.add_argument(
        "config", metavar="CONFIG", nargs="?", help="a TOML file, or the name of a shipped config: quick ..."
    )
    sub.add_argument("--resume", metavar="DIR", help="go on with the interrupted run of this folder, exactly")
    sub.add_argument(
        "--set",
        metavar="KEY=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="change a setting, for instance --set run.games=50000 learning.alpha=0.2",
    )
    sub.add_argument("--out", metavar="DIR", help="folder for the run's folder (run.out of the config)")

    weights = commands.add_parser("weights", help="look into a weight file", description="Look into a weight file.")
    what = weights.add_subparsers(metavar="COMMAND", required=True)
    sub = command(what, "info", _weights_info, "print what a weight file holds and where it comes from")
    sub.add_argument("file", metavar="FILE", type=Path)
    sub = command(what, "show", _weights_show, "draw the strongest shapes of each block")
    sub.add_argument("file", metavar="FILE", type=Path)
    sub.add_argument("--top", type=_at_least(1), default=10, metavar="N", help="shapes of each block (default: 10)")
    sub.add_argument("--png", type=Path, metavar="FILE", help="draw them into a picture too")

    sub = command(commands, "gtp", _gtp, "play over the Go Text Protocol, on standard input and output", players)
    sub.add_argument("--player", required=True, metavar="SPEC", help="who plays")
    add_board(sub)

    sub = command(
        commands,
        "match",
        _match,
        "play two players against each other",
        players + "\nAn outside engine is written gtp:COMMAND. Every opening is played twice, colours swapped.",
    )
    sub.add_argument("a", metavar="A", help="a player; results are told from its side")
    sub.add_argument("b", metavar="B", help="its opponent")
    sub.add_argument("--games", type=_at_least(1), required=True, metavar="N", help="number of games")
    add_board(sub)
    sub.add_argument(
        "--seed", type=_at_least(0), default=1, metavar="N", help="of the openings and players (default: 1)"
    )
    sub.add_argument(
        "--fast", action="store_true", help="play inside compiled code: greedy and random players, simple ko"
    )
    sub.add_argument("--json", type=Path, metavar="FILE", help="write the result here too")

    sub = command(commands, "bench", _bench, "measure the speed of everything, on one core")
    sub.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: the process's own); returns the exit status."""
    try:
        args = make_parser().parse_args(argv)
        args.handler(args)
        sys.stdout.flush()
    except RlgoError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read our output has gone (`rlgo ... | head`). Python flushes once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13  # SIGPIPE, which Windows does not name
    except OSError as error:
        if error.filename is None:
            raise
        return _fail(f"{error.filename}: {error.strerror}")
    return 0


def _fail(message: str) -> int:
    print("rlgo: error:", " ".join(message.split("\n")), file=sys.stderr)
    return 2
