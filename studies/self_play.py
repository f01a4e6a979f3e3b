"""Which search's games teach most for their cost: `python studies/self_play.py FOLDER HOURS REFERENCE`.

Each search plays rounds of games on 9x9, from which a network learns that knows nothing at first, with the same
settings for all. HOURS is the time of one core that games and learning of each may take: the next round is always one
of the search that has taken least. REFERENCE is a folder of games of a strong player; how well each network predicts
them is measured after each round. In the end, the policies alone play GNU Go level 0, which must be installed.

FOLDER keeps rounds and games; the same command continues where it was interrupted, also with more HOURS. It writes
results/network/self_play.json and its picture, docs/lab/self_play.png. Run it on one core: `taskset -c 0 python ...`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from rlgo.base.files import make_folder, write_atomically
from rlgo.learning.batches import GameData, read_games
from rlgo.network.architecture import KINDS, Shape
from rlgo.network.conv_network import ConvNetwork, load_network
from train.arena.match import play_match
from train.network.measure import measure
from train.network.rounds import RoundsPlan, run_rounds
from train.network.settings import OF_ROUNDS
from train.provenance import commit
from train.runs.strength import GNUGO
from train.stats import in_percent

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PICTURE = ROOT / "results" / "network" / "self_play.json", ROOT / "docs" / "lab" / "self_play.png"
ALONE = "network_after=1,playouts=off,calibration=none,memory_mb=16"  # the network alone, from the first visit on
SEARCHES = {
    **{
        f"Gumbel, n = {n}, m = {m}": f"rlgo,root=gumbel,sims={n},considered={m},target_scale=1,{ALONE}"
        for n, m in ((8, 4), (16, 4), (32, 8), (64, 8))
    },
    "PUCT, n = 160, quick 20": f"rlgo,sims=160,quick=20,noise=0.25,move_temperature=1,temperature_plies=16,{ALONE}",
}
SHAPE = Shape(blocks=3, channels=32)
SETTINGS = OF_ROUNDS._replace(reuse=4.0, averaging=0.999, window=30_000)
GAMES, SEED = 300, 7801  # of a round
MATCH_GAMES, MATCH_SEED = 100, 7899


class Run:
    """The rounds of one search, and the time of the core that they took."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder, self._file = name, folder, folder / "run.json"
        make_folder(folder)
        self.seconds, self.rounds = 0.0, list[dict[str, Any]]()
        if self._file.is_file():
            self.seconds, self.rounds = json.loads(self._file.read_text("utf-8")).values()

    def go_on(self, reference: GameData) -> None:
        """Play a round, learn, and measure; what an interrupted round took counts, too."""
        first, began = self.folder / "first.npz", time.process_time()
        if not first.is_file():
            ConvNetwork.new(SHAPE, SEED).save(first)
        plan = RoundsPlan(
            SEARCHES[self.name], GAMES, rounds=len(self.rounds) + 1, match_games=0, begin=str(first), opening_plies=2,
            seed=SEED, settings=SETTINGS,
        )  # fmt: skip
        try:
            learned = run_rounds(plan, self.folder / "rounds", progress=False)[-1].learned
        finally:
            self.seconds += time.process_time() - began
            self._save()
        numbers = measure(load_network(str(self.network)), reference).numbers()
        self.rounds.append({"seconds": self.seconds, "seen": learned.seen, "step": learned.step, **numbers})
        self._save()
        print(f"{self.name}: {self.seconds:,.0f} s, {len(self.rounds)} rounds, loss {numbers['policy_loss']:.3f}")

    @property
    def network(self) -> Path:
        """The newest network."""
        done = len(list(self.folder.glob("rounds/round-*/learned.json")))
        return self.folder / "rounds" / f"round-{done}" / "network.npz"

    def result(self) -> dict[str, Any]:
        """Play the match against GNU Go, or the rest of it, and return all numbers."""
        alone, file = f"network,network={self.network}", self.folder / f"gnugo-{len(self.rounds)}.jsonl"
        match = play_match(alone, f"gtp:{GNUGO}", MATCH_GAMES, seed=MATCH_SEED, openings="balanced", results=file)
        if match.interrupted:
            sys.exit(130)
        gnugo = in_percent(match.win_rate, match.ci95)
        return {"search": SEARCHES[self.name], "rounds": self.rounds, "gnugo": gnugo, "scores": match.scores}

    def _save(self) -> None:
        write_atomically(self._file, json.dumps({"seconds": self.seconds, "rounds": self.rounds}).encode())


def draw(results: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw how well the policy and the value predict the reference, against the time of the core."""
    import matplotlib.pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    labels = {"policy_loss": "cross-entropy of the policy, nats", "value_loss": "log-loss of the outcome, nats"}
    for axes, (key, label) in zip(both, labels.items(), strict=True):
        for name, result in results.items():
            axes.plot([r["seconds"] / 3600 for r in result["rounds"]], [r[key] for r in result["rounds"]], label=name)
        axes.set_xlabel("hours of one core, games and learning")
        axes.set_ylabel(label)
    both[0].set_title("How well games of a strong player are predicted", loc="left")
    both[1].legend()
    figure.savefig(path, dpi=120)


def main(folder: Path, hours: float, reference: Path) -> None:
    """Run all, and write the results and the picture."""
    data = read_games(reference, KINDS, held_out=None)
    runs = [Run(name, folder / str(i)) for i, name in enumerate(SEARCHES)]
    while (run := min(runs, key=lambda r: r.seconds)).seconds < hours * 3600:
        run.go_on(data)
    results = {run.name: run.result() for run in runs}
    record = {"commit": commit(), "shape": SHAPE._asdict(), "settings": SETTINGS.by_key(), "results": results}
    write_atomically(RESULTS, json.dumps(record, indent=1).encode())
    draw(results, PICTURE)
    for name, result in results.items():
        print(f"{name}: {len(result['rounds']) * GAMES:,} games, GNU Go {result['gnugo']}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
