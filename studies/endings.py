"""Compare the ends of games with GNU Go's: results/endings.json.

    rlgo match rlgo,strength=5 rlgo,strength=8 --games 200 --seed 72 --sgf games
    python studies/endings.py games results/endings.json

Each line of the answer is about a game whose end differs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rlgo.go.coords import to_vertex
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.go.sgf import load_sgf
from rlgo.play.ending import Endings
from train.players.networks import make_judge

GNUGO = [shutil.which("gnugo") or "/usr/games/gnugo", "--mode", "gtp", "--chinese-rules"]
_DAME = 2  # points by which the two scores may differ


def by_gnugo(game: Game) -> str:
    """Return GNU Go's result of the position; ? if it depends on who moves first, by more than a neutral point."""
    scores = {}
    for first in COLOR_NAMES:
        commands = [f"boardsize {game.size}", f"komi {game.komi}"]  # the other colour's stones come last
        commands += [
            f"play {COLOR_NAMES[color]} {to_vertex(p, game.size)}"
            for color in (first, 3 - first)
            for p in game.stones(color)
        ]
        text = "\n".join([*commands, "final_score"]) + "\n"
        done = subprocess.run(GNUGO, input=text, capture_output=True, text=True, check=True)
        scores[first] = done.stdout.strip().rsplit("\n", 1)[-1].lstrip("= ").removesuffix(".0")
    one, other = (float(s[2:] or 0) * (1 if s[0] == "B" else -1) for s in scores.values())
    return "?" if abs(one - other) > _DAME else scores[game.to_play]


def main(folder: str, file: str) -> None:
    """Compare all records of a folder."""
    end, rows = Endings(make_judge), []
    for path in sorted(Path(folder).glob("*.sgf")):
        game = load_sgf(path, 7.5)
        if game.resigned or not game.is_over():
            continue
        start = time.process_time()
        ending = end(game)
        seconds = time.process_time() - start
        rows.append([path.stem, ending.result, by_gnugo(game), round(seconds, 2)])
        if ending.result != rows[-1][2]:
            print(*rows[-1], flush=True)
    same = sum(ours == theirs for _, ours, theirs, _ in rows)
    winner = sum(ours[0] == theirs[0] for _, ours, theirs, _ in rows)
    mean = sum(row[3] for row in rows) / max(1, len(rows))
    print(f"{len(rows)} games: same score {same}, same winner {winner}, {mean:.2f} s of CPU time a game")
    differs = [row for row in rows if row[1] != row[2]]
    data = {
        "games": len(rows),
        "same_score": same,
        "same_winner": winner,
        "both_unfinished": [name for name, ours, theirs, _ in rows if ours == theirs == "?"],
        "cpu_seconds": round(mean, 3),
        "differ": differs,
    }
    Path(file).write_text(json.dumps(data) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
