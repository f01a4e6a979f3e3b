"""Making and judging openings: the band, resuming, engines as judges."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from train.arena.make_openings import OpeningsPlan, judge_openings, make_openings
from train.arena.openings import position_key, read_openings
from train.cli.main import main
from train.players.engines import EngineError, GtpClient

PLAN = OpeningsPlan("mc_rave,sims=40", 6, size=5, komi=7.5, plies=2, low=0.2, high=0.8, seed=3)

# An engine whose analysis of any position is what its argument says.
ENGINE = r"""
import sys
style, rate = sys.argv[1:]
waits = False
for line in sys.stdin:
    words = line.split()
    if waits:
        print(flush=True)
        waits = False
    if words[0] == "known_command":
        print("=", str(words[1] == style).lower(), end="\n\n", flush=True)
    elif words[0] == style:
        print("=")
        for visits in (10, 120, 250):
            other = "info move C2 visits 9 winrate 0 order 1 pv C2"
            print(f"info move C3 visits {visits} winrate {rate} order 0 pv C3 {other}")
        sys.stdout.flush()
        waits = True
    else:
        print("= x" if words[0] in ("name", "version") else "=", end="\n\n", flush=True)
"""


def engine(folder: Path, style: str, rate: str) -> str:
    path = folder / "engine.py"
    path.write_text(ENGINE)
    return shlex.join([sys.executable, str(path), style, rate])


def test_openings_are_in_the_band_and_different(tmp_path: Path) -> None:
    out = tmp_path / "own.jsonl"
    assert make_openings(PLAN, out, progress=False) == 6
    found = read_openings(out, 5)
    assert all(0.2 <= opening.chance <= 0.8 for opening in found)
    assert all(opening.value == opening.chance for opening in found)  # this judge has no calibration
    assert len({position_key(opening.moves, 5) for opening in found}) == 6
    assert all(len(opening.moves) == 2 for opening in found)
    numbers = [opening.number for opening in found]
    assert numbers == sorted(set(numbers))


def test_a_file_is_continued(tmp_path: Path) -> None:
    """Also after its last line was cut off: as if it had been made at once."""
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    make_openings(PLAN, whole, progress=False)
    assert make_openings(PLAN._replace(total=3), parts, progress=False) == 3
    parts.write_bytes(parts.read_bytes()[:-9])
    assert make_openings(PLAN, parts, progress=False) == 4
    assert parts.read_bytes() == whole.read_bytes()
    with pytest.raises(RlgoError, match="other openings: seed is 3, not 4; move the file away"):
        make_openings(PLAN._replace(seed=4), parts, progress=False)


def test_openings_of_other_files_do_not_come_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    make_openings(PLAN, first, progress=False)
    make_openings(PLAN, second, [first], progress=False)
    keys = [position_key(opening.moves, 5) for path in (first, second) for opening in read_openings(path, 5)]
    assert len(set(keys)) == 12


def test_moves_stay_off_the_edge(tmp_path: Path) -> None:
    out = tmp_path / "own.jsonl"
    make_openings(PLAN, out, progress=False)
    for opening in read_openings(out, 5):
        assert all(2 <= p // 6 <= 4 and 2 <= p % 6 <= 4 for p in opening.moves)  # points of the padded 5x5 board


@pytest.mark.parametrize(("style", "rate"), [("lz-analyze", "4200"), ("kata-analyze", "0.42")])
def test_an_engine_judges(tmp_path: Path, style: str, rate: str) -> None:
    """Black is to play after two moves, and White after one: the win rate is that of the side to play."""
    spec = f"gtp:{engine(tmp_path, style, rate)}"
    path = tmp_path / "own.txt"
    path.write_text("C3 B2\t0.1\nC3\t0.9\nC2\t0.8\n")
    judgement = judge_openings(path, PLAN._replace(judge=spec, low=0.4, high=0.5), progress=False)
    assert [opening.chance for opening in judgement.openings] == pytest.approx([0.42, 0.58, 0.58])
    assert judgement.inside == 1
    assert judgement.correlation > 0.98
    assert "1 of 3 openings in the band" in str(judgement)
    assert len(judge_openings(path, PLAN._replace(judge=spec), 2, progress=False).openings) == 2
    assert len(judge_openings("random:1", PLAN._replace(judge=spec), 7, progress=False).openings) == 7


def test_a_file_without_openings_says_so(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("no line")
    with pytest.raises(RlgoError, match=r"own.jsonl: damaged, or not a file of openings"):
        make_openings(PLAN, path, progress=False)
    path.unlink()
    make_openings(PLAN._replace(total=1), path, progress=False)
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(RlgoError, match=r"own.jsonl: has no openings yet"):
        judge_openings(path, PLAN, progress=False)


def test_our_own_engine_judges() -> None:
    command = shlex.join([sys.executable, "-m", "rlgo", "gtp", "--player", "mc_rave,sims=400", "--size", "5"])
    with GtpClient(command, 5) as client:
        game = Game(5, 7.5)
        assert 0 < client.analyze(game, 100) < 1
        assert client.send("name")  # the next answer is its own


@pytest.mark.parametrize(
    ("style", "rate", "message"),
    [("other", "1", "expected an engine that knows kata-analyze or lz-analyze"), ("lz-analyze", "x", "a win rate")],
)
def test_engines_that_cannot_judge(tmp_path: Path, style: str, rate: str, message: str) -> None:
    with GtpClient(engine(tmp_path, style, rate), 5) as client, pytest.raises(EngineError, match=message):
        client.analyze(Game(5), 100)


def test_a_player_without_values_cannot_judge(tmp_path: Path) -> None:
    with pytest.raises(RlgoError, match="player random: has no values: expected one that can judge"):
        make_openings(PLAN._replace(judge="random"), tmp_path / "own.jsonl", progress=False)


def test_a_band_that_nothing_falls_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.arena.make_openings._MOST_REJECTED", 20)
    with pytest.raises(RlgoError, match="none of 20 candidates in a row was kept: expected a wider band"):
        make_openings(PLAN._replace(judge="mc_rave,sims=2", low=0.4, high=0.41), tmp_path / "own.jsonl", progress=False)


def test_bad_plans() -> None:
    with pytest.raises(RlgoError, match=r"band = 0\.8-0\.8: expected a lower and a higher chance"):
        validated(PLAN._replace(low=0.8))
    with pytest.raises(RlgoError, match="plies = 7: expected at most 6 on 5x5"):
        validated(PLAN._replace(plies=7))
    with pytest.raises(RlgoError, match="line = 3: expected at most 2 on 5x5"):
        validated(PLAN._replace(line=3))


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "own.jsonl")
    argv = ["openings", "make", "-o", out, "--count", "2", "--size", "5", "--plies", "2", "--judge", "mc_rave,sims=40"]
    assert main([*argv, "--band", "0.1-0.9"]) == 0
    assert "2 new openings, 2 in all" in capsys.readouterr().out
    assert main(["match", "random", "random", "--games", "4", "--size", "5", "--openings", out]) == 0
    assert f"openings: {out}" in capsys.readouterr().out
    assert main(["openings", "judge", out, "--size", "5", "--judge", "mc_rave,sims=40", "--band", "0.1-0.9"]) == 0
    assert "2 of 2 openings in the band" in capsys.readouterr().out
    missing = str(tmp_path / "missing")
    assert main([*argv[:3], str(tmp_path / "new"), *argv[4:], "--exclude", missing]) == 2
    assert main(["openings", "judge", missing]) == 2
    err = capsys.readouterr().err
    assert f"{missing}: cannot be read: No such file" in err
    assert "expected balanced, balanced-tuning, random:N, empty or a file of openings" in err
    argv_of_judge = ["openings", "judge", "random:2", "--size", "5", "--judge", "mc_rave,sims=40", "--count", "3"]
    assert main(argv_of_judge) == 0
    out = capsys.readouterr().out
    assert "of 3 openings in the band" in out
    assert "mean of p (1 - p) 0." in out
    assert main([*argv, "--band", "0.9-0.1"]) == 2
    assert "expected two chances with a hyphen between them: 0.3-0.7" in capsys.readouterr().err
