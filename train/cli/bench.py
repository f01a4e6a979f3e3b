"""`rlgo bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from train.cli.options import ENGINE, JsonFile, check_writable, write_json

app = typer.Typer()


def _parts() -> list[str]:
    """List what can be measured alone, for completion."""
    from train.bench.table import parts_of

    return list(parts_of(1.0, ENGINE, set()))


@app.command("bench")
def bench(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PART]...",
            autocompletion=_parts,
            help="What to measure, such as td_search or scaling; nothing: everything.",
        ),
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Measure speed, on one core."""
    check_writable(json_file)

    from train.bench.table import main

    write_json(json_file, main(player=ENGINE, parts=parts or ()))
