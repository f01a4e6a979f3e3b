"""Tables of one experiment's results, in Markdown, each with a line on how to read it.

Start reading at `results_table`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from mcts.settings import ALGORITHMS
from train.console import markdown
from train.experiments.declaration.experiment import Contestant, Experiment
from train.experiments.declaration.matches import matches, swiss_games
from train.experiments.results.analysis import Analysis, Measured
from train.experiments.results.files import games_of, run_point
from train.experiments.running.counts import BINS_A_DECADE
from train.players.spec import parse_spec
from train.stats import in_percent

_AGES = (1_000, 10_000, 100_000)  # columns of learning curves, in games of self-play, before the end
_MILLION = 1_000_000


def results_table(e: Experiment, analysis: Analysis) -> str:
    """Return the results of an experiment: a few sentences and a table."""
    match e.settings.kind:
        case "curves":
            return _curves(e, analysis)
        case "games":
            return _players(e, analysis)
        case "counts":
            return _counts(e, analysis)
        case _:
            return _frequency(analysis)


# ---------------------------------------------------------------------------------------------
# Counts
# ---------------------------------------------------------------------------------------------


def _counts(e: Experiment, analysis: Analysis) -> str:
    """Return the numbers next to the paper's."""
    rows = [("number", "paper", "rlgo")]
    wrong = []
    for line in analysis.raw.of("number"):
        name, value, expected = line["number"], line["value"], e.expected.get(line["number"])
        rows.append((name, "" if expected is None else f"{expected:,}", f"{value:,}"))
        if expected not in (None, value):
            wrong.append(name)
    for name in e.expected.keys() - {line["number"] for line in analysis.raw.of("number")}:
        rows.append((name, f"{e.expected[name]:,}", "not counted"))
        wrong.append(name)
    verdict = f"These numbers differ from the paper's: {', '.join(wrong)}" if wrong else "All numbers match the paper's"
    return f"{verdict}.\n\n{markdown(rows)}"


def _frequency(analysis: Analysis) -> str:
    """Return how often the weights of each block occurred."""
    values = {line["number"]: line["value"] for line in analysis.raw.of("number")}
    keys = ("weights", "occurrences", "most often", "seen 1,000 to 10,000 times", "never seen")
    rows = [("block", *keys)]
    for line in analysis.raw.of("histogram"):
        block = line["histogram"]
        rows.append((block, *(f"{values[f'{block} {key}']:,}" for key in keys)))
    bins = f"Each point in the picture is a bin of 1/{BINS_A_DECADE} decade"
    return f"After {values['games']:,} games. {bins}.\n\n{markdown(rows)}"


# ---------------------------------------------------------------------------------------------
# Learning curves
# ---------------------------------------------------------------------------------------------


def _curves(e: Experiment, analysis: Analysis) -> str:
    """Return Elo by label and age; at the end of the runs, with an interval that includes other seeds."""
    least = min((p.games for p in analysis.ratings.players if " @" in p.name), default=0)
    on_scale = "Elo" if analysis.is_anchored else "Elo (mean 0)"
    ages = [f"{on_scale} at {age:,} games" for age in _AGES]
    rows = [["", "seeds", *ages, "at the end", "won against GNU Go level 0"]]
    rows += [_curve_row(analysis, label) for label in e.runs]
    scatter = "how much runs with the same settings differ"
    if analysis.is_anchored:
        scatter += ", and the uncertainty of the scale"
    return (
        f"Each rating is the mean of the seeds, from at least {least:,.0f} games. The end is after a million games "
        f"unless the cell gives another number; its intervals include {scatter}. In the picture, bands are "
        f"the intervals of the games alone, and thin lines are single runs.\n\n{markdown(rows)}"
    )


def _curve_row(analysis: Analysis, label: str) -> list[str]:
    """Return the row of a label."""
    ages, runs, diverged = analysis.checkpoints(label), analysis.runs.get(label, []), analysis.diverged(label)
    seeds = f"{len(runs) or 'not run'}" + (f", {diverged} diverged" if diverged else "")
    if not ages:
        return [label, seeds, *[""] * (len(_AGES) + 2)]
    placed = [analysis.placed(f"{label}@{age}") for age in _AGES]
    end = f"{label}@{ages[-1]}"
    last = analysis.elo(end) or analysis.placed(end)
    assert last is not None
    after = "" if ages[-1] == _MILLION else f" after {ages[-1]:,}"
    return [
        label,
        seeds,
        *("" if at is None else f"{at.value:,.0f}" for at in placed),
        f"{_elo(last)}{after}",
        _won_gnugo(analysis, {run_point(label, run["seed"], ages[-1]) for run in runs}),
    ]


def _won_gnugo(analysis: Analysis, names: set[str]) -> str:
    """Return these players' win rate against GNU Go; "" if they did not play it."""
    met = [pair for pair in analysis.pairs if pair.b.startswith("GNU Go") and pair.a in names]
    games = sum(pair.games for pair in met)
    return f"{100 * sum(pair.score for pair in met) / games:.1f} % of {games:,.0f}" if met else ""


# ---------------------------------------------------------------------------------------------
# Games between players
# ---------------------------------------------------------------------------------------------


def _two_digits(x: float) -> str:
    """Format a number with two significant digits, or as an integer from 100 on."""
    return f"{x:.2g}" if x < 99.5 else f"{x:,.0f}"


def _players(e: Experiment, analysis: Analysis) -> str:
    """Return each player's rating, its win rates, and its speed."""
    there = {name for pair in analysis.pairs for name in (pair.a, pair.b)}
    players = [c for c in e.contestants if c.name in there]
    opponents = [] if e.settings.pairing == "swiss" else _opponents(e, players)
    games, seconds = _games_and_seconds(analysis)
    rivals = {(c.series, c.x): c.name for c in players}
    columns: dict[str, Callable[[Contestant], str]] = {"player": lambda c: c.name}
    if e.settings.pairing != "gauntlet":
        columns["Elo" if analysis.is_anchored else "Elo (mean 0)"] = lambda c: _elo(analysis.rating_among(c.name))
    columns["games"] = lambda c: f"{games[c.name]:,}"
    for name in opponents:
        columns[f"won against {name}"] = lambda c, name=name: share(analysis.won(c.name, name))  # type: ignore[misc]
    if any(c.against for c in players):
        columns["won against its opponent"] = lambda c: share(analysis.won(c.name, rivals.get((c.against, c.x), "")))
    columns["seconds a game"] = lambda c: _two_digits(seconds[c.name] / games[c.name])
    if speeds := analysis.speeds:
        columns["simulations a second"] = lambda c: f"{speeds[c.name]:,.0f}" if c.name in speeds else ""
    rows = [list(columns), *([column(c) for column in columns.values()] for c in players)]
    return f"{_how_played(e, analysis)}\n\n{markdown(rows)}"


def _opponents(e: Experiment, players: Sequence[Contestant]) -> list[str]:
    """Return the players with their own column: those without x, or else the first."""
    fixed = [c for c in players if c.x is None] or players[:1]
    return [c.name for c in fixed if e.settings.pairing != "gauntlet" or c.x is None]


def _games_and_seconds(analysis: Analysis) -> tuple[Counter[str], Counter[str]]:
    """Return each player's number of games and thinking time in seconds."""
    games, seconds = Counter[str](), Counter[str]()
    for line in analysis.lines:
        for name, spent in zip(line["pair"], line["seconds_of"], strict=True):
            games[name] += games_of(line)
            seconds[name] += spent
    return games, seconds


def _how_played(e: Experiment, analysis: Analysis) -> str:
    """Return sentences on the number of games and on how to read the table."""
    counts = [match.games for match in matches(e) if not match.is_for_claim]
    planned, played = swiss_games(e) or sum(counts), sum(map(games_of, analysis.lines))
    so_far = f" ({played:,} of {planned:,} played so far)" if played < planned else ""
    if e.settings.pairing == "swiss":
        text = [f"A Swiss tournament with {e.scaled(e.settings.games):,} games per player{so_far}."]
    else:
        text = [f"{_range(counts)} games per pair{so_far}."]
    if own := [match.games for match in matches(e) if match.is_for_claim]:
        played = sum(map(games_of, analysis.lines_of_claims))
        so_far = f" ({played:,} of {sum(own):,} played so far)" if played < sum(own) else ""
        claims = "of a claim" if len(own) == 1 else f"of each of {len(own)} claims"
        text.append(f"In addition, {_range(own)} games between the two players {claims}{so_far}.")
    if e.settings.pairing != "gauntlet":
        text.append("Rating intervals are those of the difference from the mean of all players.")
    text.append("Seconds are thinking time.")
    names = {parse_spec(spec).name for line in analysis.lines for spec in line.get("specs", ())}
    if analysis.speeds and names & set(ALGORITHMS):
        text.append("A tree search may stop before its last simulation; the table counts them all.")
    return " ".join(text)


def _range(counts: Sequence[int]) -> str:
    """Format the least and the greatest of some numbers."""
    return f"{min(counts):,} to {max(counts):,}" if min(counts) < max(counts) else f"{counts[0]:,}"


def _elo(elo: Measured | None) -> str:
    """Format a rating with its interval; "" for None."""
    return "" if elo is None else f"{elo.value:,.0f} ({elo.low:,.0f} to {elo.high:,.0f})"


def share(won: Measured | None) -> str:
    """Format a share of games won with its interval; "" for None."""
    return "" if won is None else in_percent(won.value, (won.low, won.high))
