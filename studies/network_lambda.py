"""Which target makes the best search: `python studies/network_lambda.py FOLDER GAMES...` learns networks, and plays.

For each lambda of the value's target and each seed, a network learns from the same games, and a search with it plays
against the search without one, at equal simulations. With lambda = 1, the target is the outcome z; with lambda = 0, the
value of the next search (`rlgo/learning/returns.py`). FOLDER keeps networks and games; the same command continues where
it was interrupted. It writes results/network/lambda.json and its picture, docs/lab/network_lambda.png.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.files import make_folder, write_atomically
from rlgo.network.architecture import Shape
from train.arena.elo import elo_from_share
from train.arena.match import play_match
from train.network.measure import measure
from train.network.settings import NetworkSettings
from train.network.training import Pool, TrainingPlan, learn
from train.provenance import commit
from train.stats import clustered_interval

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PICTURE = ROOT / "results" / "network" / "lambda.json", ROOT / "docs" / "lab" / "network_lambda.png"
LAMBDAS, SEEDS = (0.0, 0.5, 0.8, 0.95, 1.0), (1, 2, 3)
SHAPE, STEPS = Shape(blocks=3, channels=16), 4_000
GAMES = 100  # of each network
PLAYER = "mc_rave_patterns,sims=400"


def run(folder: Path, sources: list[Path], lam: float, seed: int) -> dict[str, Any]:
    """Learn a network and play its match, or the rest of them; return what came of it."""
    here = folder / f"{lam:g}-{seed}"
    make_folder(here)
    network = learn(TrainingPlan(sources, SHAPE, NetworkSettings(steps=STEPS, lam=lam, seed=seed)), here / "network")
    (data,) = Pool(sources, held_out=True).sizes.values()
    with_it = f"{PLAYER},network={here / 'network' / 'network.npz'},network_value=1"
    # Networks of one seed meet the same openings.
    match = play_match(with_it, PLAYER, GAMES, seed=seed, openings="balanced-tuning", results=here / "match.jsonl")
    if match.interrupted:
        sys.exit(130)
    return {"lambda": lam, "seed": seed, "measures": measure(network, data).numbers(), "scores": match.scores}


def summary(runs: list[dict[str, Any]], lam: float) -> tuple[float, float, float, list[float]]:
    """Return the share won with a lambda, its interval, and the shares of the seeds."""
    own = [r["scores"] for r in runs if r["lambda"] == lam]
    flat = [scores for match in own for scores in match]
    return (float(np.mean(flat)), *clustered_interval(flat), [float(np.mean(match)) for match in own])


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Draw Elo against lambda, with intervals, and a point for each seed."""
    import matplotlib.pyplot as plt

    lams = sorted({r["lambda"] for r in runs})
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for i, lam in enumerate(lams):
        won, low, high, seeds = summary(runs, lam)
        elo, *ends = (elo_from_share(x) for x in (won, low, high))
        axes.errorbar(i, elo, yerr=[[elo - ends[0]], [ends[1] - elo]], fmt="o", color="C0", capsize=4)
        axes.plot([i + 0.12] * len(seeds), [elo_from_share(x) for x in seeds], ".", color="C7")
    axes.axhline(0, color="0.6", linewidth=1)
    axes.set_xticks(range(len(lams)), [f"{lam:g}" for lam in lams])
    axes.set_xlabel("λ of the value's target (0: the next search; 1: the outcome)")
    axes.set_ylabel("Elo against the search without a network")
    axes.set_title("Which target makes the best search", loc="left")
    figure.savefig(path, dpi=120)


def main(arguments: list[str]) -> None:
    """Run all, and write the results and the picture."""
    if len(arguments) < 2:
        sys.exit(__doc__)
    folder, *sources = map(Path, arguments)
    runs = [run(folder, sources, lam, seed) for seed in SEEDS for lam in LAMBDAS]
    record = {
        "player": PLAYER, "shape": SHAPE._asdict(), "steps": STEPS, "commit": commit(),
        "games": Pool(sources).origins, "runs": runs,
    }  # fmt: skip
    write_atomically(RESULTS, json.dumps(record, indent=1).encode())
    draw(runs, PICTURE)
    for lam in LAMBDAS:
        won, low, high, seeds = summary(runs, lam)
        print(f"lambda {lam:g}: {won:.1%} ({low:.1%} to {high:.1%}), by seed {', '.join(f'{x:.1%}' for x in seeds)}")


if __name__ == "__main__":
    main(sys.argv[1:])
