"""Draw the picture of docs/web.md, the Watch view of `rlgo web`: `python studies/page_picture.py`.

It writes docs/web.png. Needs the extras web and test (Playwright), and Chromium; takes ten seconds once everything is
compiled.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).resolve().parents[1] / "docs"
MOVES, SECONDS, WAIT_MS = 8, 4, 300_000  # moves of docs/game.sgf; of the search; the server may have to compile


def watch(page: Any) -> None:
    """Open the game, search, and keep the picture."""
    page.locator(".result", has_text="to play").wait_for()
    page.get_by_label("SGF file").set_input_files(DOCS / "game.sgf")
    page.locator(".navigation .count", has_text="/98").first.wait_for()
    page.keyboard.press("Home")
    for _ in range(MOVES):
        page.keyboard.press("ArrowRight")
    page.locator(".navigation .count", has_text=f"{MOVES}/98").first.wait_for()
    page.get_by_role("navigation").get_by_role("link", name="Watch").click()
    search = page.locator(".search-bar")
    search.locator("summary").click()
    search.get_by_label("Player", exact=True).select_option("heuristic_mc_rave")
    search.get_by_label("Seconds").fill(str(SECONDS))
    search.locator("summary").click()
    search.get_by_role("button", name="Search").click()
    page.get_by_label("Details").check()
    page.get_by_text(re.compile(r"^([\d,]+) of \1 simulations$")).wait_for()
    page.locator("input[aria-label='Moment of the search']:enabled").wait_for()
    page.mouse.move(1, 1)
    page.wait_for_timeout(500)  # the bars of the map move
    page.screenshot(path=DOCS / "web.png")
    Image.open(DOCS / "web.png").convert("RGB").quantize(96).save(DOCS / "web.png", optimize=True)


def main() -> None:
    """Start the server and a browser."""
    command = [sys.executable, "-m", "rlgo", "web", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        try:
            assert server.stderr is not None
            found = (re.search(r"http://\S+token=\S+", line) for line in server.stderr)
            url = next(match[0] for match in found if match)
            chromium = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1366, "height": 1330})
            page.set_default_timeout(WAIT_MS)
            page.goto(url)
            watch(page)
            browser.close()
        finally:
            server.kill()


if __name__ == "__main__":
    main()
