"""The table of the papers' systems against GNU Go, from raw results. `generate.py` calls `systems_table`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from rlgo.base.errors import RlgoError
from train.console import markdown
from train.experiments.declaration.experiment import GNUGO_0, GNUGO_10
from train.experiments.results.analysis import SCALE_EXPERIMENT
from train.experiments.results.files import read_raw, scores_of
from train.stats import clustered_interval, in_percent


@dataclass(frozen=True)
class System:
    """A row of `systems_table`: a system of the papers against GNU Go.

    Attributes
    ----------
    name : its name in the table
    opponent : name of the level of GNU Go
    paper : its result according to the paper
    match : file of matches at the paper's number of simulations, in results; "" for the training runs
    label : label of those training runs in `SCALE_EXPERIMENT`
    equal_time : experiment and player at equal time, or file of a match; empty for a system that does not search
    """

    name: str
    opponent: str
    paper: str
    match: str = ""
    label: str = ""
    equal_time: tuple[str, str] | tuple[str] | tuple[()] = ()


SYSTEMS = (
    System("TD learning, one ply", GNUGO_0, "5 %", label="paper's settings"),
    System("the same with rlgo's defaults", GNUGO_0, "", label="rlgo's defaults"),
    System(
        "TD search, 10,000", GNUGO_0, "≈ 50 % (1700 Elo)", "td_search_10000.json",
        equal_time=("equal_time_td", "TD search 0.25"),
    ),
    System("Dyna-2, 5,000", GNUGO_0, "above 50 %", "dyna2_5000.json", equal_time=("equal_time_td", "Dyna-2 0.25")),
    System(
        "two-phase search, 5,000", GNUGO_0, "almost 80 %", "two_phase_5000.json",
        equal_time=("equal_time_td", "two-phase, depth 9, late moves reduced 0.25"),
    ),
    System("UCT, 3,000", GNUGO_10, "24 %", "uct_level_10.json", equal_time=("equal_time_mc", "UCT 0.3")),
    System(
        "MC-RAVE, 3,000", GNUGO_10, "50 to 60 %", "mc_rave_level_10.json",
        equal_time=("equal_time_mc", "MC-RAVE 0.3"),
    ),
    System(
        "heuristic MC-RAVE, 3,000", GNUGO_10, "69 %", "heuristic_mc_rave_level_10.json",
        equal_time=("equal_time_mc", "heuristic MC-RAVE 0.3"),
    ),
    System(
        "`mc_rave_patterns` (ours), 3,000", GNUGO_10, "", "rlgo_level_10_fade.json",
        equal_time=("rlgo_level_10_fade_third.json",),
    ),
)  # fmt: skip


def systems_table(results: Path, matches: Path, page: Path | None = None) -> str:
    """Return the table of the papers' systems against GNU Go, in Markdown: the papers' figures and ours.

    Parameters
    ----------
    results : folder of the experiments' raw results, results/experiments
    matches : folder of the matches' results, results
    page : the page that the table is for: links are relative to its folder. None for a narrow table, without games and
        links

    Raises RlgoError if results are missing.
    """
    rows = [("system", "against", "the paper", "rlgo, equal simulations", "rlgo, equal time")]
    for system in SYSTEMS:
        if system.match:
            file = matches / system.match
            same = _won_of(_match_scores(file), file, page)
        else:
            file = results / f"{SCALE_EXPERIMENT}.jsonl"
            same = _won_of(_scores_against(file, system.opponent, f"{system.label} #"), file, page)
        timed = "does not search"
        if len(system.equal_time) == 1:
            file = matches / system.equal_time[0]
            timed = _won_of(_match_scores(file), file, page)
        elif system.equal_time:
            file = results / f"{system.equal_time[0]}.jsonl"
            timed = _won_of(_scores_against(file, system.opponent, system.equal_time[1]), file, page)
        rows.append((system.name, system.opponent.removeprefix("GNU Go "), system.paper, same, timed))
    return markdown(rows)


def _match_scores(file: Path) -> list[tuple[float, ...]]:
    """Return a player's scores in each opening, from a match written by ``rlgo match --json``, or a list of those."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        raise RlgoError(f"{file}: not the results of a match") from None
    return [tuple(opening) for portion in (data if isinstance(data, list) else [data]) for opening in portion["scores"]]


def _scores_against(file: Path, opponent: str, player: str) -> list[tuple[float, ...]]:
    """Return the scores, by opening, of all players with this prefix in their names, from an experiment's results."""
    raw = read_raw(file)
    lines = [] if raw is None else raw.of("pair")
    scores = [scores_of(line) for line in lines if line["pair"][0].startswith(player) and line["pair"][1] == opponent]
    if not scores:
        raise RlgoError(f"{file}: no games of {player} against {opponent}")
    return [opening for of_pair in scores for opening in of_pair]


def _won_of(scores: list[tuple[float, ...]], file: Path, page: Path | None) -> str:
    """Format the share won, with an interval; for a page, also the games won out of all, and a link to raw results."""
    won, games = sum(map(sum, scores)), sum(map(len, scores))
    share = in_percent(won / games, clustered_interval(scores))
    if page is None:
        return share
    return f"{won:,.0f} of {games:,}: {share} [raw]({Path(os.path.relpath(file, page.parent)).as_posix()})"
