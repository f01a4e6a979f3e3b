"""Collecting games: self-play that continues after an interruption, and SGF files from elsewhere."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from weight_files import some_weights

from rlgo.base.errors import RlgoError
from rlgo.features.weights import save_weights
from rlgo.go.game import Game
from rlgo.go.sgf import load_sgf, write_sgf
from rlgo.learning.collection import has_search, read_collection
from train.arena.pool import InProcess
from train.cli.main import main
from train.games.collect import GamesPlan, import_games, play_games, summary
from train.games.shards import unpack
from train.players import make_player

SEARCH = GamesPlan("mc_rave,sims=30,memory_mb=1", 6, size=5, komi=2.5)
RANDOM = GamesPlan("random", 6, size=5, komi=2.5)


def arrays_of(path: Path) -> dict[str, Any]:
    return {name: column.tolist() for name, column in read_collection([path]).arrays.items()}


def test_a_search_plays_itself_and_its_opinions_are_kept(tmp_path: Path) -> None:
    assert play_games(SEARCH, tmp_path / "games", sgf=tmp_path / "sgf", progress=False) == 6
    games = unpack(read_collection([tmp_path / "games"]).arrays)
    for game in games:
        record = load_sgf(tmp_path / "sgf" / f"game-{game.number:06}.sgf")
        assert record.moves == game.moves
        assert record.outcome == game.z
        assert min(game.opinions) == SEARCH.opening_plies
        for i, opinion in game.opinions.items():
            assert opinion.moves[0] == game.moves[i][1]
            assert list(opinion.visits) == sorted(opinion.visits, reverse=True)
            assert 0 <= opinion.value <= 1
    assert len({tuple(game.moves) for game in games}) == 6
    with pytest.raises(RlgoError, match="sgf: contains records of other games: expected a new or empty folder"):
        play_games(RANDOM, tmp_path / "others", sgf=tmp_path / "sgf", progress=False)
    play_games(SEARCH, tmp_path / "games", sgf=tmp_path / "sgf", progress=False)  # all is there


def test_quick_searches_are_not_learned(tmp_path: Path) -> None:
    """Of two kinds of moves, those of quick searches keep only their values."""
    share = 0.75
    plan = SEARCH._replace(player=f"mc_rave,sims=40,reuse=off,memory_mb=1,quick=3,quick_share={share}")
    play_games(plan, tmp_path / "games", sgf=tmp_path / "sgf", progress=False)
    counts = []
    for game in unpack(read_collection([tmp_path / "games"]).arrays):
        record = (tmp_path / "sgf" / f"game-{game.number:06}.sgf").read_text()
        searches = [int(n) for n in re.findall(r"of (\d+) simulations", record)]
        learned = [sum(opinion.visits) for opinion in game.opinions.values()]
        assert all(0 <= opinion.value <= 1 for opinion in game.opinions.values())
        assert len(learned) == len(game.moves) - plan.opening_plies
        assert [n for n in searches if n > 3] == [n for n in learned if n > 1]  # 1: a pass without a search
        counts += searches
    assert min(counts) == 3
    assert max(counts) == 40
    assert np.mean(np.array(counts) == 3) == pytest.approx(share, abs=0.15)


def test_moves_are_quick_once_a_search_has_decided() -> None:
    player = make_player("mc_rave,sims=200,reuse=off,memory_mb=1,quick=3,quick_share=0,quick_beyond=0.8", 5, seed=2)
    game, quick = Game(5, 0.5), []
    while not game.is_over() and len(game.moves) < 40:
        before = player.result
        game.play(player.genmove(game))
        quick.append(player.was_quick)
        if player.was_quick:
            assert before is not None
            assert abs(before.q[0] - 0.5) > 0.3
        else:
            assert before is None or abs(before.q[0] - 0.5) <= 0.3
    assert {True, False} <= set(quick)


def test_games_do_not_depend_on_interruptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play_games(SEARCH, tmp_path / "whole", progress=False)
    play = InProcess.result

    def interrupted(self: InProcess, task: Any) -> Any:
        if task.number == 4:
            signal.raise_signal(signal.SIGINT)
        return play(self, task)

    monkeypatch.setattr(InProcess, "result", interrupted)
    part = str(tmp_path / "part")
    assert main(["games", SEARCH.player, "--games", "6", "--size", "5", "--komi", "2.5", "--out", part]) == 130
    assert f"the finished games are in {part}; run the same command again to continue" in capsys.readouterr().err
    assert arrays_of(tmp_path / "part")["number"] == [1, 2, 3]
    monkeypatch.setattr(InProcess, "result", play)
    assert play_games(SEARCH, tmp_path / "part", progress=False) == 3
    assert play_games(SEARCH, tmp_path / "part", progress=False) == 0
    np.testing.assert_equal(arrays_of(tmp_path / "part"), arrays_of(tmp_path / "whole"))


@pytest.mark.process
def test_games_do_not_depend_on_the_workers(tmp_path: Path) -> None:
    play_games(RANDOM, tmp_path / "one", progress=False)
    play_games(RANDOM, tmp_path / "two", jobs=2, progress=False)
    one, two = arrays_of(tmp_path / "one"), arrays_of(tmp_path / "two")
    np.testing.assert_equal(two, one)  # also NaN: a random player has no opinion
    assert sum(one["n_visited"]) == 0


def test_komi_differs_between_games(tmp_path: Path) -> None:
    plan = GamesPlan("random", 40, size=5, komi=2.5, komi_spread=4.0)
    play_games(plan, tmp_path, progress=False)
    a = arrays_of(tmp_path)
    komi = np.array(a["komi"])
    assert 2.0 < komi.std() < 6.0
    assert abs(komi.mean() - 2.5) < 2.0
    assert set(komi % 1) == {0.5}
    assert a["komi"][:3] == [plan.komi_of(number) for number in (1, 2, 3)]
    with pytest.raises(RlgoError, match="komi_spread"):
        play_games(plan._replace(komi_spread=1.0), tmp_path, progress=False)


def test_another_plan_is_refused(tmp_path: Path) -> None:
    play_games(RANDOM, tmp_path, progress=False)
    with pytest.raises(RlgoError, match="seed is 1, not 2"):
        play_games(GamesPlan("random", 6, size=5, komi=2.5, seed=2), tmp_path, progress=False)


def record(moves: int, seed: int, size: int = 5) -> bytes:
    game, rng = Game(size), np.random.default_rng(seed)
    for _ in range(moves):
        game.play(int(rng.choice(game.sensible_moves())))
    return write_sgf(game, "a", "b", "W+R")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "sgf"
    (folder / "more").mkdir(parents=True)
    contents = {
        "a.sgf": record(8, 1), "more/b.SGF": record(9, 2), "copy.sgf": record(8, 1), "nine.sgf": record(3, 1, 9),
        "no.sgf": b"hello", "empty.sgf": record(0, 1), "illegal.sgf": b"(;SZ[5];B[aa];W[aa])",
        "unknown.sgf": b"(;SZ[5]AB[cc]AW[dd];W[aa])", "note.txt": b"(;SZ[5];B[aa])",
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def test_sgf_files_are_read_and_bad_ones_listed(files: Path, tmp_path: Path) -> None:
    result = import_games(files, tmp_path / "games", size=5, progress=False)
    assert (result.games, result.copies) == (3, 1)
    assert result.bad == {
        "empty.sgf": "no moves",
        "illegal.sgf": "move 2: illegal move White A5: occupied",
        "nine.sgf": "9x9: expected 5x5",
        "no.sgf": result.bad["no.sgf"],
    }
    assert "not an SGF game record of Go" in result.bad["no.sgf"]
    games = unpack(read_collection([tmp_path / "games"]).arrays)
    np.testing.assert_equal([game.z for game in games], [0.0, 0.0, np.nan])
    assert list(games[2].setup) == [(2, 16), (1, 21)] or list(games[2].setup) == [(1, 21), (2, 16)]
    assert games[2].moves == [(2, 31)]
    assert import_games(files, tmp_path / "games", size=5, progress=False).copies == 4


def test_all_games_of_a_collection_are_imported(tmp_path: Path) -> None:
    (tmp_path / "sgf").mkdir()
    two = b"(;SZ[5]RE[B+R];B[ee];W[cc];B[dd])\n(;SZ[5]RE[W+R];B[cc];W[ee];B[bb])"
    (tmp_path / "sgf" / "a.sgf").write_bytes(two)
    (tmp_path / "sgf" / "b.sgf").write_bytes(two[:-1] + b"(;SZ[9];B[cc])(;SZ[5];B[ee];W[ee])(;SZ[5];B[aa])(;B[")
    result = import_games(tmp_path / "sgf", tmp_path / "games", size=5, progress=False)
    assert (result.games, result.copies) == (3, 2)
    assert {name: reason.rpartition(": ")[2] for name, reason in result.bad.items()} == {
        "b.sgf, game 3": "expected 5x5",
        "b.sgf, game 4": "occupied",
        "b.sgf, game 6": "expected a property before it, and ] at its end",
    }
    np.testing.assert_equal(
        [game.z for game in unpack(read_collection([tmp_path / "games"]).arrays)], [1.0, 0.0, np.nan]
    )


def test_records_of_other_games_are_kept(tmp_path: Path) -> None:
    (tmp_path / "games").mkdir()  # empty
    (tmp_path / "sgf").mkdir()
    record = tmp_path / "sgf" / "game-000001.sgf"
    record.write_text("(;)")
    with pytest.raises(RlgoError, match="sgf"):
        play_games(RANDOM, tmp_path / "games", sgf=tmp_path / "sgf", progress=False)
    assert record.read_text() == "(;)"


def test_the_commands(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "played")
    assert main(["games", "random", "--games", "3", "--size", "5", "--out", out]) == 0
    printed = capsys.readouterr()
    assert "random against itself, seed 1\n3 games, " in printed.out
    n_moves = len(read_collection([tmp_path / "played"]).arrays["move"])
    assert f"\n0 of {n_moves} positions with a search: only moves and results can be learned\n" in printed.out
    assert printed.err.count("rlgo: random reports no search: only moves and results can be learned\n") == 1
    assert main(["games", "info", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 3
    assert main(["games", "import", str(files), "--size", "5", "--out", str(tmp_path / "read")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].endswith("3 games added; 1 already there, 4 left out")
    assert "empty.sgf: no moves" in lines


def test_a_search_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["games", SEARCH.player, "--games", "2", "--size", "5", "--komi", "2.5", "--out", str(tmp_path)]
    assert main(argv) == 0
    printed = capsys.readouterr()
    arrays = read_collection([tmp_path]).arrays
    n, of = sum(len(set(o.visits)) > 1 for g in unpack(arrays) for o in g.opinions.values()), len(arrays["move"])
    assert n > of / 2
    assert re.search(rf"\n{n} of {of} positions with a search\n", printed.out)
    assert "reports no search" not in printed.err


def test_values_without_a_search_are_not_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A greedy player ranks all moves, and gives each the same number of visits."""
    save_weights(tmp_path / "w.npz", some_weights())
    play_games(GamesPlan(f"greedy,weights={tmp_path / 'w.npz'}", 2, size=5), tmp_path / "games", progress=False)
    games = read_collection([tmp_path / "games"])
    assert (games.arrays["n_visited"] > 1).any()
    assert summary(games)["searched"] == has_search(games.arrays).sum() == 0
    assert "reports no search" in capsys.readouterr().err


def test_komi_is_kept_with_each_game(tmp_path: Path) -> None:
    """That of the plan; of a record, unless it states none."""
    play_games(RANDOM, tmp_path / "played", progress=False)
    assert set(read_collection([tmp_path / "played"]).arrays["komi"]) == {2.5}
    for name, text in {"a": "KM[-3.5]", "b": "", "c": "KM[0]"}.items():
        (tmp_path / f"{name}.sgf").write_text(f"(;SZ[5]{text};B[a{name}])")
    import_games(tmp_path, tmp_path / "read", size=5, progress=False)
    np.testing.assert_array_equal(read_collection([tmp_path / "read"]).arrays["komi"], [-3.5, np.nan, 0])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["games", "nobody", "--games", "1"], "unknown player nobody"),
        (["games", "random"], "missing --games"),
        (["games", "import", "nowhere"], "nowhere: expected a folder with SGF files"),
        (["games", "info", "nowhere"], "nowhere: expected a folder of games"),
        (["games", "random", "--games", "1", "--size", "4"], "--size 4: expected an integer"),
    ],
)
def test_bad_input_is_one_line(
    argv: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
