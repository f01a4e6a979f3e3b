"""Draw the pictures of docs/concepts.md into docs/concepts: `python studies/concepts_pictures.py`.

Start reading at the end. Needs matplotlib; takes about half a minute once everything is compiled. All seeds are fixed.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from PIL import Image

import rlgo
from mcts import ALGORITHMS, TreeSearch
from mcts.policies.rave import hand_selected_beta, minimum_mse_beta
from rlgo.go.coords import COLUMNS, from_row_col, to_vertex
from rlgo.go.draw import colors_of
from rlgo.learning.contributions import contributions
from rlgo.network.architecture import KINDS
from rlgo.play.ownership import Ownership
from train.board_pictures import draw_board as draw_stones
from train.players import make_player
from train.plots import FIRST, INK, SECOND, light_frame, line_style, percent

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def save(figure: Any, picture_name: str) -> None:
    """Write a figure with 128 colours, which keeps the file small."""
    pixels = io.BytesIO()
    figure.savefig(pixels, dpi=100)
    Image.open(pixels).convert("RGB").quantize(128).save(DOCS / "concepts" / f"{picture_name}.png", optimize=True)
    plt.close(figure)


def draw_board(
    ax: Any, colors: np.ndarray, title: str = "", values: Any = None, low: float = 0, high: float = 1
) -> None:
    """Draw stones and, in per cent, a map of values: blue at `low`, red at `high`. 3x3 stones are a shape."""
    n, is_whole = len(colors), len(colors) > 3
    draw_stones(ax, colors, None if values is None else np.clip((values - low) / (high - low), 0, 1), is_whole=is_whole)
    for row, col in [] if values is None else np.argwhere(np.isfinite(values)):
        ground = {"boxstyle": "circle,pad=0.1", "facecolor": "w", "linewidth": 0, "alpha": 0.7}
        ax.text(col, row, f"{100 * values[row, col]:.0f}", ha="center", va="center", fontsize=8, bbox=ground)
    ax.set_xticks(range(n) if is_whole else [], COLUMNS[:n] if is_whole else [], fontsize=8)
    ax.set_yticks(range(n) if is_whole else [], range(1, n + 1) if is_whole else [], fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title, fontsize=10)


def name(i: Any) -> str:
    """Return the name of point number `i`, row by row from A1."""
    return to_vertex(from_row_col(*divmod(int(i), 9), 9), 9)


def afterstates(V: rlgo.ValueFunction, game: rlgo.Game) -> np.ndarray:
    """Return V after each move as float[9, 9]."""
    return V.afterstates(game)[:-1].reshape(9, 9)


def draw_value(game: rlgo.Game, weights: rlgo.Weights) -> None:
    """V of all afterstates, and what the blocks of weights add to V(s)."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained", width_ratios=(1, 0.9))
    draw_board(left, COLORS, "V after each Black move, in %", afterstates(rlgo.ValueFunction(weights), game), 0.3, 0.7)
    windows = contributions(weights, game.board)
    sums = {block.name: sum(w.weight for w in windows if w.block == block.name) for block in weights.features.blocks}
    x = sum(sums.values())
    sums["$\\phi(s)\\cdot\\theta$"] = x
    right.barh([*sums], [*sums.values()], color=[SECOND if y > 0 else FIRST for y in sums.values()])
    right.invert_yaxis()
    right.axvline(0, color=INK, lw=0.8)
    right.set_title(f"before the move: V(s) = $\\sigma$({x:+.2f}) = {1 / (1 + np.exp(-x)):.0%}", fontsize=10)
    right.set_xlabel("weights of the shapes on the board, summed by block", fontsize=9)
    light_frame(right, "x")
    save(figure, "value")


def draw_features() -> None:
    """Three windows on a board, and the shapes that share one weight."""
    left, right = (figure := plt.figure(figsize=(9, 4.2), layout="constrained")).subfigures(1, 2)
    ax = left.subplots()
    draw_board(ax, COLORS, "three of the windows")
    for k, row, col, colour in ((1, 1, 3, "#009E73"), (2, 2, 1, FIRST), (3, 3, 3, SECOND)):
        ax.add_patch(Rectangle((col - 0.5, row - 0.5), k, k, fill=False, ec=colour, lw=3.5))
    shape = COLORS[3:6, 3:6]
    inverted = np.array([0, rlgo.WHITE, rlgo.BLACK], np.uint8)[shape]
    images = [np.rot90(s, i) for s in (shape, shape.T, inverted, inverted.T) for i in range(4)]
    right.suptitle("one location-independent weight for 16 shapes,\nanywhere on the board", fontsize=10)
    for i, (ax, image) in enumerate(zip(right.subplots(4, 4).flat, images, strict=True)):
        draw_board(ax, image)
        ax.set_xlabel("$+\\theta$" if i < 8 else "$-\\theta$", fontsize=9, labelpad=1)
    save(figure, "features")


def draw_td_learning(V: rlgo.ValueFunction) -> None:
    """V of the first move after more and more games, and V along a game of self-play."""
    figure = plt.figure(figsize=(9, 5.6), layout="constrained")
    top, bottom = figure.subfigures(2, 1)
    learner = rlgo.Learner(rlgo.make_features(9), rlgo.Learning(), rlgo.Policy(), seed=1)
    for ax, games in zip(top.subplots(1, 4), (10, 100, 1_000, 10_000), strict=True):
        learner.learn(games - learner.games)
        values = afterstates(rlgo.ValueFunction(rlgo.Weights(learner.features, learner.theta)), rlgo.Game(9))
        draw_board(ax, np.zeros((9, 9), np.uint8), f"V of the first move\nafter {games:,} games")
        ax.imshow(values, cmap="RdBu_r", vmin=0.3, vmax=0.7, origin="lower", alpha=0.9)
        ax.set(xticks=[], yticks=[])
    game, player = rlgo.Game(9), rlgo.GreedyPlayer(V, seed=9, epsilon=0.2)
    values = [V.value(game)]
    while not game.is_over():
        game.play(player.genmove(game))
        values.append(V.value(game))
    ax, last = bottom.subplots(), len(values) - 1
    for start, (colour, name) in enumerate(((SECOND, "Black"), (FIRST, "White"))):
        label = f"$V(s_t)$ with {name} to play"
        ax.plot(range(start, last + 1, 2), values[start::2], "o-", ms=3.5, lw=1.2, color=colour, label=label)
    ax.plot(last, game.outcome, "k*", ms=11, label="the outcome z")
    ax.set(xlabel="t, plies of a game", ylabel="P(Black wins)", ylim=(-0.05, 1.05))
    ax.legend(fontsize=8, frameon=False)
    percent(ax.yaxis)
    light_frame(ax)
    save(figure, "td_learning")


def draw_td_search(game: rlgo.Game) -> None:
    """V of all afterstates after more and more simulations, from weights of zero."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    for ax, simulations in zip(axes, (10, 300, 10_000), strict=True):
        search = rlgo.TdSearch(9, simulations=simulations, seed=1)
        search.genmove(game)
        values = search.analyses()["value"]
        middle = np.nanmean(values)
        draw_board(ax, COLORS, f"{simulations:,} simulations", values, middle - 0.15, middle + 0.15)
    save(figure, "td_search")


def draw_two_phase(game: rlgo.Game, weights: rlgo.Weights) -> None:
    """Three moves and three replies to each, by what Dyna-2 learned, and what alpha-beta cuts off."""
    player = rlgo.Dyna2(9, weights, simulations=1_000, seed=1)
    player.search(game)
    V, alpha = rlgo.ValueFunction(player.value_weights()), 0.0
    ax = (figure := plt.figure(figsize=(9, 3), layout="constrained")).subplots()
    box = {"boxstyle": "round", "facecolor": "w", "edgecolor": INK}
    text = {"ha": "center", "va": "center", "fontsize": 9}
    lines = []  # of each move: the lowest value after a reply, the move, and three replies with their values
    for move in np.argsort(-np.nan_to_num(V.afterstates(game)[:-1]))[:3]:
        (after := game.copy()).play(divmod(int(move), 9))
        values = V.afterstates(after)[:-1]
        replies = np.argsort(np.nan_to_num(values, nan=1.0))[:3]
        lines.append((values[replies[0]], move, [(reply, values[reply]) for reply in replies]))
    for i, (_, move, replies) in enumerate(sorted(lines, key=lambda line: -line[0])):
        low, is_cut = 1.0, False
        for j, (reply, value) in enumerate(replies):
            ax.plot([3 * i + 1, 3 * i + j], [1, 0.15], ":" if is_cut else "-", color="0.7" if is_cut else INK, zorder=0)
            label = f"{name(reply)}\n{'cut off' if is_cut else f'{value:.1%}'}"
            ax.text(3 * i + j, 0, label, color="0.6" if is_cut else "k", **text)
            low = low if is_cut else min(low, value)
            is_cut = low <= alpha
        alpha = max(alpha, low)
        ax.plot([4, 3 * i + 1], [2, 1], color=SECOND if low == alpha else INK, lw=3 if low == alpha else 1.5, zorder=0)
        ax.text(3 * i + 1, 1, f"{name(move)}: min {'≤' if is_cut else '='} {low:.1%}", bbox=box, **text)
    ax.text(4, 2, f"Black to play: max = {alpha:.1%}", bbox=box, **text)
    ax.set(xlim=(-0.6, 8.6), ylim=(-0.25, 2.2))
    ax.axis("off")
    save(figure, "two_phase")


def draw_mc_rave(game: rlgo.Game) -> None:
    """Beta over visits, and MC and AMAF values after 300 simulations against those of a very long search."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    n = np.geomspace(1, 100_000, 200)
    betas = {f"eq. 19, k = {k:,}": [hand_selected_beta(x, float(k)) for x in n] for k in (1_000, 10_000)}
    betas |= {f"eq. 47, b = {b}, Ñ = 10 N": [minimum_mse_beta(x, 10 * x, b) for x in n] for b in (0.1, 0.02)}
    for i, (label, beta) in enumerate(betas.items()):
        left.semilogx(n, beta, label=label, color=line_style(i)["color"], ls="-" if i < 2 else "--")
    left.set(xlabel="visits: N(s) in eq. 19, N(s, a) in eq. 47", title="$\\beta$, the weight of Q̃")
    flat, rave = ALGORITHMS["mc"], ALGORITHMS["mc_rave"]
    results = [
        TreeSearch(9, s, simulations=k, seed=1).search(game) for s, k in ((flat, 195_000), (flat, 300), (rave, 300))
    ]
    long, mc, amaf = (dict(zip(r.moves, r.q_amaf if r is results[2] else r.q, strict=True)) for r in results)
    for short, label, i in (
        (mc, "Q, 4 or 5 simulations of each move", 0),
        (amaf, "Q̃ of MC-RAVE's first 300 simulations", 1),
    ):
        right.plot([long[m] for m in long], [short[m] for m in long], line_style(i)["marker"], ms=4, label=label,
                   color=line_style(i)["color"], alpha=0.8)  # fmt: skip
    right.axline((0.4, 0.4), slope=1, color=INK, lw=0.8)
    right.set(
        xlabel="Q after 3,000 simulations of each move",
        title="all moves of one position",
        ylim=(-0.05, 1.25),
        yticks=np.linspace(0, 1, 6),
    )
    for ax in (left, right):
        ax.legend(fontsize=8, frameon=False)
        light_frame(ax)
    save(figure, "mc_rave")


def draw_prior(game: rlgo.Game, weights: rlgo.Weights) -> None:
    """Q_rlgo, and where the simulations of a short search go without it and with it."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    draw_board(axes[0], COLORS, "H = Q_rlgo, in %", afterstates(rlgo.ValueFunction(weights), game), 0.3, 0.7)
    with_prior = ALGORITHMS["heuristic_mc_rave"]
    for ax, settings, name in zip(axes[1:], (ALGORITHMS["mc_rave"], with_prior), ("no prior", "M = 50"), strict=True):
        search = TreeSearch(9, settings, simulations=300, weights=weights, seed=1)
        search.genmove(game)
        visits = shares(search.analyses()["visits"])
        draw_board(ax, COLORS, f"% of 300 simulations, {name}", visits, -0.4, 0.4)
    save(figure, "prior")


def draw_leaf_values(record: rlgo.Game) -> None:
    """Draw what playouts and the network say of the positions of a game, beside a search that uses both."""
    network, player = rlgo.load_network("9x9"), make_player("rlgo,sims=2000", 9, seed=1)
    rows = []
    for ply in range(len(record.moves)):
        game = record.after(ply)
        player.genmove(game)
        v = float(network(rlgo.Positions.of(game))["value"][0])
        rows.append((v, Ownership.of(game, 200, seed=ply).wins, player.candidates(game)[0].value))
    ax = (figure := plt.figure(figsize=(9, 3.2), layout="constrained")).subplots()
    values, playouts, searched = zip(*rows, strict=True)
    ax.plot(searched, color="0.8", lw=6, label="a search of 2,000 simulations with both")
    ax.plot(playouts, color=FIRST, label="the mean of 200 playouts")
    ax.plot(values, color=SECOND, label="V of the network")
    ax.set(xlabel="moves played", ylabel="P(Black wins)", ylim=(-0.05, 1.05))
    ax.legend(fontsize=8, frameon=False)
    percent(ax.yaxis)
    light_frame(ax)
    save(figure, "leaf_values")


def draw_network(game: rlgo.Game) -> None:
    """Draw the planes that the network sees, and what it says of the position."""
    left, right = (figure := plt.figure(figsize=(9, 3.4), layout="constrained")).subfigures(1, 2, width_ratios=(0.7, 1))
    seen, short = rlgo.planes(game, KINDS)[0], {"own stones": "own", "the opponent's stones": "opponent's"}
    names = [short.get(name, name.partition(" everywhere")[0]) for name in rlgo.plane_names(KINDS)]
    left.suptitle("what it sees: thirteen planes", fontsize=10)
    for i, ax in enumerate(left.subplots(3, 5).flat):
        ax.set_axis_off()
        if i < len(names):
            ax.imshow(np.abs(seen[i]), cmap="Greys", vmin=0, vmax=1.6, origin="lower")
            ax.plot([-0.5, 8.5, 8.5, -0.5, -0.5], [-0.5, -0.5, 8.5, 8.5, -0.5], color=INK, lw=0.8)
            ax.set_title(PLANES.get(names[i], names[i]), fontsize=7, pad=3)
    says = rlgo.load_network("9x9")(rlgo.Positions.of(game))
    legal, logits = rlgo.Positions.of(game).legal()[0], says["logits"][0].astype(float)
    policy = np.where(legal, np.exp(logits - logits[legal].max()), 0.0)
    policy = shares((policy / policy.sum())[:-1].reshape(9, 9))
    right.suptitle(f"what it says: value {says['value'][0]:.0%}, score {says['score'][0]:+.1f}", fontsize=10)
    policy_ax, owner_ax = right.subplots(1, 2)
    draw_board(policy_ax, COLORS, "policy P, in %", policy, -0.4, 0.4)
    draw_stones(owner_ax, COLORS, (says["ownership"][0] + 1) / 2)
    owner_ax.set_title("ownership, red: Black's", fontsize=10)
    save(figure, "network")


def draw_puct(game: rlgo.Game) -> None:
    """Draw the policy at the root, and where more and more simulations of PUCT go."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    for i, simulations in enumerate((100, 3_000)):
        player = make_player(f"rlgo,sims={simulations}", 9, seed=1)
        player.genmove(game)
        maps = player.analyses()
        if i == 0:
            draw_board(axes[0], COLORS, "P of the network, in %", shares(maps["policy"]), -0.4, 0.4)
        draw_board(axes[i + 1], COLORS, f"% of {simulations:,} simulations", shares(maps["visits"]), -0.4, 0.4)
    save(figure, "puct")


def shares(values: np.ndarray) -> np.ndarray:
    """Return a map without what rounds to 0 %."""
    return np.where(values < 0.005, np.nan, values)


def draw_rounds() -> None:
    """Draw the loop of games and learning, and what came of it on 9x9."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", width_ratios=(1, 1.1))
    boxes = (
        (0.5, 0.9, "the search plays itself,\nwith the newest network"),
        (0.82, 0.5, "training games:\nvisits, values, outcomes"),
        (0.5, 0.1, "the network learns\nfrom the latest of them"),
        (0.18, 0.5, "a match:\nis it stronger?"),
    )
    for (x, y, label), (x2, y2, _) in zip(boxes, (*boxes[1:], boxes[0]), strict=True):
        style = {"arrowstyle": "-|>", "color": INK, "shrinkA": 34, "shrinkB": 30, "connectionstyle": "arc3,rad=-0.2"}
        left.annotate("", (x2, y2), (x, y), arrowprops=style)
        box = {"boxstyle": "round", "facecolor": "w", "edgecolor": INK}
        left.text(x, y, label, ha="center", va="center", fontsize=9, bbox=box)
    left.set(xlim=(0, 1), ylim=(0, 1))
    left.axis("off")
    rounds = json.loads((ROOT / "results" / "network" / "rounds_puct.json").read_text("utf-8"))
    for i, played in enumerate(rounds):
        match = played["at_time"]
        low, high = match["ci95"]
        rate = match["win_rate"]
        right.errorbar(i, rate, [[rate - low], [high - rate]], fmt="o", color=SECOND, capsize=3)
    right.axhline(0.5, color=INK, lw=0.8, ls=":")
    right.set_xticks(
        range(len(rounds)), [r["round"].replace(", learned on", ",\ncontinued") for r in rounds], fontsize=8
    )
    right.set(xlabel="round", title="won against MC-RAVE with patterns, equal time", ylim=(0, 1))
    right.title.set_fontsize(10)
    percent(right.yaxis)
    light_frame(right)
    save(figure, "rounds")


PLANES = {  # what `plane_names` calls them, shorter
    "chains with 1 liberty": "1 liberty",
    "chains with 2 liberties": "2 liberties",
    "chains with 3 liberties": "3 liberties",
    "chains with 4 or more liberties": "4 or more",
    "empty points where simple ko or superko forbids a stone": "ko",
    "the last move": "last move",
    "the move 1 ply ago": "one before",
    "moves that catch an opponent's chain of two liberties in a ladder": "ladder: catch",
    "moves that save an own chain in atari: no ladder catches it": "ladder: save",
    "komi / 20": "komi",
}

if __name__ == "__main__":
    (DOCS / "concepts").mkdir(exist_ok=True)
    RECORD = rlgo.load_sgf(DOCS / "game.sgf")
    GAME = RECORD.after(16)
    COLORS, WEIGHTS = colors_of(GAME.board), rlgo.load_weights(rlgo.shipped_weights(9))
    draw_value(GAME, WEIGHTS)
    draw_features()
    draw_td_learning(rlgo.ValueFunction(WEIGHTS))
    draw_td_search(GAME)
    draw_two_phase(GAME, WEIGHTS)
    draw_mc_rave(GAME)
    draw_prior(GAME, WEIGHTS)
    draw_leaf_values(RECORD)
    draw_network(GAME)
    draw_puct(GAME)
    draw_rounds()
