"""Decode text whose encoding is not known, or not known for certain. Start reading at `decode`.

The second byte of a character in Shift-JIS, GBK, Big5 or Johab may be that of a backslash or a bracket. Whoever looks
for these in the bytes, before decoding, finds them in the middle of names and comments.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

_MARKS = (  # byte order marks; that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDE = {b"A\0\0\0": "utf-32-le", b"\0\0\0A": "utf-32-be", b"A\0A\0": "utf-16-le", b"\0A\0A": "utf-16-be"}
# Programs name the standard, but write what Microsoft or a successor has added to it.
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "big5": "cp950", "euc_kr": "cp949"}
_ESCAPE, _ESCAPED = b"\x1b$", ("iso2022_jp_2", "iso2022_kr")  # encodings that look like ASCII
_UNUSABLE = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}  # no encodings of whole texts

_MOST_JUDGED = 2_000  # characters of a text
_DAMAGE = 0.1  # share of characters that may be broken in a text that still counts as UTF-8
_CLEARLY = 1.0  # by how much UTF-8 must be likelier than an encoding that the text itself names


def decode(data: bytes, declared: str = "") -> str:
    """Decode a text that is mostly ASCII, as game records and programs' output are. Never fails.

    A byte order mark decides; else the declared encoding; else UTF-8; else, of the East Asian encodings that decode
    the data without an error, the one that gives the most likely text; else, or if that is all rare characters,
    Windows-1252. What no encoding explains becomes U+FFFD. A declared encoding is ignored if Python does not have it,
    or if it does not fit the data.

    Parameters
    ----------
    data : the text
    declared : the name of its encoding, as the text itself states it in ASCII

    >>> decode("金庸 9段".encode("gb18030")), decode("表示 Shift_JIS".encode("cp932"), declared="Shift_JIS")
    ('金庸 9段', '表示 Shift_JIS')
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace").removeprefix("\ufeff")
    # A text that begins with ASCII, in two or four bytes a character
    wide = _WIDE.get(bytes(byte and ord("A") for byte in data[:4]))
    if wide is not None and (text := _strictly(data, wide)) is not None:
        return text
    return next(_readings(data, declared))


def _readings(data: bytes, declared: str) -> Iterator[str]:
    """Yield what the data may say, the best first; the last one always comes."""
    name = _codec(declared)
    stated, utf8 = _strictly(data, name), _strictly(data, "utf-8")
    if stated is not None and declared in stated:
        # UTF-8 under the name of another encoding is common. It looks like very rare characters of that encoding.
        if utf8 is not None and name in _COMMON and _likelihood(utf8, "") > _likelihood(stated, name) + _CLEARLY:
            yield utf8
        yield stated
    if _ESCAPE in data:
        yield from (text for n in _ESCAPED if (text := _strictly(data, n)) is not None)
    if utf8 is not None:
        yield utf8
    damaged = data.decode("utf-8", "replace")  # as when a name was cut off in the middle of a character
    if damaged.count("\ufffd") <= _DAMAGE * sum(not c.isascii() for c in damaged):
        yield damaged
    texts = {n: text for n in _COMMON if (text := _strictly(data, n)) is not None}
    best = max(texts, key=lambda n: _likelihood(texts[n], n), default="")
    if best and _likelihood(texts[best], best) > 0:
        yield texts[best]
    yield data.decode(name or "cp1252", "replace")


def _codec(name: str) -> str:
    """Return Python's name of an encoding, or of a superset of it; "" if Python has no such encoding of texts."""
    try:
        found = codecs.lookup(name.strip().lower().removeprefix("x-"))
    except (LookupError, ValueError):
        return ""
    # `bytes.decode` refuses codecs that are none of text, such as base64.
    if found.name in _UNUSABLE or _strictly(b"", found.name) is None:
        return ""
    return _SUPERSETS.get(found.name, found.name)


def _strictly(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name) if name else None
    except (UnicodeError, LookupError):
        return None


# ---------------------------------------------------------------------------------------------
# How likely a text is. The East Asian encodings share most of their bytes, and nearly every text decodes in several of
# them; but what is common in one is rare in the others.
# ---------------------------------------------------------------------------------------------

_HAN = "的一是不了在人有我他中大和地上下手目局子本全小心星角三五七九段名人石先後高"
_FREQUENT = {
    "gb18030": "这们来为国说时会对后过发开关实现点战头进间问门从当两长见业无应东动让黑白棋围胜负盘攻杀气劫断连飞镇夹顶"
    "拆碰挖粘职网级贴赢输认数计终准备李张刘陈杨赵黄吴孙马罗谢宋许韩" + _HAN,
    "cp950": "這們來為國說時會對後過發開關實現點戰頭進間問門從當兩長見業無應東動讓黑白棋圍勝負盤攻殺氣劫斷連飛鎮夾頂"
    "拆碰挖黏職網級貼贏輸認數計終準備李張劉陳楊趙黃吳孫馬羅謝宋許韓" + _HAN,
    "cp949": "이다는의가을에고하지기사한로리어은대자도를시나인아서라해그정수일스들전부으만보주장과제원여게구국면무공"
    "상성선신유조경연동물우회계안화위비세오생문소미관당있것했습니까요백흑집승단바둑김박최강윤임송홍돌호환진석현민준영훈",
    "cp932": "黒白碁棋勝負手局段定石目半終対戦開読時間私国学年月日本第回名人位先" + _HAN,
}
_FREQUENT["euc_jp"] = _FREQUENT["cp932"]
# The standard that lists an encoding's common characters first, and its rows of these: pairs of a first and a last byte
_COMMON = {
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "cp932": ("euc_jp", 0xB0, 0xCF),
    "cp950": ("big5", 0xA4, 0xC6),
    "cp949": ("euc_kr", 0xB0, 0xC8),
    "euc_jp": ("euc_jp", 0xB0, 0xCF),
}


def _likelihood(text: str, encoding: str) -> float:
    """Return how common the characters beyond ASCII are in the language of an encoding ("": in any of them).

    The mean over these characters: 3 for the most frequent ones, 1 for those that the standard lists as common, down
    to -2 for what hardly any text contains.
    """
    judged = [c for c in text[: 50 * _MOST_JUDGED] if not c.isascii()][:_MOST_JUDGED]
    names = [encoding] if encoding else list(_COMMON)
    return max(sum(_how_common(c, name) for c in judged) for name in names) / max(1, len(judged))


def _how_common(c: str, encoding: str) -> float:
    if c in _FREQUENT[encoding]:
        return 3
    if "\u3041" <= c <= "\u30fc":  # kana
        return 3 if _COMMON[encoding][0] == "euc_jp" else -1
    if "\uff61" <= c <= "\uff9f":  # katakana of half width, one byte each: any byte of another encoding
        return -1
    if "\u3000" <= c <= "\u3020" or "\uff01" <= c <= "\uff5e":  # punctuation, and letters of full width
        return 1
    standard, first, last = _COMMON[encoding]
    try:
        row = c.encode(standard)[0]
    except UnicodeError:
        return -2
    return 1 if first <= row <= last else -0.5
