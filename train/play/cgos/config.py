"""The config of the CGOS client: server, account and player.

Start reading at `load_cgos`.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rlgo.base.errors import RlgoError
from rlgo.base.files import user_path
from rlgo.base.resources import config_path
from train.config import BoardSize, check_keys, read_toml, section_from
from train.players.spec import parse_spec
from train.settings import AnyPath, Count, Expected, Line, Section, SpecText, expected, section

_SECRET = "a string of at least 3 ASCII characters, no spaces"  # nosec B105  # in words

Secret = Annotated[str, Field(pattern=r"^([!-~]{3,100})?$"), Expected(_SECRET)]


@section
class CgosConfig(Section):
    """The server, the account and the player. See configs/cgos/example.toml for every key."""

    host: Annotated[Line, Field(pattern=r"^\S+$"), Expected("the address of a CGOS server")] = Field(
        default="", description="Address of the server."
    )
    port: Annotated[int, Field(ge=1, le=65_535)] = Field(default=0, description="Its port.")
    user: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9._-]{3,18}$"),
        Expected("a name of 3 to 18 letters, digits, '.', '_' and '-'"),
    ] = Field(default="", description="Our account.")
    password: Secret = Field(
        default="", repr=False, description="Its password; never shown. `load_cgos` reads it from `password_file`."
    )
    password_file: AnyPath = Field(default="", description="A file with the password, in place of `password`.")
    player: SpecText = Field(default="", description="The player: a player spec.")
    size: BoardSize = Field(default=9, description="Board size of the games; the player is prepared before the login.")
    games: Annotated[Count, Field(ge=0)] = Field(default=0, description="Stop after this many games; 0: at Ctrl-C.")
    ponder: bool = Field(default=False, description="Think during the opponent's time.")
    lag: float = Field(
        default=0.5, ge=0, description="Seconds of network delay per move, subtracted from the player's time."
    )
    timeout: Annotated[float, Field(gt=0, le=86_400), Expected("a number of seconds up to a day")] = Field(
        default=600.0, description="Seconds of silence from the server after which the connection counts as lost."
    )
    log: AnyPath = Field(default="", description="A file that receives a copy of the log on stderr; empty: none.")
    sgf: AnyPath = Field(default="", description="A folder for game records; empty: none.")

    def __post_init__(self) -> None:
        """Reject two passwords, and a bad spec."""
        if bool(self.password) == bool(self.password_file):
            found = "both" if self.password else "neither"
            raise RlgoError(f"password_file: expected either this or password, found {found}")
        parse_spec(self.player)


def load_cgos(path: str | Path) -> CgosConfig:
    """Read a client's config.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped config (see `resources.config_path`)

    Returns
    -------
    the config, with the password, from either place

    Raises
    ------
    RlgoError : naming the file, the key and what was expected; never the password.
    """
    file = config_path(path, "cgos")
    table = read_toml(file)
    check_keys(CgosConfig, table, str(file))
    for key in ("host", "port", "user", "player"):
        if key not in table:
            raise RlgoError(f"{file}: {key}: missing; expected {expected(CgosConfig.fields()[key])}")
    config: CgosConfig = section_from(CgosConfig, table, str(file))
    if config.password:
        _warn_if_readable(file)
        return config
    secret_file = user_path(config.password_file)
    password = _read_secret(secret_file, f"{file}: password_file = {config.password_file}")
    _warn_if_readable(secret_file)
    return dataclasses.replace(config, password=password, password_file="")  # nosec B106


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
    if not re.fullmatch(r"[!-~]{3,100}", password):
        raise RlgoError(f"{where}: expected {_SECRET} (not shown here)")
    return password


def _warn_if_readable(file: Path) -> None:
    if os.name == "posix" and file.stat().st_mode & 0o077:
        print(f"rlgo: warning: {file} contains a password and is readable by others: chmod 600 {file}", file=sys.stderr)
