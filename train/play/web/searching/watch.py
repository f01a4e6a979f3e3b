"""Views of a running search: ten updates a second, and a history for the slider.

Start reading at `Watch.look`. A look costs search time, because it happens between two slices. So the next look waits
until this one has cost less than two per cent of the time since.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rlgo.go.game import Game
from rlgo.play.player import Player, SearchStatistics, name_of_move
from rlgo.search.deepening import AlphaBetaResult, sigmoid
from train.play.web.messages.positions import NAMES, vertices_of

SEND_SECONDS = 0.1  # between two messages
SO_FAR_SECONDS = 0.7  # between two calls of `so_far`, which takes time
LOOK_SECONDS = 0.01  # between two frames at the start of a search
_COST_SHARE = 0.02  # of the search's time
_LONGEST_WAIT = 1.0  # seconds after a look that took long, such as one that compiled
_LINES, _LINE_MOVES = 10, 30
_BEST = 3  # moves of a curve
_COUNTS = ("visits", "n_amaf")  # columns of whole numbers
_DIGITS = 4


class Frame(NamedTuple):
    """The statistics of a search at one moment."""

    statistics: SearchStatistics
    seconds: float
    score: float | None = None  # Black's points (`Player.scores`)


class Subject(NamedTuple):
    """What is searched, and for whom."""

    role: str
    number: int  # number of the search within its tab
    spec: str
    game: Game


class Watch:
    """Takes frames of a search, and keeps them.

    Parameters
    ----------
    subject : what is searched
    player : the player that searches
    send : called with each message, as JSON
    most : frames to keep; when there are more, every second one is dropped
    clock : returns seconds
    """

    def __init__(
        self,
        subject: Subject,
        player: Player,
        send: Callable[[str], None],
        most: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.subject, self._player, self._send, self._most, self._clock = subject, player, send, most, clock
        self.frames: list[Frame] = []
        self.is_on = True
        self.so_far: Callable[[Game, Player], None] | None = None  # called now and then, and at the end
        self._began = clock()
        self._so_far_at = self._began
        self._due, self._sent, self._every = self._began, -SEND_SECONDS, LOOK_SECONDS

    def look(self) -> None:
        """Take a frame if it is time for one, and send it if it is time for that."""
        now = self._clock()
        if not self.is_on or now < self._due:
            return
        statistics = self._player.statistics(self.subject.game)
        seconds = now - self._began
        if statistics is not None and statistics.moves:
            frame = self._frame(statistics, seconds)
            self._keep(frame)
            if seconds - self._sent >= SEND_SECONDS:
                self._sent = seconds
                self._send(json.dumps(describe(self.subject, frame)))
        if self.so_far is not None and now - self._so_far_at >= SO_FAR_SECONDS:
            self._so_far_at = now
            self.so_far(self.subject.game, self._player)
        end = self._clock()
        self._due = end + max(min(self._every, SEND_SECONDS), min(_LONGEST_WAIT, (end - now) / _COST_SHARE))

    def finish(self, move: int) -> dict[str, Any]:
        """Take the last frame; return its message, with the move that was chosen."""
        statistics = self._player.statistics(self.subject.game) or SearchStatistics("values", [], {}, [])
        frame = self._frame(statistics, self._clock() - self._began)
        self.frames.append(frame)
        if self.so_far is not None:
            self.so_far(self.subject.game, self._player)
        chosen = name_of_move(move, self.subject.game.size)
        return {**describe(self.subject, frame), "final": True, "chosen": chosen, "report": self._player.report()}

    def _frame(self, statistics: SearchStatistics, seconds: float) -> Frame:
        """Return a compact frame: the chance that Black wins after each move, and the score."""
        game, player = self.subject.game, self._player
        columns = {name: column.astype(np.float32) for name, column in statistics.columns.items()}
        values = columns.get("searched", columns.get("value", np.zeros(0)))
        chances = [player.chance(float(v), game) if np.isfinite(v) else np.nan for v in values]
        columns["chance"] = np.array(chances, np.float32)
        lines = [line[:_LINE_MOVES] for line in statistics.lines[:_LINES]]
        score, _ = player.scores(game)
        compact = statistics._replace(columns=columns, lines=lines)
        return Frame(compact, seconds, None if score is None else round(score, 1))

    def _keep(self, frame: Frame) -> None:
        """Keep a frame, unless the last one is too recent for a search of this length."""
        if self.frames and frame.seconds - self.frames[-1].seconds < self._every:
            return
        self.frames.append(frame)
        if len(self.frames) >= self._most:
            self.frames = self.frames[::2]
            self._every *= 2


def describe(subject: Subject, frame: Frame) -> dict[str, Any]:
    """Return a frame as a ``search`` message."""
    game, statistics = subject.game, frame.statistics
    size = game.size
    columns = {name: _numbers(column, name in _COUNTS) for name, column in statistics.columns.items()}
    return {
        "type": "search",
        "role": subject.role,
        "number": subject.number,
        "player": subject.spec,
        "at": len(game.moves),
        "to_play": NAMES[game.to_play],
        "final": False,
        "chosen": None,
        "kind": statistics.kind,
        "unit": statistics.unit,
        "count": statistics.done,
        "chance": next(iter(columns["chance"]), None),  # after the best move
        "score": frame.score,
        "seconds": round(frame.seconds, 4),
        "per_second": round(statistics.done / max(frame.seconds, 1e-3), 1),
        "depth": statistics.depth,
        "size": statistics.size,
        "bytes": statistics.n_bytes,
        "report": [],
        "moves": vertices_of(statistics.moves, size),
        "columns": columns,
        "lines": {name_of_move(line[0], size): vertices_of(line, size) for line in statistics.lines if line},
        "depths": [_describe_depth(result, size) for result in statistics.depths],
    }


def _describe_depth(result: AlphaBetaResult, size: int) -> dict[str, Any]:
    return {
        "depth": result.depth,
        "value": round(sigmoid(result.x), _DIGITS),
        "move": name_of_move(result.move, size),
        "line": vertices_of(result.line[:_LINE_MOVES], size),
        "positions": result.nodes,
        "seconds": round(result.seconds, _DIGITS),
    }


def _numbers(column: np.ndarray, is_count: bool) -> list[float | int | None]:
    """Return a column as JSON: rounded, and None where there is no number."""
    if is_count:
        return [int(number) for number in column]
    finite = np.isfinite(column)
    rounded = np.round(column.astype(np.float64), _DIGITS).tolist()
    return [number if known else None for number, known in zip(rounded, finite.tolist(), strict=True)]


def describe_curve(frames: list[Frame], size: int) -> list[dict[str, Any]]:
    """Return Black's chance after the moves that are best in the end, at each frame, for the curve and the slider."""
    best = frames[-1].statistics.moves[:_BEST] if frames else []
    curve = []
    for statistics, seconds, _ in frames:
        values = dict(zip(statistics.moves, _numbers(statistics.columns["chance"], False), strict=True))
        of_best = [[move, values.get(p)] for move, p in zip(vertices_of(best, size), best, strict=True)]
        curve.append({"count": statistics.done, "seconds": round(seconds, _DIGITS), "best": of_best})
    return curve
