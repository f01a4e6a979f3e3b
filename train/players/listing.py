"""Lists of all players and of the shipped configs.

Start reading at `player_keys`. Everything is read from the keys' declarations and the comments of the shipped files.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError, nearest
from rlgo.base.files import read_text
from rlgo.base.resources import config_path, list_configs
from train.config import SECTIONS, TournamentConfig, load_config, read_toml
from train.players.keys import PLAYERS, Keys
from train.players.spec import find_player
from train.settings import Section, Setting, section_from, spelled, to_toml_value

_WIDTH = 80  # columns of a terminal
_INDENT = "    "
PYTHON = ("MODULE:CLASS", "A player in Python, such as `my_players:Cautious,depth=3`; see the Python page.")
EXTERNAL = ("gtp:COMMAND", "An external engine that speaks GTP, such as `gtp:gnugo --mode gtp --level 0`.")
_KINDS = {  # the folders of shipped configs, and the command for each
    "": ("Training runs", "rlgo train NAME"),
    "sweeps": ("Sweeps", "rlgo sweep NAME"),
    "tournaments": ("Tournaments", "rlgo tournament NAME"),
    "experiments": ("Experiments", "rlgo experiment run NAME"),
    "players": ("Players", "rlgo gtp --player NAME.toml"),
    "network": ("Learning of networks", "rlgo network train DIR... --config NAME"),
}


class KeyRow(NamedTuple):
    """One key of a player, in words."""

    name: str
    aliases: tuple[str, ...]  # shorter spellings
    default: str  # as a spec writes it
    expected: str  # allowed values
    meaning: str
    experiments: tuple[str, ...]  # that measured it


class PlayerRow(NamedTuple):
    """A player and its keys."""

    name: str
    summary: str
    notes: tuple[str, ...]  # from the comment of its shipped file: examples, speed and strength
    keys: tuple[KeyRow, ...]


# ---------------------------------------------------------------------------------------------
# Reading the declarations
# ---------------------------------------------------------------------------------------------


def player_keys(name: str) -> tuple[KeyRow, ...]:
    """List every key of a player; for an unknown name, the RlgoError suggests the nearest player."""
    kind = find_player(name)
    rows = []
    for key, setting in kind.all_keys().items():
        short = tuple(alias for alias, full in kind.aliases().items() if full == key and spelled(key) != alias)
        rows.append(
            KeyRow(
                spelled(key),
                short,
                _written(setting.default),
                setting.expected,
                " ".join([setting.key.meaning, *_conditions(kind, setting)]),
                tuple(setting.key.experiments.split()),
            )
        )
    return (*rows[1:], rows[0])  # the seed, which all players have, comes last


def _conditions(kind: type[Keys], setting: Setting) -> Iterator[str]:
    """Describe what a key needs and what it implies."""
    if setting.key.needs is not None:
        yield f"Needs {setting.key.needs.words}."
    implied = [f"{other} = {_written(value)}" for other, value in kind.implications().get(setting.name, {}).items()]
    if implied:
        yield f"Implies {', '.join(implied)}."


def players_table() -> list[PlayerRow]:
    """List all players with all their keys, except external engines."""
    return [_row(name, kind) for name, kind in PLAYERS.items()]


def _row(name: str, kind: type[Keys]) -> PlayerRow:
    return PlayerRow(name, str(kind.__doc__), _notes(name), player_keys(name))


def _written(value: Any) -> str:
    """Write a default as a spec does; None and an empty string are empty."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return "+".join(map(str, value)) or "none"
    if isinstance(value, int | float):
        return f"{value:_}" if isinstance(value, int) else f"{value:g}"
    return "" if value is None else str(value)


def _comment(path: Path) -> list[str]:
    """Read the lines of the comment at the head of a TOML file."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[2:] if line.startswith("# ") else "")
    return lines


def _first_sentence(lines: Iterable[str]) -> str:
    """Take the first paragraph of a comment, up to its first full stop."""
    paragraph = []
    for line in lines:
        if not line:
            break
        paragraph.append(line)
    sentence, stop, _ = " ".join(paragraph).partition(". ")
    return sentence + "." if stop else sentence


def _notes(name: str) -> tuple[str, ...]:
    """Read examples, speed and strength from the comment of a player's shipped file."""
    if name not in list_configs("players"):
        return ()
    lines = _comment(config_path(name, "players"))
    return tuple(lines[lines.index("") + 1 : len(lines) - 1 - lines[::-1].index("")])


# ---------------------------------------------------------------------------------------------
# As text
# ---------------------------------------------------------------------------------------------


def players_text(name: str | None = None) -> str:
    """Show all players; or every key of one player: its default, allowed values and meaning."""
    if name is None:
        rows = [(row.name, row.summary) for row in players_table()]
        title = "All players; `rlgo players NAME` shows the keys of one."
        return "\n".join([title, "", *_columns([*rows, PYTHON, EXTERNAL])])
    row = _row(name, find_player(name))
    lines = [*_wrapped(f"{row.name}: {row.summary}", ""), ""]
    for note in row.notes:
        lines += [note] if note.startswith(" ") or not note else _wrapped(note, "")
    if row.notes:
        lines.append("")
    lines += [f"Write {row.name},KEY=VALUE,... to set a key; the defaults are:", ""]
    for key in row.keys:
        lines += [" / ".join((key.name, *key.aliases)) + " = " + (key.default or "(empty)")]
        lines += _wrapped(f"{key.meaning} {_allowed(key)}", _INDENT)
    return "\n".join(lines)


def _allowed(key: KeyRow) -> str:
    measured = f" Experiments: {', '.join(key.experiments)}." if key.experiments else ""
    return f"({_sentence(key.expected)}){measured}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def configs_text(name: str | None = None) -> str:
    """Show the names of all shipped configs; or one of them, a training run or a tournament with every key explained.

    Parameters
    ----------
    name : a config's name, with its folder (``experiments/lambda``) if it is ambiguous; or a file

    Raises
    ------
    RlgoError : if there is no such config.
    """
    if name is None:
        lines = []
        for kind, (title, command) in _KINDS.items():
            lines += [f"{title} ({command})", ""]
            names = list_configs(kind)
            lines += [*_columns([(n, _first_sentence(_comment(config_path(n, kind)))) for n in names]), ""]
        return "\n".join(lines).rstrip("\n")
    kind, path = find_config(name)
    if kind == "tournaments":
        return _tournament_text(path)
    return read_text(path).rstrip("\n") if kind else _run_config_text(path)


def find_config(name: str) -> tuple[str, Path]:
    """Find a config by name or file: return its folder below configs/ ("" for training runs) and its path.

    Raises RlgoError if there is no such config, or if it is not a TOML file.
    """
    if Path(name).is_file():
        return kind_of(Path(name)), Path(name)
    folder, _, stem = name.removesuffix(".toml").rpartition("/")
    folder = folder.removeprefix("configs").removeprefix("/")
    kinds = [kind for kind in _KINDS if stem in list_configs(kind) and folder in ("", kind)]
    if "/" not in name and "" in kinds:
        kinds = [""]
    if len(kinds) > 1:
        raise RlgoError(f"{name}: expected one of {', '.join(f'{kind}/{stem}' for kind in kinds)}")
    if kinds:
        return kinds[0], config_path(stem, kinds[0])
    hint = nearest(stem, (other for kind in _KINDS for other in list_configs(kind)), "`rlgo configs` lists them")
    raise RlgoError(f"{name}: no such config file; {hint}")


def kind_of(path: Path) -> str:
    """Return the kind of a config, by its tables and keys: its folder below configs/, "" for training runs."""
    data = read_toml(path)
    return next((kind for kind in _KINDS if kind and kind.removesuffix("s") in data), "")


def _run_config_text(path: Path) -> str:
    """Write out the config of a training run, with the meaning of every key."""
    config = load_config(path)
    lines = [f"# {line}".rstrip() for line in _comment(path)]
    for name in SECTIONS:
        lines += ["", *_section_text(name, getattr(config, name))]
    return "\n".join(lines)


def _tournament_text(path: Path) -> str:
    """Write out a tournament, with the meaning of every key of its table [tournament]."""
    settings = section_from(TournamentConfig, read_toml(path)["tournament"], str(path))
    text = path.read_text("utf-8")
    head = re.search(r"^\s*\[\s*tournament\s*\][^\n]*$", text, re.MULTILINE)
    if head is None:  # as an inline table, which can stay as it is
        return text.rstrip("\n")
    before, after = text[: head.start()], text[head.end() :]
    other = re.search(r"^\s*\[", after, re.MULTILINE)
    players = after[other.start() :].lstrip("\n") if other else ""
    return "\n".join([before.rstrip("\n"), "", *_section_text("tournament", settings), "", players.rstrip("\n")])


def _section_text(name: str, values: Section) -> list[str]:
    """Write out a table with the meaning of every key."""
    lines = [*_wrapped(str(values.__doc__), "# "), f"[{name}]"]
    written = values.values()
    for key, setting in values.all_keys().items():
        value = written[key]
        lines += _wrapped(f"{setting.key.meaning} ({_sentence(setting.expected)})", "# ")
        default = "" if value == setting.default else f"  # default: {to_toml_value(setting.default)}"
        lines += [f"{spelled(key)} = {to_toml_value(value)}{default}"]
    return lines


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Lay out names and their descriptions in two columns."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows) + 2
    lines = []
    for name, text in rows:
        first, *more = textwrap.wrap(text, _WIDTH - width - 2, break_on_hyphens=False) or [""]
        lines += [f"  {name:{width}}{first}".rstrip(), *(f"  {'':{width}}{line}" for line in more)]
    return lines
