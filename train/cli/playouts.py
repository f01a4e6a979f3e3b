"""Commands about learned default policies: rlgo playouts train, info."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from train.cli.options import Force, Seed, check_new, option, whole
from train.games.methods import PLAYOUT_METHODS, PlayoutSettings

app = typer.Typer(help="Learn the policy that plays simulations to the end.")

_DEFAULTS = PlayoutSettings()


@app.command("train")
def train(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of games, searched by a player.")],
    *,
    method: Annotated[
        str, option("--method", "How to learn.", Literal[tuple(PLAYOUT_METHODS)])
    ] = _DEFAULTS.method_name,
    start: Annotated[str, option("--start", "The policy to start from.", metavar="FILE")] = "9x9",
    alpha: Annotated[float, option("--alpha", "Step size.", float, metavar="X")] = _DEFAULTS.alpha,
    positions: Annotated[int, option("--positions", "Number of positions, at most.", whole(1))] = _DEFAULTS.positions,
    epochs: Annotated[int, option("--epochs", "Number of passes over the positions.", whole(1))] = _DEFAULTS.epochs,
    simulations: Annotated[
        int,
        option("--simulations", "Simulations of a position, for its outcome and again for its gradient.", whole(1)),
    ] = _DEFAULTS.simulations,
    seed: Seed = _DEFAULTS.seed,
    out: Annotated[Path, option("-o --out", "File to write.", metavar="FILE")] = Path("playouts.npz"),
    force: Force = False,
) -> None:
    """Learn a softmax policy from positions of games.

    Method balance makes the mean outcome of simulations agree with the value that a search found, and reinforce makes
    the moves of the winner of a simulation more probable. Neither has become stronger than MoGo's rules.
    """
    check_new(out, force)
    settings = PlayoutSettings(PLAYOUT_METHODS[method], alpha, positions, epochs, simulations, seed=seed)

    from rlgo.learning.collection import read_collection
    from rlgo.moves.softmax_policy import describe, load_softmax_policy, save_softmax_policy
    from train.games.playouts import learn_policy

    policy = learn_policy(read_collection(folders), settings, load_softmax_policy(start))
    save_softmax_policy(out, policy)
    print(f"{out}: {describe(policy)}")


@app.command("info")
def info(file: Annotated[str, typer.Argument(metavar="FILE", help="A softmax policy.")]) -> None:
    """Print the contents and provenance of a softmax policy."""
    from rlgo.moves.softmax_policy import describe, load_softmax_policy

    print(describe(load_softmax_policy(file)))
