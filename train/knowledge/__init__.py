"""Games to learn from, and patterns learned from them.

Start reading at `shards.py` for what is kept of a game, and at `collect.py` for where games come from.
"""
