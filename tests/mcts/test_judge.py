"""What is alive at the end: positions with answers by hand, and GNU Go's."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from mcts import Judge
from rlgo.go.board import BLACK, EMPTY, WHITE
from rlgo.go.coords import from_row_col, from_vertex, to_vertex
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.ending import Ending, count, decide
from train.players.networks import make_judge


class Answer(NamedTuple):
    """A position of `endings.txt`, and what is known of it: a stone of each chain, or that it is unfinished."""

    name: str
    game: Game
    score: str  # "unfinished", or without komi
    dead: frozenset[str]
    seki: frozenset[str]


def read_answers(file: str) -> list[Answer]:
    """Read positions: kinds after a #, then blocks, a line of answers and a diagram each."""
    found = []
    for section in (Path(__file__).parent / file).read_text().split("# ")[1:]:
        kind, _, rest = section.partition("\n")
        for number, block in enumerate(rest.strip().split("\n\n"), 1):
            answers, *rows = block.split("\n")
            score, *lists = answers.split("; ")
            named = {words.split()[0]: frozenset(words.split()[1:]) for words in lists}
            game, size = Game(len(rows), 0.0), len(rows)
            colors = {"X": BLACK, "O": WHITE}
            game.set_up(
                [
                    (colors[mark], from_row_col(size - 1 - row, col, size))
                    for row, line in enumerate(rows)
                    for col, mark in enumerate(line)
                    if mark in colors
                ]
            )
            found.append(
                Answer(f"{kind} {number}", game, score, named.get("dead", frozenset()), named.get("seki", frozenset()))
            )
    return found


ANSWERS = read_answers("endings.txt")
HELD_OUT = read_answers("held_out.txt")  # the judge is not tuned on these
QUICK = [answer for answer in ANSWERS if answer.game.size == 7 and answer.name.endswith(" 1")]


@cache
def judge(size: int) -> Judge:
    return make_judge(size)


def chains(game: Game, vertices: frozenset[str]) -> set[frozenset[str]]:
    """The chains with stones at these points, each as its points."""
    ending = count(game, [from_vertex(v, game.size) for v in vertices])
    return named(ending.dead, game.size)


def named(chains: list[list[int]], size: int) -> set[frozenset[str]]:
    return {frozenset(to_vertex(p, size) for p in chain) for chain in chains}


def check(answer: Answer, ending: Ending) -> None:
    """Both first movers have been asked: they must agree."""
    if answer.score == "unfinished":
        assert ending.unfinished
        assert ending.result == "?"
        return
    assert ending.unfinished == []
    assert named(ending.dead, answer.game.size) == chains(answer.game, answer.dead)
    assert named(ending.seki, answer.game.size) == chains(answer.game, answer.seki)
    assert ending.result == answer.score


@pytest.mark.parametrize(("answers", "n", "of_each"), [(ANSWERS, 60, 4), (HELD_OUT, 30, 2)])
def test_there_are_enough_positions(answers: list[Answer], n: int, of_each: int) -> None:
    kinds = [answer.name.rpartition(" ")[0] for answer in answers]
    assert len(kinds) >= n
    assert len(set(kinds)) == 10
    assert min(kinds.count(kind) for kind in kinds) >= of_each
    assert len({str(answer.game.array()) for answer in ANSWERS + HELD_OUT}) == len(ANSWERS + HELD_OUT)


@pytest.mark.parametrize("answer", QUICK, ids=[answer.name for answer in QUICK])
def test_one_position_of_each_kind(answer: Answer) -> None:
    check(answer, decide(answer.game, judge(answer.game.size)))


def wrong_ones(answers: list[Answer]) -> list[str]:
    wrong = []
    for answer in answers:
        try:
            check(answer, decide(answer.game, judge(answer.game.size)))
        except AssertionError:
            wrong.append(answer.name)
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "most"),
    [
        pytest.param(ANSWERS[::3], 1, id="some"),
        pytest.param(ANSWERS, 2, id="known", marks=pytest.mark.thorough),  # three minutes
        pytest.param(HELD_OUT, 5, id="held_out", marks=pytest.mark.thorough),  # four minutes, up to 19x19
    ],
)
def test_all_positions(answers: list[Answer], most: int) -> None:
    """A few may be wrong: which, depends on random numbers, and on how a machine rounds."""
    wrong = wrong_ones(answers)
    assert len(wrong) <= most, wrong


def test_an_answer_does_not_depend_on_those_before() -> None:
    game, player = QUICK[0].game, judge(QUICK[0].game.size)
    found = [decide(game, player), decide(QUICK[1].game, player), decide(game, player)]
    assert (found[0].result, found[0].unfinished) == (found[2].result, found[2].unfinished)
    player.new_game()
    lines = [player.genmove(game.copy()) for _ in range(2)]
    player.new_game()
    assert player.genmove(game.copy()) == lines[0]


def test_gnugo_agrees(gnugo: str) -> None:
    """On chains, where the game is finished; whoever moves first may take a neutral point, for GNU Go."""
    finished = [answer for answer in ANSWERS + HELD_OUT if answer.score != "unfinished"]
    commands = []
    for answer in finished:
        game = answer.game
        commands += [f"boardsize {game.size}", "clear_board", "komi 0"]
        commands += [f"play {COLOR_NAMES[color]} {to_vertex(p, game.size)}" for color, p in game.setup]
        commands += ["final_status_list dead", "final_status_list seki", "final_score"]
    program = [gnugo, "--mode", "gtp", "--chinese-rules"]
    done = subprocess.run(program, input="\n".join(commands) + "\n", capture_output=True, text=True, check=True)
    told = [text.lstrip("= ").rstrip() for text in done.stdout.split("\n\n") if text]
    told = [text for text, command in zip(told, commands, strict=False) if command.startswith("final")]
    for answer, dead, seki, score in zip(finished, told[::3], told[1::3], told[2::3], strict=True):
        game = answer.game
        for text, vertices in ((dead, answer.dead), (seki, answer.seki)):
            assert set(text.split()) == {v for chain in chains(game, vertices) for v in chain}, answer.name
        ending = count(game, [from_vertex(v, game.size) for v in answer.dead])
        by_gnugo = 0.0 if score == "0" else float(score[2:]) * (1 if score[0] == "B" else -1)
        assert ending.result == answer.score
        assert abs(by_gnugo - ending.rest.score()) <= len(ending.territory(EMPTY)), answer.name
