"""Fixtures that the tests of the page share: a server, and a tab in a real browser."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_tools import wait_until_ready


@contextlib.contextmanager
def serving(*options: str, port: str = "0") -> Iterator[str]:
    """A server of its own: the URL that it prints, token included."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[5])}
    command = [sys.executable, "-m", "rlgo", "web", "--no-browser", "--port", port, "--player", "mc_rave,sims=300"]
    command += options
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "token=" in line)
            yield re.search(r"http://\S+", line)[0]
            process.terminate()
            process.communicate(timeout=300)
        finally:
            process.kill()


@pytest.fixture(scope="session")
def url(tmp_path_factory) -> Iterator[str]:
    """A server with a folder for records."""
    records, runs = tmp_path_factory.mktemp("records"), tmp_path_factory.mktemp("runs")
    with serving("--sgf", str(records), "--runs", str(runs)) as url:
        yield url


@pytest.fixture(scope="session")
def serve():
    """Start a server: `serving`."""
    return serving


@pytest.fixture
def page(browser, url):
    """A tab at 1280 pixels that may not write an error to its console, such as one about its security policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(300_000)  # the server may have to compile
    problems = []
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(url)
    wait_until_ready(page)
    yield page
    context.close()
    assert not problems
