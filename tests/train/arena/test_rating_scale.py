"""The rating scale: its file, and ratings on it."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rlgo.base.archive import read_archive
from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.base.settings import MAX_SIZE, MIN_SIZE
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights, shipped_weights
from train.arena import rating_scale
from train.arena.elo import PairResult, expected_score, pair_scatter, rate, widened
from train.arena.fast import on_common_features
from train.arena.rating_scale import NEAREST, RatingScale, load_rating_scale
from train.cli import main as cli
from train.experiments.declaration.experiment import GNUGO_0
from train.experiments.results.analysis import analyze
from train.runs import make_rating_scale, strength
from train.runs.make_rating_scale import GNUGO_0_ELO

TRUE = {"a": 0.0, "b": 200.0, "c": 400.0, "d": 600.0, "e": 800.0}  # of players that do not exist


def weights(strength: float, size: int = 5) -> Weights:
    features = make_features(size, (1,))
    theta = np.zeros(features.n_weights + 1, np.float32)
    theta[1] = strength
    return Weights(features, theta, 0.5)


@pytest.fixture
def met(monkeypatch) -> list[tuple[float, int]]:
    """Games score what ratings predict; this lists the opponents and the numbers of games."""
    met: list[tuple[float, int]] = []

    def play(_features, theta_a, theta_b, games, _seed, _komi, _openings):
        met.append((float(theta_b[1]), games))
        return SimpleNamespace(scores=np.full((games // 2, 2), expected_score(float(theta_a[1] - theta_b[1]))))

    monkeypatch.setattr(rating_scale, "play_fast", play)
    return met


def of_true(scatter: float = 0.0) -> RatingScale:
    return RatingScale(5, {name: weights(elo) for name, elo in TRUE.items()}, TRUE, scatter)


@pytest.mark.parametrize("strength", [-100, 90, 330, 512, 900])
def test_the_rating_is_the_one_behind_the_scores(met, strength):
    rating = of_true().rate(weights(strength), 10_000, seed=1)
    assert rating.elo == pytest.approx(strength, abs=3)
    assert rating.ci95[0] < strength < rating.ci95[1]
    nearest = sorted(TRUE.values(), key=lambda elo: abs(elo - strength))[:NEAREST]
    assert met[: len(TRUE)] == [(elo, 1_000) for elo in TRUE.values()]
    assert met[len(TRUE) :] == [(elo, 10_000) for elo in nearest]


def test_a_widened_result_has_the_variance_of_both_sources():
    """Simulated: pairs whose log odds scatter, and the scores of their games."""
    rng, games, scatter = np.random.default_rng(1), 400, 40.0
    p = expected_score(100 + rng.normal(0, scatter, 20_000))
    scores = rng.binomial(games, p)
    result = widened(PairResult("x", "y", score=float(scores.mean()), games=games), scatter)
    mean = scores.mean() / games
    assert scores.var() == pytest.approx(result.design * games * mean * (1 - mean), rel=0.05)


def test_scatter_is_not_hidden_by_ratings_that_follow_it():
    """With few opponents each, fitted ratings take up a part of it; on average it is found all the same."""
    rng, found = np.random.default_rng(1), []
    elo = {f"p{i}": 100.0 * i for i in range(12)}
    names = list(elo)
    for _ in range(30):
        results = []
        for i, j in itertools.combinations(range(12), 2):
            if j - i <= 3:
                p = expected_score(elo[names[i]] - elo[names[j]] + rng.normal(0, 50))
                results.append(PairResult(names[i], names[j], score=float(rng.binomial(2_000, p)), games=2_000))
        found.append(pair_scatter(rate(results), results) ** 2)
    assert np.mean(found) ** 0.5 == pytest.approx(50, rel=0.08)


def test_the_shipped_scale_covers_all_boards_and_climbs():
    for size in range(MIN_SIZE, MAX_SIZE + 1):
        scale = load_rating_scale(size)
        assert set(scale.elo) == set(scale.players)
        elo = [scale.elo[name] for name in scale.players]
        assert elo[0] == load_rating_scale(9).elo["random"]
        gaps = np.diff(sorted(elo))
        assert gaps.max() < 650, size  # or nobody between two of them would be rated well
    assert shipped_weights(9).stem in load_rating_scale(9).players


def test_the_file_says_how_it_was_made_and_its_ratings_follow_from_its_games():
    meta, arrays = read_archive(
        checkpoints_dir() / rating_scale.FILE, "rating scale", rating_scale.FORMAT, rating_scale.VERSION
    )
    assert re.match("rlgo ladder --make ", meta["provenance"]["command"])
    assert arrays["theta"].shape == (len(meta["games"]), make_features(9, sharing="LI").n_weights + 1)
    entry = meta["ratings"]["9"]
    results = [PairResult(p["a"], p["b"], p["score"], p["games"]) for p in entry["pairs"]]
    again = rate(results, {"GNU Go level 0": GNUGO_0_ELO}).elo
    assert {name: pytest.approx(again[name], abs=0.2) for name in entry["elo"]} == entry["elo"]


def test_the_scale_is_that_of_the_experiments():
    analysis = analyze(Path(__file__).parents[3] / "results" / "experiments", "learning_runs")
    assert analysis is not None
    level_0 = analysis.elo(GNUGO_0)
    assert level_0 is not None
    assert level_0.value == pytest.approx(GNUGO_0_ELO, abs=1)


def test_a_shipped_reference_player_gets_its_own_rating():
    scale = load_rating_scale(9)
    name = shipped_weights(9).stem
    rating = scale.rate(load_weights(shipped_weights(9)), 200, seed=5)
    assert rating.ci95[0] < scale.elo[name] < rating.ci95[1]
    assert scale.rate(load_weights(shipped_weights(9)), 200, seed=5) == rating


def test_weights_of_other_sizes_and_kinds_meet_on_common_features():
    small, plain = make_features(5, (2,), "LI"), make_features(5, (1, 3), "LD")
    rng = np.random.default_rng(3)
    a, b = (Weights(f, rng.normal(size=f.n_weights + 1).astype(np.float32)) for f in (small, plain))
    features, (theta_a, theta_b, random) = on_common_features([a, b, None], 5)
    assert (features.sizes, features.sharing) == ((1, 2, 3), "LI+LD")
    for own, theta in ((a, theta_a), (b, theta_b)):
        whole = Weights(features, theta)
        for block in features.blocks:
            mine = next((x for x in own.features.blocks if x.name == block.name), None)
            expected = 0 if mine is None else own.block(mine)
            assert (whole.block(block) == expected).all()
    assert not random.any()


def test_the_command_lists_the_reference_players(capsys):
    assert cli.main(["ladder", "--size", "7"]) == 0
    out, _ = capsys.readouterr()
    scale = load_rating_scale(7)
    assert [line.split()[-1] for line in out.splitlines()[4:]] == [
        f"{e:,.0f}" for e in sorted(scale.elo.values())[::-1]
    ]
    assert cli.main(["ladder", "--size", "4"]) == 2
    assert "--size 4: expected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--make", "x.npz", "--size", "9"], "--size has no effect with --make"),
        (["--make", "nowhere/x.npz"], "--make nowhere/x.npz: expected a file that can be written"),
        (["--make", "x.npz"], "GNU Go is not installed: no games against it"),
    ],
)
def test_what_is_wrong_is_said_before_the_long_work(argv, message, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(make_rating_scale, "Learner", None)
    monkeypatch.setattr(strength, "has_gnugo", lambda: "GNU Go" not in message)
    assert cli.main(["ladder", *argv]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_damaged_file_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(rating_scale, "checkpoints_dir", lambda: tmp_path)
    load_rating_scale.cache_clear()
    with pytest.raises(RlgoError, match=r"ladder\.npz: cannot be read"):
        load_rating_scale(9)
    load_rating_scale.cache_clear()
