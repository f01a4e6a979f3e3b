"""Digests of sources: machine code becomes stale when something that it depends on has changed, and only then."""

from __future__ import annotations

import pytest
from test_house import GRAPH

from rlgo.compiler import sources
from rlgo.compiler.sources import kernel_digest

TEXTS, IMPORTS = sources.sources(), sources._imports_by_module()
KERNELS = [name for name, imports in IMPORTS.items() if "rlgo.compiler.jit" in imports]


def reachable(module: str) -> set[str]:
    """All modules of rlgo and mcts that a module imports, directly or not, by the parsed imports of `test_house`."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name in TEXTS and name not in seen:
            seen.add(name)
            todo += GRAPH[name]
    return seen


def digest_after_change(name: str, module: str | None = None) -> str:
    """The digest of a module's kernels once another one has changed."""
    return sources._digest_of({**TEXTS, name: TEXTS[name] + "# changed\n"}, IMPORTS, module)


PACKAGES = {name for name in TEXTS if any(other.startswith(f"{name}.") for other in TEXTS)}  # by their own names


@pytest.mark.parametrize("module", KERNELS)
def test_a_module_depends_on_what_it_imports(module: str) -> None:
    assert sources._reachable([module], IMPORTS) - PACKAGES == reachable(module) - PACKAGES


def test_a_change_below_changes_the_digest_of_a_module_and_no_other_does() -> None:
    module = "rlgo.learning.selfplay"
    stale = {name for name in TEXTS if digest_after_change(name, module) != kernel_digest(module)}
    assert stale - PACKAGES == reachable(module) - PACKAGES


def test_sessions_and_players_leave_kernels_alone() -> None:
    for name in ("rlgo.play.session", "rlgo.play.gtp.protocol", "rlgo.go.sgf", "rlgo.search.alphabeta_player"):
        assert digest_after_change(name) == kernel_digest(), name
    for name in ("rlgo.go.board", "rlgo.base.settings", "mcts.search"):
        assert digest_after_change(name) != kernel_digest(), name


def test_every_form_of_import_is_seen() -> None:
    known = dict.fromkeys(("a", "a.b", "a.c", "a.d", "d"), "")
    text = """
import d
from a import c
from a.b import (
    some,
    names,
)
def f():
    from a import x, d
"""
    assert sources._imports(text, known) == {"d", "a", "a.c", "a.b", "a.d"}
    assert sources._imports("from abc import d\nimport a.d as e, d\n", known) == {"a.d", "d"}
