"""`python -m rlgo` is the `rlgo` command. The one place in this package that knows `train`."""

import sys

from train.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
