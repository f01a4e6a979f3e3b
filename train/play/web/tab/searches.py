"""The searches of a tab: one searcher for each colour, and for each other role.

Start reading at `Searches.start`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from rlgo.play.player import Player
from train.play.web.messages.positions import COLORS, NAMES
from train.play.web.searching.searcher import STATES, Job, Listener, Searcher, Shared
from train.play.web.searching.watch import Watch, describe, describe_curve

Send = Callable[[str, str | None], None]


class Searches:
    """The searchers of a tab by key: a colour, for moves of the game, or another role.

    Parameters
    ----------
    shared : by all tabs
    send : takes messages, as JSON, and their keys
    done, so_far : see `Listener`; `so_far` is for searches of the game and for analyses
    reviewed : takes the messages of reviews instead of `send`

    Attributes
    ----------
    n : searches so far
    """

    def __init__(
        self,
        shared: Shared,
        send: Send,
        done: Callable[[Job, int], None],
        so_far: Callable[[Game, Player], None],
        reviewed: Send,
    ) -> None:
        self._shared, self._send, self._done, self._so_far, self._reviewed = shared, send, done, so_far, reviewed
        self._searchers: dict[str, Searcher] = {}
        self._states: dict[str, tuple[str, str]] = {}  # role and state of each of them
        self.n = 0  # searches so far

    def start(self, key: str, spec: str, game: Game, **settings: Any) -> None:
        """Begin a search; an earlier one of the same key is cancelled. `Job` explains the settings."""
        self._searcher(key).start(self._job(spec, game, **settings))

    def prepare(self, key: str, spec: str, game: Game, **settings: Any) -> None:
        """Make the player of a search in advance."""
        self._searcher(key).prepare(self._job(spec, game, **settings))

    def cancel(self, *keys: str) -> None:
        """End searches, and forget their results."""
        for key in keys:
            if key in self._searchers:
                self._searchers[key].cancel()

    def end(self, role: str | None) -> None:
        """End the searches of a role, or all, with the best moves so far."""
        for searcher in self._of_role(role):
            searcher.end()

    def clock_left(self, game_number: int, color: int) -> tuple[float, int] | None:
        """Return what the engine of a colour has left on its clock; None without a clock in this game."""
        return self._searcher(NAMES[color]).clock_left(color, game_number)

    def curve(self, role: str) -> dict[str, Any]:
        """Return the ``frames`` message of the last search of a role."""
        last = self._last(role)
        if last is None:
            raise RlgoError(f"role {role}: nothing has been searched")
        curve = describe_curve(list(last.frames), last.subject.game.size)
        return {"type": "frames", "role": role, "number": last.subject.number, "frames": curve}

    def frame(self, role: str, index: int) -> dict[str, Any]:
        """Return one frame of the last search of a role, as a ``search`` message."""
        last = self._last(role)
        frames = [] if last is None else list(last.frames)
        if last is None or index >= len(frames):
            raise RlgoError(f"index = {index}: expected less than {len(frames)}, the number of frames")
        return describe(last.subject, frames[index])

    def _last(self, role: str) -> Watch | None:
        return next((searcher.last for searcher in self._of_role(role)), None)

    def close(self) -> None:
        """End all searches, and release their threads and players."""
        for searcher in self._searchers.values():
            searcher.close()
        self._searchers = {}

    def _job(self, spec: str, game: Game, **settings: Any) -> Job:
        self.n += 1
        return Job(spec, game, self.n, **settings)

    def _searcher(self, key: str) -> Searcher:
        """Return the searcher of a key; those of both colours have the role "game"."""
        if key not in self._searchers:
            role = "game" if key in COLORS else key
            send = self._reviewed if role == "review" else self._send
            so_far = self._so_far if role in ("game", "analysis") else None
            listener = Listener(send, partial(self._send_state, key, role), self._done, so_far)
            self._searchers[key] = Searcher(role, self._shared, listener)
        return self._searchers[key]

    def _of_role(self, role: str | None) -> list[Searcher]:
        """Return the searchers of a role, or all, the one with the last search first."""
        found = [searcher for searcher in self._searchers.values() if role in (None, searcher.role)]
        return sorted(found, key=lambda searcher: -searcher.number)

    def _send_state(self, key: str, role: str, state: str) -> None:
        """Send the state of a role. Called from the searchers' threads."""
        self._states[key] = role, state
        states = [known for other, known in list(self._states.values()) if other == role]
        message = {"type": "state", "role": role, "doing": max(states, key=STATES.index)}
        self._send(json.dumps(message), f"state {role}")
