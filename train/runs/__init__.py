"""Training runs: one, many side by side, and how strong they are.

* `run` trains; `folder` manages its files, `monitor` its logs, `strength` its measurements
* `workers` puts the workers of a run on a Ray cluster
* `status` lists runs; `compare` and `evaluate` play them against each other
* `fleet` trains many runs, each in its own process (`child`); `sweep` varies their settings
* `run_pictures` draws comparisons, sweeps and ratings
"""
