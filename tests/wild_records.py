"""Game records as other programs write them, each with what must come of it.

All are small and made for these tests, after public reports about neighbouring programs, which `report` names. Their
table is in docs/reliability.md.
"""

# ruff: noqa: E501 - one record a line

from __future__ import annotations

from typing import NamedTuple


class WildRecord(NamedTuple):
    """One kind of record."""

    kind: str  # what is unusual, in a few words
    report: str  # where it was reported, REPOSITORY#NUMBER; "": found here
    data: bytes
    expected: str  # the moves, then the komi if it is not 7.5; or "refused: " and a part of the message


def _text(kind: str, report: str, text: str, expected: str, encoding: str = "utf-8") -> WildRecord:
    return WildRecord(kind, report, text.encode(encoding), expected)


_GB_UNDER_UTF8 = "(;CA[UTF-8]SZ[9]PB[柯洁]PW[聂卫平]KM[650]AP[foxwq];B[ee];W[cc])".encode("gb18030")
_NESTED = "(;SZ[9]" + "".join(f"(;{'BW'[i % 2]}[{p}]" for i, p in enumerate(["ee", "cc", "gg", "ce"])) + ")" * 5

WILD_RECORDS = [
    # What moves, komi or size are lost to
    WildRecord("a move swallowed by Shift-JIS", "", b"(;CA[Shift_JIS]SZ[9]KM[0.5];B[ee]C[\x94\x92\x94\xaa\x8f\\];W[cc];B[dd])", "B:E5 W:C7 B:D6 komi 0.5"),
    WildRecord("a komi swallowed by Shift-JIS", "", b"(;CA[Shift_JIS]SZ[9]PW[\x95\\]KM[0.5];B[ee];W[cc])", "B:E5 W:C7 komi 0.5"),
    WildRecord("a komi swallowed by GB18030", "", b"(;CA[GB18030]SZ[9]PB[\xbd\xf0\x95\\]KM[0.5];B[ee];W[cc])", "B:E5 W:C7 komi 0.5"),
    WildRecord("GB18030 that calls itself UTF-8", "sanderland/katrain#177", _GB_UNDER_UTF8, "B:E5 W:C7 komi 6.5"),
    _text("Big5 that does not say so", "", "(;SZ[9]PB[許功蓋]KM[0.5];B[ee];W[cc])", "B:E5 W:C7 komi 0.5", "big5"),
    _text("UTF-16", "", "(;SZ[9]PB[井山裕太]KM[0.5];B[ee];W[cc])", "B:E5 W:C7 komi 0.5", "utf-16"),
    _text("two AP, one of them Fox's", "", "(;GM[1]FF[4]\nSZ[9]\nKM[375]HA[0]RU[Chinese]AP[GNU Go:3.8]RE[W+R]AP[foxwq]\n;B[ee];W[cc])", "B:E5 W:C7"),
    _text("Fox's komi of a handicap game", "sanderland/katrain#177", "(;SZ[9]KM[50]HA[2]RU[Japanese]AP[foxwq]AB[cc][gg];W[ee])", "W:E5 komi 0.5"),
    _text("Fox's komi, saved by another program", "", "(;SZ[9]KM[375]RU[Chinese]AP[SGFC:2.0];B[ee])", "B:E5"),
    _text("Fox's komi in points under rules in lower case", "", "(;SZ[9]KM[750]RU[chinese]AP[foxwq];B[ee])", "B:E5"),
    _text("a komi of stones under Chinese rules", "", "(;SZ[9]KM[2.75]RU[Chinese];B[ee])", "B:E5 komi 5.5"),
    _text("a komi that was lost when it was saved", "sanderland/katrain#212", "(;SZ[9]KM[0]HA[0]AP[GNU Go:3.8];B[ee])", "B:E5 komi 0"),
    _text("an empty komi", "featurecat/lizzie#272", "(;SZ[9]KM[];B[ee])", "B:E5"),
    _text("no komi", "sanderland/katrain#218", "(;SZ[9]RU[AGA];B[ee])", "B:E5"),
    _text("a komi with a decimal comma", "", "(;SZ[9]KM[6,5];B[ee])", "B:E5 komi 6.5"),
    # Structure
    _text("no first ;, with variations", "SabakiHQ/sgf#3", "(GM[1]SZ[9]KM[5.5];B[ee](;W[cc];B[dd])(;W[gg]))", "B:E5 W:C7 B:D6 komi 5.5"),
    _text("no first ( either", "SabakiHQ/sgf#3", ";SZ[9];B[ee](;W[cc];B[dd])(;W[gg])", "B:E5 W:C7 B:D6"),
    _text("nothing but ;;)", "SabakiHQ/sgf#3", ";;)", "refused: no SGF data found"),
    _text("a property without a value", "SabakiHQ/Sabaki#725", "(;A)", "refused: line 1, column 3: A: expected a property's value"),
    _text("dashes between nodes", "SabakiHQ/Sabaki#581", "(;SZ[9];B[ee]\n---\n;W[cc])", "refused: line 2, column 1: ---: expected"),
    _text("every move in a variation of its own", "sanderland/katrain#288", _NESTED, "B:E5 W:C7 B:G3 W:C5"),
    _text("3,600 moves", "SabakiHQ/Sabaki#709", "(;SZ[9]" + ";B[];W[]" * 1800 + ")", "B:pass W:pass " * 1800),
    _text("no last )", "", "(;SZ[9];B[ee];W[cc]", "B:E5 W:C7"),
    _text("cut off within a value", "", "(;SZ[9];B[ee];W[c", "refused: column 16: [: expected a property before it, and ] at its end"),
    _text("a ; at the end of each line", "pnprog/goreviewpartner#71", "(;SZ[9]\nKM[]\nRE[白胜43.5目];\nB[ee];\nW[cc];\n)", "B:E5 W:C7"),
    _text("empty lines and empty properties", "pnprog/goreviewpartner#56", "(;FF[4]GM[1]\n\nGC[]\n\nPW[Leela] WR[?]\nHA[0] KM[7.5] SZ[9]\n\n;B[ee];W[cc])", "B:E5 W:C7"),
    _text("two games that lack a ) between them", "", "(;SZ[9];B[ee];W[cc](;GM[1]SZ[9];B[dd])", "B:E5 W:C7"),
    _text("junk before and after", "", "GET /game.sgf 200\n\n(;SZ[9];B[ee])\n--end", "B:E5"),
    # Properties
    _text("digits and _ in names", "", "(;SZ[9];B[ee]LZ[KataGo 55.0]LZ2[KataGo 54.0]LZ_OP2[x];W[cc])", "B:E5 W:C7"),
    _text("names of FF[1] in lower and upper case", "", "(;GaMe[1]SiZe[9];Black[ee];White[cc])", "B:E5 W:C7"),
    _text("identical duplicates", "herzbube/libsgfcplusplus#10", "(;SZ[9]SZ[9]KM[6.5]KM[6.5];B[ee]B[ee])", "B:E5 komi 6.5"),
    _text("duplicates that differ", "herzbube/libsgfcplusplus#10", "(;SZ[9]KM[6.5]KM[0.5];B[ee])", "refused: KM: expected one value, found 2"),
    _text("SZ as a pair", "", "(;SZ[9:9];B[ee])", "B:E5"),
    _text("a handicap in words", "sanderland/katrain#292", "(;SZ[9]HA[对子];B[ee];W[cc])", "B:E5 W:C7"),
    _text("another number of handicap stones than HA says", "herzbube/littlego#325", "(;SZ[9]HA[7]AB[cc][gg][cg]AW[ee]PL[W];W[gc])", "W:G7"),
    _text("a handicap of one stone", "online-go/online-go.com#2400", "(;SZ[9]HA[1]AB[cc];W[ee])", "W:E5"),
    _text("a handicap without its stones", "featurecat/lizzie#63", "(;SZ[9]HA[2];W[ee])", "refused: HA[2]: expected the handicap stones in AB"),
    _text("White moves first, without a word", "featurecat/lizzie#250", "(;SZ[9]AP[Lizzie: 0.4];W[ee];B[cc])", "W:E5 B:C7"),
    _text("an empty list of stones", "", "(;SZ[9]AB[]HA[0];B[ee])", "B:E5"),
    _text("SmartGo's root, with PL and CH", "new3Rs/a_master_of_go#17", "(;GM[1]FF[4]SZ[9]HA[2]\nRU[Japanese Rules]\nAB[cc][gg]\nPL[W]CH[1];W[ee]\n(;B[dd];W[de]))", "W:E5 B:D6 W:D5"),
    _text("an empty list of marks", "sanderland/katrain#281", "(;SZ[9];B[ee]SQ[]TR[]VW[];W[cc])", "B:E5 W:C7"),
    _text("a game that is not Go", "julianandrews/sgf-parse#8", "(;GM[40]SZ[9];W[rp.pmonpoq])", "refused: GM[40]: expected 1, the game of Go"),
    # Text
    _text("a bracket that is not escaped", "SabakiHQ/Sabaki#687", "(;SZ[9]US[Matsuyama[3d]]KM[0.5];B[ee])", "B:E5 komi 0.5"),
    _text("brackets that are not escaped, with text behind them", "", "(;SZ[9]C[a [b] c];B[ee])", "refused: c: expected a property's value"),
    _text("brackets that OGS escapes wrongly", "online-go/online-go.com#1547", "(;SZ[9];B[ee]C[test \\[\\] test 2 \\\\\\[\\\\]\n]\n\n;W[cc])", "B:E5 W:C7"),
    _text("an escaped bracket that ends no comment", "SabakiHQ/Sabaki#69", "(;SZ[9]C[\\];B[aa];W[bb])", "W:B8"),
    _text("an escaped backslash before a bracket", "SabakiHQ/Sabaki#69", "(;SZ[9]C[\\\\];B[ee];W[cc])", "B:E5 W:C7"),
    _text("an escaped backslash, then an escaped bracket", "SabakiHQ/Sabaki#69", "(;SZ[9]C[\\\\\\];B[aa];W[cc])", "W:C7"),
    _text("parentheses in a comment", "featurecat/lizzie#58", "(;SZ[9]C[(;B[aa\\])];B[ee])", "B:E5"),
    _text("a smile in a comment", "climu/openstudyroom#406", "(;SZ[9];B[ee]C[GoDave89: wanna review? ;) ;-)];W[cc])", "B:E5 W:C7"),
    _text("tildes in a comment", "neagle/gokibitz#103", "(;SZ[9];B[ee]C[~{ a] ;W[cc]C[b ~}])", "B:E5 W:C7"),
    # Moves and positions
    _text("a move in the first node", "sanderland/katrain#150", "(;SZ[9]AP[foxwq]B[ee];W[cc])", "B:E5 W:C7"),
    _text("a rectangle of stones", "sanderland/katrain#474", "(;SZ[9]AB[cc:dd]AW[ee];B[ef])", "B:E4"),
    _text("a position, then Black's move", "leela-zero/leela-zero#1469", "(;SZ[9]AB[cc];B[ee];W[gg])", "B:E5 W:G3"),
    _text("a move and stones in one node", "yewang/besogo#36", "(;SZ[9]AB[gc][gd]AW[hc];B[dd]AB[hf]AW[if]AE[hc])", "B:D6"),
    _text("an edit between moves", "jkk/eidogo#22", "(;SZ[9];B[ee];W[cc];AE[cc]AB[gg];B[dd])", "B:D6"),
    _text("a pass beyond the edge", "", "(;SZ[9];B[ee];W[jj];B[tt];W[])", "B:E5 W:pass B:pass W:pass"),
    _text("a coordinate that is no coordinate", "aki65/aki65.github.io#70", "(;SZ[9];B[ee];W[dundefined])", "refused: move 2: W[dundefined]: expected a point"),
    _text("a move onto a stone", "pytorch/ELF#157", "(;SZ[9];B[ee];W[ee])", "refused: move 2: illegal move White E5: occupied"),
    _text("an illegal capture of a ko", "lightvector/KataGo#911", "(;SZ[9];B[ba];W[ca];B[ab];W[db];B[bc];W[cc];B[cb];W[bb];B[cb])", "refused: move 9: illegal move Black C8: ko"),
    _text("a suicide", "", "(;SZ[9];B[ab];W[ee];B[ba];W[aa])", "refused: move 4: illegal move White A9: suicide"),
    _text("a board larger than 19x19", "", "(;SZ[25];B[ee])", "refused: SZ[25]: expected a board size from 5 to 19"),
    _text("a board that is not square", "", "(;SZ[9:13];B[ee])", "refused: SZ[9:13]: expected a board size"),
    _text("a move without its colour's turn", "", "(;SZ[9]HA[2];B[cc];B[gg];W[ee])", "B:C7 B:G3 W:E5"),
]  # fmt: skip
