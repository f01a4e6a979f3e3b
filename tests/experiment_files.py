"""Files of small experiments, on 5x5."""

from __future__ import annotations

from pathlib import Path

BASE = """
[run]
games = 250
log_every = 100
eval_every = 0
eval_games = 2
[board]
size = 5
komi = 0.5
[features]
sizes = [1, 2]
"""
CURVES = """
[experiment]
base = "BASE"
seeds = 2
games = 4
[runs.b]
learning.alpha = 0.02
[runs.a]
[runs.wild]
seeds = [3]
learning = {alpha = 1000.0, value = "linear"}
"""
GAMES = """
[experiment]
kind = "games"
pairing = "round_robin"
games = 4
size = 5
komi = 0.5
[players]
chance = "random"
[[series]]
label = "greedy"
player = "greedy,weights=nosuch.npz,epsilon={x}"
x = [0, 0.5]
"""

RIVALS = """
[experiment]
kind = "games"
pairing = "gauntlet"
games = 2
komi = 0.5
[[series]]
label = "left"
player = "random,seed={x}"
x = [5, 7]
against = "right"
size = "{x}"
[[series]]
label = "right"
player = "random"
x = [7, 5, 6]
size = "{x}"
"""
CLAIM = '[[claims]]\ntext = "so"\na = "b"\nlow = 0\n'


def write(folder: Path, text: str, name: str = "tiny") -> Path:
    """An experiment's file, its base beside it."""
    (folder / "base.toml").write_text(BASE, "utf-8")
    path = folder / f"{name}.toml"
    path.write_text(text.replace("BASE", str(folder / "base.toml")), "utf-8")
    return path
