"""What several test files share."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from gnugo_program import find_gnugo

# Shells start what runs in the background with Ctrl-C ignored, and that is inherited: tests of Ctrl-C need it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that fork this process come first, while it has no other threads, and Ray's, which leave some, last.

    The documents, which take as long as Ray, are tested beside it: no process is left without work.
    """
    order = {"test_resume.py": 0, "test_storms.py": 0, "test_docs.py": 2, "test_workers.py": 2}
    items.sort(key=lambda item: order.get(item.path.name, 1))


@pytest.fixture(scope="session")
def gnugo() -> str:
    """The path of GNU Go; without it, the test is skipped."""
    path = find_gnugo()
    if path is None:
        pytest.skip("GNU Go (Debian package gnugo) is not installed")
    return path


@pytest.fixture(scope="module")
def sources():
    """For tests that train in their own processes: these find the sources too, installed or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parent.parent))
        yield


@pytest.fixture(scope="module")
def browser():
    """Chromium; without it, the test is skipped, though not in CI."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None and not os.environ.get("CI"):
        pytest.skip("Chromium (Debian package chromium) is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
