"""Rounds of learning: a search plays games, a network learns from them, and the search plays on with the network.

Start reading at `run_rounds`. Its folder holds, for each round k from 1,

    round-k/games/        played with the network of round k - 1; in the first round, with `RoundsPlan.network`
    round-k/network/      the network of the round before, learning on from the games of the latest (`learning.py`)
    round-k/sims.jsonl    a match against the player of the round before, at equal simulations
    round-k/time.jsonl    a match against `RoundsPlan.opponent`, at equal time
    round-k/seconds.json  the time that the parts took

Each part goes on where it was interrupted, even by ``kill -9``: games and matches keep what is finished, and learning
goes on from its last state. So nothing is played or learned twice, or lost.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mcts.settings import NO_NETWORK
from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.base.files import check_folder, make_folder, write_atomically
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, BoardSize, Count, CountOr0, Komi, PairedGames, SeedNumber
from rlgo.learning.collection import read_collection
from rlgo.network.network import load_network
from rlgo.network.parameters import Shape, check_growth
from train import console
from train.arena.elo import elo_from_share
from train.arena.equal_time import check_equal_time
from train.arena.match import MatchResult, play_match
from train.arena.openings import BALANCED, TUNING, default_openings
from train.knowledge.collect import GamesPlan, play_games
from train.locks import only_writer
from train.network.learning import Plan, Pool, learn
from train.network.measuring import Measures, measure
from train.network.settings import NetworkSettings
from train.players.spec import parse_spec
from train.settings import split_spec

_LITTLE = 20.0  # Elo: two rounds in a row that add less are the last ones
_ACTORS = (1, 4, 32, 256)


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
    """What a round has made.

    Attributes
    ----------
    number : from 1
    games, n_bytes : the games of the round, and the size of their files
    seconds : of core time for ``games``, but not on a cluster; of time for ``learning``, and for ``matches``
    measures : of the network, on held-out games of the rounds' board size; None without any
    at_sims, at_time : the matches
    """

    number: int
    games: int
    n_bytes: int
    seconds: dict[str, float]
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
    """Run rounds until two in a row add less than 20 Elo, at most `plan.rounds`; or go on with them.

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
    if plan.network:
        check_growth(load_network(plan.network).shape, plan.shape)
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
    seconds = _Seconds(here / "seconds.json")
    played = _games_of(folder, k, begin)
    if k > 1 or not begin:
        games = GamesPlan(
            with_network(plan.player, before), plan.games, plan.size, plan.komi, plan.seed + k, plan.opening_plies
        )
        # How many cores a cluster gives is not known here.
        with contextlib.nullcontext() if cluster else seconds.of("games", jobs):
            play_games(games, played[0], jobs=jobs, cluster=cluster, progress=progress)
    sources = [source for j in range(max(1, k - plan.newest + 1), k + 1) for source in _games_of(folder, j, begin)]
    with seconds.of("learning"):
        first = load_network(before) if before else None
        learn(Plan(sources, plan.shape, plan.settings, begin=first), here / "network", progress)
    network = _network_of(folder, k)
    data = Pool(sources, held_out=True).sizes.get(plan.size)
    with seconds.of("matches"):
        new, old = with_network(plan.matched, str(network)), with_network(plan.matched, before)
        at_sims = _match(plan, new, old, here, "sims", progress)
        at_time = _match(plan, new, _opponent_of(plan), here, "time", progress)
    return Round(
        k, sum(len(read_collection([path])) for path in played),
        sum(file.stat().st_size for path in played for file in path.glob("*.npz")), seconds.spent,
        None if data is None else measure(load_network(network), data), at_sims, at_time,
    )  # fmt: skip


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


class _Seconds:
    """The time that parts took, over all starts of the program.

    spent : by part
    """

    def __init__(self, path: Path):
        self.path = path
        self.spent: dict[str, float] = json.loads(path.read_text()) if path.is_file() else {}

    @contextlib.contextmanager
    def of(self, part: str, cores: int = 1) -> Iterator[None]:
        """Add the time that passes, on so many cores."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.spent[part] = self.spent.get(part, 0.0) + cores * (time.monotonic() - begun)
            write_atomically(self.path, json.dumps(self.spent).encode())


# ---------------------------------------------------------------------------------------------
# What became of it, and what more actors would make of it
# ---------------------------------------------------------------------------------------------


def rounds_table(rounds: Sequence[Round]) -> str:
    """Lay out rounds as a table: their games, core hours, measures and matches."""
    header = [
        "round", "games", "hours of games", "of learning", "value", "top 1", "Elo at equal simulations",
        "won at equal time",
    ]  # fmt: skip
    rows = [
        [
            str(r.number), f"{r.games:,}", f"{r.seconds['games'] / 3600:.2f}" if "games" in r.seconds else "-",
            f"{r.seconds['learning'] / 3600:.2f}",
            *(["-", "-"] if r.measures is None else [f"{r.measures.value_loss:.3f}", f"{r.measures.top[0]:.1%}"]),
            _elo(r.at_sims), "{:.1%} ({:.1%} to {:.1%})".format(r.at_time.win_rate, *r.at_time.ci95),
        ]
        for r in rounds
    ]  # fmt: skip
    return console.table(header, rows, align="r" * len(header))


def _elo(m: MatchResult) -> str:
    return "{:+.0f} ({:+.0f} to {:+.0f})".format(*(elo_from_share(x) for x in (m.win_rate, *m.ci95)))


class Actors(NamedTuple):
    """What a number of actors would do, with one learner beside them.

    Attributes
    ----------
    actors : of one core each
    games_per_s, bytes_per_s : of all of them, while they play
    round_hours : until the games of a round are played, and a network has learned from them
    learner_share : of that time in which actors wait for the learner; above one half, it is the neck
    age : of the network that plays, in hours, when a game begins, on average
    """

    actors: int
    games_per_s: float
    bytes_per_s: float
    round_hours: float
    learner_share: float
    age: float


def model(rounds: Sequence[Round], actors: Sequence[int] = _ACTORS) -> list[Actors]:
    """Predict rounds with more actors from what one measured: games/s of a core, bytes of a game, seconds of learning.

    All actors play with the newest network, and wait while the next one learns.
    """
    known = [r for r in rounds if r.seconds.get("games")]
    if not known:
        raise RlgoError("rounds: expected at least one that played games")
    games = sum(r.games for r in known)
    rate, n_bytes = games / sum(r.seconds["games"] for r in known), sum(r.n_bytes for r in known) / games
    learning, of_round = sum(r.seconds["learning"] for r in known) / len(known), games / len(known)
    found = []
    for n in actors:
        playing = of_round / (n * rate)
        seconds = playing + learning
        found.append(Actors(n, n * rate, n * rate * n_bytes, seconds / 3600, learning / seconds, playing / 2 / 3600))
    return found


def model_table(found: Sequence[Actors]) -> str:
    """Lay out what `model` predicts."""
    header = ["actors", "games/s", "kB/s", "hours a round", "learning", "age of the network, hours"]
    rows = [
        [
            f"{m.actors:,}", f"{m.games_per_s:.2f}", f"{m.bytes_per_s / 1e3:.1f}", f"{m.round_hours:.2f}",
            f"{m.learner_share:.0%}", f"{m.age:.2f}",
        ]
        for m in found
    ]  # fmt: skip
    return console.table(header, rows, align="r" * len(header))


def to_json(r: Round) -> dict[str, Any]:
    """Return a round as plain data."""
    return {
        "round": r.number, "games": r.games, "bytes": r.n_bytes, "seconds": r.seconds,
        "measures": None if r.measures is None else r.measures.numbers(),
        "at_sims": r.at_sims.to_json(), "at_time": r.at_time.to_json(),
    }  # fmt: skip
