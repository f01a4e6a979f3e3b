"""Players: specs, keys, and external engines.

Start reading at `spec.py` for how a player is written, and at `keys.py` for its settings.
"""

import train.players.tree_keys  # noqa: F401  (registers the tree search family)
from train.players.keys import PLAYERS
from train.players.spec import make_player

__all__ = ["PLAYERS", "make_player"]
