"""What people run: players by name, matches, training runs, experiments and the `rlgo` command.

Start reading at `cli/main.py`. The rooms, from the lowest floor up; each imports only lower ones:

* `stats`, `checksums`, `provenance`, `locks`, `process`, `console`, `plots`, `ray_cluster`: basics that know nothing of
  Go
* `settings`, `config`: what values may be, and the TOML files that hold them; `board_pictures`
* `players`: players by name, from a text such as ``dyna2,simulations=500``
* `arena`: matches, tournaments and ratings; `play`: games with people and other programs
* `runs`: training runs, alone and in sweeps; `games`: training games, and patterns and calibrations learned from them
* `network`: networks, learned from games; `experiments`: the papers' tables and figures; `bench`: measurements of speed
* `cli`: the command line

>>> from train import make_player, play_match
>>> play_match("greedy", "random", games=2, progress=False).wins
2.0
"""

from rlgo.base.lazy import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "train.arena.match": ("play_match",),
        "train.games.collect": ("GamesPlan", "play_games"),
        "train.config": ("load_config",),
        "train.players": ("make_player",),
        "train.runs.callbacks": ("Callback",),
        "train.runs.run": ("run",),
    },
)
