"""rlgo's players as OpenSpiel bots: coordinates, rules, and games against its tree search."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from stand_ins import TWO_STONES_SENT

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS
from rlgo.go.coords import from_vertex, to_row_col
from rlgo.go.draw import colors_of
from rlgo.go.game import Game
from rlgo.play.player import RESIGN, Player, RandomPlayer
from train.arena.match import play_match

if sys.platform == "win32":  # where the test extra leaves it out
    pytest.skip("OpenSpiel is not installed", allow_module_level=True)

import pyspiel

from train.players.open_spiel import RESIGNED, OpenSpielSearch, PlayerBot


class Scripted(Player):
    """Plays given points, then passes; keeps what it is told."""

    name = "scripted"

    def __init__(self, points: Sequence[int] = (), sizes: tuple[int, ...] | None = None) -> None:
        self.points = list(points)
        self.sizes = sizes
        self.games: list[Game] = []
        self.begun = 0
        self.ended: list[str] = []

    def genmove(self, game: Game) -> int:
        self.games.append(game.copy())
        return self.points.pop(0) if self.points else PASS

    def new_game(self) -> None:
        self.begun += 1

    def end_game(self, game: Game, _outcome: float) -> None:
        self.ended.append(game.result)


def load(size: int = 5, komi: float = 7.5, **parameters: int) -> pyspiel.Game:
    return pyspiel.load_game("go", {"board_size": size, "komi": komi, **parameters})


def state_after(game: pyspiel.Game, moves: str) -> pyspiel.State:
    """By OpenSpiel's own names."""
    state = game.new_initial_state()
    for name in moves.split():
        mover = state.current_player()
        written = "PASS" if name == "pass" else name.lower()
        state.apply_action(state.string_to_action(mover, f"{'BW'[mover]} {written}"))
    return state


def test_a_bot_follows_states_of_another_size() -> None:
    bot = PlayerBot(load(9, 7.5), Scripted(points(9, "E5")))
    nine, five = state_after(load(9), "C3 D4"), state_after(load(5, 3.5), "B2 C3")
    assert bot.point(bot.step(nine)) == points(9, "E5")[0]
    bot.player.points = points(5, "D4")
    assert bot.point(bot.step(five)) == points(5, "D4")[0]
    assert (bot.game.size, bot.game.komi, [p for _, p in bot.game.moves]) == (5, 3.5, points(5, "B2 C3"))
    with pytest.raises(RlgoError, match="plays on 5x5"):
        PlayerBot(load(5), Scripted(sizes=(5,))).step(nine)


def points(size: int, names: str) -> list[int]:
    return [from_vertex(name, size) for name in names.split()]


def spiel_colors(state: pyspiel.State, size: int) -> np.ndarray:
    """The stones that OpenSpiel shows to people, row 0 being the lowest, as `colors_of` gives them."""
    lines = [line.split() for line in str(state).splitlines()]
    rows = {int(line[0]): line[1] for line in lines if len(line) == 2 and line[0].isdigit()}
    return np.array([["+XO".index(c) for c in rows[row + 1]] for row in range(size)])


# ---------------------------------------------------------------------------------------------
# Points and rules
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 9])
def test_points_stand_where_open_spiel_shows_them(size: int):
    """A position like none of its reflections, laid by our points and by the names of both sides."""
    moves = "B1 A3 D2 E4"
    game = Game(size)
    for p in points(size, moves):
        game.play(p)
    bot = PlayerBot(load(size), Scripted())
    state = load(size).new_initial_state()
    for p in points(size, moves):
        state.apply_action(bot.action(p))
    assert spiel_colors(state_after(load(size), moves), size).tolist() == colors_of(game.board).tolist()
    assert spiel_colors(state, size).tolist() == colors_of(game.board).tolist()
    assert spiel_colors(state, size)[0, 1] == 1
    assert spiel_colors(state, size)[2, 0] == 2


@pytest.mark.parametrize("size", [5, 9])
def test_actions_are_row_major_from_the_lowest_row(size: int):
    bot = PlayerBot(load(size), Scripted())
    for action in range(size * size):
        assert to_row_col(bot.point(action), size) == divmod(action, size)
        assert bot.action(bot.point(action)) == action
    assert bot.point(size * size) == PASS
    assert bot.action(PASS) == size * size


@pytest.mark.parametrize(("size", "games"), [(5, 30), (9, 4)])
def test_rules_agree_along_random_games(size: int, games: int):
    """Legality but for superko, stones, and the score; where superko forbids a stone, OpenSpiel's game is drawn."""
    game = load(size, 3.5, max_game_length=500)
    rng = np.random.default_rng(1)
    repeats = ended = 0
    for i in range(games):
        bot = PlayerBot(game, Scripted())
        state = state_after(game, TWO_STONES_SENT if size == 5 and i % 10 == 0 else "")
        while not state.is_terminal():
            bot.follow(state)
            theirs = {bot.point(action) for action in state.legal_actions()}
            ours = {*bot.game.legal_moves(), PASS}
            assert ours <= theirs
            for p in theirs - ours:
                assert bot.game.why_illegal(p) == "superko"
                drawn = state.child(bot.action(p))
                assert drawn.is_terminal()
                assert drawn.returns() == [0, 0]
                repeats += 1
            assert spiel_colors(state, size).tolist() == colors_of(bot.game.board).tolist()
            assert bot.game.to_play - 1 == state.current_player()
            moves = bot.game.sensible_moves() or [PASS]
            state.apply_action(bot.action(moves[rng.integers(len(moves))]))
        if len(state.history()) < 500:
            bot.follow(state)
            assert bot.game.is_over()
            assert state.returns()[0] == 2 * bot.game.outcome - 1
            ended += 1
    assert repeats or size > 5
    assert ended


# ---------------------------------------------------------------------------------------------
# The bot
# ---------------------------------------------------------------------------------------------


def test_the_player_sees_the_game_and_its_komi():
    player = Scripted(points(5, "E2"))
    bot = PlayerBot(load(5, 4.5), player)
    state = state_after(load(5, 4.5), "B1 A3 D2 pass")
    assert state.action_to_string(0, bot.step(state)) == "B e2"
    (seen,) = player.games
    assert [p for _, p in seen.moves] == points(5, "B1 A3 D2 pass")
    assert (seen.size, seen.komi, seen.to_play) == (5, 4.5, BLACK)


def test_it_follows_any_state():
    """One that continues, a shorter one, another branch: each is what the player sees next."""
    player = Scripted()
    bot = PlayerBot(load(), player)
    for moves in ("B1 A3", "B1 A3 D2 E4", "B1 A3 C3 E4", "B1", "", "C3 C4"):
        assert bot.step(state_after(load(), moves)) == 25
        assert [p for _, p in player.games[-1].moves] == points(5, moves)


def test_restart_begins_a_game():
    player = Scripted([*points(5, "C3"), RESIGN])
    bot = PlayerBot(load(), player)
    bot.restart()
    bot.step(state_after(load(), ""))
    bot.step(state_after(load(), "C3 C4"))
    assert (bot.gave_up, player.begun) == (RESIGNED, 1)
    bot.restart_at(state_after(load(), "A1 B2"))
    assert (bot.gave_up, player.begun, bot.game.moves) == ("", 2, [(1, 7), (2, 14)])
    bot.restart()
    assert (player.begun, bot.game.moves) == (3, [])


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (RESIGN, RESIGNED),
        (from_vertex("B1", 5), "illegal move Black B1: occupied"),
        (10_000, "illegal move Black point 10000: outside"),
    ],
)
def test_who_resigns_or_errs_passes_for_the_rest_of_the_game(answer: int, why: str):
    player = Scripted([answer, *points(5, "C3 D4")])
    bot = PlayerBot(load(), player)
    assert bot.step(state_after(load(), "B1 A3")) == 25
    assert bot.gave_up == why
    assert bot.step(state_after(load(), "B1 A3 pass E4")) == 25
    assert len(player.games) == 1  # nobody asked again
    assert bot.step(state_after(load(), "B1 A4")) == 12  # another game
    assert bot.gave_up == ""


def test_open_spiel_decides_what_is_legal():
    """A move that superko forbids is one of OpenSpiel's: it is played, and draws."""
    bot = PlayerBot(load(), Scripted(points(5, "B1")))
    state = state_after(load(), TWO_STONES_SENT)
    state.apply_action(bot.step(state))
    assert bot.gave_up == ""
    assert state.is_terminal()
    assert state.returns() == [0, 0]
    with pytest.raises(RlgoError, match="superko"):
        bot.restart_at(state)


def test_what_pyspiel_asks_of_a_bot():
    """Its own loop plays a game with it, and its defaults answer the rest."""
    game = load(5)
    bots = [PlayerBot(game, RandomPlayer(seed)) for seed in (1, 2)]
    state = game.new_initial_state()
    returns = pyspiel.evaluate_bots(state, bots, 1)
    assert state.is_terminal()
    assert returns in ([1, -1], [-1, 1], [0, 0])
    bot = bots[0]
    bot.inform_action(game.new_initial_state(), 1, 3)
    assert not (bot.provides_policy())
    assert not (bot.provides_force_action())
    assert not (bot.is_clonable())


@pytest.mark.parametrize(
    ("game", "sizes", "message"),
    [
        ("tic_tac_toe", None, "expected its game go"),
        ("go(board_size=19,handicap=2)", None, "expected no handicap"),
        ("go(board_size=4)", None, "board size 4: expected 5 to 19"),
        ("go(board_size=9)", (5, 7), "scripted: plays on 5x5 or 7x7, found 9x9"),
    ],
)
def test_games_it_does_not_know(game: str, sizes: tuple[int, ...] | None, message: str):
    with pytest.raises(RlgoError, match=message):
        PlayerBot(pyspiel.load_game(game), Scripted(sizes=sizes))


def test_nobody_moves_after_the_end():
    with pytest.raises(RlgoError, match="game is over"):
        PlayerBot(load(), Scripted()).step(state_after(load(), "pass pass"))


def test_without_open_spiel_it_says_what_to_install():
    code = "import sys; sys.modules['pyspiel'] = None; import train.players.open_spiel"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("RlgoError: needs OpenSpiel, which is not installed: pip install 'rlgo[open-spiel]'")


# ---------------------------------------------------------------------------------------------
# OpenSpiel's search as a player
# ---------------------------------------------------------------------------------------------


def test_it_plays_matches_which_a_seed_fixes():
    results = [play_match("random", "open_spiel,sims=10", 4, size=5, seed=seed, progress=False) for seed in (3, 3, 4)]
    assert results[0] == results[1] != results[2]
    assert results[0].forfeits == 0
    assert results[0].distinct == 4


def test_the_search_takes_what_superko_allows():
    """Its favourite repeats a position, which ends the game as a draw for it: better than to lose."""
    game = Game(5, 24.5)
    for name in TWO_STONES_SENT.split():
        game.play(from_vertex(name, 5))
    chosen = OpenSpielSearch(5, 300, seed=1).genmove(game)
    assert game.is_legal(chosen)
    assert not game.is_legal(from_vertex("B1", 5))


def test_games_that_open_spiel_cannot_have():
    game = Game(9)
    game.fixed_handicap(2)
    game.play(from_vertex("E5", 9))
    with pytest.raises(RlgoError, match="without setup stones, and moves in turn"):
        OpenSpielSearch(9, 5).genmove(game)
    game = Game(9)
    game.play(from_vertex("E5", 9), 2)
    with pytest.raises(RlgoError, match="moves in turn"):
        OpenSpielSearch(9, 5).genmove(game)
    with pytest.raises(RlgoError, match="plays on 9x9"):
        OpenSpielSearch(9, 5).genmove(Game(5))
    with pytest.raises(RlgoError, match="simulations = 0"):
        OpenSpielSearch(9, 0)


def test_it_passes_where_the_game_is_over_for_it():
    game = Game(5)
    for _ in range(2):
        game.play(PASS)
    assert OpenSpielSearch(5, 5, seed=1).genmove(game) == PASS
