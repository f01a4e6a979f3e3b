"""Commands that the Computer Go Server's client sends; docs/engine.md tells how to connect."""

from __future__ import annotations

from rlgo.play.gtp.protocol import command
from rlgo.play.session import GameSession


@command("cgos-opponent_name", "cgos-gameover")
def take_note(_session: GameSession, _args: list[str]) -> None:
    """Acknowledge the opponent's name, or the end of a game."""
