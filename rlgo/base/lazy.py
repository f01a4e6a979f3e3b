"""Public names of a package that are loaded when first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazily(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make a package's `__all__`, `__getattr__` and `__dir__` from its public names, by the modules they live in."""
    home = {name: module for module, its_names in names.items() for name in its_names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home[name]), name)

    return sorted(home), load, lambda: sorted(home)
