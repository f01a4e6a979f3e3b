"""The `rlgo` command: its groups of commands, and usage errors.

Start reading at `main`. Every other module of this package has a group of commands, with each command's options next to
its handler; `options.py` has what they share.

Parsing imports nothing heavy: handlers import numba, scipy and the rest themselves, so that ``rlgo --help`` answers at
once. Handlers return None for status 0, or a status: `rlgo weights diff` returns 1 for "different", as diff does.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from rlgo.base.errors import RlgoError
from train.cli import (
    bench,
    compiling,
    engine,
    experiments,
    games,
    listing,
    network,
    openings,
    training,
    training_games,
    weights,
)
from train.process import exit_status, prepare_process

_GROUPS: tuple[tuple[typer.Typer, str], ...] = (  # with their names; "" for commands that stand beside the groups
    (training.app, ""),
    (weights.app, "weights"),
    (listing.app, ""),
    (games.app, ""),
    (openings.app, "openings"),
    (training_games.games_app, "games"),
    (training_games.patterns_app, "patterns"),
    (network.app, "network"),
    (engine.app, ""),
    (experiments.app, "experiment"),
    (bench.app, ""),
    (compiling.app, ""),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from rlgo.base.resources import version

        print(f"rlgo {version()}")
        raise typer.Exit


def rlgo(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Reinforcement learning for computer Go."""
    del version  # its callback has done the work


def _app_of(groups: Iterable[tuple[typer.Typer, str]]) -> typer.Typer:
    made = typer.Typer(
        name="rlgo",
        help="Reinforcement learning for computer Go.",
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,  # rich takes longer to import than all the rest
        pretty_exceptions_enable=False,
    )
    made.callback()(rlgo)
    for group, name in groups:
        if name:
            made.add_typer(group, name=name)
        else:
            made.add_typer(group)
    return made


app = _app_of(_GROUPS)

_GONE = {  # commands and options of earlier versions, with what takes their place
    "configs --json": "the configs are TOML",
    "players --json": "`rlgo players NAME` lists the keys",
    "play --no-color": "the board is plain text",
    "play --quiet": "what the engine thinks stands after its move",
    "web --tensorboard": "`tensorboard --logdir runs` shows the runs",
    "compare": "`rlgo eval A B` rates both and plays their last weights; `rlgo weights diff` shows other settings",
    "sweep plot": "run again, a sweep rates its runs anew and draws itself; `rlgo eval RUN ... --png FILE` draws",
    "sweep --resume": "the same command without it continues a sweep",
    "eval --komi": "weights are rated with the komi of their training; `rlgo match --komi` plays with another",
    "eval --gnugo": "`rlgo match greedy,weights=FILE gtp:COMMAND` plays against an engine",
    "ladder --json": "`rlgo eval --json` lists the reference players, too",
    "ladder --games": "--make takes as many games as the shipped scale",
    "ladder --gnugo": "--make takes as many games as the shipped scale",
    "ladder --seed": "--make takes the seed of the shipped scale",
    "match --check-scores": "the referee compares the boards of engines with its own at the end of every game",
    "sweep --openings": "set `openings` in the table [sweep] of its file",
    "tournament --openings": "set `openings` in the table [tournament] of its file",
    "openings judge": "`rlgo openings make` keeps the judge's chances in its file",
    "openings --visits": "set the simulations of the judge in its spec",
    "cgos": "the server's own client runs `rlgo gtp --all-alive`; see the page Engine",
    "experiment run --openings": "--set experiment.openings=NAME",
    "experiment run --add": "games that the results count are always added to",
    "experiment run --played": "Ctrl-C writes the results of the games so far, once training is done",
    "experiment run --only": "an experiment's file of your own may have fewer players",
}


def _app_for(argv: Sequence[str]) -> typer.Typer:
    """Return the app with the commands that these arguments can need: to make all of them takes 0.1 s."""
    for group, name in _GROUPS:
        own = [command.name for command in group.registered_commands] + [g.name for g in group.registered_groups]
        if argv and argv[0] in ([name] if name else own):
            return _app_of([(group, name)])
    return app


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: the process's own), and return the exit status; see `exit_status`."""
    if argv is None:
        prepare_process()
    return exit_status(lambda: _run(sys.argv[1:] if argv is None else argv))


def _run(argv: Sequence[str]) -> int:
    if "_RLGO_COMPLETE" in os.environ:
        app(prog_name="rlgo")  # prints what the shell asks for, and exits
    _refuse_gone(argv)
    command = typer.main.get_command(_app_for(argv))
    try:
        # Not `command.main`, which handles Ctrl-C and closed pipes differently.
        with command.make_context("rlgo", list(argv)) as context:
            return command.invoke(context) or 0
    except typer.Exit as exit:
        return exit.exit_code
    except typer.TyperException as error:
        raise RlgoError(_explain(error)) from None
    except RlgoError as error:
        raise RlgoError(_name_option(str(error), argv)) from None


def _refuse_gone(argv: Sequence[str]) -> None:
    """Raise RlgoError for a command or an option that is gone."""
    given = [argument.partition("=")[0] for argument in argv]
    for name, successor in _GONE.items():
        command, _, option = name.partition(" --")
        if given[: len(command.split())] == command.split() and (not option or f"--{option}" in given):
            raise RlgoError(f"{name} is gone: {successor}")


def _name_option(text: str, argv: Sequence[str]) -> str:
    """Name the option that a bad value came from: "board.komi = 999: expected ..." was given as ``--komi 999``."""
    setting = re.match(r"(?:\w+\.)?(\w+) = (.+?): ", text)
    option = "" if setting is None else f"--{setting[1].rstrip('_').replace('_', '-')}"
    if setting is None or option not in (argument.partition("=")[0] for argument in argv):
        return text
    return f"{option} {setting[2]}: {text[setting.end() :]}"


def _explain(error: typer.TyperException) -> str:
    """Return a usage error as one line that points to the command's --help."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if parameter is None:
        text = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean")
        text = text[0].lower() + text[1:]
        takes_settings = context is not None and any("--set" in p.opts for p in context.command.params)
        if takes_settings and re.search(r"extra argument.*\w+=|no such option", text):
            text += "; settings follow --set, as in --set KEY=VALUE"
    else:
        name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar
        text = f"{name} {error.message}" if error.message else f"missing {name}"
    return text if context is None else f"{text} (see {context.command_path} --help)"
