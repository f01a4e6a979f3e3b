"""Write docs/players.md to standard output: ``python -m train.players.docs > docs/players.md``."""

from __future__ import annotations

from train.players.listing import players_markdown

if __name__ == "__main__":
    print(players_markdown(), end="")
