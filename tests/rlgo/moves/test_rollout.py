"""MoGo's default policy against a slow oracle that lists the moves each rule finds, and whole playouts.

Start reading at `candidates`. Positions come from games of the policy itself, with occasional random moves.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from board_data import on_both_boards, parse, turn
from oracles.naive import (
    NaiveBoard,
    Point,
    from_core,
    from_vertex,
    is_mogo_pattern,
    liberties_after,
    mogo_rules,
    to_core,
    vertex,
)

from rlgo.compiler.jit import make_rng, njit
from rlgo.go import board
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, WHITE, in_atari, new_board, new_boards, outcome, play
from rlgo.go.mogo_patterns import mogo_patterns
from rlgo.go.rules import make_rules, zobrist
from rlgo.moves.rollout import (
    MOGO,
    UNIFORM,
    DefaultPolicy,
    default_move,
    is_hopeless,
    list_ataris,
    mogo_move,
    new_rollout,
    playout,
    playouts,
    watch_atari,
)

RULES = [DefaultPolicy(1, *on) for on in product((True, False), repeat=4)]  # save, pattern, capture, self_atari


@njit
def ask(b, policy, r, rules, rng):
    """`mogo_move`, with nothing but its own candidates in `r.moves`."""
    r.moves[:] = 0
    return mogo_move(b, policy, r, rules, rng)


def candidates(b: np.record, policy: DefaultPolicy, r: np.record, rng: np.ndarray) -> list[Point]:
    """The moves that `mogo_move` chooses among, in the order in which it found them."""
    move = int(ask(b, policy, r, make_rules(int(b.board_size), 0.5), rng))
    found = r.moves[: np.flatnonzero(r.moves == 0)[0]].tolist()
    assert move in found or (move == PASS and not found)
    return [from_core(int(b.board_size), p) for p in found]


def expected(rules: dict[str, set[Point]], policy: DefaultPolicy) -> set[Point]:
    """The candidates of the first rule that is on and finds any."""
    pattern = "pattern" if policy.self_atari else "any pattern"
    order = [(policy.save, "save"), (policy.pattern, pattern), (policy.capture, "capture")]
    return next((rules[name] for is_on, name in order if is_on and rules[name]), set())


def step(b: np.record, naive: NaiveBoard, p: Point | None) -> None:
    play(b, to_core(naive.size, p), zobrist(naive.size))
    naive.play(p)


# ---------------------------------------------------------------------------------------------
# Random games
# ---------------------------------------------------------------------------------------------


def compare_game(size: int, seed: int, counts: Counter[str]) -> None:
    """One game; at every move, all rules on and off."""
    b, naive, r = new_board(size), NaiveBoard(size), new_rollout(size)
    draw, rng, last = random.Random(seed), make_rng(seed), None
    moves: list[Point | None] = []
    try:
        list_ataris(b, r)
        while naive.n_passes < 2 and naive.n_moves < 3 * size * size:
            rules = mogo_rules(naive, last)
            for policy in RULES:
                found = candidates(b, policy, r, rng)
                assert len(found) == len(set(found)), f"twice: {list(map(vertex, found))}, {policy}"
                assert set(found) == expected(rules, policy), policy
            counts.update(name for name in rules if rules[name])
            counts["several to save"] += len(rules["save"]) > 1
            counts["self-atari"] += rules["pattern"] < rules["any pattern"]
            counts["ko"] += naive.ko is not None
            policy = DefaultPolicy(int(draw.random() < 0.8))
            last = from_core(size, default_move(b, policy, r, make_rules(size, 0.5), rng))
            last = None if draw.random() < 0.01 else last
            moves.append(last)
            step(b, naive, last)
            watch_atari(b, r)
    except AssertionError as error:
        error.add_note(f"{size}x{size}, seed {seed}: {' '.join(map(vertex, moves))}\n{naive}")
        raise


@pytest.mark.parametrize(("size", "games"), [(5, 60), (9, 15)])
def test_the_moves_of_every_rule(size, games):
    counts: Counter[str] = Counter()
    for seed in range(games):
        compare_game(size, seed, counts)
    assert min(counts.values()) > 10, counts
    assert len(counts) == 7


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_the_moves_of_every_rule_in_one_game():
    compare_game(5, 1000, Counter())


@njit
def ask_liberties(b, answers):
    for p in range(b.color.shape[0]):
        if b.color[p] == EMPTY:
            for color in (1, 2):
                answers[color, p] = board.liberties_after(b, p, color)


@pytest.mark.parametrize(("size", "games"), [(5, 60), (9, 6)])
def test_liberties_after_a_move(size, games):
    """At every empty point, legal or not, of either colour."""
    seen = Counter()
    for seed in range(games):
        b, naive, rng = new_board(size), NaiveBoard(size), make_rng(seed)
        while naive.n_passes < 2 and naive.n_moves < 3 * size * size:
            answers = np.zeros((3, len(b.color)), np.int64)
            ask_liberties(b, answers)
            for p, color in product(naive.empties(), (BLACK, WHITE)):
                answer = int(answers[color, to_core(size, p)])
                assert answer == liberties_after(size, naive.stones, p, color), f"{vertex(p)} {color}\n{naive}"
                seen[answer] += 1
            step(b, naive, from_core(size, board.random_move(b, rng)))
    assert min(seen[0], seen[1], seen[2]) > 100


# ---------------------------------------------------------------------------------------------
# Positions worked out by hand. The oracle has to pass them too.
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """After White's stone at `last`: all moves that save, all that capture, and what the pattern rule refuses."""

    name: str
    before: str
    last: str
    save: str = ""
    capture: str = ""
    self_atari: str = ""  # a pattern fits, but the move would put its own chain into atari

    @property
    def by_hand(self) -> tuple[str, str, str]:
        return self.save, self.capture, self.self_atari


CASES = [
    Case("save by extension", ". . . . .\n. O . . .\nO X . . .\n. . . . .\n. . . . .", "C3", save="B2"),
    Case("save by connection", ". . . . .\nO . . . .\nX . . . .\n. X . . .\n. . . . .", "B3", save="A2"),
    Case(
        "save by extension or by capture",
        ". X . . .\nX O . . .\nO X . . .\n. . . . .\n. . . . .",
        "C3",
        save="A2 B2 C4",
        capture="A2 C4",
    ),
    Case(
        "save by capture alone: the extension stays in atari",
        ". . . . .\nO X . . .\nO X . . .\nX . . . .\n. . . . .",
        "B2",
        save="A5",
        capture="A5",
        self_atari="A1",
    ),
    Case("no way to save", ". . . . .\n. . . . .\nO . . . .\nX . . . .\n. . . . .", "B2", self_atari="A1"),
    Case(
        "a chain next to the stone twice: its extension is one move",
        ". . . . .\n. . O . .\nO X X O .\nO X . . .\n. O . . .",
        "C2",
        save="B4",
        self_atari="C1",
    ),
    Case(
        "two chains with one last liberty: it is one move",
        ". . . . .\n. O . . .\nO X . . .\n. . X O .\n. . O . .",
        "C3",
        save="B2",
    ),
    Case(
        "ko: the stone that put a chain into atari is not taken back",
        ". . . . .\n. X O . .\nX . X O .\nO X O . .\n. . . . .",
        "B3",
        save="A1 A4 B1",
        capture="A1",
    ),
    Case("capture anywhere", "O X . . .\n. . . . .\n. . . . .\n. . . . .\n. . . . .", "D2", capture="A4"),
    Case(
        "no pattern into self-atari",
        ". . . . .\n. . . . .\n. . . . .\nO X O . .\nO . . . .",
        "C1",
        self_atari="B1",
    ),
]


def turned(case: Case, symmetry: int, swapped: bool) -> tuple[np.record, NaiveBoard, Point]:
    """The position after the last stone, on both boards, and that stone."""
    size, stones = parse(case.before)
    stones = {turn(size, symmetry, p): 3 - color if swapped else color for p, color in stones.items()}
    b, naive = on_both_boards(size, stones, BLACK if swapped else WHITE)
    last = turn(size, symmetry, from_vertex(case.last))
    step(b, naive, last)
    return b, naive, last


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("swapped", [False, True], ids=["", "colours swapped"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Case, swapped: bool):
    r, rng = new_rollout(5), make_rng(1)
    for symmetry in range(8):
        b, naive, last = turned(case, symmetry, swapped)
        rules = mogo_rules(naive, last)
        by_hand = [{turn(5, symmetry, from_vertex(name)) for name in names.split()} for names in case.by_hand]
        assert [rules["save"], rules["capture"], rules["any pattern"] - rules["pattern"]] == by_hand
        list_ataris(b, r)
        for policy in RULES:
            found = candidates(b, policy, r, rng)
            assert set(found) == expected(rules, policy), policy
            assert len(found) == len(set(found)), policy


def test_after_a_pass_only_captures_are_looked_for():
    b, naive, _ = turned(CASES[2], 0, False)
    step(b, naive, None)
    step(b, naive, None)
    r, rng = new_rollout(5), make_rng(1)
    list_ataris(b, r)
    assert {vertex(p) for p in candidates(b, DefaultPolicy(), r, rng)} == set(CASES[2].capture.split())
    assert candidates(b, DefaultPolicy(capture=False), r, rng) == []


def test_every_candidate_is_chosen_as_often_as_any_other():
    b = turned(CASES[2], 0, False)[0]
    r, rng, n = new_rollout(5), make_rng(1), 3000
    list_ataris(b, r)
    counts = Counter(vertex(from_core(5, mogo_move(b, DefaultPolicy(), r, make_rules(5, 0.5), rng))) for _ in range(n))
    assert set(counts) == set(CASES[2].save.split())
    mean = n / len(counts)
    assert all(abs(count - mean) < 5 * mean**0.5 for count in counts.values())


# ---------------------------------------------------------------------------------------------
# Patterns
# ---------------------------------------------------------------------------------------------

# One of each, and one that is nearly one. As in naive.py: rows from the top, the candidate in the centre.
FITTING = [
    "XOX......",
    "XO.......",
    "XO.X.....",
    "XO.O.....",
    "XO.O.XOO.",
    ".X.O.O...",
    "X..O..###",
    "OX.X.O###",
    ".X...O###",
    ".XO...###",
    ".OXX.O###",
]
NEARLY = [
    "XOX.X....",
    "XO...X...",
    "XO.X..X..",
    "XO.O.O...",
    "XO.O...O.",
    ".X.O.OO..",
    "X..X..###",
    "OX.X.X###",
    ".O...O###",
    ".XX...###",
    "OO.......",
]
FOR_X_ALONE = "XOO......"


def fits_on_board(seen: str, color: int) -> bool:
    """Whether the pattern rule finds the centre of a neighbourhood on a real board, after a stone there."""
    centre = (0, 4) if seen.endswith("###") else (4, 4)
    points = [(centre[0] + 1 - i // 3, centre[1] - 1 + i % 3) for i in range(9)]
    stones = {p: ".XO".index(c) for p, c in zip(points, seen, strict=True) if c in "XO"}
    last = next(p for p in stones if stones[p] != color)
    del stones[last]
    b, naive = on_both_boards(9, stones, 3 - color)
    step(b, naive, last)
    r = new_rollout(9)
    list_ataris(b, r)
    found = centre in candidates(b, DefaultPolicy(save=False), r, make_rng(1))
    assert found == (centre in mogo_rules(naive, last)["pattern"])
    return found


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_each_pattern_once(color):
    swapped = [[seen.translate(str.maketrans("XO", "OX")) for seen in group] for group in (FITTING, NEARLY)]
    assert [seen for seen in FITTING + swapped[0] if not fits_on_board(seen, color)] == []
    both = [seen for seen in NEARLY + swapped[1] if "X" in seen and "O" in seen]
    assert len(both) == 14
    assert [seen for seen in both if fits_on_board(seen, color)] == []


def test_one_pattern_is_for_one_colour_alone():
    assert [fits_on_board(FOR_X_ALONE, color) for color in (BLACK, WHITE)] == [True, False]
    assert [fits_on_board("OXX......", color) for color in (BLACK, WHITE)] == [False, True]


def test_the_table_of_patterns():
    table, wrong = mogo_patterns(), []
    assert table.shape == (1 << 16,)
    for code in range(1 << 16):
        c = [".XO#"[code >> 2 * i & 3] for i in range(8)]
        seen = "".join(c[5:]) + c[3] + "." + c[4] + "".join(c[:3])
        if table[code] != is_mogo_pattern(seen, BLACK) + 2 * is_mogo_pattern(seen, WHITE):
            wrong.append(seen)
    assert wrong == []


# ---------------------------------------------------------------------------------------------
# Playouts
# ---------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize(("kind", "mercy"), [(MOGO, True), (MOGO, False), (UNIFORM, False)])
def test_playouts_are_games_of_default_moves(kind, mercy):
    """Move by move on both boards: legal, no own eye at random, and the same end."""
    size, komi, n, policy = 5, 3.0, 8, DefaultPolicy(kind, mercy=mercy)
    boards, r = new_boards(2, size), new_rollout(size)
    start = boards[0].tobytes()
    result = playouts(boards, policy, r, make_rules(size, komi), n, make_rng(3))
    assert boards[0].tobytes() == start

    rng, wins, moves, ends = make_rng(3), 0.0, 0, Counter()
    for _ in range(n):
        b, naive = new_board(size), NaiveBoard(size)
        list_ataris(b, r)
        while naive.n_moves < 3 * size * size:
            colors = list(naive.stones.values())
            black, white = colors.count(BLACK), colors.count(WHITE)
            hopeless = black + white > size * size / 2 and (black < white / 2 or white < black / 2)
            winner = np.sign(naive.area_score() - komi)
            hopeless = hopeless and winner == np.sign(black - white)
            if naive.n_passes == 2 or (mercy and hopeless):
                ends["passes" if naive.n_passes == 2 else "mercy"] += 1
                break
            move = from_core(size, default_move(b, policy, r, make_rules(size, 0.5), rng))
            assert move is None or naive.is_legal(move)
            step(b, naive, move)
            watch_atari(b, r)
        moves += naive.n_moves
        wins += (1 + np.sign(naive.area_score() - komi)) / 2
    assert result == (wins, moves)
    assert ends["mercy" if mercy else "passes"] > 0
    assert mercy or not ends["mercy"]


@pytest.mark.parametrize("policy", [DefaultPolicy(), DefaultPolicy(UNIFORM)], ids=["mogo", "uniform"])
def test_the_same_seed_gives_the_same_playouts(policy):
    size = 9
    args = new_boards(2, size), policy, new_rollout(size), make_rules(size, 7.5), 200
    first, again, other = (playouts(*args, make_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_playout_leaves_a_board_that_can_be_played_on():
    """From the middle of a game, whatever an earlier playout left in its scratch record."""
    size, r, rng = 9, new_rollout(9), make_rng(2)
    for limit in (0, 1, 40, 90):
        b = new_board(size)
        z = playout(b, DefaultPolicy(mercy=False), r, make_rules(size, 0.5), limit, rng)
        assert b.n_moves == limit
        naive = NaiveBoard(size)
        naive.stones = {p: int(b.color[to_core(size, p)]) for p in naive.points if b.color[to_core(size, p)] != EMPTY}
        naive.to_play, naive.ko = int(b.to_play), from_core(size, b.ko)
        assert board.area_score(b) == naive.area_score()
        assert z == outcome(b, 0.5) == (naive.area_score() > 0.5)
        assert {p for p in naive.points if board.is_legal(b, to_core(size, p))} == naive.legal_points()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("black", "white", "komi", "expected"),
    [
        (3, 10, 0.5, True),
        (3, 10, -20.0, False),  # one side has many more stones, and loses all the same
        (5, 10, 0.5, False),  # half is not less than half
        (4, 9, 0.5, True),
        (4, 8, 0.5, False),
        (2, 10, 0.5, False),  # 12 stones are no more than half of 25 points
        (0, 13, 0.5, True),
        (0, 0, 0.5, False),
    ],
)
def test_mercy(black, white, komi, expected):
    """Stones from both ends of the board; the other way round, too."""
    points = [divmod(i, 5) for i in range(25)]
    for color in (BLACK, WHITE):
        few, many = dict.fromkeys(points[:black], color), dict.fromkeys(points[25 - white :], 3 - color)
        b = on_both_boards(5, few | many, BLACK)[0]
        assert bool(is_hopeless(b, komi if color == BLACK else -komi)) == expected


@njit(allocates=True)
def count_missed(b, policy, r, rules, moves, rng, counts):
    """Play on, and count the stones in atari of whose chain no stone is listed; and those that are."""
    list_ataris(b, r)
    is_known = np.zeros(b.color.shape[0], np.uint8)
    for _ in range(moves):
        if b.n_passes >= 2:
            break
        is_known[:] = 0
        for i in range(r.n_atari):
            counts[2] += r.is_listed[r.atari[i]] == 0
            if b.color[r.atari[i]] != EMPTY:
                is_known[b.chain[r.atari[i]]] = 1
        counts[2] += r.is_listed.sum() != r.n_atari
        for p in range(b.color.shape[0]):
            if b.color[p] != EMPTY and b.color[p] != BORDER and in_atari(b, p):
                counts[is_known[b.chain[p]]] += 1
        play(b, default_move(b, policy, r, rules, rng), rules.zobrist)
        watch_atari(b, r)


def test_the_list_misses_no_chain_in_atari():
    counts, r, rng = np.zeros(3, np.int64), new_rollout(9), make_rng(1)
    for n in range(300):
        b = new_board(9)
        # First some random moves, so that there is something to list at the start.
        policies = DefaultPolicy(UNIFORM), RULES[n % len(RULES)]
        for policy, moves in zip(policies, (n % 60, 243), strict=True):
            count_missed(b, policy, r, make_rules(9, 0.5), moves, rng, counts)
    assert counts[0] == counts[2] == 0
    assert counts[1] > 10_000


def test_no_pattern_fits_an_own_eye() -> None:
    """Of the eight neighbours, in the order of the code, places 1, 3, 4 and 6 are the adjacent ones."""
    codes, table = np.arange(1 << 16), mogo_patterns()
    places = np.stack([codes >> 2 * place & 3 for place in range(8)])
    border = sum((places[place] == 3) << place for place in range(8))
    sides = [0, *(sum(1 << place for place in side) for side in ((0, 1, 2), (5, 6, 7), (0, 3, 5), (2, 4, 7)))]
    on_board = np.isin(border, [a | b for a in sides for b in sides if (a | b) not in (0b11100111, 0b10111101)])
    for color in (1, 2):
        surrounded = ((places[[1, 3, 4, 6]] == color) | (places[[1, 3, 4, 6]] == 3)).all(0) & on_board
        eye = surrounded & ((places[[0, 2, 5, 7]] == 3 - color).sum(0) + (border > 0) < 2)
        assert eye.sum() > 20
        assert not (table[eye] & color).any()
        assert (table[surrounded & ~eye] & color).any()  # false eyes may be filled
