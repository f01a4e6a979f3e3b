"""Text of unknown encoding: short names and comments of game records, and what cannot be decoded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlgo.base.decoding import decode

WORDS = {
    "gb18030": "柯洁 九段|这步棋很好|黑中盘胜|李昌镐|聂卫平|中国围棋协会|江维杰|党毅飞|白棋角上死了。黑胜。",
    "cp932": "表示|井山裕太|名人戦 第３局|黒番中押し勝ち|これは良い手です|本因坊秀策|能力|予想|一力遼",
    "cp950": "周俊勳|黑中盤勝|這是好棋|許功蓋|王立誠|應氏盃|中華民國|張栩|林海峰",
    "cp949": "이세돌|박정환 9단|흑 불계승|좋은 수|신진서|조훈현|한국기원|바둑|삼성화재배",
    "euc_jp": "名人戦 第３局|これは良い手です|小林光一|黒番中押し勝ち",
}


@pytest.mark.parametrize("encoding", WORDS)
def test_the_likeliest_encoding_is_chosen(encoding: str) -> None:
    for text in WORDS[encoding].split("|"):
        assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "declared",
    [
        "base64",
        "rot13",
        "undefined",
        "idna",
        "unicode_escape",
        "raw_unicode_escape",
        "cp037",
        "utf-16",
        "no-such",
        "\0",
        "",
    ],
)
def test_what_is_no_encoding_of_the_text_is_ignored(declared: str) -> None:
    assert decode(f"CA[{declared}] é柯洁\\x5d".encode(), declared) == f"CA[{declared}] é柯洁\\x5d"


def test_a_name_that_was_cut_off_leaves_the_rest_readable() -> None:
    cut = "柯洁".encode()[:-1]
    assert decode(b"PB[" + cut + "]C[这步棋很好。白棋角上死了]".encode()) == "PB[柯\ufffd]C[这步棋很好。白棋角上死了]"


@given(st.binary(max_size=60), st.sampled_from(["", "utf-8", "Shift_JIS", "GBK", "utf-7", "hz", "cp1252", "latin-1"]))
def test_anything_is_some_text(data: bytes, declared: str) -> None:
    assert isinstance(decode(data, declared), str)


@given(st.text(max_size=40))
def test_utf_8_is_itself(text: str) -> None:
    data = text.encode()
    if not (data[:4].count(0) or data.startswith(b"\xef\xbb\xbf") or "\x1b$" in text):
        assert decode(data) == text
