"""Digests of rlgo's own sources, to identify the program and to detect stale machine code.

Start reading at `kernel_digest`. Nothing here imports numba.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("rlgo", "mcts")  # the packages with compiled code

_IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import (\([^)]*|.*)|import (.*))", re.MULTILINE)
_DECORATORS = "rlgo.compiler.jit"  # a module that imports it may hold kernels


@cache
def sources() -> Mapping[str, str]:
    """Return the sources of all modules that may contain compiled code, by module name."""
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {module_of(file): file.read_text("utf-8") for file in files}


def module_of(file: Path) -> str:
    """Return the name of one of these modules by its file; that of a package for its ``__init__``."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def sources_digest() -> str:
    """Return a digest of all these sources, which identifies the version that played or learned."""
    return _digest(sources())


@cache
def kernel_digest(module: str | None = None) -> str:
    """Return a digest of everything a module's compiled code depends on; None: of every module with compiled code.

    Machine code contains its callees and the constants it reads, so it depends on every module that its own
    module imports, directly or not: `mcts.search` on `rlgo.go.board`, but neither of them on `rlgo.play.session`.
    """
    return _digest_of(sources(), _imports_by_module(), module)


@cache
def _imports_by_module() -> dict[str, set[str]]:
    return {name: _imports(text, sources()) for name, text in sources().items()}


def fields_of(types: Iterable[Any]) -> tuple[Any, ...]:
    """Return the names of the fields of all NamedTuples among numba types: kernels read them by position."""
    return tuple(
        (getattr(one, "fields", ()), fields_of(inner)) for one in types if (inner := getattr(one, "types", ())) != ()
    )


def has_user_types(types: Iterable[Any]) -> bool:
    """Return whether a NamedTuple among numba types is not of `PACKAGES`.

    A kernel that takes one may call functions that are registered for it (`dispatch.py`), which no digest covers.
    """
    for one in types:
        kind = getattr(one, "instance_class", None)
        if kind is not None and kind.__module__.partition(".")[0] not in PACKAGES:
            return True
        if has_user_types(getattr(one, "types", ())):  # of the elements of a tuple
            return True
    return False


def _digest_of(texts: Mapping[str, str], graph: dict[str, set[str]], module: str | None) -> str:
    starts = [name for name, others in graph.items() if _DECORATORS in others] if module is None else [module]
    return _digest({name: texts[name] for name in _reachable(starts, graph)})


def _imports(text: str, known: Mapping[str, str]) -> set[str]:
    """Return the known modules that a source imports anywhere; extra ones do no harm."""
    found = set()
    for base, names, plain in _IMPORT.findall(text):
        found |= {base, *(f"{base}.{name}" for name in re.findall(r"\w+", names)), *re.findall(r"[\w.]+", plain)}
    return found & known.keys()


def _reachable(starts: Iterable[str], graph: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(starts)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += graph[name]
    return seen


def _digest(texts: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:16]
