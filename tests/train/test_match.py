"""Players, player specs, outside engines, and matches between them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rlgo.board import BLACK, PASS, WHITE, is_eye
from rlgo.coords import from_row_col, from_vertex, to_row_col
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.player import RESIGN, GreedyPlayer, Player, RandomPlayer
from train.arena.match import MatchResult, play_match, random_opening
from train.players.engines import EngineError, GtpClient
from train.players.spec import make_player, parse_spec

# ---------------------------------------------------------------------------------------------
# Players
# ---------------------------------------------------------------------------------------------


class FakeValues:
    """V = 0.5 after every move but those named; NaN where the board's rules forbid the move."""

    def __init__(self, size: int, **values: float) -> None:
        self.size = size
        self.values = values

    def afterstates(self, board: np.record) -> np.ndarray:
        values = np.full(self.size**2 + 1, 0.5)
        for name, value in self.values.items():
            row, col = to_row_col(from_vertex(name, self.size), self.size)
            values[row * self.size + col] = value
        values[:-1][board.color[[from_row_col(*divmod(i, self.size), self.size) for i in range(self.size**2)]] > 0] = (
            np.nan
        )
        return values


def moves_of(player: Player, game: Game, n: int = 200) -> set[int]:
    return {player.genmove(game) for _ in range(n)}


def game_after(moves: str, size: int = 5, komi: float = 7.5) -> Game:
    game = Game(size, komi)
    for name in moves.split():
        game.play(from_vertex(name, size))
    return game


TWO_STONES_SENT = "B1 A2 C2 B2 D1 E5 A1 C1"  # Black may not play B1: superko


def test_random_players_play_all_sensible_moves() -> None:
    game = game_after(TWO_STONES_SENT)
    assert moves_of(RandomPlayer(1), game, 2000) == set(game.sensible_moves())
    assert from_vertex("B1", 5) not in game.sensible_moves()


def test_random_players_pass_where_nothing_is_sensible() -> None:
    game = Game(5)
    game.set_up([(BLACK, from_row_col(row, col, 5)) for row in range(5) for col in range(5) if (row + col) % 4])
    assert all(is_eye(game.board, p, BLACK) for p in game.legal_moves())
    assert game.legal_moves() and game.sensible_moves() == []
    assert RandomPlayer(1).genmove(game) == PASS
    assert GreedyPlayer(FakeValues(5), 1).genmove(game) == PASS


@pytest.mark.parametrize("make", [RandomPlayer, lambda seed: GreedyPlayer(FakeValues(9), seed)])
def test_a_seed_fixes_all_moves(make) -> None:
    game = Game(9)
    first, again, other = ([player.genmove(game) for _ in range(20)] for player in map(make, (1, 1, 2)))
    assert first == again != other


def test_greedy_players_take_the_best_afterstate_of_their_colour() -> None:
    player = GreedyPlayer(FakeValues(5, A1=0.9, E5=0.1, C3=0.8), 1)
    assert moves_of(player, Game(5)) == {from_vertex("A1", 5)}
    assert moves_of(player, game_after("A1")) == {from_vertex("E5", 5)}
    assert moves_of(player, game_after("A1 E5")) == {from_vertex("C3", 5)}


def test_greedy_players_break_exact_ties_evenly() -> None:
    player = GreedyPlayer(FakeValues(5, A1=0.9, E5=0.9, C3=0.9 - 1e-12), 1)
    chosen = [player.genmove(Game(5)) for _ in range(400)]
    assert set(chosen) == {from_vertex("A1", 5), from_vertex("E5", 5)}
    assert 150 < chosen.count(from_vertex("A1", 5)) < 250


def test_greedy_players_know_superko() -> None:
    game = game_after(TWO_STONES_SENT)
    assert moves_of(GreedyPlayer(FakeValues(5, B1=1.0, C4=0.9), 1), game) == {from_vertex("C4", 5)}


def test_greedy_players_explore() -> None:
    player = GreedyPlayer(FakeValues(5, A1=0.9), 1, epsilon=0.5)
    chosen = [player.genmove(Game(5)) for _ in range(1000)]
    assert set(chosen) == set(Game(5).sensible_moves())
    assert 450 < chosen.count(from_vertex("A1", 5)) < 590  # 0.5 + 0.5 / 25


@pytest.mark.parametrize(
    "moves, komi, passes",
    [
        ("C3 pass", 0.5, True),  # Black owns the board
        ("C3 pass", 30, False),  # ... and loses all the same
        ("C3 pass", 25, False),  # a draw is not won
        ("pass", 0.5, True),  # White wins an empty board
        ("pass", -0.5, False),
        ("C3", -30, False),  # nobody has passed
        ("pass C3 pass B2", 0.5, False),
    ],
)
def test_greedy_players_pass_to_end_a_game_that_they_have_won(moves: str, komi: float, passes: bool) -> None:
    game = game_after(moves, komi=komi)
    assert (GreedyPlayer(FakeValues(5), 1).genmove(game) == PASS) == passes


def test_an_own_pass_is_not_the_opponents() -> None:
    game = game_after("C3 pass", komi=0.5)
    game.to_play = WHITE
    game.komi = 30
    assert GreedyPlayer(FakeValues(5), 1).genmove(game) != PASS


def test_greedy_players_show_their_values() -> None:
    player = GreedyPlayer(FakeValues(5, A1=0.9, E5=0.1), 1)
    assert list(player.analyses()) == ["value"] and np.isnan(player.analyses()["value"]).all()
    player.genmove(game_after("C3"))
    values = player.analyses()["value"]
    assert values.shape == (5, 5) and (values[0, 0], values[4, 4], values[0, 4]) == (0.9, 0.1, 0.5)
    assert np.isnan(values[2, 2])
    with pytest.raises(RlgoError, match="plays on 5x5, found 9x9"):
        player.genmove(Game(9))


# ---------------------------------------------------------------------------------------------
# Specs
# ---------------------------------------------------------------------------------------------


def test_specs() -> None:
    assert parse_spec("random") == ("random", {})
    assert parse_spec("random, seed=7") == ("random", {"seed": 7})
    assert parse_spec("greedy,weights=a/b=c+d.npz,epsilon=.1,seed=0") == (
        "greedy",
        {"weights": "a/b=c+d.npz", "epsilon": 0.1, "seed": 0},
    )
    assert parse_spec("gtp: gnugo  --x=1,2+3 'a b'") == ("gtp", {"command": " gnugo  --x=1,2+3 'a b'"})
    assert parse_spec("td_search,sizes=1+3,lambda=0.5,reset=on,T=never,sims=none").values == {
        "sizes": (1, 3),
        "lambda_": 0.5,
        "reset": True,
        "T": "never",
        "sims": "none",
    }
    assert parse_spec("dyna2,sizes=none").values == {"sizes": ()}


@pytest.mark.parametrize(
    "spec, message",
    [
        ("gredy", "player 'gredy': unknown; the nearest is greedy"),
        ("Random", "the nearest is random"),
        ("gtp", "the nearest is gtp:COMMAND"),
        ("", "player '': unknown"),
        ("greedy,weigths=x", "player greedy: unknown key 'weigths'; the nearest is weights"),
        ("random,epsilon=0.1", "unknown key 'epsilon'; the nearest is seed"),
        ("random,", "unknown key ''"),
        ("random,seed", "expected seed=VALUE"),
        ("random,seed=-1", "seed = -1: expected an integer from 0 to"),
        ("random,seed=1,seed=2", "seed is given twice"),
        ("greedy,epsilon=2", "epsilon = 2: expected a number from 0 to 1"),
        ("greedy,epsilon=nan", "expected a number from 0 to 1"),
        ("greedy,weights=", "weights=: expected weights=VALUE"),
        ("gtp:", "expected a command after gtp:"),
        ("gtp:'x", "No closing quotation"),
        ("gtp:no-such-engine --x", "engine 'no-such-engine' is not found on PATH or in /usr/games"),
    ],
)
def test_bad_specs(spec: str, message: str) -> None:
    with pytest.raises(RlgoError) as error:
        make_player(spec, 9)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_seeds_of_specs() -> None:
    def moves(spec: str, seed: int) -> list[int]:
        player = make_player(spec, 9, seed)
        return [player.genmove(Game(9)) for _ in range(10)]

    assert moves("random", 1) == moves("random,seed=1", 2) != moves("random", 2)


# ---------------------------------------------------------------------------------------------
# Outside engines
# ---------------------------------------------------------------------------------------------

# A GTP engine that knows no rules. It plays the vertices given to it in turn, then passes, and notes every
# command in a file. Of the vertices, a word in capitals is a way to fail.
ENGINE = textwrap.dedent("""
    import sys, time
    log, *answers = sys.argv[1:]
    for line in sys.stdin:
        command = line.split()
        print(line.strip(), file=open(log, "a"))
        answer = "= " + {"name": "Fake", "version": "0.1"}.get(command[0], "")
        if command[0] == "genmove":
            move = answers.pop(0) if answers else "pass"
            if move == "DIE":
                sys.exit("killed by a test")
            if move == "HANG":
                time.sleep(60)
            answer = {"FAIL": "? do not want", "RUBBISH": "hello", "NOVERTEX": "= Z99"}.get(move, "= " + move)
        if command[0] == "boardsize" and command[1] == "19":
            answer = "? unacceptable size"
        print(answer, end="\\n\\n", flush=True)
        if command[0] == "quit":
            break
""")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def engine(tmp_path: Path, log: Path) -> str:
    """A spec without its vertices."""
    path = tmp_path / "engine.py"
    path.write_text(ENGINE)
    return f"gtp:'{sys.executable}' -S -E '{path}' '{log}' "


@pytest.fixture
def clients() -> Iterator[list[GtpClient]]:
    made: list[GtpClient] = []
    yield made
    for client in made:
        client.close()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(client: GtpClient) -> int:
    assert client.pid is not None
    return client.pid


def test_an_engine_is_told_what_it_lacks(engine: str, log: Path) -> None:
    with GtpClient((engine + "C3 D4 E5 resign").removeprefix("gtp:"), 9) as client:
        pid = pid_of(client)
        assert (client.name, client.version) == ("Fake", "0.1")
        game = Game(9, 6.5)
        game.place_free_handicap(2)
        log.write_text("")

        def told(answer: int) -> list[str]:
            assert client.genmove(game) == answer
            lines = log.read_text().splitlines()
            log.write_text("")
            return lines

        start = ["boardsize 9", "clear_board", "komi 6.5", "play black C3", "play black G7"]
        assert told(from_vertex("C3", 9)) == [*start, "genmove white"]
        # The game does not take the move: all is told again.
        game.play(from_vertex("D3", 9))
        assert told(from_vertex("D4", 9)) == [*start, "play white D3", "genmove black"]
        game.play(from_vertex("D4", 9))
        game.play(PASS)
        assert told(from_vertex("E5", 9)) == ["play white pass", "genmove black"]
        game.undo()
        assert told(RESIGN)[: len(start)] == start
        client.new_game()
        assert told(PASS)[: len(start)] == start
        assert pid_of(client) == pid and is_running(pid)
    assert log.read_text() == "quit\n"
    assert not is_running(pid)


@pytest.mark.parametrize(
    "answer, message",
    [
        ("DIE", "genmove black: it ended with status 1; its last words: killed by a test"),
        ("HANG", "genmove black: no answer within 0.3 s"),
        ("FAIL", "genmove black: failed: do not want"),
        ("RUBBISH", "genmove black: expected a GTP answer, found 'hello'"),
        ("NOVERTEX", "genmove: expected a vertex, found 'z99'"),
    ],
)
def test_engines_that_fail(answer: str, message: str, engine: str, clients: list[GtpClient]) -> None:
    clients.append(client := GtpClient((engine + answer).removeprefix("gtp:"), 9))
    client.timeout = 0.3  # not before it has started
    pid = pid_of(client)
    start = time.monotonic()
    with pytest.raises(EngineError) as error:
        client.genmove(Game(9))
    assert message in str(error.value) and "engine '" in str(error.value) and "\n" not in str(error.value)
    assert time.monotonic() - start < 2  # it is not asked to quit, and waited for, but killed
    # Alive only if it still understands us; a new game brings up another process.
    alive = answer in ("FAIL", "NOVERTEX")
    assert is_running(pid) == alive
    client.timeout = 60
    client.new_game()
    assert (pid_of(client) == pid) == alive
    if alive:
        assert client.genmove(Game(9)) == PASS


@pytest.mark.parametrize(
    "spec, size, message",
    [
        ("gtp:true", 9, "ended with status 0"),
        ("gtp:sh -c 'echo no; cat'", 9, "expected a GTP answer, found 'no'"),
        ("gtp:/", 9, "is not found"),
        (None, 19, "boardsize 19: failed: unacceptable size"),
    ],
)
def test_engines_that_do_not_start(spec: str | None, size: int, message: str, engine: str) -> None:
    with pytest.raises(RlgoError, match=message):
        play_match("random", spec or engine, 2, size=size)


# ---------------------------------------------------------------------------------------------
# Matches
# ---------------------------------------------------------------------------------------------


class Scripted(Player):
    """Plays what a function of the game says."""

    def __init__(self, name: str, choose) -> None:
        self.name = name
        self.choose = choose
        self.games: list[list[int]] = []

    def genmove(self, game: Game) -> int:
        if not self.games[-1]:
            self.games[-1] = [p for _, p in game.moves]
        return self.choose(game)

    def new_game(self) -> None:
        self.games.append([])


def passer(name: str = "passer") -> Scripted:
    return Scripted(name, lambda game: PASS)


def resigner() -> Scripted:
    return Scripted("resigner", lambda game: RESIGN)


def first_legal() -> Scripted:
    return Scripted("first", lambda game: (game.sensible_moves() or [PASS])[0])


KEYS = """games distinct wins win_rate ci95 seed size komi a b black_wins capped forfeits draws mean_length
opening_plies versions interrupted""".split()


def test_the_result_has_all_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    result = play_match("random,seed=1", "random", 10, size=5, komi=2.5, seed=3)
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(KEYS) <= set(data)
    assert (data["games"], data["seed"], data["size"], data["komi"]) == (10, 3, 5, 2.5)
    assert (data["a"], data["b"], data["opening_plies"]) == ("random,seed=1", "random", 4)
    assert data["win_rate"] == data["wins"] / 10
    assert 0 <= data["ci95"][0] <= data["win_rate"] <= data["ci95"][1] <= 1
    assert {"rlgo", "python", "numpy", "numba"} <= set(data["versions"])
    assert data["interrupted"] is False
    out, err = capsys.readouterr()
    assert out == "" and "10/10" in err and f"won {data['win_rate']:.1%} (" in err
    assert f"{result.win_rate:.1%}" in str(result)


def test_a_seed_fixes_a_match() -> None:
    first, again, other = (play_match("random", "random", 12, size=5, seed=seed).to_json() for seed in (1, 1, 2))
    assert len(first["seconds"]) == 2
    assert {**first, "seconds": None} == {**again, "seconds": None}  # all but the time it took
    assert first["mean_length"] != other["mean_length"]


def test_every_opening_is_played_with_both_colours() -> None:
    a, b = passer("a"), passer("b")
    result = play_match(a, b, 20, size=9, seed=5)
    assert len(a.games) == len(b.games) == 20
    openings = [seen[:4] for seen in a.games]
    assert openings[::2] == openings[1::2]
    assert len({tuple(opening) for opening in openings}) == 10
    # A is Black, and first to move, in the even games: B then saw A's pass.
    assert {len(seen) for seen in a.games[::2] + b.games[1::2]} == {4}
    assert {len(seen) for seen in a.games[1::2] + b.games[::2]} == {5}
    assert (result.mean_length, result.distinct) == (6, 10)
    # The same position, won once by each.
    assert result.wins == 10 and result.black_wins in range(0, 21, 2)
    longer = passer("a")
    play_match(longer, b, 30, size=9, seed=5)
    assert [seen[:4] for seen in longer.games[:20]] == openings


def test_openings_are_uniform_and_sensible() -> None:
    rng = np.random.default_rng(0)
    seen = {random_opening(5, 1, rng)[0] for _ in range(400)}
    assert seen == set(Game(5).sensible_moves())
    assert random_opening(5, 0, rng) == []
    assert len(random_opening(5, 40, rng)) == 40


def test_resigning_loses() -> None:
    result = play_match(resigner(), passer(), 6, size=5)
    assert (result.wins, result.black_wins, result.forfeits) == (0, 3, 0)
    assert play_match(passer(), resigner(), 6, size=5).wins == 6


def test_draws_count_half() -> None:
    result = play_match(passer("a"), passer("b"), 4, size=5, komi=0, opening_plies=0)
    assert (result.draws, result.wins, result.black_wins, result.win_rate) == (4, 2, 2, 0.5)
    assert (result.distinct, result.mean_length) == (1, 2)


def test_long_games_are_scored_as_they_stand() -> None:
    result = play_match(first_legal(), first_legal(), 4, size=5, max_moves=9, komi=-30)
    assert (result.capped, result.mean_length, result.black_wins, result.max_moves) == (4, 9, 4, 9)
    assert play_match("random", "random", 2, size=5, max_moves=2).mean_length == 2
    assert play_match(passer(), passer(), 2, size=5).max_moves == 75


def test_illegal_moves_and_crashes_forfeit(capsys: pytest.CaptureFixture[str]) -> None:
    def occupied(game: Game) -> int:
        return game.moves[0][1]

    result = play_match(Scripted("a", occupied), passer(), 4, size=5)
    assert (result.wins, result.forfeits, result.black_wins) == (0, 4, 2)
    assert "game 1: Black forfeits: a: illegal move Black" in result.forfeit_reasons[0]
    assert result.forfeit_reasons[0].endswith(": occupied")
    assert "game 2: White forfeits: a" in capsys.readouterr().err

    def crash(game: Game) -> int:
        raise ZeroDivisionError("oh")

    result = play_match(passer(), Scripted("b", crash), 2, size=5)
    assert (result.wins, result.forfeits) == (2, 2)
    assert "b: ZeroDivisionError: oh" in result.forfeit_reasons[0]
    assert "Traceback" in capsys.readouterr().err


def test_the_referee_knows_superko() -> None:
    script = TWO_STONES_SENT.split()

    def sends_two(game: Game) -> int:
        i = len(game.moves)
        return from_vertex(script[i] if i < len(script) else "B1", 5)

    result = play_match(Scripted("a", sends_two), Scripted("b", sends_two), 2, size=5, opening_plies=0)
    assert (result.wins, result.forfeits, result.black_wins, result.mean_length) == (1, 2, 0, 8)
    assert result.forfeit_reasons[0].endswith("a: illegal move Black B1: superko")


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"games": 3}, "games = 3: expected an even number"),
        ({"games": 0}, "games = 0"),
        ({"games": -2}, "games = -2"),
        ({"games": 2, "size": 4}, "board size 4"),
        ({"games": 2, "opening_plies": -1}, "opening_plies = -1"),
        ({"games": 2, "max_moves": 0}, "max_moves = 0"),
    ],
)
def test_bad_matches(kwargs: dict, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        play_match("random", "random", **kwargs)


def test_players_of_another_size() -> None:
    with pytest.raises(RlgoError, match="greedy: does not play on 9x9"):
        play_match(GreedyPlayer(FakeValues(5), 1), "random", 2, size=9)


def interrupter(after: int) -> Scripted:
    """Presses Ctrl-C in the midst of the game that comes after so many."""

    def choose(game: Game) -> int:
        if len(player.games) > after and len(game.moves) > 6:
            raise KeyboardInterrupt
        return (game.sensible_moves() or [PASS])[0]

    player = Scripted("interrupter", choose)
    return player


@pytest.mark.parametrize("after", [1, 2, 5])
def test_ctrl_c_keeps_the_games_completed(after: int) -> None:
    whole = play_match(first_legal(), "random", 10, size=5, seed=2)
    result = play_match(interrupter(after), "random", 10, size=5, seed=2)
    assert result.interrupted and not whole.interrupted
    assert result.games == after and "interrupted" in str(result)
    assert 0 <= result.ci95[0] < result.ci95[1] <= 1


def test_ctrl_c_before_the_first_result() -> None:
    with pytest.raises(KeyboardInterrupt):
        play_match(interrupter(0), "random", 10, size=5)


# --- against outside engines ---


def test_a_match_with_an_engine(engine: str, log: Path) -> None:
    result = play_match("random", engine, 2, size=5, opening_plies=2, seed=1)
    assert (result.games, result.forfeits, result.b) == (2, 0, engine)
    assert result.versions["Fake"] == "0.1"
    lines = log.read_text().splitlines()
    # Tried out first, then started for the match.
    assert lines[:7] == ["name", "version", "boardsize 5", "quit", "name", "version", "boardsize 5"]
    assert lines[7:10] == ["boardsize 5", "clear_board", "komi 7.5"]
    # As White it is told the opening and Black's move, as Black the opening alone, which is the same.
    games = " ".join(lines).split("clear_board komi 7.5 ")[1:]
    opening = games[1].partition(" genmove black")[0]
    assert opening.count("play") == 2 and games[0].startswith(opening + " play black ")
    assert lines[-1] == "quit"


def test_engines_that_fail_forfeit_and_come_back(engine: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Whenever it starts, it plays one stone and dies.
    result = play_match(engine + "C3 DIE", passer(), 4, size=5, opening_plies=0, komi=0.5)
    assert (result.games, result.wins, result.forfeits) == (4, 0, 4)
    assert log.read_text().count("genmove") == 8
    assert all("it ended with status 1" in why for why in result.forfeit_reasons)
    assert "killed by a test" in capsys.readouterr().err


def test_an_engine_that_does_not_come_back_ends_the_match(engine: str, log: Path, tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text("import os; os.remove(__file__)\n" + ENGINE)
    with pytest.raises(RlgoError, match="it ended with status 2"):
        play_match(engine + "DIE", "random", 4, size=5)


def test_engines_are_closed_after_a_match(engine: str, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = []
    popen = subprocess.Popen

    def note(*args, **kwargs) -> subprocess.Popen:
        process = popen(*args, **kwargs)
        pids.append(process.pid)
        return process

    monkeypatch.setattr(subprocess, "Popen", note)
    play_match(engine, engine, 2, size=5)
    with pytest.raises(KeyboardInterrupt):
        play_match(interrupter(0), engine, 2, size=5)
    with pytest.raises(RlgoError):
        play_match(engine, "gtp:true", 2, size=5)
    assert len(pids) == 4 + 2 + 2 and not any(is_running(pid) for pid in pids)


def test_gnugo_beats_a_random_player(gnugo: str) -> None:
    command = f"gtp:'{gnugo}' --mode gtp --level 0 --chinese-rules --capture-all-dead"
    result = play_match("random", command, 2, size=7, seed=1)
    assert (result.wins, result.forfeits, result.games) == (0, 0, 2)
    assert result.versions["GNU Go"].startswith("3.")


def test_gnugo_is_found_beside_path(gnugo: str, monkeypatch: pytest.MonkeyPatch, clients: list[GtpClient]) -> None:
    if not gnugo.startswith("/usr/games/"):
        pytest.skip("GNU Go is installed elsewhere")
    monkeypatch.setenv("PATH", "/nowhere")
    clients.append(client := GtpClient("gnugo --mode gtp", 9))
    assert client.name == "GNU Go"


def test_results_read_well() -> None:
    result = play_match(passer("a"), resigner(), 2, size=5)
    assert isinstance(result, MatchResult)
    assert str(result).splitlines()[:2] == [
        "a against resigner, 5x5, komi 7.5",
        f"a won 2 of 2: 100.0% (95 % interval {result.ci95[0]:.1%} to 100.0%)",
    ]
