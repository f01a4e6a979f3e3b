"""Helpers for the tests of the page of `rlgo web`: what a person does in a browser, and waits for."""

from __future__ import annotations

import re


def wait_until_ready(page) -> None:
    page.locator(".result", has_text="to play").wait_for()


def show(page, view: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=view.capitalize()).click()
    page.get_by_role("main", name=view.capitalize()).wait_for()


def open_text(page, text: str) -> None:
    """Open a record."""
    page.get_by_label("SGF file").set_input_files({"name": "a.sgf", "mimeType": "text/plain", "buffer": text.encode()})


def begin(page, size: int = 5, white: str = "mc_rave", settings: str = "sims=300", black: str = "human") -> None:
    """Begin a new game through its dialog."""
    show(page, "play")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("Black", exact=True).select_option(black)
    dialog.get_by_label("White", exact=True).select_option(white)
    if white != "human":
        open_advanced(dialog)
        dialog.get_by_label("Settings of White").fill(settings)
    dialog.get_by_label("Board").select_option(str(size))
    dialog.get_by_role("button", name="Begin").click()
    dialog.wait_for(state="hidden")
    page.locator(f".board[data-size='{size}']").first.wait_for()


def open_advanced(dialog) -> None:
    """Show the settings in the dialog of a new game, which stay shown afterwards."""
    if not dialog.get_by_label("Settings of White").is_visible():
        dialog.get_by_text("Advanced").click()


def cell(page, vertex: str, content: str):
    """A point of the first board, with what is on it."""
    return page.locator(".board").first.locator(f"[role=gridcell][aria-label^='{vertex}, {content}']")


def click(page, vertex: str) -> None:
    """Click a point of the first board."""
    page.locator(".board").first.click(position=place(page, vertex))


def tap(page, vertex: str) -> None:
    """Tap a point of the first board with a finger."""
    page.locator(".board").first.tap(position=place(page, vertex))


def place(page, vertex: str) -> dict[str, float]:
    """Return where a point of the first board is, in pixels from its upper left corner."""
    board = page.locator(".board").first
    size = int(board.get_attribute("data-size"))
    column, row = "ABCDEFGHJKLMNOPQRST".index(vertex[0]), int(vertex[1:]) - 1
    scale = board.bounding_box()["width"] / ((size - 1) * 10 + 15.6)  # as board.tsx draws it
    return {"x": (9.6 + 10 * column) * scale, "y": (6 + 10 * (size - 1 - row)) * scale}


def moves_shown(page) -> str:
    """Such as ``2/4``: the second of four moves is shown."""
    return page.locator(".navigation .count").first.inner_text()


def wait_for_moves(page, text: str) -> None:
    page.locator(".navigation .count", has_text=re.compile(f"^{text}$")).first.wait_for()
