"""Files of records lose nothing that a person has written: loaded, analysed, saved, and read again by sgfmill."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from sgfmill.sgf_grammar import Coarse_game_tree, parse_sgf_collection

from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from rlgo.go.sgf import read_sgf
from rlgo.go.sgf_files import save_sgf
from train.cli.main import main
from train.play.curve import Curve, Opinion, annotate
from train.play.record import Record

# All properties of FF[4], and of Go; those of the root, with values that may stand there.
ROOT = {
    "AP": "prog:1", "ST": "2", "AN": "Ann", "BR": "3d", "BT": "team", "CP": "(c\\]", "DT": "2024-02-29", "EV": "cup",
    "GN": "name", "GC": "about\nit", "ON": "opening", "OT": "3x30 byo-yomi", "PB": "Bob", "PC": "here", "PW": "Cy",
    "RE": "B+R", "RO": "2 (final)", "RU": "AGA", "SO": "book", "TM": "1800", "US": "Dee", "WR": "9p", "WT": "other",
    "KM": "6.5", "HA": "0", "KGSDE": "aa", "MULTIGOGM": "1", "XY": "odd]"[:-1],
}  # fmt: skip
NODE = {
    "C": "a \\] and a \\\\ and: \u6b66\u5bae\nmore", "N": "side \\[x\\]", "DM": "1", "GB": "2", "GW": "1", "HO": "2",
    "UC": "1", "V": "-3.5", "BM": "2", "DO": "", "IT": "", "TE": "1", "SBKV": "50.00", "AR": "aa:bb", "CR": "cc",
    "DD": "aa:bb", "LB": "cc:text", "LN": "aa:cc", "MA": "dd", "SL": "ee", "SQ": "aa", "TR": "bb", "BL": "12.5",
    "WL": "3", "OB": "4", "OW": "5", "FG": "257:fig", "PM": "2", "VW": "aa:cc", "KO": "", "MN": "7", "TB": "aa",
    "TW": "bb", "KT": "eJx=", "RLGOX": "C:x", "LZ": "Leela 55.0 1k\ninfo",
}  # fmt: skip
LIKE_OURS = "rlgo: Black 50.0%"
JUDGEMENTS = {"BM", "DO", "IT", "TE"}


def properties(rng: random.Random, known: dict[str, str], most: int) -> str:
    names = rng.sample(sorted(known), rng.randint(0, most))
    return "".join(f"{name}[{LIKE_OURS if name == 'C' and rng.random() < 0.2 else known[name]}]" for name in names)


def variation(rng: random.Random, game: Game, depth: int, *, is_main: bool) -> str:
    """Moves, legal ones on the main line, and variations of variations, each node with whatever a person may write."""
    text = ""
    for _ in range(rng.randint(1, 4)):
        move = rng.choice([*game.legal_moves(), 0])
        letter = "BW"[game.to_play - 1]
        place = "" if move == 0 else "".join("abcdefghi"[i] for i in (move % 6 - 1, 5 - move // 6))
        if is_main:
            game.play(move)
        text += f";{letter}[{place}]" + properties(rng, NODE, 6) + ";C[between]" * (rng.random() < 0.1)
    if depth:
        parts = [variation(rng, game, depth - 1, is_main=is_main)]
        parts += [variation(rng, game.copy(), depth - 1, is_main=False) for _ in range(rng.randint(0, 2))]
        text += "".join(f"({part})" for part in parts) if len(parts) > 1 else parts[0]
    return text


def generated(seed: int) -> bytes:
    rng = random.Random(seed)
    games = [
        "(;GM[1]FF[4]SZ[5]" + properties(rng, ROOT, 12) + properties(rng, {"C": "start"}, 1)
        + variation(rng, Game(5), rng.randint(0, 3), is_main=True) + ")"
        for _ in range(rng.choice([1, 1, 2, 3]))
    ]  # fmt: skip
    ending = rng.choice(["\n", "\r\n", ""])
    return ending.join(games).replace("\n", ending or "\n").encode()


def children(tree: Coarse_game_tree, i: int) -> list[tuple[Coarse_game_tree, int]]:
    return [(tree, i + 1)] if i + 1 < len(tree.sequence) else [(child, 0) for child in tree.children]


def check_all_there(before: bytes, after: bytes) -> None:
    """Each node is at its place with all its values; a comment may be longer, and nodes may have been added."""
    old, new = parse_sgf_collection(before), parse_sgf_collection(after)
    assert len(old) == len(new)
    open_ = [((a, 0), (b, 0)) for a, b in zip(old, new, strict=True)]
    while open_:
        (a, i), (b, j) = open_.pop()
        was, now = a.sequence[i], b.sequence[j]
        for name in was.keys() - {"C", "CA"}:
            assert now[name] == was[name], name
        if "C" in was:
            assert now["C"] == was["C"] or now["C"][0].startswith(was["C"][0] + b"\n")
        judged = JUDGEMENTS & was.keys()
        assert JUDGEMENTS & now.keys() == judged if judged else len(JUDGEMENTS & now.keys()) <= 1
        below, below_now = children(a, i), children(b, j)
        assert len(below_now) >= len(below)
        open_ += list(zip(below, below_now, strict=False))


def analysed(data: bytes, seed: int) -> bytes:
    """The record with the analysis of a player that says anything."""
    rng, record = random.Random(seed), Record.read(data)
    assert record.lost == ""
    game, found = record.game, []
    for n in range(len(game.moves) + 1):
        line = tuple(rng.sample(game.after(n).legal_moves(), 3)) if len(game.after(n).legal_moves()) > 2 else ()
        found.append(Opinion(rng.random(), line[0] if line else 0, line, loss=rng.uniform(-0.3, 0.6)))
    annotate(record, Curve(game, "anyone", found))
    return record.write()


@pytest.mark.parametrize("start", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(20, 300, 20))])
def test_everything_is_there_after_an_analysis(start: int, tmp_path: Path) -> None:
    n_marked = 0
    for seed in range(start, start + 20):
        data, path = generated(seed), tmp_path / f"{seed}.sgf"
        path.write_bytes(data)
        once = analysed(data, seed)
        check_all_there(data, once)
        save_sgf(path, once)
        twice = analysed(once, seed + 1)
        assert twice == analysed(data, seed + 1)  # nothing is left of the first analysis
        save_sgf(path, twice)
        save_sgf(path, analysed(data, seed + 2))  # over another analysis of the same game
        check_all_there(data, path.read_bytes())
        with pytest.raises(RlgoError, match="would lose"):
            save_sgf(path, generated(seed + 1000))
        n_marked += twice.count(b"[BM:1]") + twice.count(b"[DO:]")
    assert n_marked > 0


def test_whatever_is_left_out_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    for seed in range(40):
        data = generated(seed)
        path.write_bytes(data)
        values = list(re.finditer(rb"([A-Z]+)\[(?:[^\]\\]|\\.)*\]", data))
        left_out = random.Random(seed).choice([v for v in values if v[1] not in (b"B", b"W", b"SZ", b"FF", b"GM")])
        with pytest.raises(RlgoError, match="would lose"):
            save_sgf(path, data[: left_out.start()] + data[left_out.end() :])
        assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (b"(;SZ[5]LZ2[x];B[cc])", "this one has what cannot be read strictly: 2"),
        (b"From: Ann\n\n(;SZ[5];B[cc])", "this one has what cannot be read strictly: From: Ann"),
        (b"(;SZ[5];B[cc])\n(GM[1];B[bb])", "this one has what cannot be read strictly: (GM"),
        (b"(;SZ[5]foo[x];B[cc])", "this one has what cannot be read strictly: (;SZ"),
        (b"(;SZ[5]PB[\xff\xfe\x81\xff caf\xe9];B[cc])", "this one "),
        (b"not a record", "this one has what cannot be read strictly: not a record"),
        (b"(;SZ[5];B[cc];W[bb])(;SZ[5]PB[Two])", "this one would lose PB[Two] and 1 more"),
        (b"(;SZ[5];B[cc](;W[bb])(;W[dd]C[mine]))", "this one would lose C[mine] and 1 more"),
        (b"(;SZ[5];B[cc]BM[2];W[bb])", "this one would lose BM[2]"),
    ],
)
def test_a_file_is_not_replaced_by_less(tmp_path: Path, held: bytes, reason: str) -> None:
    path = tmp_path / "game.sgf"
    path.write_bytes(held)
    with pytest.raises(RlgoError, match=re.escape(reason)):
        save_sgf(path, b"(;SZ[5];B[cc];W[bb])")
    assert path.read_bytes() == held
    assert [file.name for file in tmp_path.iterdir()] == ["game.sgf"]


def test_new_and_empty_files_and_more_are_written(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.touch()
    save_sgf(path, b"(;SZ[5];B[cc])")
    save_sgf(path, b"(;SZ[5];B[cc];W[bb])(;SZ[5];B[aa])")
    assert path.read_bytes().endswith(b"B[aa])")
    with pytest.raises(RlgoError, match="SGF"):
        save_sgf(tmp_path / "other.sgf", b"nothing")
    assert not (tmp_path / "other.sgf").exists()


def test_a_line_of_ours_that_a_person_changed_is_theirs(tmp_path: Path) -> None:
    data = b"(;SZ[5];B[cc]C[hello];W[bb];B[dd])"
    path = tmp_path / "game.sgf"
    mine = analysed(data, 1).replace(b"rlgo: Black", b"no, Black", 1)
    path.write_bytes(mine)
    with pytest.raises(RlgoError, match="would lose C"):
        save_sgf(path, analysed(data, 2))
    again = analysed(mine, 2)
    save_sgf(path, again)
    assert b"no, Black" in again


def test_a_person_who_goes_on_from_our_variation_owns_it() -> None:
    record = Record.read(b"(;SZ[5];B[cc];W[bb])")
    record.add_line(0, [(1, 9), (2, 10), (1, 11)], "better")
    record.choose(0, 1)
    record.add(3, 2, 15)
    record.choose(0, None)
    assert b"RLGO[W:" in record.write()
    kept = analysed(record.write(), 1)
    check_all_there(record.write(), kept)


ANALYSE = ["--game", "--player", "greedy"]


def test_the_command_keeps_collections_and_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collection = b"(;GM[1]FF[4]SZ[9]KM[0.5]PB[One];B[cc];W[bb])\n(;GM[1]FF[4]SZ[9]KM[0.5]PB[Two];B[dd];W[bb];B[cc])"
    marks = b"(;FF[4]SZ[9]KM[0.5];B[cc]C[first];W[bb]BM[2];B[dd]DO[]N[x];W[cb]TE[1](;B[bc];W[be])(;B[ae]N[side]))"
    path, other = tmp_path / "collection.sgf", tmp_path / "marks.sgf"
    path.write_bytes(collection)
    other.write_bytes(marks)
    for file in (path, other):
        for _ in range(2):
            assert main(["analyze", str(file), *ANALYSE, "--sgf", str(file)]) == 0
    check_all_there(collection, path.read_bytes())
    check_all_there(marks, other.read_bytes())
    capsys.readouterr()
    before = path.read_bytes()
    assert main(["analyze", str(other), *ANALYSE, "--sgf", str(path)]) == 2
    said = capsys.readouterr()
    assert "expected another file: this one would lose" in said.err.splitlines()[-1]
    assert (said.out, path.read_bytes()) == ("", before)  # refused before the analysis


def test_a_position_edited_in_the_middle_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.sgf"
    path.write_bytes(b"(;SZ[9];B[cc];W[bb];AE[bb]AB[dd]PL[W]C[edit];W[cb];B[bc];W[db])")
    assert main(["analyze", str(path), *ANALYSE]) == 0
    said = capsys.readouterr()
    assert "3 moves, as greedy sees them" in said.out
    assert "edited after move 2: the game is what follows, its moves counted from 1" in said.err
    assert read_sgf(b"(;SZ[9];AB[dd];W[cb])").notes == ()
