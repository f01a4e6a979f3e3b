"""Commands of the Computer Go Server's own client. rlgo's client, `train.play.cgos`, uses no GTP."""

from __future__ import annotations

from rlgo.gtp.protocol import command
from rlgo.session import GameSession


@command("cgos-opponent_name", "cgos-gameover")
def take_note(_session: GameSession, _args: list[str]) -> None:
    """Take note of the opponent's name, or of the end of a game."""
