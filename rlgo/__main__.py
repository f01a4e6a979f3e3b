"""Run the `rlgo` command by `python -m rlgo`. This is the only module of the package that imports `train`."""

import sys

from train.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
