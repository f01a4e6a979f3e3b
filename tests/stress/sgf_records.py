"""Random game records, and real ones with damage: rlgo's own, and those of other programs (`tests/wild_records.py`).

Each is read, or refused with a one-line error. Records that were read are written and read again: the moves stay the
same.
"""

from __future__ import annotations

import random
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from harness import ROOT, Outcome, StressTest, main
from wild_records import WILD_RECORDS

from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from rlgo.go.sgf import load_sgf, read_sgf, write_sgf

_NAMES = "B W AB AW AE PL SZ KM HA GM FF CA RE RU PB PW C KO MN TB LB"
_FITTING = "aa cc dd ee ii tt zz ss B W black 1 2 4 9 13 19 9:13 0 -1 6.5 7,5 nan inf 1e9 375 aa:cc cc:aa aa:zz"
PROPERTIES = _NAMES.split()
VALUES = [*_FITTING.split(), *":[é", "\\", "\\]", "", " ", "\x00", "9" * 400, "x" * 3000, "\ufeff"]
SIZES = (9, 13, 19)
NAMES = ["表示", "柯洁", "許功蓋", "이세돌", "Größe", "白八十]", "昞"]
ENCODINGS = ["utf-8", "utf-8", "cp932", "gb18030", "big5", "euc_kr", "johab", "utf-16", "utf-8-sig", "latin-1"]


def made_up(draw: random.Random) -> bytes:
    """A record of random properties, mostly with values that fit."""
    parts = ["(;", draw.choice(["", "GM[1]FF[4]"]), draw.choice(["", *(f"SZ[{size}]" for size in SIZES)])]
    for _ in range(draw.randrange(30)):
        what = draw.random()
        if what < 0.5:
            parts.append(f";{draw.choice('BW')}[{draw.choice('abcdefghi')}{draw.choice('abcdefghi')}]")
        elif what < 0.6:
            parts.append(draw.choice(["(", ")", ";", "[", "]", "(;", "\n"]))
        else:
            values = "".join(f"[{draw.choice(VALUES)}]" for _ in range(draw.choice([1, 1, 1, 0, 2])))
            parts.append(draw.choice(PROPERTIES) + values)
    encoding, stated = draw.choice(ENCODINGS), draw.choice(ENCODINGS)
    if draw.random() < 0.3:
        parts.insert(1, f"CA[{draw.choice([encoding, encoding, stated])}]PW[{draw.choice(NAMES)}]")
    text = "".join(parts) + draw.choice([")", ")", ""])
    return text.encode(encoding, "replace") * draw.choice([1, 1, 1, 1, 2])


def real_record(draw: random.Random) -> bytes:
    """A random game as rlgo writes it, sometimes with stones set up and with comments."""
    game = Game(draw.choice(SIZES), draw.choice([0.0, 5.5, 7.5]))
    if draw.random() < 0.3:
        game.fixed_handicap(draw.randrange(2, 6))
    for _ in range(draw.randrange(60)):
        game.play(draw.choice([*game.legal_moves(), 0]))
    return write_sgf(game, "Black", "White", comment="[a] comment; (really)", comments={1: "a \\ b"})


def damaged(data: bytes, draw: random.Random) -> bytes:
    """A record with a few bytes changed, lost, doubled, swapped or cut off."""
    text = bytearray(data)
    for _ in range(draw.randrange(1, 6)):
        i, n = draw.randrange(len(text) + 1), draw.randrange(1, 20)
        what = draw.randrange(5)
        if what == 0 and i < len(text):
            text[i] = draw.randrange(256)
        elif what == 1:
            del text[i : i + n]
        elif what == 2:
            text[i:i] = text[i : i + n]
        elif what == 3:
            text[i:i] = draw.choice(
                [b"(", b")", b";", b"[", b"]", b"\\", b"KM[nan]", b"SZ[9:13]", b"HA[99]", b"AB[zz]"]
            )
        else:
            del text[draw.randrange(len(text) + 1) :]
    return bytes(text)


def attempt(data: bytes, path: Path, draw: random.Random) -> Outcome:
    """Read a record, from memory or from a file."""
    try:
        if draw.random() < 0.02:
            path.write_bytes(data)
            game = load_sgf(path, n_moves=draw.choice([None, 3]))
        else:
            game = read_sgf(data, n_moves=draw.choice([None, None, 0, 5]))
    except RlgoError as error:
        text = str(error)
        well = text and len(text) < 400 and text.isprintable() and ("b'" not in text or b"b'" in data)
        return Outcome("refused", failure="" if well else f"{data!r}: {text!r}")
    except Exception:
        return Outcome("traceback", failure=f"{data!r}: {traceback.format_exc(limit=-2)}")
    again = read_sgf(write_sgf(game, "a", "b"))
    same = (again.moves, again.setup, again.komi, again.size) == (game.moves, game.setup, game.komi, game.size)
    return Outcome("read", failure="" if same else f"{data!r}: written and read again, it is another game")


def trials(draw: random.Random) -> Iterator[Outcome]:
    records = [path.read_bytes() for path in ROOT.glob("docs/**/*.sgf")] + [real_record(draw) for _ in range(50)]
    with tempfile.TemporaryDirectory() as folder:
        while True:
            if draw.random() < 0.01:
                records[draw.randrange(len(records))] = real_record(draw)
            kind = draw.random()
            if kind < 0.4:
                data = made_up(draw)
            else:
                data = damaged(draw.choice(records) if kind < 0.7 else draw.choice(WILD_RECORDS).data, draw)
            yield attempt(data, Path(folder) / "record.sgf", draw)


STRESS_TEST = StressTest(
    "sgf_records", "random game records, and real ones with damage", "read, or a one-line error; no traceback",
    unit="records", count=100_000, trials=trials,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
