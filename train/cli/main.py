"""The `rlgo` command: its groups of commands, and error handling.

Start reading at `main`. Every other module of this package has a group of commands, with each command's options next to
its handler; `options.py` has what several share.

Parsing imports nothing heavy: handlers import numba, scipy and the rest themselves, so that ``rlgo --help`` answers at
once. Handlers return None for status 0, or a status: `rlgo weights diff` returns 1 for "different", as diff does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from rlgo.errors import RlgoError
from train.cli import bench, engine, experiments, games, listing, training, weights

SIGPIPE = 13  # which Windows does not name

app = typer.Typer(
    name="rlgo",
    help="Reinforcement learning for computer Go.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # rich takes longer to import than all the rest
    pretty_exceptions_enable=False,
)
app.add_typer(training.app)
app.add_typer(weights.app, name="weights")
app.add_typer(listing.app)
app.add_typer(games.app)
app.add_typer(engine.app)
app.add_typer(experiments.app, name="experiment")
app.add_typer(bench.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from rlgo.resources import version

        print(f"rlgo {version()}")
        raise typer.Exit


@app.callback()
def rlgo(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Reinforcement learning for computer Go."""
    del version  # its callback has done the work


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: the process's own), and return the exit status.

    Errors that the user can correct are an `RlgoError`, printed on one line: status 2. Ctrl-C gives 130, and a closed
    output pipe 141. Any other exception is a bug and keeps its traceback.
    """
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except RlgoError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except SystemExit as exit:  # SIGTERM ends a training run, or a shell asks for completions
        return exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BrokenPipeError:
        # The reader of our output is gone (`rlgo ... | head`). Python flushes once more on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + SIGPIPE
    except OSError as error:
        if error.filename is None:
            raise
        return _fail(f"{error.filename}: {error.strerror}")
    return status


def _run(argv: Sequence[str]) -> int:
    if "_RLGO_COMPLETE" in os.environ:
        app(prog_name="rlgo")  # prints what the shell asks for, and exits
    command = typer.main.get_command(app)
    try:
        # Not `command.main`, which handles Ctrl-C and closed pipes differently.
        with command.make_context("rlgo", list(argv)) as context:
            return command.invoke(context) or 0
    except typer.Exit as exit:
        return exit.exit_code
    except typer.TyperException as error:
        raise RlgoError(_explain(error)) from None


def _explain(error: typer.TyperException) -> str:
    """Return a usage error as one line that points to the command's --help."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if parameter is None:
        text = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean")
        text = text[0].lower() + text[1:]
    else:
        name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar
        text = f"{name} {error.message}" if error.message else f"missing {name}"
    return text if context is None else f"{text} (see {context.command_path} --help)"


def _fail(message: str) -> int:
    with contextlib.suppress(BrokenPipeError):
        print("rlgo: error:", " ".join(message.split("\n")), file=sys.stderr)
    return 2
