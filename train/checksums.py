"""Checksums of small, readable files: JSON and TOML. A single flipped bit is detected, or changes nothing.

Start reading at `add_checksum`. Weights and states of runs are archives instead, see `rlgo.base.archive`.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

_KEY = "check"
_LAST_LINE = re.compile(r"^# check: ([0-9a-f]{8})\n\Z", re.MULTILINE)


def add_checksum(data: dict[str, Any], more: bytes = b"") -> dict[str, Any]:
    """Return a JSON object with one more key, "check": the CRC-32 of the object as JSON and of `more`.

    more : further bytes for the checksum to cover, such as the other lines of the file
    """
    return {**data, _KEY: _crc32(json.dumps(data).encode() + more)}


def verify(data: Any, more: bytes = b"") -> dict[str, Any]:
    """Return the object that `add_checksum` took. ValueError if `data` is anything else, or was changed."""
    if not isinstance(data, dict) or add_checksum({k: v for k, v in data.items() if k != _KEY}, more) != data:
        raise ValueError("the checksum is missing or does not match")
    return {key: value for key, value in data.items() if key != _KEY}


def add_checksum_to_text(text: str) -> str:
    """Append a comment to lines of TOML: the CRC-32 of the lines before it."""
    return f"{text}# check: {_crc32(text.encode())}\n"


def verify_text(text: str) -> str:
    """Return the lines that `add_checksum_to_text` took; ValueError if they were changed. The checksum is optional."""
    match = _LAST_LINE.search(text)
    if match is None:
        return text
    if _crc32(text[: match.start()].encode()) != match[1]:
        raise ValueError("the checksum does not match")
    return text[: match.start()]


def _crc32(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"
