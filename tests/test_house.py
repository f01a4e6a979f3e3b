"""The shape of the house: imports go train -> mcts -> rlgo, and every package is typed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("rlgo", "mcts", "train")  # a package may import itself and those before it
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
EXEMPT = {Path("rlgo/__main__.py"): {"train"}}  # `python -m rlgo` is the command line


def imported_packages(source: str) -> set[str]:
    """Top-level names of everything imported anywhere in a source, inside functions too."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(("import_module", "__import__"))
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            names.add(str(node.args[0].value).partition(".")[0])
    return names


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_imports_go_one_way(path: Path) -> None:
    name = path.relative_to(ROOT)
    forbidden = set(PACKAGES[PACKAGES.index(name.parts[0]) + 1 :]) | {"tests"}
    wrong = imported_packages(path.read_text("utf-8")) & forbidden - EXEMPT.get(name, set())
    assert not wrong, f"{name} imports {', '.join(sorted(wrong))}; imports go train -> mcts -> rlgo"


def test_the_check_sees_every_kind_of_import() -> None:
    source = """
import train.runs.run
from mcts.tree import Tree
from . import board
def f():
    import scipy.optimize as o
    importlib.import_module("tests.naive")
"""
    assert imported_packages(source) == {"train", "mcts", "scipy", "tests"}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_only_jit_knows_how_numba_compiles() -> None:
    """One njit decorator for all: the cache and the options stand in one place."""
    for path in FILES:
        source = path.read_text("utf-8")
        if path.relative_to(ROOT) != Path("rlgo/jit.py"):
            assert "numba.njit" not in source and "from numba" not in source, path.relative_to(ROOT)
