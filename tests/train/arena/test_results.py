"""Results files: they persist, can be continued, and are not confused with others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from stand_ins import SMALL_ENGINE, games_of, write_gated_engine

from rlgo.base.errors import RlgoError
from rlgo.go.clock import TimeSettings
from train.arena.match import play_match
from train.arena.results import FORMAT, open_results
from train.checksums import add_checksum

ROOT = Path(__file__).resolve().parents[3]
FIVE: dict[str, Any] = {"size": 5, "komi": 2.5, "progress": False}


@pytest.mark.process
def test_results_are_appended_and_a_match_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    whole = play_match("random", "open_spiel,sims=8", 8, **FIVE)
    part = play_match("random", "open_spiel,sims=8", 4, results=path, **FIVE)
    before = path.read_bytes()
    assert part.scores == whole.scores[:2]
    assert play_match("random", "open_spiel,sims=8", 8, results=path, jobs=2, **FIVE) == whole
    assert path.read_bytes().startswith(before)
    assert sorted(game["game"] for game in games_of(path)) == list(range(1, 9))
    # Nothing is left to do; of a longer match, a shorter one is asked for.
    after = path.read_bytes()
    assert play_match("random", "open_spiel,sims=8", 8, results=path, **FIVE) == whole
    assert play_match("random", "open_spiel,sims=8", 4, results=path, **FIVE) == part
    assert path.read_bytes() == after
    game, swapped = sorted(games_of(path), key=lambda game: game["game"])[:2]
    assert (game["black"], game["white"], game["opening"]) == ("random", "open_spiel,sims=8", 1)
    assert (swapped["white"], swapped["black"], swapped["opening"]) == ("random", "open_spiel,sims=8", 1)
    assert game["moves"].split()[:4] == swapped["moves"].split()[:4]
    assert game["moves"].endswith("pass pass")
    assert game["result"][:2] in ("B+", "W+")


@pytest.mark.parametrize("torn", [b'{"game": 3, "op', b"{", b'{"game": 3}'])
def test_a_game_that_was_being_written_is_played_again(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "results.jsonl"
    play_match("random", "random", 2, results=path, **FIVE)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    result = play_match("random", "random", 4, results=path, **FIVE)
    assert result == play_match("random", "random", 4, **FIVE)
    assert path.read_bytes().startswith(whole)
    assert [game["game"] for game in games_of(path)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", None),
        ("hello\n", "damaged, or not a results file"),
        ("[]\n", "damaged, or not a results file"),
        ("{}\n", "damaged, or not a results file"),
        ("\x00\xff" * 40 + "\n", "damaged, or not a results file"),
        ('{"format": 1}\n', "damaged, or not a results file"),
        (json.dumps(add_checksum({"format": FORMAT})) + "\n", "results of other games: a is null, not"),
        (json.dumps(add_checksum({"format": 1})) + "\n", "results of other games: format is 1, not"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, content: str, message: str | None) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(content, "latin-1")
    if message is None:
        play_match("random", "random", 2, results=path, **FIVE)
        return
    before = path.read_bytes()
    with pytest.raises(RlgoError, match=message) as error:
        play_match("random", "random", 2, results=path, **FIVE)
    assert str(path) in str(error.value)
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_a_pipe_keeps_no_results(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # on which reading and writing would wait for ever
    with pytest.raises(RlgoError, match="pipe: expected a file, found a device or a pipe"):
        play_match("random", "random", 2, results=tmp_path / "pipe", **FIVE)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 2}, "seed is 1, not 2"),
        ({"komi": 7.5}, "komi is 2.5, not 7.5"),
        ({"size": 6}, "size is 5, not 6"),
        ({"openings": "random:2"}, 'openings is "random:4", not "random:2"'),
        ({"time": TimeSettings(60)}, 'time is "", not "60"'),
        ({"b": "open_spiel,sims=8"}, 'b is "random", not "open_spiel,sims=8"'),
    ],
)
def test_results_of_another_match(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "results.jsonl"
    arguments = {"a": "random", "b": "random", "games": 2, **FIVE}
    play_match(**arguments, results=path)
    before = path.read_bytes()
    with pytest.raises(RlgoError, match=f"results of other games: {message}"):
        play_match(**{**arguments, **changes}, results=path)
    assert path.read_bytes() == before


def test_files_of_earlier_versions_are_continued(tmp_path: Path) -> None:
    """Which say that engines were not asked for scores, and give those scores."""
    path = tmp_path / "results.jsonl"
    play_match("random", "random", 2, results=path, **FIVE)
    header, *games = [json.loads(line) for line in path.read_text().splitlines()]
    older = [{**header, "check_scores": False}, *({**game, "scores": {}} for game in games)]
    lines = [json.dumps(add_checksum({k: v for k, v in line.items() if k != "check"})) for line in older]
    path.write_text("\n".join(lines) + "\n")
    assert play_match("random", "random", 4, results=path, **FIVE).games == 4


def test_broken_lines_in_the_middle_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    play_match("random", "random", 4, results=path, **FIVE)
    lines = path.read_text().splitlines()
    for broken in ("{}", "nonsense", lines[2][:-9], lines[2].replace("B+", "W+"), lines[2].replace("W+", "B+")):
        if broken == lines[2]:
            continue
        path.write_text("\n".join([*lines[:2], broken, *lines[3:]]) + "\n")
        with pytest.raises(RlgoError, match=r"results\.jsonl, line 3: damaged, or not the result of a game"):
            play_match("random", "random", 4, results=path, **FIVE)
    path.write_text("\n".join([*lines, lines[2]]) + "\n")
    with pytest.raises(RlgoError, match="1 games appear twice"):
        play_match("random", "random", 4, results=path, **FIVE)


def test_one_process_at_a_time_writes(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with open_results(path, {}, 5), pytest.raises(RlgoError, match="another process is writing to it"):
        play_match("random", "random", 2, results=path, **FIVE)


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 1), (signal.SIGTERM, 2), (signal.SIGKILL, 2)])
@pytest.mark.process
@pytest.mark.slow
def test_a_match_that_is_stopped_plays_each_remaining_game_once(tmp_path: Path, number: int, jobs: int) -> None:
    """Also as a shell's background job, which has Ctrl-C ignored."""
    path, gate = tmp_path / "results.jsonl", tmp_path / "gate"
    engine = write_gated_engine(tmp_path, path, gate)
    command = [sys.executable, "-m", "rlgo", "match", "random", engine, "--size", "5", "--games", "40"]
    command += ["--jobs", str(jobs), "--results", str(path)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    while process.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") > 4):
        time.sleep(0.01)
    process.send_signal(number)
    process.wait(600)
    gate.touch()  # whoever outlives the process, too
    out, err = process.communicate(timeout=600)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 128 + number, err
        assert "interrupted before the last game" in out
        assert "interrupted; the same command continues" in err
    done = len(games_of(path)) if path.read_bytes().endswith(b"\n") else None
    assert done is None or 3 <= done < 40  # a signal cuts off what is not safely on the disk, the fourth perhaps
    finished = subprocess.run(
        [*command, "--json", str(tmp_path / "x.json")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "won" in finished.stdout
    assert sorted(game["game"] for game in games_of(path)) == list(range(1, 41))
    result = json.loads((tmp_path / "x.json").read_text())
    assert (result["games"], result["interrupted"]) == (40, False)


@pytest.mark.process
def test_what_an_engine_says_does_not_break_the_file(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        SMALL_ENGINE.replace('free.pop(0) if len(free) > 12 else "pass"', '"\\u2028\\u0085\\x1c"')
    )
    odd = f"gtp:'{sys.executable}' '{tmp_path / 'odd.py'}'"
    path = tmp_path / "r.jsonl"
    environment = {"PYTHONIOENCODING": "utf-8"}
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environment.items():
            patch.setenv(key, value)
        result = play_match(odd, "random", 2, results=path, **FIVE)
        assert result.forfeits == 2
        assert play_match(odd, "random", 4, results=path, **FIVE).forfeits == 4
