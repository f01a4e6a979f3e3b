"""Commands of the Computer Go Server's own client. rlgo's client, `train.play.cgos`, does not use GTP."""

from __future__ import annotations

from rlgo.play.gtp.protocol import command
from rlgo.play.session import GameSession


@command("cgos-opponent_name", "cgos-gameover")
def take_note(_session: GameSession, _args: list[str]) -> None:
    """Acknowledge the opponent's name, or the end of a game."""
