"""The `rlgo` command.

Start reading at `main`. Parsing imports nothing heavy: numba and scipy are imported by the handlers, so that
``rlgo --help`` answers at once. Whatever a person can mend is an `RlgoError`, printed on one line; status 2.
Handlers return None, for status 0, or a status: `rlgo weights diff` has 1 for "different", like diff itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rlgo.errors import RlgoError

_ENGINE = "heuristic_mc_rave"  # who plays where nobody is named

# ---------------------------------------------------------------------------------------------
# Handlers, one for each command
# ---------------------------------------------------------------------------------------------


def _train(args: argparse.Namespace) -> None:
    if (args.config is None) == (args.resume is None):
        raise RlgoError("train: expected either a CONFIG or --resume DIR (see rlgo train --help)")
    if args.resume is not None:
        if args.out is not None:
            raise RlgoError("train: --out goes with a CONFIG alone: a resumed run stays in its folder")
        changes = _changes_of(args.set)

        from train.runs.run import resume

        resume(args.resume, **changes)
        return

    import dataclasses

    from train.config import load_config

    config = load_config(args.config, args.set)
    if args.out is not None:
        config = dataclasses.replace(config, run=dataclasses.replace(config.run, out=args.out))

    from train.runs.run import train

    train(config)


def _changes_of(overrides: Sequence[str]) -> dict[str, Any]:
    """What --set gives of ``run.games`` and ``run.cluster``; nothing else of a run changes when it is resumed."""
    from train.config import config_from_dict, parse_override

    changes = {}
    for text in overrides:
        data = parse_override(text)
        key = next(iter(data["run"])) if [*data] == ["run"] and isinstance(data["run"], dict) else ""
        if key not in ("games", "cluster"):
            raise RlgoError(f"--set {text}: expected run.games or run.cluster with --resume: nothing else can change")
        changes[key] = getattr(config_from_dict(data, "--set").run, key)
    return changes


def _runs(args: argparse.Namespace) -> None:
    from train.runs.status import find_runs, table

    runs = find_runs(args.dir)
    print(json.dumps([run.to_json() for run in runs], indent=2) if args.json else table(runs, args.dir))


def _compare(args: argparse.Namespace) -> None:
    _check_writable(args.json)
    _check_writable(args.png, "--png")

    from train.plots import need_matplotlib
    from train.runs.pictures import comparison_picture

    if args.png is not None:
        need_matplotlib()

    from train.runs.compare import compare

    found = compare(args.a, args.b, args.games, args.seed)
    print(found)
    _write_json(args.json, found.to_json())
    if args.png is not None:
        comparison_picture(args.png, found)


def _eval(args: argparse.Namespace) -> None:
    _check_writable(args.json)
    _check_writable(args.png, "--png")

    from train.plots import need_matplotlib
    from train.runs.pictures import ratings_picture

    if args.png is not None:
        need_matplotlib()

    from train.runs.evaluate import evaluate

    found = evaluate(args.targets, args.games, args.seed, args.komi, args.gnugo)
    print(found)
    _write_json(args.json, found.to_json())
    if args.png is not None:
        ratings_picture(args.png, found)


def _sweep(args: argparse.Namespace) -> None:
    from train.runs.sweep import read_sweep, run_sweep, table

    sweep = read_sweep(args.config, args.out)
    outcomes = run_sweep(sweep, args.jobs, only_resume=args.resume)
    print(table(sweep, outcomes))


def _weights_info(args: argparse.Namespace) -> None:
    from rlgo.weights import describe, load_weights

    print(describe(load_weights(args.file)))


def _weights_show(args: argparse.Namespace) -> None:
    from rlgo.draw import png
    from rlgo.weights import load_weights, show, show_image

    weights = load_weights(args.file)
    print(show(weights, args.top, _unicode()))
    if args.png is not None:
        args.png.write_bytes(png(show_image(weights, args.top)))


def _weights_import(args: argparse.Namespace) -> None:
    from train.config import Board

    out, komi = _new_file(args, f"{args.file.stem}.npz"), Board(komi=args.komi).komi

    from rlgo.exchange import import_w
    from rlgo.weights import save_weights

    weights = import_w(args.file, args.size, komi, args.games, args.value)
    save_weights(out, weights)
    print(f"{out}: {weights.features.name}, {weights.features.n_weights:,} weights")
    print(f"komi {komi:g}, {args.games:,} games and {args.value} value are what you say: a .w file does not tell them")


def _weights_export(args: argparse.Namespace) -> None:
    out = _new_file(args, f"{args.file.stem}.w")

    from rlgo.exchange import export_w, load_any, without_sharing

    weights = load_any(args.file)
    if args.unshared:
        weights = without_sharing(weights)
    export_w(out, weights)
    print(f"{out}: {weights.features.name}")
    left_out = f"komi {weights.komi:g}, {weights.games:,} games and {weights.value} value"
    print(f"{left_out} are left out: a .w file has no room for them")


def _weights_convert(args: argparse.Namespace) -> None:
    if args.size is None and args.sharing is None:
        raise RlgoError("weights convert: expected --size, --sharing, or both (see rlgo weights convert --help)")
    marks = [] if args.size is None else [f"{args.size}x{args.size}"]
    out = _new_file(args, "-".join([args.file.stem, *marks, *([args.sharing] if args.sharing else [])]) + ".npz")

    from rlgo.exchange import convert, load_any
    from rlgo.weights import save_weights

    old = load_any(args.file)
    try:
        new = convert(old, args.size, args.sharing)
    except RlgoError as error:
        raise RlgoError(f"{args.file}: {error}") from None
    save_weights(out, new)
    print(f"{out}: {new.features.name}, {new.features.n_weights:,} weights")
    if new.features.size != old.features.size:
        rest = "; LD weights, which belong to their places, are 0 now" if old.features.sharing == "LI+LD" else ""
        print(f"LI weights carried over from {old.features.size}x{old.features.size}{rest}")


def _weights_diff(args: argparse.Namespace) -> int:
    from rlgo.diff import describe_difference, diff
    from rlgo.exchange import load_any

    a, b = load_any(args.a), load_any(args.b)
    try:
        found = diff(a, b)
    except RlgoError as error:
        raise RlgoError(f"{args.a} and {args.b}: {error}") from None
    print(describe_difference(found, (str(args.a), str(args.b)), args.top, _unicode()))
    return int(not found.is_same)


def _new_file(args: argparse.Namespace, default: str) -> Path:
    """The file to write: -o, or the default in the current folder; an existing one only with --force."""
    path: Path = args.out or Path(default)
    suffix = Path(default).suffix
    if path.suffix != suffix:
        raise RlgoError(f"{path}: expected a name that ends in {suffix}")
    if path.exists() and not args.force:
        raise RlgoError(f"{path}: exists already; --force overwrites it, -o names another file")
    return path


def _unicode() -> bool:
    """Whether standard output can take stones as characters of their own."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def _gtp(args: argparse.Namespace) -> None:
    board = _board(args)
    if args.all_alive and args.early_pass:
        raise RlgoError("--early-pass: expected dead stones not to count, which they do with --all-alive")

    from rlgo.gtp import GtpEngine, run
    from train.players.spec import make_player

    with contextlib.ExitStack() as stack:
        log = _log_to(stack.enter_context(args.log.open("a", 1, encoding="utf-8"))) if args.log else None
        player = make_player(args.player, board.size)
        options = {"ponders": args.ponder, "all_alive": args.all_alive, "early_pass": args.early_pass}
        engine = GtpEngine(player, board.size, board.komi, **options, **({"log": log} if log else {}))
        print(f"rlgo: {player.name} is ready", file=sys.stderr, flush=True)
        run(engine)


def _log_to(file: Any) -> Any:
    """Writes lines, each with its time."""
    import time

    return lambda line: print(time.strftime("%Y-%m-%d %H:%M:%S"), line, file=file)


def _match(args: argparse.Namespace) -> None:
    board = _board(args)
    _check_writable(args.json)
    _check_writable(args.results, "--results")
    if args.json is not None and args.results is not None and args.json.resolve() == args.results.resolve():
        raise RlgoError(f"--json {args.json}: expected another file than --results")
    if args.sgf is not None and args.sgf.exists() and not args.sgf.is_dir():
        raise RlgoError(f"--sgf {args.sgf}: expected a folder")

    from rlgo.clock import parse_time
    from train.arena.match import play_match
    from train.arena.sprt import parse_sprt

    with _stoppable():
        result = play_match(
            args.a,
            args.b,
            games=args.games,
            size=board.size,
            komi=board.komi,
            seed=args.seed,
            opening_plies=args.opening_plies,
            max_moves=args.max_moves,
            fast=args.fast,
            time=None if args.time is None else parse_time(args.time),
            jobs=args.jobs,
            cluster=args.cluster,
            results=args.results,
            sgf=args.sgf,
            sprt=None if args.sprt is None else parse_sprt(args.sprt),
            check_scores=args.check_scores,
        )
    print(result)
    _write_json(args.json, result.to_json())


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C and SIGTERM end what is under way, also where a shell's background job has Ctrl-C ignored."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _play(args: argparse.Namespace) -> None:
    board = _board(args)
    _check_writable(args.sgf, "--sgf")

    from train.play.terminal import play_in_terminal

    with _stoppable():
        play_in_terminal(
            args.player,
            board.size,
            board.komi,
            color=args.color,
            handicap=args.handicap,
            record=args.sgf,
            force=args.force,
            seed=args.seed,
            time=args.time,
            no_color=args.no_color,
            quiet=args.quiet,
        )


def _cgos(args: argparse.Namespace) -> None:
    from train.play.cgos import main as cgos

    cgos(args.config)


def _tournament(args: argparse.Namespace) -> None:
    from train.arena.pictures import tournament_picture
    from train.arena.tournament import RATINGS_PNG, read_tournament, run_tournament, standing_of

    plan = read_tournament(args.config, args.out)
    if args.table:
        print(standing_of(plan))
        return
    with _stoppable():
        standing = run_tournament(plan, args.jobs)
    if standing.ratings is not None:
        try:
            tournament_picture(plan.folder / RATINGS_PNG, standing)
        except RlgoError as error:
            print(f"rlgo: no picture: {error}", file=sys.stderr)
    print(standing)


def _experiment_list(args: argparse.Namespace) -> None:
    from train.experiments.report import overview

    print(overview(_results(args)))


def _experiment_run(args: argparse.Namespace) -> None:
    from train.experiments.report import show, write_report
    from train.experiments.running import list_experiments, read_experiment, run_experiment

    names = list_experiments() if args.names == ["all"] else args.names
    experiments = [read_experiment(name, args.scale, args.out) for name in names]
    results = _results(args)
    with _stoppable():
        for e in experiments:
            try:
                run_experiment(e, results, args.jobs, play=not args.played)
            except KeyboardInterrupt:
                print(f"interrupted; go on with: {e.command}", file=sys.stderr)
                raise
            print(show(e, results), flush=True)
    write_report(results, _report_of(results))


def _experiment_plot(args: argparse.Namespace) -> None:
    from train.experiments.report import plot
    from train.experiments.running import read_experiment

    for name in args.names:
        print(plot(read_experiment(name, args.scale, args.out), _results(args)))


def _experiment_report(args: argparse.Namespace) -> None:
    from train.experiments.report import write_report

    results = _results(args)
    path = args.file or _report_of(results)
    write_report(results, path)
    print(path)


def _report_of(results: Path) -> Path:
    return results.parent / "results.md"


def _results(args: argparse.Namespace) -> Path:
    """The folder of raw results: the one named; that of the published ones, in a source tree; else below --out."""
    if args.results is not None:
        return Path(args.results)
    docs = Path("docs", "experiments")
    if args.out == "experiments" and args.scale == 1 and docs.is_dir():
        return docs
    return Path(args.out, *([] if args.scale == 1 else [f"scale-{args.scale:g}"]), "results")


def _analyze(args: argparse.Namespace) -> None:
    _check_writable(args.json)
    _check_writable(args.png, "--png")

    from rlgo.sgf import load_sgf
    from train.config import Board
    from train.play.analyze import analyze
    from train.play.pictures import analysis_picture
    from train.players.spec import make_player
    from train.plots import need_matplotlib

    if args.png is not None:
        need_matplotlib()
    game = load_sgf(args.file, Board(komi=args.komi).komi, args.move)
    if args.move is not None and len(game.moves) < args.move:
        raise RlgoError(f"--move {args.move}: the record has {len(game.moves)} moves")
    player = make_player(args.player, game.size, args.seed)
    player.warm_up()
    try:
        with _interruptible(player):
            found = analyze(game, player)
    finally:
        player.close()
    print(found.text(args.top, _unicode()))
    _write_json(args.json, found.to_json())
    if args.png is not None:
        analysis_picture(args.png, found, args.top)


@contextlib.contextmanager
def _interruptible(player: Any) -> Iterator[None]:
    """The first Ctrl-C ends a search, with what it has found by then; the second one everything."""
    stopped: list[int] = []

    def stop(number: int, frame: Any) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(number)

    before = signal.signal(signal.SIGINT, stop)
    player.stop = lambda: bool(stopped)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _bench(args: argparse.Namespace) -> None:
    _check_writable(args.json)

    from train.bench import main as bench

    _write_json(args.json, bench())


def _board(args: argparse.Namespace) -> Any:
    """Size and komi, checked as those of a config."""
    from train.config import Board

    return Board(size=args.size, komi=args.komi)


def _check_writable(path: Path | None, option: str = "--json") -> None:
    """Fail before the hours of work whose result would go to `path`."""
    if path is not None and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
        raise RlgoError(f"{option} {path}: expected a file that can be written")


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

    sub = command(commands, "runs", _runs, "list training runs, how far they are, and how to go on with them")
    sub.add_argument(
        "dir", metavar="DIR", nargs="?", type=Path, default=Path("runs"), help="where to look (default: runs)"
    )
    sub.add_argument("--json", action="store_true", help="print everything as JSON instead")

    sub = command(
        commands,
        "compare",
        _compare,
        "play the weights of two runs against each other, now and at equal numbers of games",
        "Runs may be finished, interrupted or at work, and of any feature sets, for one board size. A weight file may\n"
        "stand in for a run: it is of one age, and meets all ages of the other.",
    )
    sub.add_argument("a", metavar="A", help="folder of a run, or a weight file; results are told from its side")
    sub.add_argument("b", metavar="B", help="another")
    sub.add_argument("--games", type=_at_least(2), default=1_000, metavar="N", help="at each age (default: 1000)")
    sub.add_argument("--seed", type=_at_least(0), default=1, metavar="N", help="of the openings (default: 1)")
    sub.add_argument("--json", type=Path, metavar="FILE", help="write the result here too")
    sub.add_argument("--png", type=Path, metavar="FILE", help="draw the learning curves (needs matplotlib)")

    sub = command(
        commands,
        "eval",
        _eval,
        "rate weights or whole runs in Elo, by games between them",
        "A run stands for all its checkpoints and its last weights: a learning curve. Several come on one scale.\n"
        "Random play has 0 Elo; the best shipped weights join in where they have the same features.",
    )
    sub.add_argument("targets", metavar="RUN|FILE", nargs="+", help="folder of a run, or a weight file")
    sub.add_argument("--games", type=_at_least(2), default=1_000, metavar="N", help="of each pair (default: 1000)")
    sub.add_argument("--seed", type=_at_least(0), default=1, metavar="N", help="of the openings (default: 1)")
    sub.add_argument(
        "--komi", type=float, metavar="K", help="White's bonus (default: the one that the weights learned with)"
    )
    sub.add_argument(
        "--gnugo",
        type=_at_least(0),
        default=0,
        metavar="N",
        help="games of each file and of the last weights of each run against GNU Go level 0 (default: 0)",
    )
    sub.add_argument("--json", type=Path, metavar="FILE", help="write the result here too")
    sub.add_argument("--png", type=Path, metavar="FILE", help="draw the learning curves (needs matplotlib)")

    sub = command(
        commands,
        "sweep",
        _sweep,
        "train over a grid, or a random choice, of settings and seeds, and tell which is best",
        "What a CONFIG holds is explained on top of train/runs/sweep.py. The same command again goes on with a sweep\n"
        "that was interrupted, wherever it was, and leaves finished runs alone.",
    )
    sub.add_argument("config", metavar="CONFIG", help="a TOML file, or the name of a shipped sweep: step_size")
    sub.add_argument("--jobs", type=_at_least(1), metavar="N", help="runs at a time (default: one a processor)")
    sub.add_argument("--resume", action="store_true", help="only go on: refuse to start a sweep")
    sub.add_argument("--out", metavar="DIR", help="folder for the sweep's folder (run.out of the config)")

    experiment = commands.add_parser(
        "experiment",
        help="run the papers' tables and figures, draw them, and report",
        description="The papers' tables and figures: configs/experiments, docs/results.md.",
    )
    what = experiment.add_subparsers(metavar="COMMAND", required=True)

    def add_folders(sub: argparse.ArgumentParser) -> None:
        sub.add_argument(
            "--scale",
            type=float,
            default=1.0,
            metavar="X",
            help="of all games: 0.1 for a quick look, which stands apart",
        )
        sub.add_argument("--out", metavar="DIR", default="experiments", help="folder to work in (default: experiments)")
        sub.add_argument(
            "--results",
            metavar="DIR",
            help="folder of raw results and pictures (default: docs/experiments, if it is there, at full scale in the "
            "default folder; else a folder results below --out)",
        )

    add_folders(command(what, "list", _experiment_list, "list the experiments, and which have run"))
    sub = command(
        what,
        "run",
        _experiment_run,
        "run experiments, write their raw results, draw them, and write the report",
        "The same command again goes on with what was interrupted. Training runs are shared between experiments.",
    )
    sub.add_argument("names", metavar="NAME", nargs="+", help="an experiment, a TOML file, or all")
    sub.add_argument(
        "--jobs", type=_at_least(1), metavar="N", help="runs or games at a time (default: one a processor)"
    )
    sub.add_argument(
        "--played",
        action="store_true",
        help="play no games: write the results of those that have been played so far",
    )
    add_folders(sub)
    sub = command(what, "plot", _experiment_plot, "draw experiments from their raw results")
    sub.add_argument("names", metavar="NAME", nargs="+", help="an experiment, or a TOML file")
    add_folders(sub)
    sub = command(what, "report", _experiment_report, "write the report on all experiments from their raw results")
    sub.add_argument(
        "-o",
        "--file",
        type=Path,
        metavar="FILE",
        help="file to write (default: results.md beside the folder of results)",
    )
    add_folders(sub)

    weights = commands.add_parser(
        "weights", help="look into, compare and convert weight files", description="Weight files."
    )
    what = weights.add_subparsers(metavar="COMMAND", required=True)
    sub = command(what, "info", _weights_info, "print what a weight file holds and where it comes from")
    sub.add_argument("file", metavar="FILE", type=Path)
    sub = command(what, "show", _weights_show, "draw the strongest shapes of each block")
    sub.add_argument("file", metavar="FILE", type=Path)
    sub.add_argument("--top", type=_at_least(1), default=10, metavar="N", help="shapes of each block (default: 10)")
    sub.add_argument("--png", type=Path, metavar="FILE", help="draw them into a picture too")

    def add_out(sub: argparse.ArgumentParser, default: str) -> None:
        sub.add_argument("-o", "--out", type=Path, metavar="OUT", help=f"file to write (default: {default})")
        sub.add_argument("--force", action="store_true", help="overwrite OUT if it exists")

    sub = command(
        what,
        "import",
        _weights_import,
        "read a weight file of the original RLGO",
        "Its three-line header tells the features and, by NumSaved, the board size; all-LI sets need --size. It does\n"
        "not tell komi, games and the kind of value. The file that comes with the original is of a million games,\n"
        "scored with komi 6.5: --komi 6.5 --games 1000000.",
    )
    sub.add_argument("file", metavar="FILE.w", type=Path)
    add_out(sub, "FILE.npz in this folder")
    sub.add_argument("--size", type=int, metavar="N", help="board size, 5 to 19; checked where the file tells it")
    sub.add_argument(
        "--komi", type=float, default=7.5, metavar="K", help="komi of the games it learned from (default: 7.5)"
    )
    sub.add_argument(
        "--games", type=_at_least(0), default=0, metavar="N", help="how many they were (default: 0, not known)"
    )
    sub.add_argument(
        "--value", choices=("logistic", "linear"), default="logistic", help="kind of value (default: logistic)"
    )
    sub = command(
        what,
        "export",
        _weights_export,
        "write a weight file for the original RLGO",
        "Its format has no room for komi, games and the kind of value. What import read is written byte for byte.",
    )
    sub.add_argument("file", metavar="FILE", type=Path, help="a weight file of rlgo, or a .w file")
    add_out(sub, "FILE.w in this folder")
    sub.add_argument(
        "--unshared", action="store_true", help="the same values without weight sharing, one weight a shape"
    )
    sub = command(
        what,
        "convert",
        _weights_convert,
        "carry weights over to another board size or another sharing",
        "Another size: LI weights carry over. LD weights beside them belong to their places and start from 0, ready\n"
        "for training to go on; sets without LI are refused. Another sharing (LI, LD, LI+LD, inversion or none) gives\n"
        "every position the same value, or is refused. With both, the size comes first.",
    )
    sub.add_argument("file", metavar="FILE", type=Path, help="a weight file of rlgo, or a .w file")
    add_out(sub, "FILE-SIZE-SHARING.npz in this folder")
    sub.add_argument("--size", type=int, metavar="N", help="board size, 5 to 19")
    sub.add_argument("--sharing", metavar="S", help="kind of weight sharing")
    sub = command(
        what,
        "diff",
        _weights_diff,
        "tell what differs between two weight files",
        "Files of other window sizes or sharing are compared without sharing, shape by shape. The exit status is 0 if\n"
        "all weights and the kind of value are equal, 1 if not, 2 for files that cannot be compared.",
    )
    sub.add_argument("a", metavar="A", type=Path, help="a weight file of rlgo, or a .w file")
    sub.add_argument("b", metavar="B", type=Path, help="another")
    sub.add_argument(
        "--top", type=_at_least(0), default=0, metavar="N", help="draw the N shapes of each block that differ most"
    )

    sub = command(
        commands,
        "gtp",
        _gtp,
        "play over the Go Text Protocol, on standard input and output",
        players + "\nWhere a clock runs, give it seconds (at most, of each move) rather than simulations:\n"
        "rlgo gtp --player heuristic_mc_rave,seconds=30 --ponder",
    )
    sub.add_argument("--player", default=_ENGINE, metavar="SPEC", help=f"who plays (default: {_ENGINE})")
    add_board(sub)
    sub.add_argument("--ponder", action="store_true", help="think in the opponent's time")
    sub.add_argument(
        "--all-alive", action="store_true", help="in the end all stones are alive, as on CGOS; else playouts tell"
    )
    sub.add_argument(
        "--early-pass",
        action="store_true",
        help="after a pass, pass in a game that is won though dead stones stand; not where all stones are alive",
    )
    sub.add_argument("--log", type=Path, metavar="FILE", help="append commands, answers and searches to this file")

    sub = command(
        commands,
        "play",
        _play,
        "play against the engine in the terminal",
        players + "\nA move is a vertex, such as D4; help lists what else can be typed. Colours are left out where\n"
        "NO_COLOR is set.",
    )
    sub.add_argument("--player", default=_ENGINE, metavar="SPEC", help=f"your opponent (default: {_ENGINE})")
    add_board(sub)
    sub.add_argument(
        "--color", choices=("black", "white"), help="yours (default: black, or white where there is a handicap)"
    )
    sub.add_argument(
        "--handicap", type=_at_least(0), default=0, metavar="N", help="stones that Black begins with (default: 0)"
    )
    sub.add_argument("--time", metavar="T", help="the engine's: 60 s, 60+30/5 (then 5 moves in 30 s) or 60+3x10")
    sub.add_argument("--sgf", type=Path, metavar="FILE", help="keep a record of the game in this file")
    sub.add_argument("--force", action="store_true", help="overwrite FILE if it exists")
    sub.add_argument("--seed", type=_at_least(0), metavar="N", help="of the engine (default: different every time)")
    sub.add_argument("--no-color", action="store_true", help="draw the board in plain text")
    sub.add_argument("--quiet", action="store_true", help="do not tell what the engine thinks of its moves")

    sub = command(
        commands,
        "cgos",
        _cgos,
        "play on a Computer Go Server (protocol e1), until stopped",
        "rlgo writes no address down: the file names server, user, password and player. Ctrl-C ends it after the\n"
        "running game, a second one at once. configs/cgos/example.toml explains every key.",
    )
    sub.add_argument("--config", required=True, metavar="FILE", help="a TOML file, as configs/cgos/example.toml")

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
        "--opening-plies", type=_at_least(0), default=4, metavar="N", help="random moves of an opening (default: 4)"
    )
    sub.add_argument(
        "--max-moves", type=_at_least(1), metavar="N", help="then a game is scored as it stands (default: 3 N^2)"
    )
    sub.add_argument(
        "--time", metavar="T", help="of each side: 60 s, 60+30/5 (then 5 moves in 30 s) or 60+3x10 (3 times 10 s)"
    )
    sub.add_argument("--jobs", type=_at_least(1), default=1, metavar="N", help="games at a time (default: 1)")
    sub.add_argument(
        "--cluster", default="", metavar="C", help="play on a Ray cluster: local, auto or HOST:PORT (needs rlgo[ray])"
    )
    sub.add_argument("--sprt", metavar="TEST", help="stop when this is decided, for instance elo0=0,elo1=20")
    sub.add_argument(
        "--results", type=Path, metavar="FILE", help="append each game to this JSONL file, and go on where it ends"
    )
    sub.add_argument("--sgf", type=Path, metavar="DIR", help="write a record of each game to this folder")
    sub.add_argument("--check-scores", action="store_true", help="ask engines for their final_score, too, and compare")
    sub.add_argument(
        "--fast", action="store_true", help="play inside compiled code: greedy and random players, simple ko"
    )
    sub.add_argument("--json", type=Path, metavar="FILE", help="write the result here too")

    sub = command(
        commands,
        "tournament",
        _tournament,
        "play many players against each other, and rate them in Elo",
        "What a CONFIG holds is explained on top of train/arena/tournament.py. The same command again goes on with a\n"
        "tournament that was interrupted. Results, ratings and a picture stand in its folder.",
    )
    sub.add_argument("config", metavar="CONFIG", help="a TOML file, or the name of a shipped tournament: example")
    sub.add_argument("--jobs", type=_at_least(1), metavar="N", help="games at a time (default: as the file says)")
    sub.add_argument("--out", metavar="DIR", help="folder for the tournament's folder (default: as the file says)")
    sub.add_argument("--table", action="store_true", help="only print the ratings as they stand")

    sub = command(
        commands,
        "analyze",
        _analyze,
        "show what a player thinks of a position: the value of every move, and what its search has learned",
        players + "\nDyna-2 shows its moves by the long-term memory alone, too, and the shapes whose short-term\n"
        "weight moved most.",
    )
    sub.add_argument("file", metavar="POSITION.sgf", help="a game record: its last position, or --move")
    sub.add_argument("--player", default="dyna2", metavar="SPEC", help="who is asked (default: dyna2)")
    sub.add_argument("--move", type=_at_least(0), metavar="N", help="the position after N moves")
    sub.add_argument("--komi", type=float, default=7.5, metavar="K", help="for records without (default: 7.5)")
    sub.add_argument("--seed", type=_at_least(0), default=1, metavar="N", help="of the player (default: 1)")
    sub.add_argument("--top", type=_at_least(0), default=10, metavar="N", help="shapes of each block (default: 10)")
    sub.add_argument("--json", type=Path, metavar="FILE", help="write the values of all moves here too")
    sub.add_argument("--png", type=Path, metavar="FILE", help="draw it into a picture too (needs matplotlib)")

    sub = command(commands, "bench", _bench, "measure the speed of everything, on one core")
    sub.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: the process's own); returns the exit status."""
    try:
        args = make_parser().parse_args(argv)
        status: int | None = args.handler(args)
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
    return status or 0


def _fail(message: str) -> int:
    print("rlgo: error:", " ".join(message.split("\n")), file=sys.stderr)
    return 2
