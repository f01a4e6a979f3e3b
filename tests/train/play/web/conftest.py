"""Fixtures of the tests of a tab."""

from __future__ import annotations

import pytest
from web_tools import make_client, open_page


@pytest.fixture
def page():
    with make_client() as client, open_page(client) as page:
        yield page
