"""Games to learn from, and what is learned from them.

Start reading at `shards.py` for what is kept of a game, and at `collect.py` for where games come from.
"""
