"""Training games, and what is learned from them: patterns, calibrations, default policies.

Start reading at `shards.py` for what is kept of a game, and at `collect.py` for where games come from.
"""
