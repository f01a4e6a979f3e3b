"""Pictures of analyses: of one position, and of a whole game."""

from __future__ import annotations

from pathlib import Path

from rlgo.board import BLACK
from rlgo.draw import shapes_image, values_image
from rlgo.game import COLOR_NAMES
from rlgo.player import RESIGN
from rlgo.weights import strongest
from train.play.analyze import Analysis, describe_map
from train.play.curve import Curve
from train.plots import light_frame, make_figure, percent, save_figure


def analysis_picture(path: str | Path, analysis: Analysis, top: int = 10) -> None:
    """Write a PNG of an analysis: a board for each map, and the shapes whose weights changed most.

    RlgoError without matplotlib.
    """
    maps = analysis.known_maps()
    blocks = [] if analysis.memory is None or not top else analysis.memory.features.blocks
    rows, columns = 2 if blocks else 1, max(1, len(maps), len(blocks))
    figure, axes = make_figure(rows, columns, 4.6 * columns, 4.9 + 2.2 * (rows - 1), height_ratios=[2.4, 1][:rows])
    for ax in axes.flat:
        ax.set_axis_off()
    mark = None if analysis.move == RESIGN else analysis.move
    for ax, (name, values) in zip(axes[0], maps.items(), strict=False):
        ax.imshow(values_image(values, 36, analysis.game.board, mark), interpolation="none")
        ax.set_title(f"{name}: {describe_map(name)}, %", fontsize=10, loc="left")
    for ax, block in zip(axes[-1], blocks, strict=False):
        assert analysis.memory is not None
        shapes = strongest(analysis.memory, block, top)
        largest = max((abs(weight) for weight, *_ in shapes), default=1.0)
        tints = [weight / largest for weight, *_ in shapes]
        ax.imshow(shapes_image([cells for _, cells, *_ in shapes], tints, columns=5), interpolation="none")
        ax.set_title(f"learned most, {block.name}: up to {largest:.2f}", fontsize=10, loc="left")
    title = f"{COLOR_NAMES[analysis.game.to_play]} to play; {analysis.player} plays {analysis.name_of(analysis.move)}"
    figure.suptitle("\n".join([title, *analysis.report]), fontsize=11)
    save_figure(figure, path)


def curve_picture(path: str | Path, curve: Curve, top: int = 10) -> None:
    """Write a PNG of a game's curve, with its turning points named. RlgoError without matplotlib."""
    figure, axes = make_figure(1, 1, 9, 4)
    ax, values = axes[0, 0], curve.values
    ax.axhline(0.5, color="0.6", linewidth=0.8)
    ax.plot(range(len(values)), values, color="0.25", linewidth=1.5)
    for turn in curve.turns(top):
        value, lost_by_black = turn.step.value, turn.step.color == BLACK
        ax.plot(turn.number, value, "o", color="black" if lost_by_black else "white", markeredgecolor="black", zorder=3)
        ax.annotate(
            f"{turn.number} {curve.name_of(turn.step.point)}",
            (turn.number, value),
            (0, -14 if lost_by_black else 8),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    ax.set(xlabel="move", ylabel="P(Black wins)", ylim=(-0.08, 1.08), xlim=(0, max(1, len(values) - 1)))
    percent(ax.yaxis)
    light_frame(ax)
    ax.set_title(
        f"As {curve.player} sees it; circles: moves that lost much, in the colour that played them", loc="left"
    )
    save_figure(figure, path)
