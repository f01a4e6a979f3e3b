"""The process of one run of a fleet: what ``python -m train.runs.child train ...`` runs.

It takes the arguments of `rlgo train` that start or resume a run, and ends the same way, with the same last
line on standard error and the same exit status. Unlike `rlgo train`, it saves the run and stops when its standard
input is closed, so that no run outlives its fleet. This module is an entry point: nothing imports it.
"""

from __future__ import annotations

import _thread
import argparse
import os
import sys
import threading
from collections.abc import Sequence

from train.config import load_config
from train.process import exit_status, prepare_process
from train.runs.run import resume, run


def main(argv: Sequence[str]) -> int:
    """Train one run until it ends or standard input is closed; return the exit status; see `exit_status`.

    Parameters
    ----------
    argv : ``train CONFIG --set KEY=VALUE ...`` or ``train --resume FOLDER``
    """
    parser = argparse.ArgumentParser(prog="python -m train.runs.child")
    parser.add_argument("command", choices=["train"])
    parser.add_argument("config", nargs="?")
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--resume")
    arguments = parser.parse_args(argv)
    sys.argv = ["rlgo", *argv]  # the run records the command that a person would type

    def start() -> None:
        threading.Thread(target=_watch_stdin, daemon=True).start()
        if arguments.resume is not None:
            resume(arguments.resume)
        else:
            run(load_config(arguments.config, arguments.set))

    return exit_status(start)


def _watch_stdin() -> None:
    """Interrupt the main thread, as Ctrl-C would, when standard input is closed."""
    os.read(0, 1)
    _thread.interrupt_main()


if __name__ == "__main__":
    prepare_process()
    sys.exit(main(sys.argv[1:]))
