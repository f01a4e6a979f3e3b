"""What a training run writes while it runs: TensorBoard's event files, and the numbers in metrics.jsonl too.

Start reading at `Monitor.log`. Everything is written at once, in this thread: the lengths of the files are part
of a run's state, and an error of the disk must reach the run. (tensorboardX's own `SummaryWriter` writes in a
thread that dies without a word.)
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.errors import RlgoError


class Monitor:
    """Writes points, by game, into a run folder.

    folder : of the run
    session : number of times that the run was started before; each session has an event file of its own
    """

    def __init__(self, folder: Path, session: int = 0):
        from tensorboardX.event_file_writer import EventsWriter

        try:
            self._jsonl = (folder / "metrics.jsonl").open("a", encoding="utf-8")
            self._events = EventsWriter(str(folder / "events"), f".{session:04d}")
        except OSError as error:
            raise RlgoError(f"{folder}: cannot be written: {error.strerror}") from None
        self._folder = folder

    def log(self, games: int, scalars: dict[str, float]) -> None:
        """One point: `scalars` after this many games. Names like ``selfplay/game_length`` make groups."""
        from tensorboardX import summary

        for name, value in scalars.items():
            self._write(summary.scalar(name, value), games)
        print(json.dumps({"games": games, **scalars}), file=self._jsonl, flush=True)

    def histogram(self, games: int, name: str, values: np.ndarray, bins: str | int = 64) -> None:
        """The distribution of an array of finite numbers."""
        from tensorboardX import summary

        self._write(summary.histogram(name, values.astype(np.float64), bins), games)

    def image(self, games: int, name: str, rgb: np.ndarray) -> None:
        """A picture, uint8[height, width, 3]."""
        from tensorboardX import summary

        self._write(summary.image(name, rgb, dataformats="HWC"), games)

    def text(self, name: str, content: str) -> None:
        """A text page of TensorBoard (Markdown)."""
        from tensorboardX import summary

        self._write(summary.text(name, content), 0)

    def summaries(self, summaries: Any) -> None:
        """Summaries of tensorboardX as they are."""
        for one in summaries:
            self._write(one, 0)

    def _write(self, summary: Any, games: int) -> None:
        from tensorboardX.proto.event_pb2 import Event

        self._events.write_event(Event(wall_time=time.time(), step=games, summary=summary))

    def lengths(self) -> dict[str, int]:
        """The length in bytes of every file written by this run so far, all of it on the disk."""
        self._jsonl.flush()
        self._events.flush()
        files = [self._folder / "metrics.jsonl", *self._folder.glob("events.out.tfevents.*")]
        return {path.name: path.stat().st_size for path in files}

    def close(self) -> None:
        """Flush and close."""
        self._events.close()
        self._jsonl.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
