"""Rounds of training: a search plays games, a network learns from them, and the search plays on with the network.

Start reading at `run_rounds`. Its folder holds, for each round k from 1,

    round-k/games/        played with the network of round k - 1; in the first round, with `RoundsPlan.network`
    round-k/network/      the network of the round before, trained further on the games of the latest (`training.py`)
    round-k/sims.jsonl    a match against the player of the round before, at equal simulations
    round-k/time.jsonl    a match against `RoundsPlan.opponent`, at equal time

Each part continues where it was interrupted, even by ``kill -9``: games and matches keep what is finished, and training
continues from its last state. So nothing is played or learned twice, or lost.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.base.files import check_folder, make_folder, write_atomically
from rlgo.base.resources import NO_NETWORK
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, BoardSize, Count, CountOr0, Komi, PairedGames, SeedNumber
from rlgo.learning.collection import read_collection
from rlgo.network.architecture import Shape
from rlgo.network.conv_network import load_network
from train import console
from train.arena.elo import elo_from_share
from train.arena.equal_time import check_equal_time
from train.arena.match import MatchResult, play_match
from train.arena.openings import BALANCED, TUNING, default_openings
from train.games.collect import GamesPlan, play_games
from train.locks import only_writer
from train.network.measure import Measures, measure
from train.network.settings import NetworkSettings
from train.network.training import Pool, TrainingPlan, learn
from train.players.spec import parse_spec
from train.settings import split_spec

_LITTLE = 20.0  # Elo: two rounds in a row that add less are the last ones


class RoundsPlan(NamedTuple):
    """Everything that determines the rounds. `run_rounds` checks it."""

    player: str  # the spec of a tree search that plays the games
    games: Count  # of a round
    rounds: Count = 4  # at most
    matched: str = "rlgo,sims=400"  # the spec that plays matches, with simulations
    match_games: PairedGames = 200
    opponent: str = ""  # the spec it meets at equal time; by default, its own without a network
    network: str = ""  # file or shipped name of what the first round plays with; "": nothing
    newest: Count = 3  # rounds whose games are learned
    size: BoardSize = DEFAULT_SIZE
    komi: Komi = DEFAULT_KOMI
    opening_plies: CountOr0 = 4
    seed: SeedNumber = 1
    shape: Shape = Shape()
    settings: NetworkSettings = NetworkSettings()


class Round(NamedTuple):
    """The results of a round.

    Attributes
    ----------
    number : from 1
    games : the number of games of the round
    measures : of the network, on held-out games of the rounds' board size; None without any
    at_sims, at_time : the matches
    """

    number: int
    games: int
    measures: Measures | None
    at_sims: MatchResult
    at_time: MatchResult


def with_network(spec: str, network: str) -> str:
    """Return the spec of a player with a network, a file or the name of a shipped one; without any for ""."""
    return f"{spec},network={network or NO_NETWORK}"


def without_simulations(spec: str) -> str:
    """Return a spec without its number of simulations. RlgoError if it has none."""
    parts = spec.split(",")
    rest = [part for part in parts if part.split("=")[0] not in ("sims", "simulations")]
    if len(rest) != len(parts) - 1:
        raise RlgoError(f"matched = {spec}: expected a player with simulations, such as rlgo,sims=400")
    return ",".join(rest)


def run_rounds(
    plan: RoundsPlan, folder: Path, begin: Sequence[Path] = (), jobs: int = 1, cluster: str = "", progress: bool = True
) -> list[Round]:
    """Run rounds until two in a row add less than 20 Elo, at most `plan.rounds`; or continue them.

    Parameters
    ----------
    begin : folders of games in place of those of the first round
    jobs, cluster : where games are played, see `arena.pool.make_pool`; networks learn, and matches play, here

    Raises
    ------
    RlgoError : see `play_games`, `learn` and `play_match`; for a folder of another plan
    KeyboardInterrupt : after Ctrl-C, when everything so far has been saved
    """
    # Refused before games are played:
    plan = validated(plan)
    without_simulations(plan.matched)
    for spec in (plan.player, plan.matched):
        if "network" in {part.partition("=")[0].strip() for part in split_spec(spec)}:
            raise RlgoError(f"player {spec}: expected one without network, which changes from round to round")
        parse_spec(with_network(spec, plan.network))
    check_equal_time(plan.matched, _opponent_of(plan))
    check_folder(folder, "--out")
    make_folder(folder)
    with only_writer(folder):
        _check_plan(folder / "plan.json", plan, begin)
        rounds: list[Round] = []
        while len(rounds) < plan.rounds and not is_enough([r.at_sims for r in rounds]):
            rounds.append(_run_round(plan, folder, len(rounds) + 1, begin, jobs, cluster, progress))
            if progress:
                console.message(rounds_table(rounds))
        return rounds


def _check_plan(path: Path, plan: RoundsPlan, begin: Sequence[Path]) -> None:
    """Keep the plan; RlgoError if the folder has another one. More rounds are the same plan."""
    record = {**plan._asdict(), "shape": plan.shape._asdict(), "settings": plan.settings._asdict()}
    del record["rounds"]
    text = json.dumps({**record, "begin": [str(path) for path in begin]}, indent=1)
    if path.is_file() and path.read_text() != text:
        raise RlgoError(f"{path}: another plan: expected a new --out")
    write_atomically(path, text.encode())


def is_enough(matches: Sequence[MatchResult]) -> bool:
    """Return whether the last two rounds added little, by their matches against the round before."""
    return len(matches) > 1 and all(elo_from_share(m.win_rate) < _LITTLE for m in matches[-2:])


def _run_round(
    plan: RoundsPlan, folder: Path, k: int, begin: Sequence[Path], jobs: int, cluster: str, progress: bool
) -> Round:
    here, before = folder / f"round-{k}", str(_network_of(folder, k - 1)) if k > 1 else plan.network
    make_folder(here)
    played = _games_of(folder, k, begin)
    if k > 1 or not begin:
        games = GamesPlan(
            with_network(plan.player, before), plan.games, plan.size, plan.komi, plan.seed + k, plan.opening_plies
        )
        play_games(games, played[0], jobs=jobs, cluster=cluster, progress=progress)
    sources = [source for j in range(max(1, k - plan.newest + 1), k + 1) for source in _games_of(folder, j, begin)]
    first = load_network(before) if before else None
    learn(TrainingPlan(sources, plan.shape, plan.settings, begin=first), here / "network", progress)
    network = _network_of(folder, k)
    data = Pool(sources, held_out=True).sizes.get(plan.size)
    new, old = with_network(plan.matched, str(network)), with_network(plan.matched, before)
    at_sims = _match(plan, new, old, here, "sims", progress)
    at_time = _match(plan, new, _opponent_of(plan), here, "time", progress)
    measures = None if data is None else measure(load_network(network), data)
    return Round(k, sum(len(read_collection([path])) for path in played), measures, at_sims, at_time)


def _opponent_of(plan: RoundsPlan) -> str:
    """Return the spec of the opponent at equal time."""
    return plan.opponent or with_network(without_simulations(plan.matched), "")


def _network_of(folder: Path, k: int) -> Path:
    return folder / f"round-{k}" / "network" / "network.npz"


def _games_of(folder: Path, k: int, begin: Sequence[Path]) -> list[Path]:
    return list(begin) if k == 1 and begin else [folder / f"round-{k}" / "games"]


def _match(plan: RoundsPlan, a: str, b: str, here: Path, kind: str, progress: bool) -> MatchResult:
    """Play a match, or the rest of it. Its openings are those of all rounds, so that rounds can be compared."""
    result = play_match(
        a, b, plan.match_games, size=plan.size, komi=plan.komi, seed=plan.seed,
        openings=TUNING if default_openings(plan.size, plan.komi) == BALANCED else f"random:{plan.opening_plies}",
        equal_time=kind == "time", results=here / f"{kind}.jsonl", progress=progress,
    )  # fmt: skip
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def rounds_table(rounds: Sequence[Round]) -> str:
    """Lay out rounds as a table: their games, measures and matches."""
    header = ["round", "games", "value", "top 1", "Elo at equal simulations", "won at equal time"]
    rows = [
        [
            str(r.number), f"{r.games:,}",
            *(["-", "-"] if r.measures is None else [f"{r.measures.value_loss:.3f}", f"{r.measures.top[0]:.1%}"]),
            _elo(r.at_sims), "{:.1%} ({:.1%} to {:.1%})".format(r.at_time.win_rate, *r.at_time.ci95),
        ]
        for r in rounds
    ]  # fmt: skip
    return console.table(header, rows, align="r" * len(header))


def _elo(m: MatchResult) -> str:
    return "{:+.0f} ({:+.0f} to {:+.0f})".format(*(elo_from_share(x) for x in (m.win_rate, *m.ci95)))


def to_json(r: Round) -> dict[str, Any]:
    """Return a round as plain data."""
    return {
        "round": r.number,
        "games": r.games,
        "measures": None if r.measures is None else r.measures.numbers(),
        "at_sims": r.at_sims.to_json(),
        "at_time": r.at_time.to_json(),
    }
