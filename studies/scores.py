"""Scores and chances of the default player against the results of its games: `python studies/scores.py --help`.

Start reading at `play`. The tables are in docs/lab/studies.md. Each command takes its games from, or adds them to, a
file of results/scores: a line of JSON for each game, with the final score, and what each search said.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import rlgo
from rlgo.play.calibration import STAGES, calibration_error
from rlgo.play.gtp.queries import AnalysisEngine
from train.play.curve import curve_of
from train.players.spec import make_player

app = typer.Typer(add_completion=False)
File = Annotated[Path, typer.Argument(help="of results/scores")]
PHASES = (0.15, 0.45)  # ends of the opening and the middle game, as in reviews


@app.command()
def play(file: File, size: int = 9, games: int = 40, simulations: int = 1_000, seed: int = 11) -> None:
    """Play games of the default player with itself; the first six moves are drawn by visits."""
    player, rng = make_player(f"rlgo,sims={simulations}", size, seed), np.random.default_rng(seed)
    raw = rlgo.Calibration._field_defaults
    player.calibration = player.calibration._replace(**raw)  # as `table` expects
    for _ in range(games):
        player.new_game()
        game, rows, decided = rlgo.Game(size, 7.5), [], 0
        while not game.is_over() and len(game.moves) < 2.2 * size * size:
            player.simulations = simulations if decided < 6 else max(100, simulations // 6)
            move, found, (score, _) = player.genmove(game), player.candidates(game), player.scores(game)
            if score is not None and player.result is not None:
                chance = player.chance(found[0].value, game)
                rows.append([len(game.moves), game.to_play, round(chance, 3), round(score, 2)])
                decided = decided + 1 if min(chance, 1 - chance) < 0.01 else 0
                if len(game.moves) < 6:
                    visits = np.array([c.visits for c in found], float)
                    move = found[rng.choice(len(found), p=visits / visits.sum())].move
            game.play(move)
        moves = " ".join(rlgo.to_vertex(p, size) for _, p in game.moves)
        known = {"size": size, "sims": simulations, "z": game.outcome, "score": game.score(), "moves": moves}
        with file.open("a") as f:
            f.write(json.dumps({**known, "rows": rows}) + "\n")


def read(file: Path) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Return the games, and a row for each position: game, stage, colour, chance, score, z, final score."""
    games = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [
        (i, n / g["size"] ** 2, color, chance, score, g["z"], g["score"])
        for i, g in enumerate(games)
        for n, color, chance, score in g["rows"]
    ]
    return games, np.array(rows, float)


@app.command()
def table(file: File, scale: float = 1.0, lean: float = 0.0) -> None:
    """Compare points (`rlgo.Calibration`) with chances and results; the file has raw scores."""
    games, rows = read(file)
    _, stage, _, chance, score, z, final = rows.T
    flat = (0.0,) * len(STAGES)
    calibration = rlgo.Calibration(flat, flat, flat, (scale,) * len(STAGES), (lean,) * len(STAGES))
    points = np.array([calibration.points(s, p, 0, 9) for s, p in zip(score.tolist(), chance.tolist(), strict=True)])
    sure, errors = np.abs(chance - 0.5) > 0.05, np.abs(points - final)
    agree = np.mean((points[sure] > 0) == (chance[sure] > 0.5))
    phase = np.searchsorted(PHASES, stage, side="right")
    print(f"{len(games)} games, {len(z)} positions, {sure.sum()} outside 45 to 55 %")
    print(f"the signs agree in {agree:.1%}; expected calibration error {calibration_error(chance, z):.3f}")
    print("mean error in points by phase:", *(f"{errors[phase == k].mean():.1f}" for k in range(3)))


@app.command()
def review(file: File, games: int = 4, simulations: int = 500) -> None:
    """Review games of a file; print what the moves of each side lost, a line of JSON for each game."""
    player = None
    for g in [json.loads(line) for line in file.read_text().splitlines()][:games]:
        size, moves = g.get("size", 9), g["moves"].split()
        player = player or make_player(f"rlgo,sims={simulations},memory_mb=64", size, 9)
        game = rlgo.Game(size, 7.5)
        for vertex in moves:
            game.play(vertex)
        steps = curve_of(game, player).steps
        lost = [[s.before.loss for s in steps if s.color == c and not math.isnan(s.before.loss)] for c in (1, 2)]
        sums = [round(sum(one), 4) for one in lost]
        known = {key: g[key] for key in ("black", "white", "result") if key in g}
        print(json.dumps({**known, "simulations": simulations, "moves": [len(one) for one in lost], "sum": sums}))


@app.command()
def katrain(file: File, games: int = 4, visits: int = 300) -> None:
    """Ask what KaTrain asks, and print how many points the move with most visits loses."""
    said: list[dict[str, Any]] = []
    found = read(file)[0][:games]
    queries = []
    for i, g in enumerate(found):
        moves = [["BW"[k % 2], move] for k, move in enumerate(g["moves"].split())]
        turns = list(range(min(len(moves), int(0.6 * g["size"] ** 2))))
        query = {"id": str(i), "moves": moves, "rules": "chinese", "komi": 7.5, "analyzeTurns": turns}
        queries.append(json.dumps({**query, "boardXSize": g["size"], "boardYSize": g["size"], "maxVisits": visits}))
    engine = AnalysisEngine(lambda size: make_player("rlgo", size, 1), lambda text: said.append(json.loads(text)))
    engine.run(queries)
    known = {(a["id"], a["turnNumber"]): a for a in said}
    after, among = [], []
    for (name, turn), answer in known.items():
        best, sign = answer["moveInfos"][0], 1 if answer["rootInfo"]["currentPlayer"] == "B" else -1
        lead = answer["rootInfo"]["scoreLead"]
        among.append(sign * (lead - best["scoreLead"]))
        if (name, turn + 1) in known and found[int(name)]["moves"].split()[turn] == best["move"]:
            after.append(sign * (lead - known[name, turn + 1]["rootInfo"]["scoreLead"]))
    print(f"{len(among)} answers; as a candidate, it loses {np.mean(among):.2f} points on average;")
    print(f"played, in {len(after)} positions, {np.mean(after):.2f}, with a median of {np.median(after):.2f}")


if __name__ == "__main__":
    sys.exit(app())
