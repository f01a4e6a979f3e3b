"""Commands about games and patterns learned from them: rlgo games PLAYER, import, info; rlgo patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rlgo.base.errors import nearest
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, MOST_RINGS, NonNegative, Workers
from train.cli.options import (
    Force,
    JsonFile,
    Komi,
    PngFile,
    Seed,
    Size,
    as_json,
    check_folder,
    check_new,
    check_outputs,
    kept_in,
    learning_progress,
    option,
    player_names,
    whole,
    write_json,
)
from train.console import message, unicode_output
from train.games.pattern_settings import PatternSettings


class _PlayByDefault(TyperGroup):
    """Commands of which `play` is the default: ``rlgo games PLAYER``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the default command if none is given."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            from train.players.keys import PLAYERS

            is_mistyped = args[0] not in PLAYERS and nearest(args[0], self.commands).startswith("did you mean")
            args = args if is_mistyped else ["play", *args]  # a mistyped command is refused with that hint
        return super().parse_args(ctx, args)


games_app = typer.Typer(cls=_PlayByDefault, help="Collect training games: rlgo games PLAYER.")

_Out = Annotated[Path, option("--out", "Folder for the games; one that exists is continued.", metavar="DIR")]


@games_app.command("play")
def play(
    player: Annotated[str, typer.Argument(metavar="PLAYER", autocompletion=player_names, help="Plays both sides.")],
    *,
    games: Annotated[int, option("--games", "Number of games.", whole(1))],
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
    komi_spread: Annotated[
        float, option("--komi-spread", "Standard deviation of komi between games.", NonNegative, metavar="POINTS")
    ] = 0.0,
    seed: Seed = 1,
    opening_plies: Annotated[int, option("--opening-plies", "Random moves at the start of each game.", whole(0))] = 2,
    jobs: Annotated[int, option("--jobs", "Games at a time.", Workers)] = 1,
    parallel: Annotated[
        int, option("--parallel", "Games at a time in one process, evaluated in one batch.", whole(1), metavar="N")
    ] = 1,
    cluster: Annotated[
        str, option("--cluster", "Ray cluster: local, auto or HOST:PORT (needs rlgo[ray]).", metavar="C")
    ] = "",
    sgf: Annotated[Path | None, option("--sgf", "Write a record of each game here.", metavar="DIR")] = None,
    out: _Out = Path("games"),
) -> None:
    """Play a player against itself, and keep the games.

    Every position is stored with the visits and the value of its search. A tenth of the games is held out from
    learning. Run the same command again to continue after an interruption.
    """
    check_folder(sgf)
    check_folder(out, "--out")

    from rlgo.learning.collection import read_collection
    from train.games.collect import GamesPlan, describe, play_games

    plan = GamesPlan(player, games, size, komi, seed, opening_plies, komi_spread)
    with kept_in(out, "the finished games"):
        play_games(plan, out, jobs=jobs, parallel=parallel, cluster=cluster, sgf=sgf)
    print(describe(read_collection([out])))


@games_app.command("calibrate")
def calibrate(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of one player's games.")],
    out: Annotated[Path, option("-o --out", "File to write.", metavar="FILE")] = Path("calibration.npz"),
    scale: Annotated[
        float, option("--scale", "Points for each point of a search's score.", NonNegative, metavar="X")
    ] = 1.0,
    lean: Annotated[float, option("--lean", "Points that a sure win adds to a score.", NonNegative, metavar="X")] = 0.0,
    force: Force = False,
) -> None:
    """Learn which chance of winning a value stands for.

    Values of a search are squeezed towards one half, above all early in a game. The calibration is a logistic
    regression of the results of games on the values, with coefficients that depend on the number of moves; the table
    shows it on games held out from it. Give the file to a player: rlgo,calibration=FILE.
    """
    check_new(out, force)

    from rlgo.learning.collection import read_collection
    from train.games.calibrate import calibrate as learn

    print(learn(read_collection(folders), out, scale, lean))


@games_app.command("import")
def import_sgf(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of SGF files, searched with its subfolders.")],
    size: Size = DEFAULT_SIZE,
    out: _Out = Path("games"),
) -> None:
    """Read all games of the SGF files in a folder.

    Games that cannot be used are listed, with the reason. Games that are already there are not added again.
    """
    check_folder(out, "--out")

    from train.games.collect import import_games

    result = import_games(source, out, size=size)
    for name, reason in result.bad.items():
        print(f"{name}: {reason}")
    left_out = f"{result.copies:,} already there, {len(result.bad):,} left out"
    print(f"{out}: {result.games:,} games added; {left_out}")


@games_app.command("info")
def info(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders of games.")],
    as_data: Annotated[bool, option("--json", "Print JSON.")] = False,
) -> None:
    """Describe the games in some folders."""
    from rlgo.learning.collection import read_collection
    from train.games.collect import describe, summary

    games = read_collection(folders)
    print(as_json(summary(games)) if as_data else describe(games))


# ---------------------------------------------------------------------------------------------
# rlgo patterns
# ---------------------------------------------------------------------------------------------

patterns_app = typer.Typer(help="Learn patterns of good moves from games.")

_Folders = Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders of games.")]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="A pattern file, or shipped patterns by name: 9x9.")]
_DEFAULTS = PatternSettings()
_Seen = Annotated[int, option("--seen", "Learn only shapes that occur at least this often.", whole(1))]
_L2 = Annotated[float, option("--l2", "Penalty of large weights.", float, metavar="X")]
_Iterations = Annotated[int, option("--iterations", "Maximum number of steps.", whole(1))]


@patterns_app.command("train")
def train(
    folders: _Folders,
    out: Annotated[Path, option("-o --out", "File to write.", metavar="FILE")] = Path("patterns.npz"),
    seen: _Seen = _DEFAULTS.seen,
    rings: Annotated[
        int, option("--rings", f"Rings of the largest shapes, at most {MOST_RINGS}.", whole(1))
    ] = _DEFAULTS.rings,
    l2: _L2 = _DEFAULTS.l2,
    iterations: _Iterations = _DEFAULTS.iterations,
    games: Annotated[int | None, option("--games", "Learn from N games.", whole(1), show_default="all")] = None,
    force: Force = False,
) -> None:
    """Learn the weights of features and shapes of moves."""
    check_new(out, force)

    from dataclasses import replace

    from rlgo.learning.collection import read_collection
    from rlgo.moves.patterns import describe, save_patterns
    from train.games import pattern_learning as learning
    from train.games.collect import origin_of

    settings = PatternSettings(seen, rings, l2, iterations)
    collection = read_collection(folders)
    chosen = learning.training_games(collection, held_out=False, most=games)
    learning.training_games(collection, held_out=True)  # fails now, not after learning, if no games are held out
    with learning_progress(iterations) as report:
        patterns = learning.train_patterns(chosen, collection.size, settings, report)
    patterns = replace(patterns, provenance={**patterns.provenance, **origin_of(collection)})
    save_patterns(out, patterns)
    print(f"{out}: {describe(patterns)}")
    print(learning.accuracy_table(learning.measure(collection, {"patterns": patterns})))


@patterns_app.command("test")
def measure(file: _File, folders: _Folders, png: PngFile = None, json_file: JsonFile = None) -> None:
    """Measure how well patterns predict moves of held-out games.

    Uniform choice, Q_rlgo and the handcrafted heuristic are measured beside them.
    """
    check_outputs(json_file, png)

    from rlgo.learning.collection import read_collection
    from rlgo.moves.patterns import load_patterns
    from train.games.pattern_learning import accuracy_picture, accuracy_table, compare

    patterns = load_patterns(file)
    found = compare(read_collection(folders), {"patterns": patterns})
    print(accuracy_table(found))
    write_json(json_file, [a._asdict() for a in found])
    if png is not None:
        accuracy_picture(png, found)


@patterns_app.command("curve")
def curve(
    folders: _Folders,
    seen: _Seen = _DEFAULTS.seen,
    l2: _L2 = _DEFAULTS.l2,
    iterations: _Iterations = _DEFAULTS.iterations,
    png: PngFile = None,
    json_file: JsonFile = None,
) -> None:
    """Measure what learning from more games is worth."""
    check_outputs(json_file, png)

    from rlgo.learning.collection import read_collection
    from train.games.pattern_learning import curve_picture, curve_table, learning_curve

    points = learning_curve(
        read_collection(folders),
        PatternSettings(seen, l2=l2, iterations=iterations),
        lambda p: message(f"{p.games:,} games: log-likelihood {p.log_likelihood:.3f}"),
    )
    print(curve_table(points))
    write_json(json_file, [p._asdict() for p in points])
    if png is not None:
        curve_picture(png, points)


@patterns_app.command("info")
def patterns_info(file: _File) -> None:
    """Print the contents and provenance of a pattern file."""
    from rlgo.moves.patterns import describe, load_patterns

    print(describe(load_patterns(file)))


@patterns_app.command("show")
def show(file: _File, top: Annotated[int, option("--top", "Shapes of each kind.", whole(1))] = 10) -> None:
    """Draw the strongest and the weakest shapes, and list the features."""
    from rlgo.moves.patterns import load_patterns
    from rlgo.moves.patterns import show as show_text

    print(show_text(load_patterns(file), top, unicode_output()))
