"""The path of GNU Go."""

from __future__ import annotations

import shutil
from pathlib import Path


def find_gnugo() -> str | None:
    """The path of GNU Go, or None. Debian installs games where PATH often does not look."""
    path = shutil.which("gnugo")
    games = Path("/usr/games/gnugo")
    return path or (str(games) if games.exists() else None)
