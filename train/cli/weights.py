"""Commands about weight files: rlgo weights info, show, import, export, convert, diff."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, BoardSize
from train.cli.options import MOST_SHAPES, Force, Komi, PngFile, Top, check_new, check_picture, option, whole
from train.console import unicode_output

app = typer.Typer(help="Inspect, compare and convert weight files.")

_File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A weight file of rlgo, a .w file, or the name of shipped weights: 9x9-1M."),
]
_NewSize = Annotated[int | None, option("--size", "Board size, 5 to 19; checked if FILE has it.", BoardSize)]


def _out(default: str) -> typer.models.OptionInfo:
    return option("-o --out", "File to write.", metavar="OUT", show_default=default)


@app.command("info")
def info(file: _File) -> None:
    """Print the contents and provenance of a weight file."""
    from rlgo.features.weights import describe, load_weights

    print(describe(load_weights(file)))


@app.command("show")
def show(
    file: _File,
    top: Annotated[int, option("--top", "Shapes to draw of each block.", whole(1, MOST_SHAPES))] = 10,
    png: PngFile = None,
) -> None:
    """Draw the strongest shapes of each block."""
    check_picture(png)

    from rlgo.features.weights import load_weights

    weights = load_weights(file)
    print(weights.show(top, unicode_output()))
    if png is not None:
        from train.board_pictures import shapes_figure
        from train.plots import save_figure

        save_figure(shapes_figure(weights, top), png)


@app.command("import")
def import_weights(
    file: Annotated[Path, typer.Argument(metavar="FILE.w", help="A weight file of the original RLGO.")],
    out: Annotated[Path | None, _out("FILE.npz in this folder")] = None,
    force: Force = False,
    size: _NewSize = None,
    komi: Komi = DEFAULT_KOMI,
    games: Annotated[int, option("--games", "Training games; 0 if not known.", whole(0))] = 0,
    value: Annotated[str, option("--value", "Kind of value function.", Literal["logistic", "linear"])] = ("logistic"),
) -> None:
    """Read a weight file of the original RLGO.

    The header names the features and, by NumSaved, the board size; sets of LI shapes alone need --size. Komi, number of
    games and kind of value are not recorded. The file that comes with the original was trained on a million games with
    komi 6.5: use --komi 6.5 --games 1_000_000.
    """
    from rlgo.features.weights import import_w, save_weights

    weights = import_w(file, size, komi, games, value)
    path = _new_file(out, f"{file.stem}.npz", force)
    save_weights(path, weights)
    print(f"{path}: {weights.features.name}, {weights.features.n_weights:,} weights")
    print(
        f"assumed komi {komi:g}, {games:,} games, {value} value (not recorded in .w files; set them with --komi, "
        "--games, --value)"
    )


@app.command("export")
def export(
    file: _File,
    out: Annotated[Path | None, _out("FILE.w in this folder")] = None,
    force: Force = False,
    unshared: Annotated[
        bool, option("--unshared", "Write the same values without weight sharing, one weight per shape.")
    ] = False,
) -> None:
    """Write a weight file for the original RLGO.

    The format does not record komi, number of games and kind of value. Files from `rlgo weights import` are written
    back byte for byte.
    """
    from rlgo.features.conversion import without_sharing
    from rlgo.features.weights import export_w, load_weights

    weights = load_weights(file)
    path = _new_file(out, f"{file.stem}.w", force)
    if unshared:
        weights = without_sharing(weights)
    export_w(path, weights)
    print(f"{path}: {weights.features.name}")
    left_out = f"komi {weights.komi:g}, {weights.games:,} games, {weights.value} value"
    print(f"left out: {left_out} (.w files do not record them)")


@app.command("convert")
def convert(
    file: _File,
    out: Annotated[Path | None, _out("FILE-SIZE-SHARING.npz in this folder")] = None,
    force: Force = False,
    size: Annotated[int | None, option("--size", "New board size, 5 to 19.", BoardSize)] = None,
    sharing: Annotated[
        str | None, option("--sharing", "New weight sharing: LI, LD, LI+LD, inversion or none.", metavar="S")
    ] = None,
) -> None:
    """Carry weights over to another board size or sharing.

    LI weights carry over unchanged to another size. LD weights are tied to fixed positions, so they start from 0, ready
    for more training. Sets without LI cannot change size.

    Another sharing keeps the value of every position, or is rejected. With both options, the size changes first.
    """
    if size is None and sharing is None:
        raise RlgoError("weights convert: expected --size, --sharing, or both (see rlgo weights convert --help)")
    marks = [*([] if size is None else [f"{size}x{size}"]), *([sharing] if sharing else [])]
    from rlgo.features.conversion import convert as convert_weights
    from rlgo.features.weights import load_weights, save_weights

    old = load_weights(file)
    path = _new_file(out, "-".join([file.stem, *marks]) + ".npz", force)
    if size in (None, old.features.size) and sharing in (None, old.features.sharing):
        raise RlgoError(f"{file}: is already {old.features.name}")
    try:
        new = convert_weights(old, size, sharing)
    except RlgoError as error:
        raise RlgoError(f"{file}: {error}") from None
    save_weights(path, new)
    print(f"{path}: {new.features.name}, {new.features.n_weights:,} weights")
    if new.features.size != old.features.size:
        rest = "; LD weights start from 0" if old.features.sharing == "LI+LD" else ""
        print(f"LI weights carried over from {old.features.size}x{old.features.size}{rest}")


@app.command("diff")
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A weight file, a .w file, or the name of shipped weights.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Other weights.")],
    top: Top = 0,
) -> int:
    """Print what differs between two weight files.

    Files with other window sizes or sharing are compared shape by shape, without sharing. --top draws the shapes that
    differ most.

    The exit status is 0 if all weights and the kind of value are equal, 1 if they are not, and 2 if the files cannot be
    compared.
    """
    from rlgo.features.diff import describe_difference
    from rlgo.features.diff import diff as compare
    from rlgo.features.weights import load_weights

    weights_a, weights_b = load_weights(a), load_weights(b)
    try:
        difference = compare(weights_a, weights_b)
    except RlgoError as error:
        raise RlgoError(f"{a} and {b}: {error}") from None
    print(describe_difference(difference, (str(a), str(b)), top, unicode_output()))
    return int(not difference.is_same)


def _new_file(out: Path | None, default: str, force: bool) -> Path:
    """Return the file to write: `out`, or `default` in the current folder; an existing one only with `force`."""
    path = out or Path(default)
    suffix = Path(default).suffix
    if path.suffix != suffix:
        raise RlgoError(f"{path}: expected a name that ends in {suffix}")
    check_new(path, force)
    return path
