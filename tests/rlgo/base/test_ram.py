"""RAM: large requests are announced, and impossible ones refused."""

from __future__ import annotations

import numpy as np
import pytest

from rlgo.base import ram as memory
from rlgo.base.errors import RlgoError
from rlgo.base.ram import announce, bytes_of, on_own_cache_lines
from rlgo.learning.scratch import make_scratch
from rlgo.learning.selfplay import tally_dtype


def test_little_is_taken_without_a_word(capsys) -> None:
    announce("a search", 9e8)
    assert capsys.readouterr().err == ""


def test_much_is_announced(capsys, monkeypatch) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: 16e9)
    monkeypatch.setattr(memory, "_said", set())
    for _ in range(2):
        announce("memory_mb = 6_600", 6.6e9)
    assert capsys.readouterr().err == "rlgo: memory_mb = 6_600: needs up to 6.6 GB of memory\n"


def test_more_than_there_is_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: 16e9)
    with pytest.raises(RlgoError, match=r"takes 20\.0 GB: expected at most the 16\.0 GB of this machine"):
        announce("table_bits = 28", 2e10)


def test_the_bytes_of_arrays() -> None:
    assert bytes_of((np.zeros(4, np.float32), (np.zeros((2, 3), np.int64),)), np.zeros(1, np.uint8)) == 16 + 48 + 1


def test_what_threads_write_to_shares_no_cache_line() -> None:
    def lines(array: np.ndarray | np.record) -> set[int]:
        first = array.__array_interface__["data"][0]
        return {*range(first // 64, (first + array.nbytes - 1) // 64 + 1)}

    zeros = [on_own_cache_lines(dtype, n) for _ in range(20) for dtype, n in ((np.int64, 1), ("u1", 3), ("f4", 40))]
    assert not any(array.any() for array in zeros)
    assert {(array.dtype.str, len(array)) for array in zeros} == {("<i8", 1), ("|u1", 3), ("<f4", 40)}
    threads = [make_scratch(5, tally_dtype(), seed) for seed in range(20)]  # made one after the other
    arrays = [*zeros, *(array for scratch in threads for array in scratch)]
    found = [lines(array) for array in arrays]
    assert len(set().union(*found)) == sum(map(len, found))
