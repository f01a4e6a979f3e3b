"""Three games on 19x19 as people keep them: variations, comments in four scripts, marks, stones set up in between.

The moves are those of GNU Go at level 1 against itself.
"""

from __future__ import annotations

_MOVES = (
    (
        "pddpppddcfdjeffdbdccbcnppnpqqqoqqrjqqjndpfpcqcocqbjccndndmencocpclfpflchdicieibgbfejfjbkekdkdlgfcbhdnfdbnnbbabca"
        "blcknalplnldlgihlijefhjodgjmllprbobpmcmdhlhnapaqaobrpsosqsgifigkglgjghfkdeelembmjlalcmekfmamklmbhgmaimoajnin"
    ),
    (
        "qddcqqdqphqjdefccccbcdbbciockcpeqecoodncpdnpqnjqhcpfogcknfekojimkklpikgkhlgnkmrhkoiooqqldgfemrolnnonkqnmmnkrkphe"
        "pmplomghpblbjbmekeaedjbjbcbibfdkffacebecfbdbgbafgfgehfhinlnkmlnjoiqg"
    ),
    (
        "pddoddpojqcfcheffdgfhdjcpqqqqrqporqknpqfdqcqcrcperckfpmchcnnpfqgqebdccbcohpinfcbdbecbbedcafelngbfcfbachbhfgggeie"
        "heigfndmocdhcgdgbebfcedeifjf"
    ),
)


def _nodes(moves: str, first: str = "B", **texts: str) -> str:
    """Write moves as nodes; texts, by ``m`` and the number of a move, are added to it."""
    colors = "BW" if first == "B" else "WB"
    points = [moves[i : i + 2] for i in range(0, len(moves), 2)]
    return "".join(f";{colors[i % 2]}[{p}]{texts.get(f'm{i + 1}', '')}" for i, p in enumerate(points))


_HEAD = "(;GM[1]FF[4]CA[UTF-8]SZ[19]KM[6.5]"
_A, _B, _C = _MOVES
GAMES = (
    # Comments in Latin and Japanese, marks of all kinds, variations within variations.
    f"{_HEAD}PB[Ann Müller]BR[3d]PW[武宮]WR[9d]EV[Cup \\] 1]C[Début de partie]"
    + _nodes(_A[:40], m4="C[小目]TR[dd][pp]SQ[dp]MA[pd]CR[jj]", m9="LB[cf:A][ef:B]LN[aa:cc]AR[dd:qq]DD[aa:bb]")
    + f"({_nodes(_A[40:120])})({_nodes('rdrc', m1='N[joseki]C[定石]')}(;B[re];W[sd])(;B[se]C[変化]))(;B[ra]))",
    # Comments in Korean and Cyrillic, judgements, times, properties of other programs.
    f"{_HEAD}PB[이창호]PW[Иван]RE[B+R]TM[3600]OT[5x30 byo-yomi]XY[odd]"
    + _nodes(_B[:60], m2="C[한국어 주석]BL[3590.1]", m7="BM[1]C[Плохой ход]", m8="TE[2]GB[1]", m20="V[3.5]HO[1]")
    + f"({_nodes(_B[60:140])})({_nodes('aaba', m1='C[вариант]', m2='N[두 번째]')}))",
    # A position edited in the middle of a variation, with moves after it.
    f"{_HEAD}PB[Bob]PW[Eve]HA[0]C[start]"
    + _nodes(_C[:50], m10="C[before the stones]")
    + f"({_nodes(_C[50:110])})(;AE[pd]AB[aa][ba]AW[sa]C[what if?]PL[B]{_nodes('rcrd', m1='C[after the stones]')}))",
)
