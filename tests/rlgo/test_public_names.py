"""The names that `import rlgo` offers."""

from __future__ import annotations

import pytest

import rlgo


@pytest.mark.parametrize("name", rlgo.__all__)
def test_every_public_name_can_be_loaded(name):
    assert getattr(rlgo, name).__name__ == name


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'rlgo' has no attribute 'Rlgo'"):
        _ = rlgo.Rlgo
    assert dir(rlgo) == sorted(rlgo.__all__)
