"""Count local shape features, and how often they occur in a training run.

Start reading at `count` (TD paper, Table 1) and `frequency` (Figure 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.settings import SIZES
from rlgo.features.shapes import make_features
from train.experiments.declaration.experiment import Experiment
from train.experiments.running.training import train
from train.runs.fleet import FAILED, RunStatus
from train.runs.learners import features_of

BINS_A_DECADE = 4


def count(e: Experiment) -> list[dict[str, Any]]:
    """Count the features, weights and windows of each size, and return the numbers as raw results."""
    lines = []
    for k in SIZES:
        for sharing in ("LI", "LD"):
            features = make_features(e.settings.size, (k,), sharing)
            lines += [
                {"number": f"{k}x{k} {sharing} features", "value": features.n_features},
                {"number": f"{k}x{k} {sharing} weights", "value": features.n_weights},
                {"number": f"{k}x{k} {sharing} active at most", "value": len(features.windows)},
            ]
    whole = make_features(e.settings.size)
    return [
        *lines,
        {"number": "all features", "value": whole.n_features},
        {"number": "all weights", "value": whole.n_weights},
    ]


def frequency(e: Experiment, jobs: int, progress: bool) -> list[dict[str, Any]]:
    """Train the reference run, and return how often the classes of each block of weights occurred, as raw results."""
    assert e.reference is not None
    status = RunStatus(e.reference)
    train(e, [status], jobs, progress)
    if status.state == FAILED:
        raise RlgoError(f"{e.reference.folder.path}: {status.reason}")
    features = features_of(e.reference.config)
    state, progressed = e.reference.folder.load()
    totals = [int(state["occurrences"][block.start : block.stop].sum()) for block in features.blocks]
    lines: list[dict[str, Any]] = [
        {"number": "games", "value": status.games, "seconds": round(progressed["seconds"], 1)},
        {"number": "most occurrences of a block over least", "value": round(max(totals) / min(totals), 2)},
    ]
    for block in features.blocks:
        name = block.name.replace("-", " ")  # as in `count`
        seen = state["occurrences"][block.start : block.stop]
        bins = np.floor(np.log10(seen[seen > 0]) * BINS_A_DECADE).astype(int)
        lines += [
            {"histogram": name, "classes": np.bincount(bins).tolist()},
            {"number": f"{name} occurrences", "value": int(seen.sum())},
            {"number": f"{name} never seen", "value": int((seen == 0).sum())},
            {"number": f"{name} weights", "value": len(seen)},
            {"number": f"{name} most often", "value": int(seen.max())},
            {"number": f"{name} seen 1,000 to 10,000 times", "value": int(((seen >= 1e3) & (seen < 1e4)).sum())},
        ]
    return lines
