"""Logs of a training run: TensorBoard event files, and the same numbers in metrics.jsonl.

Start reading at `Monitor.log`. Everything is written immediately, in the calling thread: the lengths of the files are
part of a run's state, and disk errors must reach the run. (tensorboardX's own `SummaryWriter` writes in a
separate thread, which can die silently.) tensorboardX is slow to load, so it is imported where it is used.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.files import write_atomically
from rlgo.features.weights import Weights
from rlgo.go.board import new_board
from rlgo.learning.value import ValueFunction
from train.board_pictures import png_of, shapes_figure, values_figure
from train.console import message
from train.plots import need_matplotlib

# The first columns of TensorBoard's table of runs.
COLUMNS = ("features.sizes", "learning.alpha", "policy.epsilon", "run.games", "run.seed")
# Of the pictures of V, the same for all steps and runs: an even game is in the middle.
_V_SCALE = (0.3, 0.7)
METRICS = (*(f"strength/win_rate_{name}" for name in ("shipped", "gnugo", "earlier_self", "random")), "strength/elo")


@cache
def _can_draw() -> bool:
    """Return whether there is matplotlib; if not, the first call says so."""
    try:
        need_matplotlib()
    except RlgoError as error:
        message(f"rlgo: no pictures: {error}")
        return False
    return True


class Monitor:
    """Writes logged numbers, distributions and pictures into a run folder, by number of games.

    Parameters
    ----------
    folder : the run folder
    session : number of this start of the run, from 1; each session has its own event file
    unit : what is counted

    Attributes
    ----------
    is_first : whether no earlier session has written events

    Raises
    ------
    RlgoError : if the folder cannot be written.
    """

    def __init__(self, folder: Path, session: int = 0, unit: str = "games"):
        from tensorboardX.event_file_writer import EventsWriter

        self.is_first = not any(path.stat().st_size for path in folder.glob("events.out.tfevents.*"))
        try:
            self._jsonl = (folder / "metrics.jsonl").open("a", encoding="utf-8")
            self._events = EventsWriter(str(folder / "events"), f".{session:04d}")
        except OSError as error:
            raise RlgoError(f"{folder}: cannot be written: {error.strerror}") from None
        self._folder, self._unit = folder, unit

    def log(self, games: int, scalars: dict[str, float]) -> None:
        """Log numbers after this many games. Names such as ``selfplay/game_length`` form groups."""
        from tensorboardX import summary

        for name, value in scalars.items():
            self._write(summary.scalar(name, value), games)
        print(json.dumps({self._unit: games, **scalars}), file=self._jsonl, flush=True)

    def learned(self, games: int, weights: Weights, occurrences: np.ndarray) -> None:
        """Log the distributions of each block's weights and of how often they occurred (TD paper, Fig. 4).

        Weights that never occurred are left out of both.

        Parameters
        ----------
        games : number of games so far
        weights : what the run has learned
        occurrences : int64[n_weights + 1], see `td.UpdateScratch`
        """
        for block in weights.features.blocks:
            seen = occurrences[block.start : block.stop]
            if seen.any():
                self.histogram(games, f"weights/{block.name}", weights.block(block)[seen > 0])
                self.histogram(games, f"occurrences/log10_{block.name}", np.log10(seen[seen > 0]))

    def pictures(self, games: int, weights: Weights) -> None:
        """Log pictures of V after each first move and of the strongest shapes of each block.

        Without matplotlib, say so once, and log none.
        """
        if not _can_draw():
            return
        size = weights.features.size
        values = ValueFunction(weights).afterstates(new_board(size))[:-1].reshape(size, size)
        self.image(games, "V/after_each_first_move", values_figure(values, *_V_SCALE))
        self.image(games, "shapes/strongest", shapes_figure(weights, 6))

    def histogram(self, games: int, name: str, values: np.ndarray, bins: int = 64) -> None:
        """Log the distribution of a non-empty array of finite numbers."""
        from tensorboardX import summary

        self._write(summary.histogram(name, values.astype(np.float64), bins), games)

    def image(self, games: int, name: str, figure: Any) -> None:
        """Log a figure of matplotlib."""
        from tensorboardX.proto.summary_pb2 import Summary

        width, height = (round(inches * figure.dpi) for inches in figure.get_size_inches())
        picture = Summary.Image(height=height, width=width, colorspace=4, encoded_image_string=png_of(figure))
        self._write(Summary(value=[Summary.Value(tag=name, image=picture)]), games)

    def text(self, name: str, content: str) -> None:
        """Log a page of text, in Markdown."""
        from tensorboardX import summary

        self._write(summary.text(name, content), 0)

    def hparams(
        self,
        values: Mapping[str, Any],
        is_finished: bool,
        columns: Sequence[str] = COLUMNS,
        metrics: Sequence[str] = METRICS,
    ) -> None:
        """Write the run's line in TensorBoard's table of runs: its settings, next to the last values of `metrics`.

        It has its own file, which is replaced as a whole: TensorBoard keeps the first line it finds, and a run that is
        resumed may get more games. The file's name comes first, because TensorBoard reads files by name and does not
        return to earlier ones.
        """
        from tensorboardX.proto.event_pb2 import Event

        now = time.time()
        events = [Event(wall_time=now, file_version="brain.Event:2")]
        events += [Event(wall_time=now, summary=summary) for summary in _hparams(values, is_finished, columns, metrics)]
        data = b"".join(_record(event.SerializeToString()) for event in events)
        write_atomically(self._folder / "config.tfevents", data)

    def _write(self, summary: Any, games: int) -> None:
        from tensorboardX.proto.event_pb2 import Event

        self._events.write_event(Event(wall_time=time.time(), step=games, summary=summary))

    def lengths(self) -> dict[str, int]:
        """Flush everything to the disk, and return the length in bytes of every file that the run appends to."""
        self._jsonl.flush()
        os.fsync(self._jsonl.fileno())
        self._events.flush()  # with fsync
        files = [self._folder / "metrics.jsonl", *self._folder.glob("events.out.tfevents.*")]
        return {path.name: path.stat().st_size for path in files}

    def close(self) -> None:
        """Flush and close the files."""
        try:
            self._events.close()
        finally:
            self._jsonl.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _record(data: bytes) -> bytes:
    """Encode a record of an event file: its length and its content, each with a checksum."""
    from tensorboardX.record_writer import masked_crc32c

    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))


def _hparams(values: Mapping[str, Any], is_finished: bool, columns: Sequence[str], metrics: Sequence[str]) -> list[Any]:
    """Make the summaries of TensorBoard's plugin "hparams": columns of all runs, settings of this one, and its end."""
    from tensorboardX import summary

    ordered = {**{key: values[key] for key in columns}, **values}
    shown = {key: value if isinstance(value, int | float) else str(value) for key, value in ordered.items()}
    experiment, start, end = summary.hparams(shown, dict.fromkeys(metrics))
    return [experiment, start, *([end] if is_finished else [])]
