"""The config of the CGOS client: where to play, as whom, and with which player.

Start reading at `load_cgos`.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from rlgo.errors import RlgoError
from rlgo.resources import config_path
from train.config import check_keys, read_toml, section_from
from train.players.spec import parse_spec
from train.settings import NOT_NEGATIVE, SWITCH, Section, integer, number, setting, text

_SECRET = re.compile(r"[!-~]{3,100}")


def _secret(key: str, value: Any) -> str:
    """Check a password, which may be empty. Unlike other checks, this one does not show what it found."""
    if not isinstance(value, str) or (value and not _SECRET.fullmatch(value)):
        raise RlgoError(f"{key}: expected a string of at least 3 ASCII characters, no spaces (not shown here)")
    return value


_PATH = text("a path, or nothing", r".*")


@dataclass(frozen=True)
class Cgos(Section):
    """Where to play, as whom, and with which player. configs/cgos/example.toml explains every key."""

    prefix: ClassVar[str | None] = ""

    # Address and port of the server, and our account there.
    host: str = setting("", text("the address of a CGOS server", r"\S+"))
    port: int = setting(0, integer(1, 65_535))
    user: str = setting("", text("a name of 3 to 18 letters, digits, '.', '_' and '-'", r"[A-Za-z0-9._-]{3,18}"))
    # One of the two; never shown. `load_cgos` reads the file, and leaves `password` alone.
    password: str = field(default="", repr=False, metadata={"check": _secret})
    password_file: str = setting("", _PATH)
    # A player spec, see train/players/spec.py.
    player: str = setting("", text("a player spec", r".+"))
    # The board that its games have: the player is made ready for it before the login.
    size: int = setting(9, integer(5, 19))
    # Stop after so many games; 0: go on until Ctrl-C.
    games: int = setting(0, integer(0))
    # Think in the opponent's time.
    ponder: bool = setting(False, SWITCH)
    # Seconds on the way to the server and back: the player is told that it has so much less time.
    lag: float = setting(0.5, NOT_NEGATIVE)
    # After so many seconds without a word from the server, the connection is taken for lost.
    timeout: float = setting(600.0, number("a number of seconds up to a day", lambda x: 0 < x <= 86_400))
    # A file that gets all that stderr gets, and a folder for game records; empty: none.
    log: str = setting("", _PATH)
    sgf: str = setting("", _PATH)

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.password) == bool(self.password_file):
            found = "both" if self.password else "neither"
            raise RlgoError(f"password_file: expected either it or password, found {found}")
        parse_spec(self.player)


def load_cgos(path: str | Path) -> Cgos:
    """Read a client's config.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped config (see `resources.config_path`)

    Returns
    -------
    the config, with the password in it wherever it stood

    Raises
    ------
    RlgoError : naming the file, the key and what was expected; never the password.
    """
    file = config_path(str(path), "cgos")
    table = read_toml(file)
    fields = {f.name: f for f in dataclasses.fields(Cgos)}
    check_keys(Cgos, table, str(file))
    for key in ("host", "port", "user", "player"):
        if key not in table:
            raise RlgoError(f"{file}: {key}: missing; expected {fields[key].metadata['check'].expected}")
    config: Cgos = section_from(Cgos, table, str(file))
    if config.password:
        _warn_if_readable(file)
        return config
    secret_file = Path(config.password_file).expanduser()
    password = _read_secret(secret_file, f"{file}: password_file = {config.password_file}")
    _warn_if_readable(secret_file)
    return dataclasses.replace(config, password=password, password_file="")


def _read_secret(file: Path, where: str) -> str:
    """Read the first line of a password file."""
    try:
        with file.open(encoding="utf-8") as source:
            password = source.readline(1000).strip()
    except OSError as error:
        raise RlgoError(f"{where}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RlgoError(f"{where}: expected a text file") from None
    if not password:
        raise RlgoError(f"{where}: expected the password in its first line")
    return _secret(where, password)


def _warn_if_readable(file: Path) -> None:
    if os.name == "posix" and file.stat().st_mode & 0o077:
        print(f"rlgo: warning: {file} holds a password, and others may read it: chmod 600 {file}", file=sys.stderr)
