"""Random messages on the WebSocket of the page: well-formed, almost well-formed, and malformed.

python tests/stress/web.py --count 10000 --seed 1 --json results/stress/web.json
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from harness import Outcome, StressTest, main  # first: it makes the others importable
from web_tools import SMALL, check_message, make_client, open_page

from train.play.web.options import Limits
from train.play.web.tab import tab

_TYPES = [
    "new", "seats", "play", "genmove", "pause", "resume", "undo", "goto", "resign", "score", "load", "save", "search",
    "stop", "frames", "frame", "", "hello", "Play",
]  # fmt: skip
_FIELDS = [
    "size", "komi", "handicap", "black", "white", "time", "setup", "to_play", "moves", "paused", "move", "at", "sgf",
    "file", "overwrite", "role", "player", "seconds", "on", "index", "id", "colour", "__class__",
]  # fmt: skip
_SPECS = [
    "human", "random", "greedy", "mc_rave,sims=20", "mc_rave,sims=20,k=100", "dyna2", "alphabeta", "gtp:sh", "x.toml",
    "mc_rave,memory_mb=1e9", "random,seed=1", "", ",", "greedy,weights=/etc/passwd",
]  # fmt: skip
_FIXED: list[Any] = [
    None, True, False, 0, 1, 5, -1, 9, 19, 10**30, 0.5, -1e308, "black", "white", "a", "b", "game", "analysis",
    "60+3x10", "60", "(;SZ[5];B[aa])", "(;GM[1]SZ[19];B[aa];B[aa])", "(;", "x.sgf", "../x.sgf", "\u0000",
    "\ud83d\ude00",
    [], {}, [[]], {"black": ["A1"]}, {"black": ["A1"], "white": ["A1"]}, [["black", "C3"]], [["white", "pass"]],
]  # fmt: skip
_BROKEN = [
    "", "{", "[", "null", "0", '"', "{}", "[]", "\u2028", "[" * 2_000, '{"type":' * 500, "NaN",
    '{"type": "play", "move": NaN}',
]  # fmt: skip


def _value(draw: random.Random) -> Any:
    pick = draw.random()
    if pick < 0.3:
        return f"{draw.choice('ABCDEFGHJKT')}{draw.randint(0, 20)}"
    if pick < 0.5:
        return draw.choice(_SPECS)
    if pick < 0.6:
        return draw.randint(-3, 30)
    return draw.choice(_FIXED)


def _fitting(draw: random.Random) -> dict[str, Any]:
    """A request that may well succeed."""
    vertex = f"{draw.choice('ABCDE')}{draw.randint(1, 5)}"
    return draw.choice(
        [
            {"type": "play", "move": vertex},
            {"type": "play", "move": "pass"},
            {"type": "new", "size": 5, "komi": 0.5, "black": draw.choice(["human", "random"]), "white": "random"},
            {"type": "new", "size": 5, "white": "human", "setup": {"black": [vertex]}},
            {"type": "search", "role": draw.choice("ab"), "player": draw.choice(["random", "mc_rave,sims=20"])},
            {"type": "undo"},
            {"type": "goto", "at": draw.randint(0, 3)},
            {"type": draw.choice(["genmove", "pause", "resume", "score", "save", "resign", "stop", "frames"])},
            {"type": "frame", "role": "a", "index": 0},
            {"type": "load", "sgf": "(;SZ[5];B[cc];W[dd])"},
        ]
    )


def message(draw: random.Random) -> str:
    """A random message."""
    pick = draw.random()
    if pick < 0.1:
        return draw.choice(_BROKEN)
    request = _fitting(draw)
    if pick < 0.75:
        if pick > 0.4:
            request = {"type": draw.choice(_TYPES)} if draw.random() < 0.5 else request
            request |= {draw.choice(_FIELDS): _value(draw) for _ in range(draw.randint(1, 3))}
        return json.dumps(request)
    text = json.dumps(request)
    at = draw.randrange(len(text))
    return text[:at] + draw.choice(["", "\u0000", "}", '"', "9" * 50, "[", text]) + text[at + draw.randint(0, 4) :]


def trials(draw: random.Random) -> Iterator[Outcome]:
    """Send messages to a tab, and check the type of every answer; a new tab every 500 messages."""
    tab._PACE_SECONDS = 0.0
    limits = Limits(seconds=0.2)
    with make_client(SMALL._replace(limits=limits)) as client:
        while True:
            with open_page(client) as page:
                for number in range(500):
                    text = message(draw)
                    page.socket.send_text(text)
                    # The marker's answer comes after the message's own.
                    page.socket.send_text(json.dumps({"type": "pause", "id": 10**9 + number}))
                    kind, failure = "no answer", ""
                    while (answer := check_message(page.socket.receive_text())).get("id") != 10**9 + number:
                        if "id" in answer:
                            kind = "refused" if answer["type"] == "error" else "carried out"
                        if "internal error" in str(answer.get("message")):
                            failure = f"{text[:300]!r}: {answer['message']}"
                    yield Outcome(kind, failure)


STRESS_TEST = StressTest(
    "web",
    "random messages on the WebSocket of the page",
    "one answer each, no traceback, and the tab keeps working",
    unit="messages",
    count=10_000,
    trials=trials,
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
