"""Commands that put a player behind an interface: play, web, gtp, analyze."""

from __future__ import annotations

import contextlib
import functools
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, SeedNumber
from train.cli.options import (
    ENGINE,
    MOST_SHAPES,
    Force,
    JsonFile,
    Komi,
    Player,
    PngFile,
    Seed,
    Size,
    Strength,
    check_different,
    check_outputs,
    check_writable,
    chosen_player,
    option,
    player_names,
    refuse_unused,
    whole,
    write_json,
)
from train.console import LogFile, message, unicode_output
from train.process import interruptible

if TYPE_CHECKING:
    from rlgo.go.game import Game
    from rlgo.play.player import Player as GoPlayer
    from train.play.analyze import Analysis
    from train.play.curve import Curve
    from train.play.record import Record

app = typer.Typer()

# ---------------------------------------------------------------------------------------------
# rlgo play
# ---------------------------------------------------------------------------------------------

_Color = Annotated[
    str | None,
    option("--color", "Your colour.", Literal["black", "white"], show_default="black; white with a handicap"),
]
_Handicap = Annotated[int, option("--handicap", "Handicap stones of Black: 0, or 2 to 9.", whole(0))]
_Time = Annotated[
    str | None, option("--time", "The engine's time in seconds: 60, 60+30/5 (5 moves in 30 s) or 60+3x10.", metavar="T")
]
_GameSeed = Annotated[int | None, option("--seed", "Seed of the engine.", SeedNumber, show_default="random")]


@app.command("play")
def play(
    *,
    player: Player = ENGINE,
    strength: Strength = None,
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
    color: _Color = None,
    handicap: _Handicap = 0,
    time: _Time = None,
    sgf: Annotated[Path | None, option("--sgf", "Record the game in this file.", metavar="FILE")] = None,
    force: Force = False,
    seed: _GameSeed = None,
) -> None:
    """Play against the engine in the terminal.

    A player is written NAME[,KEY=VALUE...], such as random or greedy,weights=FILE. Enter a move as a vertex, such as
    D4; type help for other commands.
    """
    check_writable(sgf, "--sgf")

    from train.play.terminal import play_in_terminal

    play_in_terminal(
        chosen_player(player, strength),
        size,
        komi,
        color=color,
        handicap=handicap,
        record=sgf,
        force=force,
        seed=seed,
        time=time,
    )


# ---------------------------------------------------------------------------------------------
# rlgo web
# ---------------------------------------------------------------------------------------------

_Port = Annotated[
    int | None,
    option("--port", "Port; 0: any free one.", whole(0, 65_535), metavar="P", show_default="8000, or any free one"),
]
_Host = Annotated[
    str, option("--host", "Address to listen on; by default, this computer alone can connect.", metavar="H")
]
_Runs = Annotated[
    Path | None, option("--runs", "Training runs to show.", metavar="DIR", show_default="runs, if it exists")
]
_WeightFolders = Annotated[
    list[Path] | None,
    option("--weights", "Weight files that the page may use, next to the shipped ones.", metavar="DIR"),
]
_SgfFolders = Annotated[
    list[Path] | None,
    option("--sgf", "Game records that the page may open; it saves to the first folder.", metavar="DIR"),
]
_TokenFile = Annotated[
    Path | None,
    option("--token-file", "Keep the token here, so that open pages connect again after a restart.", metavar="FILE"),
]


@app.command("web")
def web(
    *,
    player: Player = ENGINE,
    strength: Strength = None,
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
    port: _Port = None,
    host: _Host = "127.0.0.1",
    no_browser: Annotated[bool, option("--no-browser", "Only print the address.")] = False,
    runs: _Runs = None,
    weights: _WeightFolders = None,
    sgf: _SgfFolders = None,
    token_file: _TokenFile = None,
) -> None:
    """Play, watch searches and see what they learn, in a browser.

    Needs rlgo[web]. Open the address that is printed. Anyone who has it can run searches on this computer. Ctrl-C ends
    the server.
    """
    from train.play.web.options import Options
    from train.play.web.server.serve import serve
    from train.runs.history import RunHistory

    if runs is None and Path("runs").is_dir():
        runs = Path("runs")
    options = Options(
        player=chosen_player(player, strength),
        size=size,
        komi=komi,
        host=host,
        weights=tuple(weights or ()),
        sgf=tuple(sgf or ()),
    )
    history = None if runs is None else RunHistory(runs)
    serve(options, port, runs=history, token_file=token_file, opens_browser=not no_browser)


# ---------------------------------------------------------------------------------------------
# rlgo gtp
# ---------------------------------------------------------------------------------------------


@app.command("gtp")
def gtp(
    context: typer.Context,
    *,
    player: Player = ENGINE,
    strength: Strength = None,
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
    ponder: Annotated[bool, option("--ponder", "Think in the opponent's time.")] = False,
    all_alive: Annotated[
        bool, option("--all-alive", "Count all stones as alive at the end, as CGOS does; by default, a search decides.")
    ] = False,
    early_pass: Annotated[
        bool, option("--early-pass", "Answer a pass with a pass in a won game, despite dead stones on the board.")
    ] = False,
    log: Annotated[
        Path | None, option("--log", "Append commands, answers and searches to this file.", metavar="FILE")
    ] = None,
    queries: Annotated[
        bool, option("--queries", "Speak KataGo's analysis protocol, JSON in place of GTP, for KaTrain.")
    ] = False,
) -> None:
    """Run a GTP engine on standard input and output.

    A player is written NAME[,KEY=VALUE...], such as random or greedy,weights=FILE. For games with a clock, limit it
    by seconds per move rather than by simulations: --player rlgo,seconds=30. --strength is for the default player,
    whose analyses are the strongest one's at every level. It resigns lost games, but not with --all-alive.
    """
    spec = chosen_player(player, strength)
    if all_alive and early_pass:
        raise RlgoError("--early-pass cannot be combined with --all-alive")

    if queries:
        refuse_unused(context, "with --queries", "size", "komi", "ponder", "all_alive", "early_pass", "log")

        from train.players.spec import strongest

        spec = strongest(spec)
        answer_queries(lambda size: _make(spec, size))
        return
    options: dict[str, Any] = {"ponders": ponder, "all_alive": all_alive, "early_pass": early_pass}
    options["resigns"] = not all_alive  # with it, programs play each other
    with contextlib.ExitStack() as stack:
        if log:
            options["log"] = stack.enter_context(LogFile(log))
        _speak_gtp(spec, size, komi, options)


def _make(spec: str, size: int) -> GoPlayer:
    from train.players.spec import make_player

    return make_player(spec, size)


def _speak_gtp(spec: str, size: int, komi: float, options: dict[str, Any]) -> None:
    """Be a GTP engine on standard input and output; its player gets ready in the background."""
    from rlgo.play.gtp import GtpEngine, run
    from train.players.networks import make_judge
    from train.players.spec import strongest

    player = _make(spec, size)

    def report(error: BaseException | None) -> None:
        message(f"rlgo: {player.name} is ready" if error is None else f"rlgo: {error}")

    make, make_analyst = functools.partial(_make, spec), functools.partial(_make, strongest(spec))
    options |= {"make": make, "make_analyst": None if strongest(spec) == spec else make_analyst, "judge": make_judge}
    engine = GtpEngine(player, size, komi, title=_title(spec), ready=report, **options)
    try:
        run(engine)
    finally:
        engine.session.close()


def _title(spec: str) -> str:
    """Describe a player spec in a few words: ``level 3``, ``mc_rave,sims=200``; "" for the default one."""
    name, *settings = spec.split(",")
    levels = [setting.partition("=")[2] for setting in settings if setting.startswith("strength=")]
    if name == ENGINE:
        return " ".join(
            [*(f"level {level}" for level in levels), *(s for s in settings if not s.startswith("strength="))]
        )
    return spec


def answer_queries(make: Callable[[int], Any]) -> None:
    """Answer the queries on standard input, in KataGo's analysis protocol."""
    from rlgo.play.gtp.queries import AnalysisEngine

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    # Not sys.stdin: a thread still waiting for it would block Python's shutdown.
    source = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - it stays open
    AnalysisEngine(make, write).run(source)


# ---------------------------------------------------------------------------------------------
# rlgo analyze
# ---------------------------------------------------------------------------------------------


def _position(file: Path, komi: float, move: int | None) -> Game:
    """Return the game of a record, or its first moves."""
    from rlgo.go.sgf import BadMove, load_sgf, record_note

    try:
        game = load_sgf(file, komi, move)
    except BadMove as error:
        raise RlgoError(f"{error}; --move {error.n_before} analyses the position before") from None
    if note := record_note(game):
        message(f"rlgo: {file}: {note}")
    if move is not None and game.n_played < move:
        raise RlgoError(f"--move {move}: the record has {game.n_played} moves")
    return game


def _record_of(file: Path, komi: float, out: Path) -> Record:
    """Read the record of a file that is written to `out`. RlgoError if that file would then lose something."""
    from rlgo.go.sgf import read_sgf_file
    from rlgo.go.sgf_files import check_holds
    from train.play.record import Record

    record = Record.read(read_sgf_file(file), komi)
    if record.lost:
        message(f"rlgo: {file}: --sgf keeps nothing but its moves, since it has {record.lost}")
    check_holds(out, record.write())
    return record


def _write_review(path: Path, record: Record, curve: Curve) -> None:
    """Write a record with a curve in it."""
    from rlgo.go.sgf_files import save_sgf
    from train.play.curve import annotate

    annotate(record, curve)
    save_sgf(path, record.write())


def _check_files(file: Path, sgf: Path | None, json_file: Path | None, png: Path | None, whole_game: bool) -> None:
    """Raise RlgoError if a file cannot be written, or would be over another one; --sgf may be the record itself."""
    check_outputs(json_file, png)
    check_writable(sgf, "--sgf")
    for name, output in {"--json": json_file, "--png": png}.items():
        check_different(("POSITION.sgf", file), (name, output))
        check_different(("--sgf", sgf), (name, output))
    if sgf is not None and not whole_game:
        raise RlgoError("--sgf: expected --game with it")
    if png is not None and whole_game:
        raise RlgoError("--png has no effect with --game: --sgf keeps the analysis, which the page shows as a curve")


@app.command("analyze")
def analyze(
    file: Annotated[Path, typer.Argument(metavar="POSITION.sgf", help="A game record; its last position is analysed.")],
    *,
    whole_game: Annotated[
        bool, option("--game", "Analyse every position: the curve of the game, and what each move lost.")
    ] = False,
    player: Annotated[
        str | None,
        option(
            "--player",
            "Who analyses.",
            show_default="dyna2; rlgo with --game",
            metavar="SPEC",
            autocompletion=player_names,
        ),
    ] = None,
    move: Annotated[int | None, option("--move", "Analyse the position after N moves.", whole(0))] = None,
    komi: Komi = DEFAULT_KOMI,
    seed: Seed = 1,
    top: Annotated[
        int, option("--top", "Shapes of each block, or worst moves of each side, to show.", whole(0, MOST_SHAPES))
    ] = 10,
    json_file: JsonFile = None,
    png: PngFile = None,
    sgf: Annotated[
        Path | None, option("--sgf", "With --game: write the record with the analysis in it.", metavar="FILE")
    ] = None,
) -> int:
    """Show the value of every move, or the curve of a whole game.

    A player is written NAME[,KEY=VALUE...], such as random or greedy,weights=FILE. Dyna-2 also shows the
    values by its long-term memory alone, and the shapes whose short-term weights changed most. --komi is for records
    that do not state theirs. Ctrl-C ends the search and shows its result so far. --sgf writes all that the record had,
    and comments, marks and better moves, for Sabaki, KaTrain and others.
    """
    _check_files(file, sgf, json_file, png, whole_game)

    from train.play.analyze import analyze as analyze_position
    from train.play.curve import Curve, curve_of
    from train.players.spec import make_player

    game = _position(file, komi, move)
    record = None if sgf is None else _record_of(file, komi, sgf)
    engine = make_player(player or ("rlgo" if whole_game else "dyna2"), game.size, seed)
    engine.warm_up()
    result: Analysis | Curve
    try:
        with interruptible(engine, (signal.SIGINT, signal.SIGTERM)) as stop:
            result = curve_of(game, engine, stop) if whole_game else analyze_position(game, engine)
    finally:
        engine.close()
    print(result.text(top, unicode_output()))
    write_json(json_file, result.to_json())
    if sgf is not None and record is not None and isinstance(result, Curve):
        _write_review(sgf, record, result)
    if png is not None and not isinstance(result, Curve):
        from train.play.analysis_pictures import analysis_picture

        analysis_picture(png, result, top)
    return 128 + stop.signal if stop else 0
