"""Commands about learned default policies: rlgo playouts targets, train, test, info."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI
from train.cli.options import (
    Force,
    JsonFile,
    Komi,
    Player,
    Seed,
    check_new,
    check_writable,
    kept_in,
    learning_progress,
    option,
    refuse_unused,
    whole,
    write_json,
)
from train.knowledge.methods import PLAYOUT_METHODS, PlayoutSettings

app = typer.Typer(help="Learn the policy that plays simulations to the end.")

_SEARCHER = "heuristic_mc_rave,heuristic=both,sims=3000"
_UNUSED = {  # options by the method that does not use them
    "games": ("start", "weights", "alpha", "epochs", "simulations", "seed"),
    "balance": ("weights", "iterations"),
    "two_step": ("simulations", "iterations"),
    "reinforce": ("weights", "iterations"),
}
_DEFAULTS = PlayoutSettings()
_Targets = Annotated[Path, typer.Argument(metavar="TARGETS", help="A file of targets.")]


@app.command("targets")
def targets(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders of games.")],
    *,
    player: Player = _SEARCHER,
    positions: Annotated[int, option("--positions", "Number of positions.", whole(1))] = 2_000,
    komi: Komi = DEFAULT_KOMI,
    seed: Seed = 1,
    out: Annotated[Path, option("-o --out", "File to write.", metavar="FILE")] = Path("targets.npz"),
) -> None:
    """Search positions for the values that policies learn from.

    Positions of games are chosen at random, and a player searches them. Run the same command again to continue after an
    interruption.
    """
    from rlgo.learning.collection import read_collection
    from train.playouts.targets import search_targets

    games = read_collection(folders)
    check_writable(out, "--out")
    with kept_in(out, "the values found so far"):
        found = search_targets(games, player, positions, out, komi=komi, seed=seed)
    held_out = int(found.held_out.sum())
    print(f"{out}: {len(found):,} positions, {held_out:,} of them held out; the mean value is {found.value.mean():.3f}")


@app.command("train")
def train(
    context: typer.Context,
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE", help="A file of targets; method games: folders of games.")
    ],
    *,
    method: Annotated[
        str, option("--method", "How to learn.", Literal[tuple(PLAYOUT_METHODS)])
    ] = _DEFAULTS.method_name,
    start: Annotated[
        str, option("--start", "The policy to start from: a file, or mogo for MoGo's rules.", metavar="FILE")
    ] = "",
    weights: Annotated[str, option("--weights", "The value function of method two_step.", metavar="FILE")] = "",
    alpha: Annotated[float, option("--alpha", "Step size.", float, metavar="X")] = _DEFAULTS.alpha,
    epochs: Annotated[int, option("--epochs", "Number of passes over the positions.", whole(1))] = _DEFAULTS.epochs,
    simulations: Annotated[
        int,
        option("--simulations", "Simulations of a position, for its outcome and again for its gradient.", whole(1)),
    ] = _DEFAULTS.simulations,
    iterations: Annotated[
        int, option("--iterations", "Steps of method games, at most.", whole(1))
    ] = _DEFAULTS.iterations,
    seed: Seed = _DEFAULTS.seed,
    out: Annotated[Path, option("-o --out", "File to write.", metavar="FILE")] = Path("playouts.npz"),
    force: Force = False,
) -> None:
    """Learn a softmax policy.

    Method games makes the moves of games probable. Balance makes the mean outcome of simulations agree with targets,
    two_step does the same over two plies with a value function, and reinforce makes the winner's moves probable.
    """
    check_new(out, force)
    refuse_unused(context, f"with --method {method}", *_UNUSED[method])
    if method != "games" and len(sources) != 1:
        raise RlgoError(f"--method {method}: expected one file of targets")

    settings = PlayoutSettings(PLAYOUT_METHODS[method], alpha, epochs, simulations, iterations=iterations, seed=seed)

    from rlgo.features.weights import find_weights, load_weights
    from rlgo.learning.collection import read_collection
    from rlgo.moves.softmax_policy import describe, save_softmax_policy
    from train.playouts import learning
    from train.playouts.targets import load_targets

    if method == "games":
        with learning_progress(iterations) as report:
            policy = learning.learn_games(read_collection(sources), settings, report)
    else:
        goals = load_targets(sources[0])
        value = load_weights(find_weights(weights, goals.size)) if method == "two_step" else None
        policy = learning.learn_targets(goals, settings, learning.first_policy(start), value)
    save_softmax_policy(out, policy)
    print(f"{out}: {describe(policy)}")


@app.command("test")
def measure(
    file: _Targets,
    policies: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Softmax policies to measure beside the others.")
    ] = None,
    simulations: Annotated[int, option("--simulations", "From each position.", whole(2))] = 1_000,
    seed: Seed = 1,
    json_file: JsonFile = None,
) -> None:
    """Compare outcomes of simulations with targets.

    Only targets that were held out are used.
    """
    check_writable(json_file)

    from rlgo.moves.softmax_policy import find_softmax_policy, load_softmax_policy
    from train.playouts.learning import balance_table, default_policies, measure_all
    from train.playouts.targets import load_targets

    stems = Counter(path.stem for path in policies or [])
    named = {
        path.stem if stems[path.stem] == 1 and path.stem not in default_policies({}) else str(path): path
        for path in policies or []
    }
    learned = {name: load_softmax_policy(find_softmax_policy(path)) for name, path in named.items()}
    found = measure_all(load_targets(file), default_policies(learned), simulations, seed)
    print(balance_table(found))
    write_json(json_file, [m._asdict() for m in found])


@app.command("info")
def info(file: Annotated[Path, typer.Argument(metavar="FILE", help="A softmax policy.")]) -> None:
    """Print the contents and provenance of a softmax policy."""
    from rlgo.moves.softmax_policy import describe, find_softmax_policy, load_softmax_policy

    print(describe(load_softmax_policy(find_softmax_policy(file))))
