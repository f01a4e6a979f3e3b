"""Callbacks of training runs, in the manner of Stable-Baselines3: start reading at `Callback`."""

from __future__ import annotations

from typing import Any


class Callback:
    """What a training run calls between games. Derive from it, and override what you need; see `train.run`.

    `run` is the run in progress: `run.config`, `run.folder`, `run.learner` (with `games` and `theta`), `run.weights()`,
    `run.elo` and `run.strength()`, both as last measured. ``run.record("mine/number", 1.0)`` adds a number to its logs.
    A resumed run has no callbacks.

    >>> from train import Callback
    >>> class StopAt(Callback):
    ...     def on_step(self, run):
    ...         return run.elo < 1_000
    """

    def on_training_start(self, run: Any) -> None:
        """Follow the start of the run, before its first game."""

    def on_step(self, run: Any) -> bool | None:  # noqa: ARG002 - for those who override it
        """Follow each pause of the run, after its logs, measurements and checkpoint.

        The run pauses every `run.log_every` and `run.eval_every` games, and at checkpoints. False ends it: it is saved
        like an interrupted one. Anything else goes on.
        """
        return True

    def on_training_end(self, run: Any) -> None:
        """Follow the end of the run, once its weights are written."""
