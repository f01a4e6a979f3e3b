"""Every public class and function has an example in its docstring, and all examples of all docstrings are right."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import mcts
import rlgo
import train
from rlgo.learning.optimisers import rule

PUBLIC = [
    pytest.param(value, id=f"{package.__name__}.{name}")
    for package in (rlgo, mcts, train)
    for name in package.__all__
    if inspect.isclass(value := getattr(package, name)) or inspect.isfunction(value)
]
OTHERS = [pytest.param(train, id="train"), pytest.param(rule, id="rule")]

# Examples know nothing but what they import themselves, as a user would.
FINDER = doctest.DocTestFinder(recurse=False)
ROOT = Path(__file__).resolve().parents[1]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("rlgo", "mcts", "train")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


def check_examples(test: doctest.DocTest) -> None:
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("value", PUBLIC + OTHERS)
def test_the_example(value):
    (test,) = FINDER.find(value, value.__name__, globs={})
    assert test.examples, f"{value.__name__} has no example"
    check_examples(test)


@pytest.mark.parametrize("module", MODULES)
def test_other_examples(module):
    public = {value.values[0].__name__ for value in PUBLIC + OTHERS}
    found = importlib.import_module(module)
    for test in doctest.DocTestFinder(exclude_empty=True).find(found, module, globs=dict(vars(found))):
        if test.name.removeprefix(f"{module}.") not in public:
            check_examples(test)
