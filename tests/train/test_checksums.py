"""Checksums: a changed bit is detected, or changes nothing."""

from __future__ import annotations

import contextlib
import json
import tomllib
from typing import Any

import pytest

from train.checksums import add_checksum, add_checksum_to_text, verify, verify_text

GAME: dict[str, Any] = {"game": 1, "result": "B+3.5", "seconds": [0.1, 2e300], "names": "größe", "scores": {}}
CONFIG = '[run]\nname = "größe"\ngames = 1000\nseeds = [1, 2]\n'


def flips(data: bytes) -> list[bytes]:
    return [bytes([*data[:i], data[i] ^ 1 << bit, *data[i + 1 :]]) for i in range(len(data)) for bit in range(8)]


@pytest.mark.parametrize("indent", [None, 2])
def test_every_bit_of_an_object(indent: int | None) -> None:
    whole = json.dumps(add_checksum(GAME), indent=indent).encode()
    assert verify(json.loads(whole)) == GAME
    for flipped in flips(whole):
        with contextlib.suppress(ValueError):
            assert verify(json.loads(flipped)) == GAME


def test_every_bit_of_other_lines() -> None:
    whole = add_checksum(GAME, b"other lines\n")
    assert verify(whole, b"other lines\n") == GAME
    for more in [b"", *flips(b"other lines\n")]:
        with pytest.raises(ValueError, match="checksum"):
            verify(whole, more)


@pytest.mark.parametrize("data", [{}, 3, [], None, GAME, {**add_checksum(GAME), "more": 1}, {**GAME, "check": 1}])
def test_other_objects_are_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="checksum"):
        verify(data)


def test_every_bit_of_a_config() -> None:
    whole = add_checksum_to_text(CONFIG).encode()
    assert verify_text(whole.decode()) == CONFIG
    for flipped in flips(whole):
        with contextlib.suppress(ValueError):
            assert tomllib.loads(verify_text(flipped.decode())) == tomllib.loads(CONFIG)


def test_a_config_without_a_checksum_counts_as_it_is() -> None:
    assert verify_text(CONFIG) == CONFIG
