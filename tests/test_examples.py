"""Every public class and function has an example in its docstring, and the examples are right."""

from __future__ import annotations

import doctest
import inspect

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


@pytest.mark.parametrize("value", PUBLIC + OTHERS)
def test_the_example(value):
    (test,) = FINDER.find(value, value.__name__, globs={})
    assert test.examples, f"{value.__name__} has no example"
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)
