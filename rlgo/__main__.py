"""Run the `rlgo` command by `python -m rlgo`. This is the only module of the package that imports `train`."""

import sys
from pathlib import Path

# `-m` looks in the current folder first, where a train.py or mcts.py of the user's would hide ours.
if not sys.flags.safe_path and Path(sys.path[0]).resolve() != Path(__file__).resolve().parents[1]:
    del sys.path[0]

from train.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
