"""Monte-Carlo tree search: flat, greedy, UCT, RAVE, MC-RAVE, UCT-RAVE, and all of them with prior knowledge.

Start reading at `search.py` for the loop, `rave.py` for the formula. `player.TreeSearch` is all of them as a player.
Imports go one way only: `train` may import `mcts`, `mcts` may import `rlgo`.
"""
