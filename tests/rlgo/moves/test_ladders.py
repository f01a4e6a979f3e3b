"""Liberties against definitions in plain Python, and ladders against GNU Go."""

from __future__ import annotations

import subprocess

from oracles.naive import from_core, to_core, vertex
from slow_and_fast import KEYS, SIZE, Position

from rlgo.go.board import BLACK
from rlgo.moves.ladders import escapes_by, is_caught_by, liberties_of, new_ladder_scratch


def test_liberties():
    for seed in range(10):
        position = Position(seed)
        for _ in range(25):
            position.play_at_random()
            for stones, free in position.slow.chains():
                n, first, second = liberties_of(position.fast, to_core(SIZE, next(iter(stones))))
                found = {from_core(SIZE, i) for i in (first, second) if i}
                assert n == min(3, len(free))
                assert found <= free
                assert len(found) == min(2, len(free))


def test_what_a_ladder_catches_gnugo_catches_too(gnugo: str):
    """GNU Go reads more than ladders: it may catch what escapes from a ladder, but not the other way round."""
    scratch, questions, commands = new_ladder_scratch(SIZE), 0, [f"boardsize {SIZE}"]
    for seed in range(12):
        position = Position(seed)
        commands.append("clear_board")
        for _ in range(25):
            if not position.play_at_random():
                break
            commands.append(f"play {'white' if position.slow.to_play == BLACK else 'black'} {vertex(position.last)}")
            if position.slow.ko is not None:
                continue
            for stones, free in position.slow.chains():
                p, two = to_core(SIZE, next(iter(stones))), [to_core(SIZE, q) for q in free] * (len(free) == 2)
                if len(free) == 1 and not escapes_by(position.fast, p, 0, scratch, KEYS):
                    commands.append(f"defend {vertex(from_core(SIZE, p))}")
                    questions += 1
                elif any(is_caught_by(position.fast, p, q, sum(two) - q, scratch, KEYS) for q in two):
                    commands.append(f"attack {vertex(from_core(SIZE, p))}")
                    questions += 1
    talk = "\n".join(commands)
    done = subprocess.run([gnugo, "--mode", "gtp"], input=talk, capture_output=True, text=True, timeout=60)
    answers = [line[1:].strip() for line in done.stdout.splitlines() if line.startswith(("=", "?"))]
    assert len(answers) == len(commands)
    asked = [(c, a) for c, a in zip(commands, answers, strict=True) if c.startswith(("attack", "defend"))]
    # 0: cannot; 1 and a move: can; 2 and 3: with a ko. Our answer to "attack" is can, to "defend" cannot.
    wrong = [(c, a) for c, a in asked if a[:1] == ("0" if c.startswith("attack") else "1")]
    assert questions > 100
    assert len(wrong) <= questions // 20, wrong
