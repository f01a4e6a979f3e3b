"""Experiments: the papers' tables and figures, run again and compared with what the papers claim.

From the bottom up: `config` (the tables of its file), `model` (what an experiment is), `reading` (its file), `raw` (its
results), `training`, `curves`, `matches`, `games` and `counts` (the work), `running` (one entry point for all of it),
`findings` (ratings and verdicts), `stated` (what papers state), `tables`, `experiment_pictures`
and `report` (docs/results.md).
"""
