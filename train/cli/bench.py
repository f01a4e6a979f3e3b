"""`rlgo bench`."""

from __future__ import annotations

import typer

from train.cli.options import ENGINE, JsonFile, check_writable, write_json

app = typer.Typer()


@app.command("bench")
def bench(json_file: JsonFile = None) -> None:
    """Measure the speed of everything, on one core."""
    check_writable(json_file)

    from train import bench as benchmark

    write_json(json_file, benchmark.main(player=ENGINE))
