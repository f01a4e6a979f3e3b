"""Monte-Carlo tree search: UCT, RAVE and their heuristics will stand here, on the board core of `rlgo`.

Nothing is implemented yet. Imports go one way only: `train` may import `mcts`, `mcts` may import `rlgo`.
"""
