"""`rlgo play`: the output for each line of input, and the game record."""

from __future__ import annotations

import io
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from gtp_controller import Taker

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.sgf import load_sgf, read_sgf
from rlgo.play.player import RESIGN, Candidate, Player, RandomPlayer
from rlgo.play.session import GameSession
from train.play.terminal import TerminalGame, play_in_terminal
from train.players.spec import make_player


class Scripted(Player):
    """Plays what it was given, then passes; says what it thinks of it; counts its searches."""

    name = "scripted"

    def __init__(self, answers: str = "") -> None:
        self.answers = answers.split()
        self.searches = 0

    def genmove(self, game: Game) -> int:
        self.searches += 1
        answer = self.answers.pop(0) if self.answers else "pass"
        if answer == "crash":
            raise ZeroDivisionError("no reason")
        p = RESIGN if answer == "resign" else from_vertex(answer, game.size)
        line = [p, *(from_vertex(text, game.size) for text in ("A1", "B1"))]
        self.known = [Candidate(p, 0.25, 1234, line), Candidate(from_vertex("E1", 5), 0.5, 1, [from_vertex("E1", 5)])]
        return p

    def candidates(self, _game: Game) -> list[Candidate]:
        return self.known


class Played:
    """A game in which some lines were typed, and what was written; when there are no more lines, it ends."""

    def __init__(
        self, *lines: Any, player: Player | str = "", color: int = BLACK, size: int = 5, **options: Any
    ) -> None:
        player = Scripted(player) if isinstance(player, str) else player
        judge, make = Taker(*options.pop("dead", "").split()), options.pop("make_analyst", None)
        options_of_session = {"early_pass": True, "judge": lambda _size: judge, "make_analyst": make}
        self.session = GameSession(player, size, options.pop("komi", 0.5), **options_of_session)
        self.lines, self.written, self.prompts = list(lines), list[str](), list[str]()
        self.terminal = TerminalGame(self.session, color, self.read, self.written.append, **options)
        self.terminal.run()

    def read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        if isinstance(line, type):
            raise line
        return line

    @property
    def text(self) -> str:
        return "\n".join(self.written)

    @property
    def moves(self) -> str:
        return names(self.session.game)


def names(game: Game) -> str:
    """The moves of a game."""
    return " ".join(f"{'?BW'[color]}:{to_vertex(p, game.size)}" for color, p in game.moves)


def test_moves_and_what_the_engine_thinks() -> None:
    played = Played("c3", " D3 ", player="C4 b4")
    assert played.moves == "B:C3 W:C4 B:D3 W:B4"
    assert "White plays C4. P(win) 75.0%, 1,234 visits, expects A1 B1" in played.written
    assert played.prompts == ["1 Black> ", "3 Black> ", "5 Black> "]
    assert "   A B C D E\n 5 . . . . . 5\n 4 .(O)O . . 4\n 3 . . X X . 3\n" in played.written[-2]
    assert "You are Black against scripted, komi 0.5." in played.written[0]
    assert played.text.isascii()
    assert "(○)" in Played("c3", player="C4", unicode=True).written[-2]


def test_the_person_may_be_white() -> None:
    played = Played("C3", player="C4 D4", color=WHITE)
    assert played.moves == "B:C4 W:C3 B:D4"
    assert "Black plays C4. P(win) 25.0%" in played.text
    with pytest.raises(RlgoError, match="fixed handicap 2 on 5x5"):
        Played(handicap=2)


def test_handicap() -> None:
    played = Played("D4", player=RandomPlayer(1), color=WHITE, size=9, handicap=2)
    assert played.moves.startswith("W:D4 B:")
    assert len(played.session.game.setup) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("c3", "C3 is illegal: there is a stone already"),
        ("A1", "A1 is illegal: suicide: the stone would have no liberty"),
        ("E9", "vertex 'E9': not on the 5x5 board (A1 to E5)"),
        ("I3", "vertex 'I3': expected a letter (no I)"),
        ("hnt", "'hnt': did you mean hint?"),
        ("d 4", "'d 4': expected a move"),
        ("d4 e4", "'d4 e4': expected a move"),
        ("pass now", "pass: expected no argument, found 'now'"),
        ("save", "save: expected save FILE"),
        ("map", "map is gone from the terminal: `rlgo web` has it"),
        ("x" * 500, f"'{'x' * 20}': expected a move"),
    ],
)
def test_what_cannot_be_done_changes_nothing(line: str, message: str) -> None:
    played = Played("C3", "E5", line, player="A2 B1 C4")
    assert played.written[-2].startswith(message), played.written
    assert "\n" not in played.written[-2]
    assert played.moves == "B:C3 W:A2 B:E5 W:B1"


def test_ko_is_explained() -> None:
    played = Played("D2", "D4", "E3", "C3", "C3", player="B3 C2 C4 A1 D3", color=WHITE)
    assert played.moves.endswith("W:C3 B:D3")  # which has taken it
    assert "C3 is illegal: ko: you may not retake at once" in played.written


def test_an_empty_line_is_nothing() -> None:
    played = Played("", "   ")
    assert len(played.written) == 3
    assert len(played.prompts) == 3


def test_undo_to_the_start_and_through_the_end() -> None:
    played = Played("C3", "D3", "undo", "undo", "undo", player="C4 D4")
    assert played.moves == ""
    assert played.written[-2] == "undo: you have not moved yet"
    played = Played("C3", "undo", player="C4 D4", color=WHITE)
    assert played.moves == "B:C4"
    played = Played("C3", "resign", "D3", "undo", "E3", player="C4 D4")
    assert "Black resigns: W+R" in played.written
    assert "the game is over (W+R): expected undo, save or quit" in played.written
    assert played.moves == "B:C3 W:C4 B:E3 W:D4"
    assert "W+R (undo, save or quit)> " in played.prompts
    played = Played("C3", "undo", player="resign")
    assert "White resigns: B+R" in played.written
    assert played.moves == ""


def test_another_player_gives_hints() -> None:
    strong = Scripted("D4")
    strong.name = "strong"
    played = Played("C3", "hint", player="C4 B2", make_analyst=lambda _: strong)
    assert played.moves == "B:C3 W:C4"
    assert played.written[-2].startswith("strong would play D4\n")


def test_a_hint_is_of_the_position_on_the_board() -> None:
    played = Played("C3", "hint", "undo", "hint", "hint", player="C4 D4 B3")
    hint = "scripted would play D4\n  D4   P(win) 25.0%, 1,234 visits, expects A1 B1\n  E1   P(win) 50.0%"
    assert hint in played.written
    assert "scripted would play B3\n" in played.text
    assert "scripted would pass" in played.written
    assert played.moves == ""


def dead_stone(*more: Any, **options: Any) -> Played:
    """Black owns all of the board but one white stone, which is dead: as it stands, White's E1 takes some area."""
    black = ["A2", "B2", "C2", "D2", "E2", "B4", "D4"]
    return Played(*black, "pass", *more, player="pass pass pass pass pass pass E1", dead="E1", **options)


def test_the_end_without_dead_stones() -> None:
    played = dead_stone("y", "D1", "quit", komi=0.5)
    assert "Both have passed. Dead: White E1." in played.written
    assert "The score is B+24.5 (as the board stands: B+18.5)." in played.written
    assert "the game is over (B+24.5): expected undo, save or quit" in played.written
    assert played.terminal.done


def test_who_disagrees_plays_on_with_all_stones_alive() -> None:
    played = dead_stone("what", "no", "pass", "quit")
    assert len([p for p in played.prompts if p.endswith("[yes/no] ")]) == 2
    assert "Both have passed: B+18.5, all stones alive." in played.written
    assert played.prompts[-1] == "B+18.5 (undo, save or quit)> "


def test_the_engine_agrees_to_end_a_game_that_it_has_won() -> None:
    """It passes though dead stones stand, unless all count as alive."""
    white = ["E1", "D1", "C1", "B1", "A5", "E5"]
    script = "C3 B2 D2 C2 E2 A2 B4 D4 C4 pass"
    played = Played(*white, "pass", "yes", player=script, color=WHITE, komi=1.5, dead="E1 D1 C1 B1 A5 E5")
    assert played.moves.endswith("B:B4 W:pass B:pass")
    assert "Both have passed. Dead: White B1 C1 D1 E1 A5 E5." in played.written
    played = Played(*white, "pass", "no", "pass", player=script, color=WHITE, komi=1.5, dead="E1 D1 C1 B1 A5 E5")
    assert played.moves.endswith("B:B4 W:pass B:D4")


def test_score_and_help() -> None:
    played = dead_stone("y", "score", "help")
    assert played.written.count("Dead: White E1.") == 1
    assert any(text.endswith("without the dead stones: B+24.5.") for text in played.written)
    help_text = played.written[-2]
    assert all(f"  {name} " in help_text for name in ["pass", "undo", "hint", "score", "save", "quit"])


def test_the_record(tmp_path: Path) -> None:
    file = tmp_path / "a game.sgf"
    played = Played("C3", "D3", "undo", "E3", player="C4 D4 E4", record=file)
    game = load_sgf(file)
    assert names(game) == played.moves == "B:C3 W:C4 B:E3 W:E4"
    assert game.komi == 0.5
    data = file.read_text()
    assert "PB[human]" in data
    assert "PW[scripted]" in data
    assert "RE[" not in data
    assert played.written[-1] == f"The game is saved in {file}."
    # The agreed result, also where the question is left open.
    for answer in (["yes"], []):
        dead_stone(*answer, record=tmp_path / "c.sgf", color=BLACK)
        assert "RE[B+24.5]" in (tmp_path / "c.sgf").read_text()
    dead_stone("no", record=tmp_path / "d.sgf")
    assert "RE[" not in (tmp_path / "d.sgf").read_text()
    # Nothing has happened: nothing is written.
    Played("help", record=tmp_path / "e.sgf")
    assert not (tmp_path / "e.sgf").exists()


def test_save_asks_before_it_overwrites_another_game(tmp_path: Path) -> None:
    file = tmp_path / "other.sgf"
    file.write_text("precious")
    played = Played(
        "C3", f"save {file}", "no", f"save {file}x", f"save {file}x", f"save {tmp_path}", "save /no/folder/a.sgf"
    )
    assert file.read_text() == "precious"
    assert f"{file} exists. Overwrite it? [yes/no] " in played.prompts
    assert names(read_sgf((tmp_path / "other.sgfx").read_bytes())) == "B:C3 W:pass"
    assert len([p for p in played.prompts if "exists" in p]) == 1
    assert f"{tmp_path}: expected a file, found a folder" in played.written
    assert "/no/folder/a.sgf: cannot be written: No such file or directory" in played.written
    Played("C3", f"save {file}", "yes")
    assert names(load_sgf(file)) == "B:C3 W:pass"


def test_names_that_no_file_can_have_end_no_game() -> None:
    played = Played("C3", "save ~nobody-here/a.sgf", f"save {'a' * 300}", "D3", player="C4 D4")
    assert played.moves == "B:C3 W:C4 B:D3 W:D4"
    written = "\n".join(played.written)
    assert "~nobody-here/a.sgf: Could not determine home directory" in written
    assert ": File name too long" in written


def test_a_record_that_cannot_be_written_ends_no_game(tmp_path: Path) -> None:
    played = Played("C3", "D3", player="C4 D4", record=tmp_path / "gone" / "a.sgf")
    assert played.moves == "B:C3 W:C4 B:D3 W:D4"
    assert f"{tmp_path / 'gone' / 'a.sgf'}: cannot be written: No such file or directory" in played.written


class Interrupted(Player):
    """Is interrupted in its search, this many times; then plays C4, as soon as it is played to stop."""

    name = "patient"

    def __init__(self, times: int) -> None:
        self.times = times

    def genmove(self, game: Game) -> int:
        for _ in range(self.times):
            signal.raise_signal(signal.SIGINT)
        end = time.monotonic() + 60
        while not self.stop():
            assert time.monotonic() < end, "nobody has stopped the search"
        return from_vertex("C4", game.size)


def test_ctrl_c_in_a_search_moves_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    played = Played("hint", "C3", player=Interrupted(1))
    assert played.moves == "B:C3 W:C4"
    assert "patient would play C4" in played.written
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_leaves_with_the_game_saved(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        Played("C3", player=Interrupted(2), record=tmp_path / "a.sgf")
    assert names(load_sgf(tmp_path / "a.sgf")) == "B:C3"
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):  # and one at the prompt
        Played("C3", KeyboardInterrupt, player="C4", record=tmp_path / "b.sgf")
    assert names(load_sgf(tmp_path / "b.sgf")) == "B:C3 W:C4"


def test_an_engine_that_fails_ends_the_game_with_its_record(tmp_path: Path) -> None:
    with pytest.raises(RlgoError, match="ZeroDivisionError: no reason"):
        Played("C3", "D3", player="C4 crash", record=tmp_path / "a.sgf")
    assert names(load_sgf(tmp_path / "a.sgf")) == "B:C3 W:C4 B:D3"
    assert "internal error" in Played("hint", "C3", player="crash C4").text


def test_real_players() -> None:
    played = Played("C3", "hint", "undo", player=make_player("greedy,seed=1", 9), size=9)
    assert played.moves == ""
    assert "White plays " in played.text
    assert "greedy would play " in played.text


# ---------------------------------------------------------------------------------------------
# The terminal
# ---------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def play(monkeypatch: pytest.MonkeyPatch, text: str, **options: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    play_in_terminal("random,seed=1", 5, 0.5, **options)


def test_in_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "a.sgf"
    play(monkeypatch, "C3\n", record=file, time="60")
    out = capsys.readouterr().out
    assert "1 Black> " in out
    assert "White plays " in out
    assert names(load_sgf(file)).startswith("B:C3 W:")
    with pytest.raises(RlgoError, match="already exists; use --force to overwrite it"):
        play(monkeypatch, "", record=file)
    play(monkeypatch, "D3\n", record=file, force=True)
    assert names(load_sgf(file)).startswith("B:D3 W:")
    capsys.readouterr()
    play(monkeypatch, "quit\n", color="white")
    assert "You are White" in capsys.readouterr().out


def test_the_engine_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    games: list[TerminalGame] = []
    monkeypatch.setattr(TerminalGame, "run", lambda self: games.append(self))
    play_in_terminal("random,seed=1", 9, 6.5, handicap=3, time="60+3x10")
    play_in_terminal("random,seed=1", 9, handicap=3, color="black")
    session = games[0].session
    assert session.early_pass
    assert not session.all_alive
    assert str(session.clock.settings) == "60+3x10"
    assert session.game.komi == 6.5
    assert session.game.size == 9
    assert len(session.game.setup) == 3
    assert [game.human for game in games] == [WHITE, BLACK]
    assert games[1].session.clock.settings is None


def test_the_board_does_not_wait_for_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    may = threading.Event()

    class Late(Scripted):
        def warm_up(self) -> None:
            assert may.wait(60)

    def write(text: str) -> None:
        written.append(text)
        if "is getting ready" in text:
            may.set()

    written: list[str] = []
    lines = iter(["C3", "quit"])
    monkeypatch.setattr("train.play.terminal._PATIENCE", 0)
    session = GameSession(Late("C4"), 5, ready=lambda _: None)
    TerminalGame(session, BLACK, lambda _: next(lines), write).run()
    assert "\n 5 . . . . . 5\n" in written[1]
    assert "scripted is getting ready ..." in written
    assert names(session.game) == "B:C3 W:C4"


def test_any_bytes_may_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xc3\xa9\nquit\n"), "utf-8"))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(sink, "ascii"))
    play_in_terminal("random,seed=1", 5)
    assert b"'??': expected a move" in sink.getvalue()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"handicap": 2}, "there is none below 7x7"), ({"time": "soon"}, "time 'soon': expected seconds")],
)
def test_bad_settings(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str, capsys: Any) -> None:
    with pytest.raises(RlgoError, match=message):
        play(monkeypatch, "", **options)
    assert capsys.readouterr().err == ""  # before the engine gets ready
