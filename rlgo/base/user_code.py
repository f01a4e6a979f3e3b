"""Python programs of users: players, learning rules, evaluators. Whatever is wrong with them is told in one line.

Start reading at `load`. `check_kernel` runs a function that will be compiled: compiled code checks no index.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from numbers import Real
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

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
        raise RlgoError(f"{what}: {file}: expected a Python file{'' if path.exists() else ', and found none'}")
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


def check_kernel(what: str, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> None:
    """Call a function that will be compiled in plain Python, where numpy checks every index.

    Parameters
    ----------
    what : what it is for, the beginning of errors
    function : it returns a number, and may change arrays
    calls : the arguments of each call, numbers and arrays

    Raises
    ------
    RlgoError : with the line, if it fails, or if what it returns or writes is not a finite number
    """
    code, line = function.__code__, 0

    def note_line(frame: FrameType, event: str, _: Any) -> None:
        nonlocal line
        if event == "return" and frame.f_code is code:
            line = frame.f_lineno

    before = sys.getprofile()
    sys.setprofile(note_line)
    try:
        with np.errstate(all="ignore"):  # as in compiled code
            for arguments in calls:
                returned = guarded(what, function, *arguments)
                wrong = "" if isinstance(returned, Real) else f"returns {shown(returned)}"
                if not wrong and not math.isfinite(returned):
                    wrong = f"returns {returned:g}"
                for name, value in zip(code.co_varnames, arguments, strict=False):
                    if not wrong and not np.isfinite(value).all():
                        wrong = f"{name} = {shown(value.tolist())}"
                if wrong:
                    where = f"{Path(code.co_filename).name}, line {line}"
                    raise RlgoError(f"{what}: {wrong}: expected a finite number ({where})")
    finally:
        sys.setprofile(before)
