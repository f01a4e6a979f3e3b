"""Clocks over GTP: the time the player gets, and the settings of KGS."""

from __future__ import annotations

import pytest
from gtp_controller import Controller, Scripted

from rlgo.go.game import Game


class Timed(Scripted):
    """Notes what time it is given."""

    def __init__(self, answers: str = "") -> None:
        super().__init__(answers)
        self.given: list[float | None] = []

    def genmove(self, game: Game) -> int:
        self.given.append(self.limit)
        return super().genmove(game)


@pytest.mark.parametrize(
    ("settings", "left", "expected"),
    [
        ("time_settings 0 1 0", "", None),  # no limit, by the standard
        ("time_settings 0 0 0", "", None),
        ("kgs-time_settings none", "time_left b 1 0", None),
        ("time_settings 60 0 0", "", (60 - 0.05 * 60.75) * 4 / 81),
        ("kgs-time_settings absolute 60", "", (60 - 0.05 * 60.75) * 4 / 81),
        ("time_settings 60 0 0", "time_left b 30.5 0", (30.5 - 0.05 * 60.75) * 4 / 81),
        ("time_settings 60 0 0", "time_left w 1 0", (60 - 0.05 * 60.75) * 4 / 81),
        ("time_settings 60 30 10", "time_left b 20 5", 20 / 5 - 0.05),
        ("kgs-time_settings canadian 60 30 10", "time_left b 20 5", 20 / 5 - 0.05),
        ("kgs-time_settings byoyomi 60 10 3", "time_left b 10 3", 10 - 0.05 - 1),
        ("time_settings 60 0 0", "time_left b 0 0", 0.0),
        ("time_settings 60 0 0", "time_left b -3 0", 0.0),  # as some controllers at the start of overtime
    ],
)
def test_players_get_their_share_of_the_time(settings: str, left: str, expected: float | None) -> None:
    player = Timed()
    gtp = Controller(player)
    gtp.ok(settings)
    if left:
        gtp.ok(left)
    gtp.ok("genmove b")
    assert player.given == ([None] if expected is None else [pytest.approx(expected)])


@pytest.mark.parametrize(
    "line",
    [
        "kgs-time_settings",
        "kgs-time_settings forever",
        "kgs-time_settings absolute",
        "kgs-time_settings byoyomi 60 10",
        "kgs-time_settings canadian 60 x 10",
        "time_settings -1 0 0",
        "time_settings 60 30 -1",
        "time_left b nan 0",
        "time_left b 1e3 0",
    ],
)
def test_times_that_are_none(line: str) -> None:
    assert Controller().fail(line).startswith("syntax error: expected")
