"""Rewrite the generated parts of the documentation: `python tools/generate.py`.

They are between ``<!-- NAME -->`` and ``<!-- /NAME -->``, and come from the raw results in `results` and
`results/experiments`. `docs/players.md` is generated whole. A test generates them anew: nothing may change.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from train.arena.elo import PairResult

ROOT = Path(__file__).resolve().parents[1]
DOCS, RESULTS = ROOT / "docs", ROOT / "results"


class Strength(NamedTuple):
    """A row of `strength_table`: a player, and where its games against GNU Go are."""

    player: str
    budget: str  # per move, on one core
    speed: str = ""  # the measure in bench.json; "" if there is none: the simulations of the games in their time
    level: int = 0  # of GNU Go
    source: str = ""  # raw results of a match or an experiment
    point: str = ""  # the player's name in the experiment


_TD, _MC = "results/experiments/equal_time_td.jsonl", "results/experiments/equal_time_mc.jsonl"
_DEPTH = "results/experiments/alphabeta_depth.jsonl"
STRENGTHS = (
    Strength("`rlgo`", "1 s"),
    Strength("`mc_rave_patterns`", "0.3 s", "mc_rave_patterns", 10, "results/rlgo_level_10_fade_third.json"),
    Strength("`mc_rave_patterns`", "3,000 simulations", "mc_rave_patterns", 10, "results/rlgo_level_10_fade.json"),
    Strength("`heuristic_mc_rave`", "0.3 s", "heuristic_mcrave_mogo", 10, _MC, "heuristic MC-RAVE 0.3"),
    Strength("`mc_rave`", "0.3 s", "mcrave_mogo", 10, _MC, "MC-RAVE 0.3"),
    Strength("`uct,c=0.4`", "0.3 s", "uct_mogo", 10, _MC, "UCT 0.3"),
    Strength("`two_phase,depth=6`", "1 s", "", 0, _TD, "two-phase, depth 6 1"),
    Strength("`two_phase,depth=6`", "0.25 s", "", 0, _TD, "two-phase, depth 6 0.25"),
    Strength("`two_phase,depth=9,reductions=on`", "0.25 s", "", 10, "results/two_phase_level_10.json"),
    Strength("`two_phase,depth=9,reductions=on`", "0.25 s", "", 0, _TD, "two-phase, depth 9, late moves reduced 0.25"),
    Strength("`dyna2`, falling step", "1 s", "dyna2_T6_mogo_3x3", 0, _TD, "Dyna-2, falling step 1"),
    Strength("`dyna2`", "0.25 s", "dyna2_T6_mogo_3x3", 0, _TD, "Dyna-2 0.25"),
    Strength("`dyna2`, falling step", "0.25 s", "dyna2_T6_mogo_3x3", 0, _TD, "Dyna-2, falling step 0.25"),
    Strength("`td_search`", "1 s", "tdsearch_T6_mogo_2x2", 0, _TD, "TD search 1"),
    Strength("`td_search`", "0.25 s", "tdsearch_T6_mogo_2x2", 0, _TD, "TD search 0.25"),
    Strength("`alphabeta,weights=9x9-1M`", "6 plies", "", 0, _DEPTH, "depth 6"),
    Strength("`alphabeta,weights=9x9-1M`", "5 plies", "", 0, _DEPTH, "depth 5"),
    Strength("`network,network=9x9`", "one evaluation", "", 0, "results/network/policy_gnugo_0_of_9x9.json"),
    Strength("`greedy,weights=9x9-liberties-5M`", "1 ply", "", 0, "results/liberties-5M-gnugo0.json"),
    Strength("`greedy`", "1 ply", "", 0, "results/9x9-100M-gnugo0.json"),
    Strength(
        "`mc`, `mcts_greedy`, `rave`, `uct_rave`, `puct`, `table_search`, `open_spiel`, `random`",
        "any",
    ),
)  # fmt: skip


def generated_pages() -> dict[Path, str]:
    """Return the up-to-date text of every page with generated parts."""
    from players_page import players_page
    from systems import systems_table

    from train.bench.table import markdown_table

    bench = json.loads((RESULTS / "bench.json").read_text("utf-8"))
    blocks = {
        ROOT / "README.md": {"systems": systems_table(RESULTS / "experiments", RESULTS)},
        DOCS / "lab" / "strength.md": {
            "players": strength_table(bench),
            "systems": systems_table(RESULTS / "experiments", RESULTS, DOCS / "lab" / "strength.md"),
        },
        DOCS / "lab" / "benchmarks.md": {"bench": markdown_table(bench)},
        DOCS / "engine.md": {"levels": levels_table(RESULTS / "strength.json")},
        DOCS / "arena.md": {"claims": openings_table()},
        DOCS / "networks.md": {"planes": planes_table(), "settings": settings_table()},
        DOCS / "reliability.md": {"stress": stress_table(RESULTS / "stress"), "wild": wild_table()},
    }
    pages = {path: fill(path.read_text("utf-8"), tables) for path, tables in blocks.items()}
    return {**pages, DOCS / "players.md": players_page()}


def settings_table() -> str:
    """Return the table of the settings of learning a network."""
    from train.console import markdown
    from train.network.settings import NetworkSettings
    from train.settings import Group, spelled, to_toml_value

    rows = [["key", "default", "expected", "meaning"]]
    for name, setting in Group().keys("", NetworkSettings()).items():
        default = to_toml_value(setting.default)
        rows.append([f"`{spelled(name)}`", f"`{default}`", setting.expected, setting.key.meaning])
    return markdown(rows, "lrll")


def strength_table(bench: dict[str, Any]) -> str:
    """Return the table of all players against GNU Go, each rated by its own games; `bench` is that of `rlgo bench`."""
    from train.arena.elo import rate
    from train.console import markdown
    from train.experiments.results.analysis import ANCHOR, LINK_EXPERIMENT, analyze
    from train.stats import in_percent

    links = analyze(RESULTS / "experiments", LINK_EXPERIMENT).pairs
    rows = [["player", "time per move", "simulations per second", "GNU Go", "won", "Elo", "games"]]
    for s in STRENGTHS:
        result, interval, speed = _against_gnugo(s)
        speed = bench[f"{s.speed}_sims_per_s"] if s.speed else speed
        row = [s.player, s.budget, f"{speed:,.0f}" if speed else ""]
        if result is None:
            rows.append([*row, "", "no games", "", ""])
            continue
        rating = rate([result, *links], ANCHOR)[result.a]
        low, high = rating.ci95
        won = f"{result.score:,.0f} of {result.games:,}: {in_percent(result.score / result.games, interval)}"
        elo = f"{rating.elo:,.0f} ({low:,.0f} to {high:,.0f})"
        rows.append([*row, f"level {s.level}", won, elo, f"[raw](../../{s.source})"])
    return markdown(rows)


def _against_gnugo(s: Strength) -> tuple[PairResult | None, tuple[float, float], float | None]:
    """Return a player's games against GNU Go, if any, the interval of its share, and its simulations a second."""
    from train.arena.elo import PairResult
    from train.experiments.results.analysis import analyze

    opponent, file = f"GNU Go level {s.level}", ROOT / s.source
    if s.source and not s.point:
        match = json.loads(file.read_text("utf-8"))
        if "scores" in match:  # an early match recorded only its total
            result = PairResult.of_openings(s.player, opponent, match["scores"])
        else:
            result = PairResult(s.player, opponent, match["wins"], match["games"])
        return result, tuple(match["ci95"]), None
    analysis = analyze(file.parent, file.stem) if s.point else None
    won = analysis.won(s.point, opponent) if analysis else None
    if won is None:
        return None, (0.0, 1.0), None
    scores = analysis.scores(s.point, opponent)
    return PairResult.of_openings(s.player, opponent, scores), (won.low, won.high), analysis.speeds.get(s.point)


def stress_table(folder: Path) -> str:
    """Return the table of all stress tests from their records; see `tests/stress/harness.py`."""
    from train.console import markdown

    rows = []
    for path in sorted(folder.glob("*.json")):
        r = json.loads(path.read_text("utf-8"))
        tried = (
            f"{r['count']:,} {r['unit']}"
            if r["count"] >= r["wanted"]
            else f"{r['count']:,} of {r['wanted']:,} {r['unit']}"
        )
        command = f"`python tests/stress/{r['stress_test']}.py`"
        hours = f"{r['machine_seconds'] / 3600:.2f}"
        rows.append([r["subject"], r["promise"], tried, f"{r['failures']:,}", hours, command])
    return markdown([["test", "promise", "tried", "failures", "run time (h)", "command"], *rows], align="lllrrl")


def wild_table() -> str:
    """Return the table of `tests/wild_records.py`: records as other programs write them, and what comes of them."""
    sys.path.insert(0, str(ROOT / "tests"))
    from wild_records import WILD_RECORDS

    from train.console import markdown

    rows = [["record", "reported", "what happens"]]
    for kind, report, _, expected in WILD_RECORDS:
        what = expected if expected.startswith("refused") else "read"
        komi = f", komi {expected.rpartition(' komi ')[2]}" if " komi " in expected else ""
        name, _, number = report.partition("#")
        link = f"[{report}](https://github.com/{name}/issues/{number})" if report else ""
        rows.append([kind, link, f"{what.replace('refused: ', 'refused: `')}`" if what != "read" else what + komi])
    reported = sum(bool(wild.report) for wild in WILD_RECORDS)
    refused = sum(wild.expected.startswith("refused") for wild in WILD_RECORDS)
    return (
        f"{len(WILD_RECORDS)} kinds, {reported} of them from public reports; {len(WILD_RECORDS) - refused} are read, "
        f"{refused} are refused with the message shown.\n\n{markdown(rows)}"
    )


def planes_table() -> str:
    """Make the table of the kinds of planes, long ones shortened."""
    from rlgo.features.planes import PLANE_KINDS
    from rlgo.network.architecture import KINDS

    rows = ["| kind | planes | what they show | in an rlgo network |", "|---|---:|---|---|"]
    for name, kind in PLANE_KINDS.items():
        shows = kind.names if len(kind.names) < 6 else [*kind.names[:2], "...", kind.names[-1]]
        rows.append(f"| `{name}` | {len(kind.names)} | {'; '.join(shows)} | {'yes' if name in KINDS else ''} |")
    return "\n".join(rows)


def openings_table() -> str:
    """Return the table of claims that were replayed with both kinds of openings."""
    spec = importlib.util.spec_from_file_location("openings_study", ROOT / "studies" / "openings.py")
    assert spec is not None
    assert spec.loader is not None
    study = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = study  # named tuples look for their module
    spec.loader.exec_module(study)
    return str(study.table())


def levels_table(path: Path) -> str:
    """Return the tables of the levels of strength from their matches, one for each board; see `studies/levels.py`."""
    from train.console import markdown
    from train.stats import clustered_interval

    raw = json.loads(path.read_text("utf-8"))
    tables = []
    for size, specs in raw["levels"].items():
        matches = {pair["a"]: [] for pair in raw["pairs"]}
        for pair in (pair for pair in raw["pairs"] if str(pair["size"]) == size):
            low, high = clustered_interval([[float(game) for game in opening] for opening in pair["scores"].split()])
            opponent = f"level {pair['b']}" if pair["b"].isdecimal() else pair["b"]
            share, low, high = (100 * x for x in (pair["won"] / pair["games"], low, high))
            won = f"{pair['won']:g} of {pair['games']} ({share:.0f} %, {low:.0f} to {high:.0f}) against {opponent}"
            matches[pair["a"]].append(won)
        rows = [["level", f"plays on {size}x{size} as", "won, with 95 % intervals"]]
        for level, spec in enumerate(specs, 1):
            played = "; ".join(matches.get(str(level), ())) or "not played"
            rows.append([str(level), f"`{spec}`", played])
        tables.append(markdown(rows, align="rll"))
    return "\n".join(tables)


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
