"""Commands about networks: rlgo network train, rounds, test, check, info, show, export, import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from rlgo.base.checks import keys_of
from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, NonNegative, Workers
from train.cli.options import (
    Force,
    JsonFile,
    Komi,
    Seed,
    SettingsCommand,
    Size,
    check_new,
    check_writable,
    is_given,
    kept_in,
    option,
    shipped,
    whole,
    write_json,
)
from train.console import unicode_output
from train.network.settings import ELSEWHERE, OF_ROUNDS, ONLY_ROUNDS, NetworkSettings, read_settings

if TYPE_CHECKING:
    from rlgo.learning.batches import GameData
    from rlgo.network.architecture import Shape

app = typer.Typer(help="Train networks on games, and test them.")

_DEFAULTS = NetworkSettings()
_WINDOW = tuple(name for name in ONLY_ROUNDS if name.startswith("window"))
_KEYS = [key.name or name for name, key in keys_of(NetworkSettings).items()]
_Folders = Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of games, of any board sizes.")]
_Blocks = Annotated[
    int | None,
    option("--blocks", "Residual blocks of two convolutions, of a new network; 3.", whole(1)),
]
_Channels = Annotated[
    int | None,
    option("--channels", "Channels of these, computed in groups of 16; 32.", whole(8)),
]
_Config = Annotated[
    str,
    option(
        "--config",
        "Settings of learning: a TOML file, or the name of a shipped one.",
        metavar="CONFIG",
        autocompletion=shipped("network"),
    ),
]
_Changes = Annotated[
    list[str] | None,
    option(
        "--set",
        f"Change settings of learning: {', '.join(name.removesuffix('_') for name in _KEYS)}.",
        metavar="KEY=VALUE",
        show_default="docs/networks.md",
    ),
]
_Begin = Annotated[
    str, option("--begin", "The network to begin with, a file or the name of a shipped one.", metavar="FILE")
]
_Opponent = Annotated[
    str,
    option(
        "--opponent",
        "The opponent at equal time, without simulations or time; if not given, --matched without a network.",
        metavar="PLAYER",
    ),
]
_Parallel = Annotated[
    int, option("--parallel", "Games at a time in one process, evaluated in one batch.", whole(1), metavar="N")
]
_Learner = Annotated[
    str,
    option(
        "--learner",
        "A function of your own that learns a network in each round: MODULE:FUNCTION or FILE.py:FUNCTION.",
        metavar="LEARNER",
    ),
]
_Gate = Annotated[
    bool, option("--gate", "Play games with a network only if it wins half of its match at equal simulations.")
]
_Asynchronous = Annotated[
    bool, option("--asynchronous", "Play the games of the next round while one learns, with the network before.")
]
_Cluster = Annotated[
    str, option("--cluster", "Ray cluster for the games: local, auto or HOST:PORT (needs rlgo[ray]).", metavar="C")
]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="A network file, or the name of a shipped one.")]
_What = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A network file, the name of a shipped one, an ONNX file, or MODULE:NAME, an evaluator."
    ),
]


class _LearningCommand(SettingsCommand):
    """A command that answers options of other programs, and of earlier versions, with what takes their place."""

    gone: ClassVar[Mapping[str, str]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse such options."""
        for name in (arg.partition("=")[0] for arg in args if arg.startswith("--")):
            key = ELSEWHERE.get(name[2:].replace("-", "_"))
            if here := self.gone.get(name) or (key and f"--set {key}=VALUE"):
                raise RlgoError(f"{name}: no such option; here it is {here}")
        return super().parse_args(ctx, args)


class _RoundsCommand(_LearningCommand):
    gone: ClassVar[Mapping[str, str]] = {"--network": "--begin FILE", "--newest": "--set window=POSITIONS, which grows"}


def _settings(
    context: typer.Context, start: NetworkSettings, config: str, changes: Sequence[str] | None
) -> NetworkSettings:
    """Return the settings of a config and of --set, and then of --steps and --seed."""
    made = read_settings(start, config, changes or ())
    return made._replace(**{name: context.params[name] for name in ("steps", "seed") if is_given(context, name)})


@app.command("train", cls=_LearningCommand)
def train(
    context: typer.Context,
    folders: _Folders,
    *,
    out: Annotated[Path, option("-o --out", "Folder to write; one that exists is continued.", metavar="DIR")] = Path(
        "network"
    ),
    blocks: _Blocks = None,
    channels: _Channels = None,
    begin: _Begin = "",
    config: _Config = "",
    steps: Annotated[int, option("--steps", "Number of steps.", whole(1))] = _DEFAULTS.steps,
    seed: Seed = _DEFAULTS.seed,
    changes: _Changes = None,
    save_every: Annotated[int, option("--save-every", "Steps between two saved states.", whole(1))] = 500,
) -> None:
    """Train a network on games (needs rlgo[network]).

    A tenth of the games is held out to measure by. Run the same command again to continue after an interruption: the
    result is the same, bit for bit. More --steps, and games that were added, continue, too. tensorboard --logdir DIR
    shows how it goes.
    """
    del steps, seed  # see `_settings`
    for text in changes or ():
        if text.partition("=")[0].strip() in ONLY_ROUNDS:
            raise RlgoError(f"--set {text} has no effect here: it needs rlgo network rounds")
    settings = _settings(context, _DEFAULTS, config, changes)

    from rlgo.network.conv_network import load_network
    from train.network.training import TrainingPlan, learn

    shape, first = _shape(begin, blocks, channels), load_network(begin) if begin else None
    file = out / "network.npz"
    with kept_in(file, "the weights so far"):
        network = learn(TrainingPlan(folders, shape, settings, save_every, begin=first), out)
    print(f"{file}: {network}")


def _shape(begin: str, blocks: int | None, channels: int | None) -> Shape:
    """Return the size of a new network. RlgoError if one is asked for beside a network to begin with."""
    from rlgo.network.architecture import Shape

    given = [option for option, value in (("--blocks", blocks), ("--channels", channels)) if value is not None]
    if begin and given:
        raise RlgoError(f"--begin cannot be combined with {given[0]}: a network keeps its size")
    shape = Shape()
    return shape._replace(blocks=blocks or shape.blocks, channels=channels or shape.channels)


@app.command("rounds", cls=_RoundsCommand)
def rounds(
    context: typer.Context,
    player: Annotated[str, typer.Argument(metavar="PLAYER", help="A tree search, which plays the games.")],
    *,
    games: Annotated[int, option("--games", "Games of a round.", whole(1))],
    most: Annotated[int, option("--rounds", "Rounds at most.", whole(1))] = 4,
    first_games: Annotated[
        list[Path] | None,
        option("--first-games", "Folders of games in place of those of the first round.", metavar="DIR"),
    ] = None,
    begin: _Begin = "",
    matched: Annotated[str, option("--matched", "The player of the matches.", metavar="PLAYER")] = "rlgo,sims=400",
    opponent: _Opponent = "",
    match_games: Annotated[int, option("--match-games", "Games of each match; 0: no matches.", whole(0))] = 200,
    gate: _Gate = False,
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
    komi_spread: Annotated[
        float, option("--komi-spread", "Standard deviation of komi between games.", NonNegative, metavar="POINTS")
    ] = 0.0,
    opening_plies: Annotated[int, option("--opening-plies", "Random moves at the start of each game.", whole(0))] = 4,
    blocks: _Blocks = None,
    channels: _Channels = None,
    config: _Config = "",
    steps: Annotated[int, option("--steps", "Steps of learning in a round.", whole(1))] = _DEFAULTS.steps,
    seed: Seed = _DEFAULTS.seed,
    changes: _Changes = None,
    learner: _Learner = "",
    asynchronous: _Asynchronous = False,
    jobs: Annotated[int, option("--jobs", "Games at a time.", Workers)] = 1,
    parallel: _Parallel = 1,
    cluster: _Cluster = "",
    out: Annotated[Path, option("-o --out", "Folder to write; one that exists is continued.", metavar="DIR")] = Path(
        "rounds"
    ),
    json_file: JsonFile = None,
) -> None:
    """Play games, train a network, and repeat (needs rlgo[network]).

    The first round plays without a network, or with --begin. Training continues from round to round. After each round,
    the network plays a match against the one that played its games at equal simulations, and one against the player
    without a network, or --opponent, at equal time. Two rounds in a row that add less than 20 Elo are the last ones.
    Run the same command again to continue after an interruption, or with more --rounds, --games or --steps.
    With --learner, a network of your own learns in place of rlgo's (docs/networks.md).
    """
    del steps, seed  # see `_settings`
    check_writable(json_file)
    settings = _settings(context, OF_ROUNDS, config, changes)
    _refuse_together(context, settings)

    from train.network.rounds import RoundsPlan, rounds_table, run_rounds, to_json

    plan = RoundsPlan(
        player, games, most, matched, match_games, gate, opponent, begin, size, komi, komi_spread, opening_plies,
        settings.seed, _shape(begin, blocks, channels), settings, asynchronous, learner,
    )  # fmt: skip
    with kept_in(out, "the rounds so far"):
        found = run_rounds(plan, out, first_games or (), jobs=jobs, parallel=parallel, cluster=cluster)
    print(rounds_table(found))
    write_json(json_file, [to_json(r) for r in found])


def _refuse_together(context: typer.Context, settings: NetworkSettings) -> None:
    """Raise RlgoError for options of `rounds` that make no sense together."""
    begin = context.params["begin"]
    if settings.reuse and is_given(context, "steps"):
        raise RlgoError(f"--steps cannot be combined with reuse = {settings.reuse:g}, from which the steps follow")
    given = [f"--{name}" for name in ("steps", "blocks", "channels") if is_given(context, name)]
    changes = context.params["changes"] or ()
    given += [f"--set {text}" for text in changes if text.partition("=")[0].strip() not in _WINDOW]
    if context.params["learner"] and given:
        raise RlgoError(f"{given[0]} has no effect here: --learner decides how a network learns")
    if begin and Path(begin).is_dir():
        raise RlgoError(f"--begin {begin}: expected a network; folders of games to begin with are --first-games DIR")


@app.command("test")
def measure_network(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE... DIR...", help="Networks, as for `info`, and folders of games."),
    ],
    json_file: JsonFile = None,
) -> None:
    """Measure how well networks predict held-out games.

    The policy's loss is its cross-entropy with the shares of visits, of which `least` is the smallest possible; the
    value's is the log-loss of outcomes. Scores are points off, and ownership is the share of the points whose owner at
    the end is the likelier one.
    """
    check_writable(json_file)

    from train.network.measure import measure, measures_table
    from train.players.networks import load_any_network

    folders = [Path(name) for name in files if Path(name).is_dir()]
    networks = {name: load_any_network(name) for name in files if not Path(name).is_dir()}
    if not folders or not networks:
        raise RlgoError("expected one or more networks, and one or more folders of games")
    found = [
        (f"{name if ':' in name else Path(name).stem}, {size}x{size}", measure(network, data))
        for name, network in networks.items()
        for size, data in _held_out(folders).items()
    ]
    print(measures_table(found))
    write_json(json_file, [{"name": name, **m.numbers()} for name, m in found])


def _held_out(folders: Sequence[Path]) -> Mapping[int, GameData]:
    """Return held-out games by board size."""
    from train.network.training import Pool

    return Pool(folders, held_out=True).sizes


@app.command("check")
def check(what: _What, folders: _Folders, json_file: JsonFile = None) -> int:
    """Look for what is wrong with a network, on held-out games.

    The probability of illegal moves, before they are left out; how often Black won by the value (calibration); and
    whether values look like those of the side to play in place of Black, or are in [-1, 1]. A sentence tells each
    problem; then, the exit status is 1.
    """
    check_writable(json_file)

    from train.network.check import check_network, checked_text
    from train.players.networks import load_any_network

    network, sizes = load_any_network(what), _held_out(folders)
    if not sizes:
        raise RlgoError("games: expected some that are held out")
    found = {f"{size}x{size}": check_network(network, data) for size, data in sizes.items()}
    for board, checked in found.items():
        print(f"{what}, {board}: {checked_text(checked)}")
    write_json(json_file, {board: checked.to_json() for board, checked in found.items()})
    return int(any(checked.problems for checked in found.values()))


@app.command("info")
def info(what: _What) -> None:
    """Print what is known about a network: its size, its provenance, its planes."""
    from train.network.describe import describe
    from train.players.networks import load_any_network

    print(describe(load_any_network(what)))


@app.command("show")
def show(
    what: _What,
    moves: Annotated[str, option("--moves", "Moves from the empty board on, such as 'E5 D5'.", metavar="M")] = "",
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
) -> None:
    """Draw the outputs of a network for a position.

    These are its policy, in per cent, the ownership of the points at the end, and its value.
    """
    from train.network.describe import show_position
    from train.players.networks import load_any_network

    print(show_position(load_any_network(what), moves.split(), size, komi, unicode_output()))


@app.command("import")
def import_onnx(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An ONNX file that `rlgo network export` wrote.")],
    out: Annotated[Path, option("-o --out", "Network file to write.", metavar="FILE")] = Path("network.npz"),
    force: Force = False,
) -> None:
    """Read a network back from an ONNX file (needs onnx).

    Other programs may have changed its weights, but not its layers.
    """
    check_new(out, force)

    from train.network.onnx_file import load_onnx

    network = load_onnx(file)
    network.save(out)
    print(f"{out}: {network}")


@app.command("export")
def export(
    file: _File,
    out: Annotated[Path, option("-o --out", "ONNX file to write.", metavar="FILE")] = Path("network.onnx"),
    force: Force = False,
) -> None:
    """Write a network as an ONNX file (needs onnx).

    It describes itself, so that rlgo plays with it through onnxruntime, too; other programs can read it.
    """
    check_new(out, force)

    from rlgo.network.conv_network import load_network
    from train.network.onnx_file import save_onnx

    save_onnx(out, load_network(file))
    print(f"{out}: written")
