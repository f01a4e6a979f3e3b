"""Experiments: the papers' tables and figures, run again and compared with what the papers claim.

From the bottom up: `declaration` (what an experiment is, its file, and who plays whom), `results` (raw results, and
their analysis: ratings and verdicts on claims), `running` (training runs and games, and what they can decide), and
`report` (tables, pictures, docs/lab/results.md).
"""
