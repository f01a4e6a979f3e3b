"""What people run: configs, training runs, players, matches, benchmarks and the `rlgo` command.

Start reading at `cli/main.py`. Imports go one way only: `train` may import `mcts` and `rlgo`, never the reverse.
"""
