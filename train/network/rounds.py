"""Rounds of training: a search plays games, a network learns from them, and the search continues with the network.

Start reading at `run_rounds`. Its folder holds

    plan.json             what determines the rounds
    learning/             learning, which goes on from round to round (`training.py`)
    round-0/network.npz   the network to begin with, if any

and for each round k from 1

    round-k/games/        played with the network of round k - 1, or with the last one that passed (`RoundsPlan.gate`);
                          asynchronous, while round k - 1 learns, with that of round k - 2
    round-k/network.npz   the network that learned from the latest games so far, as many as the window has
    round-k/learner/      in place of it and of learning/, what a program that learns has written (`RoundsPlan.learner`)
    round-k/learned.json  which network that is, and numbers about both, written once the round has learned
    round-k/sims.jsonl    a match against the network that played the games, at equal simulations
    round-k/time.jsonl    a match against `RoundsPlan.opponent`, at equal time

Each part continues where it was interrupted, even by ``kill -9``: games and matches keep what is finished, and training
continues from its last state. So nothing is played or learned twice, or lost. Paths in it are relative to the folder,
in which players are therefore made: it may be moved, and named in any way.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, Protocol

from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError, shown
from rlgo.base.files import check_folder, make_folder, read_text, user_path, write_atomically
from rlgo.base.resources import NO_NETWORK
from rlgo.base.settings import (
    DEFAULT_KOMI,
    DEFAULT_SIZE,
    BoardSize,
    Count,
    CountOr0,
    EvenCount,
    Komi,
    NonNegative,
    SeedNumber,
)
from rlgo.base.user_code import guarded, load
from rlgo.learning.collection import learned_positions, read_collection
from rlgo.network.architecture import Shape
from rlgo.network.conv_network import ConvNetwork, load_network
from train import console
from train.arena.elo import elo_from_share
from train.arena.equal_time import check_equal_time
from train.arena.match import MatchResult, play_match
from train.arena.openings import BALANCED, TUNING, default_openings
from train.games.collect import GamesPlan, play_games
from train.locks import only_writer
from train.network.measure import measure
from train.network.settings import OF_ROUNDS, NetworkSettings
from train.network.training import Pool, TrainingPlan, check_same, digest_of, learn
from train.players.networks import is_program, load_any_network
from train.players.spec import parse_spec
from train.settings import read_spec_value, spec_value, split_spec

_LITTLE = 20.0  # Elo: two rounds in a row that add less are the last ones
_GROWING = ("games", "match_games", "first_games", "steps")  # what may be more when rounds continue


class RoundsPlan(NamedTuple):
    """Everything that determines the rounds. `run_rounds` checks it."""

    player: str  # the spec of a tree search that plays the games
    games: Count  # of a round
    rounds: Count = 4  # at most
    matched: str = "rlgo,sims=400"  # the spec that plays matches, with simulations
    match_games: EvenCount = 200  # 0: no matches
    gate: bool = False  # a network plays games only if it wins half of its match at equal simulations
    opponent: str = ""  # the spec it meets at equal time; by default, its own without a network
    begin: str = ""  # file or shipped name of the network to begin with; "": none
    size: BoardSize = DEFAULT_SIZE
    komi: Komi = DEFAULT_KOMI
    komi_spread: NonNegative = 0.0  # see `GamesPlan`
    opening_plies: CountOr0 = 4
    seed: SeedNumber = 1
    shape: Shape = Shape()
    settings: NetworkSettings = OF_ROUNDS
    asynchronous: bool = False  # the games of the next round are played while one learns
    learner: str = ""  # MODULE:FUNCTION or FILE.py:FUNCTION, see `Learner`; "": rlgo's own network learns

    def combine(self) -> None:
        """Refuse a gate without matches, and a schedule whose end is not known."""
        if self.gate and not self.match_games:
            raise RlgoError("gate cannot be combined with match_games = 0: a match decides")
        if self.settings.schedule == "cosine" and not self.settings.schedule_steps:
            raise RlgoError('schedule = "cosine" in rounds: expected schedule_steps, the steps of all rounds')


class Learner(Protocol):
    """A program that learns a network of its own, in place of rlgo's, once in each round."""

    def __call__(self, folders: list[Path], previous: str, out: Path) -> str | Path:
        """Learn a network.

        Parameters
        ----------
        folders : the folders of games whose positions are in the window, the oldest first
        previous : what the last round returned, or the network to begin with, or ""
        out : a folder for this round. After an interruption, it holds what was written before

        Returns
        -------
        an ONNX file, or an evaluator as ``MODULE:NAME`` or ``FILE.py:NAME``; a relative path is one in the folder of
        the rounds. It must stay as it is: later rounds have networks of their own
        """
        ...


class _Start(NamedTuple):
    """What rounds begin with: a network by its name, "" for none, and if its training continues; games; who learns."""

    network: str
    first: ConvNetwork | None
    games: Sequence[Path]
    learner: Learner | None


class Learned(NamedTuple):
    """What a round learned.

    Attributes
    ----------
    network : the network, as players name it: a file in the folder of the rounds, for instance
    games : the number of games of the round
    new : how many of their positions are for learning
    seen, window : positions of all rounds so far, and how many of the latest are learned
    step : the number of steps of all rounds so far; 0 with a `Learner`
    measures : `Measures` of the network, on held-out games of the rounds' board size; None without any
    """

    network: str
    games: int
    new: int
    seen: int
    window: int
    step: int
    measures: dict[str, float | None] | None


class Round(NamedTuple):
    """The results of a round.

    Attributes
    ----------
    number : from 1
    learned : what it learned
    at_sims, at_time : the matches; None without any
    """

    number: int
    learned: Learned
    at_sims: MatchResult | None
    at_time: MatchResult | None


def with_network(spec: str, network: str) -> str:
    """Return the spec of a player with a network, a file or the name of a shipped one; without any for ""."""
    return f"{spec},network={spec_value(network or NO_NETWORK)}"


def without_simulations(spec: str) -> str:
    """Return a spec without its number of simulations. RlgoError if it has none."""
    parts = spec.split(",")
    rest = [part for part in parts if part.split("=")[0] not in ("sims", "simulations")]
    if len(rest) != len(parts) - 1:
        raise RlgoError(f"matched = {spec}: expected a player with simulations, such as rlgo,sims=400")
    return ",".join(rest)


def run_rounds(
    plan: RoundsPlan,
    folder: Path,
    first_games: Sequence[Path] = (),
    progress: bool = True,
    **places: Any,
) -> list[Round]:
    """Run rounds until two in a row add less than 20 Elo, at most `plan.rounds`; or continue them.

    Parameters
    ----------
    first_games : folders of games in place of those of the first round
    places : jobs, parallel, cluster: where games are played, see `play_games`; networks learn, and matches play, here

    Raises
    ------
    RlgoError : see `play_games`, `learn` and `play_match`; for a folder of another plan
    KeyboardInterrupt : after Ctrl-C, when everything so far has been saved
    """
    # Refused before games are played:
    plan = validated(plan)
    plan, start = _start(plan, first_games)
    without_simulations(plan.matched)
    for spec in (plan.player, plan.matched):
        if "network" in {part.partition("=")[0].strip() for part in split_spec(spec)}:
            raise RlgoError(f"player {spec}: expected one without network, which changes from round to round")
        parse_spec(with_network(spec, plan.begin))
    check_equal_time(plan.matched, _opponent_of(plan))
    record = {**plan.settings.by_key(), **plan.shape._asdict(), **plan._asdict()}
    for key in ("rounds", "settings", "shape"):
        del record[key]
    record["begin"] = (plan.begin or None) if start.first is None else digest_of(start.first)
    record["first_games"] = sum(len(read_collection([path])) for path in first_games)
    check_folder(folder, "--out")
    make_folder(folder)
    player, matched, opponent = map(_from_anywhere, (plan.player, plan.matched, plan.opponent))
    plan = plan._replace(player=player, matched=matched, opponent=opponent)
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # so that modules are found from the folder of the rounds, too
    with only_writer(folder), _inside(folder, record), _Ahead() as ahead:
        if start.first is not None and not _network_of(0).is_file():
            make_folder(_network_of(0).parent)
            start.first.save(_network_of(0))
        rounds: list[Round] = []
        while len(rounds) < plan.rounds and not is_enough([r.at_sims for r in rounds if r.at_sims is not None]):
            rounds.append(_run_round(plan, rounds, start, ahead, progress, places))
            if progress:
                console.message(rounds_table(rounds))
        return rounds


def _start(plan: RoundsPlan, first_games: Sequence[Path]) -> tuple[RoundsPlan, _Start]:
    """Load what rounds begin with; return it, and the plan with whole paths of programs, and the network's shape."""
    games = [path.resolve() for path in first_games]
    if plan.learner:
        learner = load("learner", plan.learner, "a function (folders, previous, out)", callable)
        plan = plan._replace(learner=_whole_name(plan.learner), begin=_whole_name(plan.begin))
        if plan.begin:
            load_any_network(plan.begin)
        return plan, _Start(plan.begin, None, games, learner)
    first = load_network(plan.begin) if plan.begin else None
    if first is None:
        return plan, _Start("", None, games, None)
    return plan._replace(shape=first.shape), _Start(str(_network_of(0)), first, games, None)


@contextlib.contextmanager
def _inside(folder: Path, record: dict[str, Any]) -> Iterator[None]:
    """Keep the plan of the rounds, and work in their folder.

    RlgoError if the folder has another plan; more rounds are the same one.
    """
    path = folder / "plan.json"
    if path.is_file():
        try:
            was = dict(json.loads(read_text(path)))
        except (ValueError, TypeError):
            raise RlgoError(f"{path}: damaged: expected the plan of rounds, or a new --out") from None
        check_same(path, was, record, _GROWING)
    write_atomically(path, json.dumps(record, indent=1).encode())
    with contextlib.chdir(folder):
        yield


def _from_anywhere(spec: str) -> str:
    """Return a spec whose files are found from every working directory."""
    parts = []
    for part in split_spec(spec):
        key, equals, value = part.partition("=")
        name = read_spec_value(value.strip()) if equals else part
        whole = _whole_name(name)
        parts.append(part if whole == name else f"{key}={spec_value(whole)}" if equals else whole)
    return ",".join(parts)


def is_enough(matches: Sequence[MatchResult]) -> bool:
    """Return whether the last two rounds added little, by their matches against the round before."""
    return len(matches) > 1 and all(elo_from_share(m.win_rate) < _LITTLE for m in matches[-2:])


def has_passed(plan: RoundsPlan, r: Round) -> bool:
    """Return whether games are played with the network of a round: if the plan has a gate, it has lost no match."""
    return not plan.gate or r.at_sims is None or r.at_sims.win_rate >= 0.5


def _run_round(
    plan: RoundsPlan, before: Sequence[Round], start: _Start, ahead: _Ahead, progress: bool, places: dict[str, Any]
) -> Round:
    k = len(before) + 1
    playing = _playing(plan, before[:-1] if plan.asynchronous else before, start)
    played, file = [_games_of(j, start.games) for j in range(1, k + 1)], Path(f"round-{k}", "learned.json")
    make_folder(file.parent)
    if not file.is_file():
        if k > 1 or not start.games:
            ahead.wait()
            _play(plan, k, playing, progress=progress, **places)
        if plan.asynchronous and k < plan.rounds:
            ahead.start(_play, plan, k + 1, _playing(plan, before, start), progress=False, **places)
        learned = _learn(plan, [r.learned for r in before], start, played, progress)
        write_atomically(file, json.dumps(learned._asdict(), indent=1).encode())
    try:
        learned = Learned(**json.loads(read_text(file)))
    except (ValueError, TypeError):
        raise RlgoError(f"{file}: damaged, or of another version: expected a new --out") from None
    if not plan.match_games:
        return Round(k, learned, None, None)
    ahead.wait()  # games beside it would disturb a match at equal time
    new, old = with_network(plan.matched, learned.network), with_network(plan.matched, playing)
    at_sims = _match(plan, new, old, file.with_name("sims.jsonl"), progress)
    return Round(k, learned, at_sims, _match(plan, new, _opponent_of(plan), file.with_name("time.jsonl"), progress))


def _playing(plan: RoundsPlan, before: Sequence[Round], start: _Start) -> str:
    """Return the newest network that plays games."""
    return next((r.learned.network for r in reversed(before) if has_passed(plan, r)), start.network)


def _play(plan: RoundsPlan, k: int, playing: str, **others: Any) -> None:
    """Play the games of a round, or those that are left."""
    games = GamesPlan(
        with_network(plan.player, playing), plan.games, size=plan.size, komi=plan.komi, seed=plan.seed + k,
        opening_plies=plan.opening_plies, komi_spread=plan.komi_spread,
    )  # fmt: skip
    make_folder(Path(f"round-{k}"))
    play_games(games, _games_of(k, ())[0], **others)


class _Ahead:
    """Games of the next round, played while this one learns; they end, and are kept, with the block."""

    def __init__(self) -> None:
        self._thread, self._first, self._ends = ThreadPoolExecutor(1), Event(), Event()
        self._games: Future[None] | None = None

    def __enter__(self) -> _Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.shutdown()

    def start(self, play: Callable[..., None], *arguments: Any, **others: Any) -> None:
        """Begin to play, and wait for the first game: connecting to a cluster changes the folder for a moment."""
        self._first.clear()
        self._games = self._thread.submit(play, *arguments, stop=self._should_stop, **others)
        while not (self._first.wait(0.1) or self._games.done()):
            pass
        if self._games.done():
            self.wait()

    def _should_stop(self) -> bool:
        self._first.set()
        return self._ends.is_set()

    def wait(self) -> None:
        """Wait until the games are over. Raises what they raised."""
        if self._games is not None:
            self._games.result()


def _learn(
    plan: RoundsPlan, before: Sequence[Learned], start: _Start, played: list[list[Path]], progress: bool
) -> Learned:
    """Continue training on the games of all rounds so far that are in the window, and write the network of the round.

    played : the folders of games of each round
    """
    k, s = len(played), plan.settings
    collections = [read_collection([folder]) for folder in played[-1]]
    new = sum(int(learned_positions(games.arrays).sum()) for games in collections)
    positions = [*(r.new for r in before), new]
    seen, window = sum(positions), s.window_of(sum(positions))
    oldest = k - 1
    while oldest and sum(positions[oldest:]) < window:
        oldest -= 1
    sources = [folder for folders in played[oldest:] for folder in folders]
    data = Pool(sources, held_out=True).sizes.get(plan.size)
    step, name, network = 0, str(_network_of(k)), None
    if start.learner is not None:
        name = _learn_elsewhere(start.learner, sources, before[-1].network if before else start.network, k)
        network = load_any_network(name)
    else:
        steps = max(1, round(new * s.reuse / s.batch)) if s.reuse else s.steps
        step = (before[-1].step if before else 0) + steps
        settings = s._replace(steps=step)
        learning = TrainingPlan(sources, plan.shape, settings, begin=start.first, window=max(1, window), seen=seen)
        network = learn(learning, Path("learning"), progress)
        network.save(name)
    measures = None if data is None else measure(network, data).numbers()
    return Learned(name, sum(map(len, collections)), new, seen, window, step, measures)


def _learn_elsewhere(learner: Learner, sources: Sequence[Path], previous: str, k: int) -> str:
    """Let a user's program learn; return its network by a name that holds in the folder of the rounds."""
    out = Path(f"round-{k}", "learner").resolve()
    make_folder(out)
    name = guarded("learner", learner, [folder.resolve() for folder in sources], _whole_name(previous), out)
    if not isinstance(name, str | Path) or not str(name):
        raise RlgoError(f"learner: returned {shown(name)}: expected an ONNX file, or MODULE:NAME of an evaluator")
    here = f"{Path.cwd()}{os.sep}"
    return _whole_name(str(name)).removeprefix(here)


def _whole_name(name: str) -> str:
    """Return the name of a network or of a function with the whole path of its file, if it has one."""
    source, colon, function = name.rpartition(":") if is_program(name) else (name, "", "")
    file = user_path(source)
    return f"{file.resolve()}{colon}{function}" if os.path.isfile(file) else name


def _opponent_of(plan: RoundsPlan) -> str:
    """Return the spec of the opponent at equal time."""
    return plan.opponent or with_network(without_simulations(plan.matched), "")


def _network_of(k: int) -> Path:
    return Path(f"round-{k}", "network.npz")


def _games_of(k: int, first_games: Sequence[Path]) -> list[Path]:
    return list(first_games) if k == 1 and first_games else [Path(f"round-{k}", "games")]


def _match(plan: RoundsPlan, a: str, b: str, path: Path, progress: bool) -> MatchResult:
    """Play a match, or the rest of it. Its openings are those of all rounds, so that rounds can be compared."""
    result = play_match(
        a, b, plan.match_games, size=plan.size, komi=plan.komi, seed=plan.seed,
        openings=TUNING if default_openings(plan.size, plan.komi) == BALANCED else f"random:{plan.opening_plies}",
        equal_time=path.stem == "time", results=path, progress=progress,
    )  # fmt: skip
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def rounds_table(rounds: Sequence[Round]) -> str:
    """Lay out rounds as a table: what they learned, and their matches."""
    header = ["round", "games", "window", "steps", "value", "top 1", "Elo at equal simulations", "won at equal time"]
    rows = []
    for number, learned, at_sims, at_time in rounds:
        value, top = (None if learned.measures is None else learned.measures[x] for x in ("value_loss", "top_1"))
        rows.append([
            str(number), f"{learned.games:,}", f"{learned.window:,}",
            f"{learned.step:,}" if learned.step else "-",
            "-" if value is None else f"{value:.3f}", "-" if top is None else f"{top:.1%}",
            "-" if at_sims is None else _elo(at_sims),
            "-" if at_time is None else "{:.1%} ({:.1%} to {:.1%})".format(at_time.win_rate, *at_time.ci95),
        ])  # fmt: skip
    return console.table(header, rows, align="r" * len(header))


def _elo(m: MatchResult) -> str:
    return "{:+.0f} ({:+.0f} to {:+.0f})".format(*(elo_from_share(x) for x in (m.win_rate, *m.ci95)))


def to_json(r: Round) -> dict[str, Any]:
    """Return a round as plain data."""
    return {
        "round": r.number,
        **r.learned._asdict(),
        "at_sims": None if r.at_sims is None else r.at_sims.to_json(),
        "at_time": None if r.at_time is None else r.at_time.to_json(),
    }
