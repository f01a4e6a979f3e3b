"""What people run: players by name, matches, training runs, experiments and the `rlgo` command.

Start reading at `cli/main.py`. The rooms, from the lowest floor up; each imports only lower ones:

* `stats`, `provenance`, `locks`, `console`, `plots`, `ray_cluster`: the ground floor, which knows nothing of Go
* `settings`, `config`: what values may be, and the TOML files that hold them
* `players`: everyone who can play, from a text such as ``dyna2,simulations=500``
* `arena`: matches, tournaments and ratings; `play`: games with people, servers and other programs
* `runs`: training runs, alone and in sweeps; `knowledge`: patterns, learned from games; `playouts`: default policies
* `experiments`: the papers' tables and figures; `bench`: how fast everything is
* `cli`: the command line
"""
