"""Python programs of users: players, learning rules, evaluators. Whatever is wrong with them is told in one line.

Start reading at `load`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError, cut, nearest, shown
from rlgo.base.files import user_path


def load(what: str, text: str, expected: str, fits: Callable[[Any], bool]) -> Any:
    """Load an object of a user's program by ``FILE.py:NAME`` or ``MODULE:NAME``.

    The file is run. The module is imported from the current folder, or from wherever Python finds it.

    Parameters
    ----------
    what : what it is for, the beginning of errors
    text : file or module, and name
    expected : what the object should be, in words, and ...
    fits : ... whether it is

    Raises
    ------
    RlgoError : if the file, the module or the object is missing, if the program fails, or if the object does not fit
    """
    source, _, name = text.rpartition(":")
    if not source or not name:
        raise RlgoError(f"{what}: expected MODULE:NAME or FILE.py:NAME, found {text}")
    found = guarded(what, _run if source.endswith(".py") else _import, what, source)
    for part in name.split("."):
        if not hasattr(found, part):
            fitting = [known for known, value in vars(found).items() if fits(value)]
            raise RlgoError(f"{what}: {source} has no {part}; {nearest(part, fitting, f'expected {expected}')}")
        found = getattr(found, part)
    if not fits(found):
        raise RlgoError(f"{what}: {name} = {shown(found)}: expected {expected}")
    return found


def _run(what: str, file: str) -> Any:
    path = user_path(file)
    spec = importlib.util.spec_from_file_location(str(path), path)
    if spec is None or spec.loader is None or not path.is_file():
        raise RlgoError(f"{what}: {file}: expected a Python file")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import(what: str, name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:  # `rlgo` does not start there, and processes that it starts import the module again
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise RlgoError(f"{what}: no module {name}, here or where Python looks for modules") from None
        raise


def guarded(what: str, call: Callable[..., Any], *args: Any, **arguments: Any) -> Any:
    """Call a user's code; an exception becomes an RlgoError of one line that says what failed, and where."""
    try:
        return call(*args, **arguments)
    except RlgoError:
        raise
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1]
        text, file, number = cut(" ".join(str(error).split())), line.filename, line.lineno
        if isinstance(error, SyntaxError) and error.filename:
            text, file, number = error.msg, error.filename, error.lineno
        before = f"{what}: " if what else ""
        raise RlgoError(f"{before}{type(error).__name__}: {text} ({Path(file).name}, line {number})") from error
