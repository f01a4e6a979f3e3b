"""Archives: arrays and a JSON header in one `.npz` file, checksummed and written atomically.

Start reading at `write_archive`. The array ``meta`` holds the header as JSON in UTF-8, with at least "format" and
"version"; its keys keep the order in which they are given. The zip archive ends with a comment that holds the SHA-256
of everything before it, so that a single flipped bit is detected. `numpy.load` can read the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.files import read_file, write_atomically

_COMMENT = b"sha256:"
_HEX = 64


def write_archive(path: str | Path, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write arrays and a header into an archive, atomically. Raises RlgoError if it cannot be written."""
    header = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    archive = io.BytesIO()
    np.savez(archive, **{**arrays, "meta": header})  # type: ignore[arg-type]  # the type hints lack array names
    with zipfile.ZipFile(archive, "a") as z:
        z.comment = _COMMENT + b"0" * _HEX
    data = archive.getvalue()[:-_HEX]
    write_atomically(path, data + hashlib.sha256(data).hexdigest().encode())


def read_archive(path: str | Path, kind: str, file_format: str, version: int) -> tuple[dict[str, Any], Any]:
    """Read an archive.

    Parameters
    ----------
    path : the file
    kind : what the file should be, for error messages, such as "weight file"
    file_format, version : the format required in the header, and the newest version that the caller can read

    Returns
    -------
    the header, and the arrays by name

    Raises
    ------
    RlgoError : if the file is missing, damaged, of another format, or of a newer version
    """
    if os.path.isdir(path):
        raise RlgoError(f"{path}: expected a {kind}, found a folder")
    data = read_file(path)
    try:
        body, digest = data[:-_HEX], data[-_HEX:]
        is_signed = body.endswith(_COMMENT)
        if is_signed and hashlib.sha256(body).hexdigest().encode() != digest:
            raise RlgoError(f"{path}: damaged: its checksum does not match its content")
        if not is_signed or not zipfile.is_zipfile(io.BytesIO(data)):
            raise zipfile.BadZipFile
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        meta = json.loads(bytes(arrays.pop("meta")))
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError, struct.error, NotImplementedError):
        raise RlgoError(f"{path}: not a {kind} of rlgo, or a damaged or truncated one") from None
    if not isinstance(meta, dict) or meta.get("format") != file_format:
        raise RlgoError(f"{path}: expected a {kind} of rlgo")
    if not isinstance(meta.get("version"), int):
        raise RlgoError(f"{path}: damaged: expected 'version' in its metadata")
    if meta["version"] > version:
        raise RlgoError(f"{path}: {kind} version {meta['version']}: this rlgo reads up to {version}")
    return meta, arrays


@contextmanager
def intact(path: str | Path, what: str) -> Iterator[None]:
    """Report errors in the content of an archive as an RlgoError, "damaged". what : such as "a shard"."""
    try:
        yield
    except (KeyError, TypeError, ValueError):
        raise RlgoError(f"{path}: damaged: not the arrays of {what}") from None
