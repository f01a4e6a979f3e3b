"""Learning patterns from games, and measuring how well they predict."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from random_play import SIZE, random_game, random_weights

from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.learning.collection import is_held_out, read_collection
from rlgo.learning.value import ValueFunction
from rlgo.moves.decisions import decisions_of
from rlgo.moves.patterns import load_patterns
from train import console
from train.arena.referee import Opinion
from train.cli.main import main
from train.games import pattern_learning as learning
from train.games.pattern_learning import accuracies, train_patterns, training_games
from train.games.pattern_settings import PatternSettings
from train.games.shards import TrainingGame, open_folder

SETTINGS = PatternSettings(seen=20, iterations=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("games")
    with open_folder(path, {"kind": "imported", "size": SIZE}, {"versions": {"rlgo": "0"}, "commit": ""}) as shards:
        for seed in range(60):
            shards.add(TrainingGame(seed + 1, 1.0, random_game(25, seed).moves))
    return path


def test_games_held_out_are_not_learned_from(folder: Path) -> None:
    games = read_collection([folder])
    learned, held_out = (training_games(games, held_out=which) for which in (False, True))
    n = int(is_held_out(games.arrays["id"]).sum())
    assert 0 < n < 20
    assert (len(learned.lists.first_move) - 1, len(held_out.lists.first_move) - 1) == (60 - n, n)
    assert len(training_games(games, held_out=False, most=7).lists.first_move) == 8
    starts, others = (
        {tuple(lists.move[a:b].tolist()) for a, b in zip(lists.first_move[:-1], lists.first_move[1:], strict=True)}
        for lists in (learned.lists, held_out.lists)
    )
    assert not starts & others


def test_only_moves_of_a_search_are_learned_where_there_is_one(tmp_path: Path) -> None:
    games = [TrainingGame(i, 1.0, random_game(6, i).moves) for i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)]
    for game in games[:6]:
        game.opinions.update({i: Opinion(0.5, (game.moves[i][1],), (1,)) for i in (2, 4)})  # type: ignore[attr-defined]
    with open_folder(tmp_path, {"kind": "imported", "size": SIZE}, {}) as shards:
        for game in games:
            shards.add(game)
    collection = read_collection([tmp_path])
    learned = training_games(collection, held_out=False)
    kept = [game for game in games if not is_held_out(np.array([game.id], np.uint64))[0]]
    expected = [1 if not game.opinions or i in game.opinions else 0 for game in kept for i in range(6)]
    assert learned.is_learned.tolist() == expected


def test_accuracies_from_their_definition(folder: Path) -> None:
    held_out = training_games(read_collection([folder]), held_out=True)
    decisions = decisions_of(held_out, SIZE, learning._no_shapes())
    x = np.random.default_rng(1).integers(0, 4, len(decisions.move)).astype(float)  # with ties
    hits, logs = {1: [], 5: []}, []
    for d in range(len(decisions)):
        here = x[decisions.starts[d] : decisions.starts[d + 1]]
        played = here[decisions.chosen[d]]
        logs.append(played - np.log(np.exp(here).sum()))
        for k, found in hits.items():
            places = [r < k for r in range((here > played).sum(), (here >= played).sum())]  # the ties share these ranks
            found.append(np.mean(places))
    whole = accuracies("x", decisions, x)[-1]
    assert (whole.phase, whole.decisions) == ("all", len(decisions))
    assert whole.log_likelihood == pytest.approx(np.mean(logs))
    assert whole.top[:2] == pytest.approx((np.mean(hits[1]), np.mean(hits[5])))
    uniform = accuracies("uniform", decisions, np.zeros_like(x))[-1]
    assert uniform.log_likelihood == pytest.approx(-np.log(np.diff(decisions.starts)).mean())


def test_patterns_predict_better_than_chance_and_the_best_scale_is_best(folder: Path) -> None:
    games = read_collection([folder])
    patterns = train_patterns(training_games(games, held_out=False), SIZE, SETTINGS)
    rows = {(row.name, row.phase): row for row in learning.compare(games, {"patterns": patterns})}
    assert {name for name, _ in rows} == {"uniform", "handcrafted", "patterns"}
    assert rows["patterns", "all"].log_likelihood > rows["uniform", "all"].log_likelihood
    held_out = training_games(games, held_out=True)
    decisions, x = learning.pattern_scores(patterns, held_out, SIZE)
    best = learning._best_scale(decisions, x)
    at = {scale: accuracies("", decisions, scale * x)[-1].log_likelihood for scale in (best, best * 0.9, best * 1.1)}
    assert at[best] == max(at.values())


def test_a_ko_does_not_bind_who_moves_twice(tmp_path: Path) -> None:
    """Records may say that a player moved again after taking a ko."""
    game = Game(SIZE)
    for vertex in ("B1", "C1", "A2", "D2", "B3", "C3", "C2", "B2"):
        game.play(vertex)
    moves = [*game.moves, (WHITE, from_vertex("E5", SIZE)), (BLACK, from_vertex("E1", SIZE))]
    name = next(i for i in range(1, 100) if not is_held_out(np.array([i]))[0])
    with open_folder(tmp_path, {"kind": "imported", "size": SIZE}, {}) as shards:
        shards.add(TrainingGame(name, 1.0, moves))
    games = training_games(read_collection([tmp_path]), held_out=False)
    decisions = decisions_of(games, SIZE, learning._no_shapes())
    ninth = slice(*decisions.starts[8:10])
    assert from_vertex("C2", SIZE) in decisions.move[ninth]
    x = learning._scores(decisions, games, SIZE, learning._rlgo_scorer(random_weights()))
    assert np.isfinite(x).all()


def test_the_score_of_the_value_function_is_the_movers() -> None:
    weights = random_weights()
    score, value = learning._rlgo_scorer(weights), ValueFunction(weights)
    for moves in (4, 5):
        board = random_game(moves, 1).board
        point = random_game(moves, 1).sensible_moves()[0]
        v = value.afterstates(board)[(point // 6 - 1) * 5 + point % 6 - 1]
        sign = 1 if board.to_play == BLACK else -1
        assert score(board, np.array([point]))[0] == pytest.approx(sign * np.log(v / (1 - v)))


def test_a_learning_curve_uses_more_and_more_games(folder: Path) -> None:
    games = read_collection([folder])
    points = learning.learning_curve(games, SETTINGS._replace(iterations=3))
    most = len(training_games(games, held_out=False).lists.first_move) - 1
    assert [p.games for p in points] == [most]
    assert all(p.shapes > 10 and p.log_likelihood < 0 for p in points)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rings": 10}, "rings = 10: expected an integer from 1 to 9"),
        ({"l2": 0.0}, "l2 = 0.0: expected a positive number"),
    ],
)
def test_bad_settings(values: dict, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        validated(PatternSettings(**values))


def test_games_to_measure_by_are_missed_before_anything_is_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    learned = [game for game in (TrainingGame(i, 1.0, random_game(20, i).moves) for i in range(9)) if game.id % 10]
    with open_folder(tmp_path / "games", {"kind": "imported", "size": SIZE}, {"versions": {}, "commit": ""}) as shards:
        for game in learned:
            shards.add(game)
    monkeypatch.setattr(learning, "train_patterns", None)
    assert main(["patterns", "train", str(tmp_path / "games"), "-o", str(tmp_path / "p.npz")]) == 2
    assert f"games = {len(learned)}: expected about 30 or more" in capsys.readouterr().err


def test_the_commands(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "_LINE_SECONDS", 0.0)
    out = tmp_path / "p.npz"
    assert main(["patterns", "train", str(folder), "-o", str(out), "--seen", "20", "--iterations", "5"]) == 0
    text, progress = capsys.readouterr()
    assert text.startswith(f"{out}: 65 features, ")
    assert re.search(r"^steps: 2 of 5 \(40%\), .*log-likelihood -\d", progress, re.MULTILINE)
    assert "log-likelihood" in text
    made = load_patterns(out).provenance
    assert (made["method"], made["seen"], made["collection"]) == ("softmax", 20, [{"kind": "imported", "size": SIZE}])
    assert main(["patterns", "train", str(folder), "-o", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["patterns", "info", str(out)]) == 0
    assert "learned by softmax" in capsys.readouterr().out
    assert main(["patterns", "show", str(out), "--top", "2"]) == 0
    assert "Strongest shapes" in capsys.readouterr().out
    png, data = tmp_path / "a.png", tmp_path / "a.json"
    assert main(["patterns", "test", str(out), str(folder), "--png", str(png), "--json", str(data)]) == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert {row["name"] for row in json.loads(data.read_text())} == {"uniform", "handcrafted", "patterns"}
    curve = ["patterns", "curve", str(folder), "--seen", "20", "--iterations", "2", "--png", str(png)]
    assert main(curve) == 0
    assert "log-likelihood" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["9x9", "checkpoints/patterns/9x9.npz"])
def test_shipped_patterns_have_a_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["patterns", "info", name]) == 0
    assert "rlgo patterns train games-1 games-2 games-3" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv", [["info", "nofile"], ["show", "nofile"], ["test", "nofile", "nowhere"], ["train", "nowhere"]]
)
def test_bad_input_is_one_line(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patterns", *argv]) == 2
    error = capsys.readouterr().err
    assert "nofile: no such pattern file; shipped patterns" in error or "nowhere: expected a folder of games" in error
    assert error.count("\n") == 1
