"""What a training run writes while it runs: TensorBoard scalars, and the same numbers in metrics.jsonl.

Start reading at `Monitor.log`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rlgo.errors import RlgoError


class Monitor:
    """Writes points of numbers, by game, to TensorBoard and to `metrics.jsonl` of a run folder."""

    def __init__(self, folder: Path):
        from tensorboardX import SummaryWriter

        try:
            self._jsonl = (folder / "metrics.jsonl").open("a", encoding="utf-8")
            self._writer = SummaryWriter(str(folder), flush_secs=10)
        except OSError as error:
            raise RlgoError(f"{folder}: cannot be written: {error.strerror}") from None

    def log(self, games: int, scalars: dict[str, float]) -> None:
        """One point: `scalars` after this many games. Names like ``selfplay/game_length`` make groups."""
        for name, value in scalars.items():
            self._writer.add_scalar(name, value, games)
        print(json.dumps({"games": games, **scalars}), file=self._jsonl, flush=True)

    def text(self, name: str, content: str) -> None:
        """A text page of TensorBoard (Markdown)."""
        self._writer.add_text(name, content)

    def close(self) -> None:
        """Flush and close."""
        self._writer.close()
        self._jsonl.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
