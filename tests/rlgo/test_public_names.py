"""The names that `import rlgo` offers."""

from __future__ import annotations

import pytest

import rlgo

CONSTANTS = {"BLACK": 1, "PASS": 0, "WHITE": 2}


@pytest.mark.parametrize("name", rlgo.__all__)
def test_every_public_name_can_be_loaded(name):
    value = getattr(rlgo, name)
    assert value == CONSTANTS[name] if name in CONSTANTS else value.__name__ == name


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'rlgo' has no attribute 'Rlgo'"):
        _ = rlgo.Rlgo
    assert dir(rlgo) == sorted(rlgo.__all__)
