"""Digests of sources: machine code becomes stale when something that it depends on has changed, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_house import GRAPH

from rlgo.compiler import sources
from rlgo.compiler.sources import digest_of_kernels, kernel_digest, read_sources

ROOT = Path(__file__).resolve().parents[3]
TEXTS = read_sources(ROOT)
IMPORTS = sources._graph_of(TEXTS)
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


def changed(name: str) -> dict[str, str]:
    return {**TEXTS, name: TEXTS[name] + "# changed\n"}


@pytest.mark.parametrize("module", KERNELS)
def test_a_change_below_changes_the_digest_of_a_module_and_no_other_does(module: str) -> None:
    whole = digest_of_kernels(TEXTS, module)
    assert whole == kernel_digest(module)
    stale = {name for name in TEXTS if sources._digest_of(changed(name), IMPORTS, module) != whole}
    packages = {name.rpartition(".")[0] for name in TEXTS}
    assert reachable(module) <= stale
    assert stale - reachable(module) <= packages  # extra ones do no harm


def test_sessions_and_players_leave_kernels_alone() -> None:
    for name in ("rlgo.play.session", "rlgo.play.gtp.protocol", "rlgo.go.sgf", "rlgo.search.alphabeta_player"):
        assert digest_of_kernels(changed(name)) == kernel_digest(), name
    for name in ("rlgo.go.board", "rlgo.base.settings", "mcts.search"):
        assert digest_of_kernels(changed(name)) != kernel_digest(), name


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
