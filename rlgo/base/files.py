"""File input and output: a full disk or a crash never destroys what was saved before.

Start reading at `write_atomically`, which replaces a whole file, and `append`, which adds to a file or leaves it
unchanged. Both raise a one-line `RlgoError` with the name of the file and the system's reason.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

from rlgo.base.errors import RlgoError

TEMPORARY = ".tmp"  # suffix of files until they are complete; a killed process may leave some behind
_NAME_LENGTH = 40  # characters of the final name in a temporary one: file systems allow 255 bytes in all


def read_file(path: str | Path) -> bytes:
    """Read a whole file. Raises RlgoError if it cannot be read, and for a device or a pipe, which might never end."""
    if is_stream(path):
        raise RlgoError(f"{path}: expected a file, found a device or a pipe")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def read_text(path: str | Path) -> str:
    """Read a whole text file in UTF-8, with or without a mark at its start.

    Raises RlgoError if it cannot be read or is not text.
    """
    try:
        return read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RlgoError(f"{path}: expected a text file in UTF-8") from None


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replace a file as a whole: even after a power cut it holds either the old content or the new.

    For a symbolic link, its target is replaced. A device or a pipe is written to.

    Raises RlgoError if the file cannot be written; it is then unchanged.
    """
    try:
        target = Path(os.path.realpath(path))
        if is_stream(path):
            sys.stdout.flush()  # the path may be standard output
            with open(path, "ab", buffering=0) as out:
                _write_all(out.fileno(), data)
        else:
            _replace(target, data)
    except OSError as error:
        raise unwritable(path, error) from None


def append(path: str | Path, data: bytes) -> None:
    """Append to a file; the data is on the disk when this returns.

    Raises RlgoError if it cannot be written. On any exception, the file is cut back to its previous length.
    """
    try:
        with open(path, "ab", buffering=0) as out:
            before = os.fstat(out.fileno()).st_size
            try:
                _write_all(out.fileno(), data)
                if not is_stream(path):
                    os.fsync(out.fileno())
            except BaseException:
                with contextlib.suppress(OSError):
                    out.truncate(before)
                raise
    except OSError as error:
        raise unwritable(path, error) from None


def user_path(name: str) -> Path:
    """Return the path of a name that may begin with ``~`` or ``~user``. RlgoError for an unknown user."""
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise RlgoError(f"{name}: {error}") from None


def make_folder(path: str | Path) -> None:
    """Make a folder and its parents, unless they exist. Raises RlgoError if that is impossible."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise RlgoError(f"{path}: expected a folder, found a file") from None
    except OSError as error:
        raise unwritable(path, error) from None


ELSEWHERE = "choose another folder with --out"


def check_folder(path: str | Path, name: str = "", hint: str = "") -> None:
    """Raise RlgoError now if files cannot be written below a folder, which need not exist yet.

    name : prefix of the path in the error, such as ``--out ``
    hint : what to do about it
    """
    folder = Path(os.path.abspath(path))
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    why = "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} cannot be written"
    why = why if os.path.isdir(folder) else f"{folder} is a file"
    if why:
        raise RlgoError(f"{name}{path}: expected a folder that can be written: {why}{hint}")


def check_writable(path: str | Path, name: str = "") -> None:
    """Raise RlgoError now if a file cannot be written, rather than after hours of work.

    name : prefix of the path in the error, such as ``--json `` or ``long_save = ``
    """
    path = Path(path)
    folder = path if is_stream(path) else Path(os.path.realpath(path)).parent
    why = ""
    if os.path.isdir(path):
        why = "it is a folder"
    elif not (os.path.isdir(folder) or is_stream(path)):
        why = f"there is no folder {path.parent}"
    elif not os.access(folder, os.W_OK):
        why = f"{path.parent} is read-only"
    if why:
        raise RlgoError(f"{name}{path}: expected a file that can be written: {why}")


def is_stream(path: str | Path) -> bool:
    """Return whether a path is a device, a pipe or a standard stream, which must not be replaced by a file."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    # Standard output may be a file, which must not be replaced while it is written to.
    is_standard = os.path.abspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/"))
    return is_standard or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def unwritable(path: str | Path, error: OSError) -> RlgoError:
    """Return the error to raise about a file that cannot be written."""
    return RlgoError(f"{path}: cannot be written: {error.strerror or error}")


def unreadable(path: str | Path, error: OSError) -> RlgoError:
    """Return the error to raise about a file that cannot be read."""
    return RlgoError(f"{path}: cannot be read: {error.strerror or error}")


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name[:_NAME_LENGTH]}.{os.urandom(4).hex()}{TEMPORARY}")
    binary = getattr(os, "O_BINARY", 0)  # on Windows
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o666)
        try:
            with contextlib.suppress(FileNotFoundError):  # permissions stay the same
                os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
            _write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # The new name is only safe once the folder is on the disk, too. Not every system can open a folder.
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
