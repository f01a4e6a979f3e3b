"""Rewrite the generated parts of the documentation: `python docs/generate.py`.

They stand between ``<!-- NAME -->`` and ``<!-- /NAME -->`` and come from the raw results in `docs/results` and
`docs/experiments`. `docs/players.md` is generated whole. A test runs this with ``--check``: nothing may change.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent


def generated_pages() -> dict[Path, str]:
    """Return the text of every page that holds something generated, as it should be."""
    from train.bench import markdown_table
    from train.experiments.report import systems_table
    from train.players.listing import players_markdown

    bench = json.loads((DOCS / "results" / "bench.json").read_text("utf-8"))
    blocks = {
        ROOT / "README.md": {"systems": systems_table(DOCS / "experiments", DOCS / "results", link="docs/")},
        DOCS / "strength.md": {"systems": systems_table(DOCS / "experiments", DOCS / "results", link="")},
        DOCS / "benchmarks.md": {"bench": markdown_table(bench)},
        DOCS / "engine.md": {"levels": levels_table(DOCS / "results" / "strength.json")},
        DOCS / "reliability.md": {"storms": storms_table(DOCS / "results" / "storms")},
    }
    pages = {path: fill(path.read_text("utf-8"), tables) for path, tables in blocks.items()}
    return {**pages, DOCS / "players.md": players_markdown()}


def storms_table(folder: Path) -> str:
    """Return the table of all storms from their records; see `tests/storms/storm.py`."""
    from train.console import table

    rows = []
    for path in sorted(folder.glob("*.json")):
        r = json.loads(path.read_text("utf-8"))
        tried = (
            f"{r['count']:,} {r['unit']}"
            if r["count"] >= r["wanted"]
            else f"{r['count']:,} of {r['wanted']:,} {r['unit']}"
        )
        command = f"`python tests/storms/{r['storm']}.py`"
        hours = f"{r['machine_seconds'] / 3600:.2f}"
        rows.append([r["subject"], r["promise"], tried, f"{r['failures']:,}", hours, command])
    return table(["what", "promised", "tried", "failures", "hours", "command"], rows, align="lllrrl", style="markdown")


def levels_table(path: Path) -> str:
    """Return the table of the levels of strength from their matches; see `levels.py`."""
    from train.arena.elo import PairResult, rate
    from train.console import table

    raw = json.loads(path.read_text("utf-8"))
    results = []
    for pair in raw["pairs"]:
        scores = [[int(game) for game in opening] for opening in pair["scores"].split()]
        results.append(PairResult.of_openings(pair["a"], pair["b"], scores))
    ratings = rate(results, {"GNU Go level 10": 1800.0})
    below = {r.b: f"{r.games - r.score:g} of {r.games}" for r in results}
    rows = []
    for level, keys in raw["levels"].items():
        knowledge = "none" if "heuristic" in keys else "as `rlgo`"
        elo, (low, high) = ratings[level].elo, ratings[level].ci95
        rating = [f"{elo:,.0f}", f"{low:,.0f} to {high:,.0f}"]
        times = [f"{raw['seconds_a_move'][size][level]:.2g} s" for size in ("9", "19")]
        rows.append([level, f"{keys['simulations']:,}", knowledge, below.get(level, ""), *rating, *times])
    columns = ["level", "simulations", "knowledge", "won against the level below", "Elo", "95 %", "a move", "on 19x19"]
    return table(columns, rows, align="rrlrrrrr", style="markdown")


def fill(text: str, blocks: dict[str, str]) -> str:
    """Fill in the marked blocks of a page. Raises ValueError where a mark is missing."""
    for name, block in blocks.items():
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not mark.search(text):
            raise ValueError(f"expected <!-- {name} --> and <!-- /{name} -->")
        text = mark.sub(lambda match, block=block: f"{match[1]}\n{block.strip()}\n\n{match[2]}", text)
    return text


def main() -> int:
    """Write the pages; with --check, only name those that differ, and return 1 if there are any."""
    stale = [path for path, text in generated_pages().items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        print(path.relative_to(ROOT))
        if "--check" not in sys.argv[1:]:
            path.write_text(generated_pages()[path], "utf-8")
    return int("--check" in sys.argv[1:] and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
