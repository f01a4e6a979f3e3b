"""Training runs: one, many side by side, and how strong they are.

* `run` trains; `folder` manages its files, `monitor` its logs, `strength` its measurements
* `workers` puts the workers of a run on a Ray cluster
* `status` lists runs; `evaluate` rates them
* `fleet` trains many runs, each in its own process (`child`); `sweep` varies their settings
* `run_pictures` draws learning curves and sweeps
"""
