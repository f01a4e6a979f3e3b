"""The config of the CGOS client: server, account and player.

Start reading at `load_cgos`.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le
from pydantic import StringConstraints

from rlgo.base.checks import Expected, Key
from rlgo.base.errors import RlgoError
from rlgo.base.files import user_path
from rlgo.base.resources import config_path
from rlgo.base.settings import BoardSize, NonNegative, Positive, TrainingGamesOr0
from train.config import read_toml
from train.players.spec import parse_spec
from train.settings import AnyPath, Line, Section, SpecText, section_from

_SECRET = "a string of at least 3 ASCII characters, no spaces"  # nosec B105  # in words

Secret = Annotated[str, StringConstraints(pattern=r"^([!-~]{3,100})?$"), Expected(_SECRET)]


@dataclass(frozen=True)
class CgosConfig(Section):
    """The server, the account and the player. See configs/cgos/example.toml for every key."""

    host: Annotated[
        Line,
        StringConstraints(pattern=r"^\S+$"),
        Expected("the address of a CGOS server"),
        Key("Address of the server."),
    ] = ""
    port: Annotated[int, Ge(1), Le(65_535), Key("Its port.")] = 0
    user: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9._-]{3,18}$"),
        Expected("a name of 3 to 18 letters, digits, '.', '_' and '-'"),
        Key("Our account."),
    ] = ""
    password: Annotated[Secret, Key("Its password; never shown. `load_cgos` reads it from `password_file`.")] = field(
        default="", repr=False
    )
    password_file: Annotated[AnyPath, Key("A file with the password, in place of `password`.")] = ""
    player: Annotated[SpecText, Key("The player: a player spec.")] = ""
    size: Annotated[BoardSize, Key("Board size of the games; the player is prepared before the login.")] = 9
    games: Annotated[TrainingGamesOr0, Key("Stop after this many games; 0: at Ctrl-C.")] = 0
    ponder: Annotated[bool, Key("Think during the opponent's time.")] = False
    lag: Annotated[NonNegative, Key("Seconds of network delay per move, subtracted from the player's time.")] = 0.5
    timeout: Annotated[
        Positive,
        Le(86_400),
        Expected("a number of seconds up to a day"),
        Key("Seconds of silence from the server after which the connection counts as lost."),
    ] = 600.0
    log: Annotated[AnyPath, Key("A file that receives a copy of the log on stderr; empty: none.")] = ""
    sgf: Annotated[AnyPath, Key("A folder for game records; empty: none.")] = ""

    def combine(self) -> None:
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
    for key in ("host", "port", "user", "player"):
        if key not in table:
            raise RlgoError(f"{file}: {key}: missing; expected {CgosConfig.all_keys()[key].expected}")
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
