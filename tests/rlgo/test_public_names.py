"""The names that `import rlgo`, `import mcts` and `import train` offer."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import mcts
import rlgo
import train

DOCS = Path(__file__).resolve().parents[2] / "docs"
CONSTANTS = {"BLACK": 1, "PASS": 0, "RESIGN": -1, "WHITE": 2}
PUBLIC = [(package, name) for package in (rlgo, mcts, train) for name in package.__all__]


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_every_public_name_can_be_loaded(package, name):
    value = getattr(package, name)
    if name in CONSTANTS:
        assert value == CONSTANTS[name]
    elif name == "ALGORITHMS":
        assert isinstance(value, dict)
    else:
        assert value.__name__ == name
        assert inspect.getdoc(value)


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_every_public_name_is_documented(package, name):
    page = (DOCS / "python.md").read_text("utf-8")
    assert re.search(rf"`({package.__name__}\.)?{name}`", page), f"{name} is not in docs/python.md"
    module = getattr(getattr(package, name), "__module__", None)
    if module is not None:
        assert f"::: {module}\n" in (DOCS / "api.md").read_text("utf-8")


@pytest.mark.parametrize("package", [rlgo, mcts, train])
def test_other_names_are_refused(package):
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Shogi'"):
        _ = package.Shogi
    assert dir(package) == sorted(package.__all__)
