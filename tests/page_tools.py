"""Helpers for the tests of the page of `rlgo web`: what a person does in a browser, and waits for."""

from __future__ import annotations

import json
import re


def wait_until_ready(page) -> None:
    page.locator(".result", has_text="to play").wait_for()


def wait_until(page, condition: str) -> None:
    """Wait for an expression in JavaScript. `page.wait_for_function` needs eval, which the page does not allow."""
    while not page.evaluate(condition):
        page.wait_for_timeout(20)


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


def open_search(page) -> None:
    """Show what a view searches with, beside its main button."""
    page.locator(".search-bar summary").click()


def record(moves: int, size: int = 9) -> str:
    """A record without captures, such as ``;B[aa];W[ba]``, in rows that leave gaps."""
    points = [f"{chr(97 + 2 * column)}{chr(97 + 2 * row)}" for row in range(size // 2) for column in range(size // 2)]
    points += [f"{chr(98 + 2 * column)}{chr(98 + 2 * row)}" for row in range(size // 2) for column in range(size // 2)]
    played = "".join(f";{'BW'[i % 2]}[{point}]" for i, point in enumerate(points[:moves]))
    return f"(;GM[1]FF[4]SZ[{size}]KM[7.5]{played})"


def begin_alone(page, size: int = 9, moves: int = 0) -> None:
    """Begin a game of two humans, with a record of so many moves; its last position is shown."""
    begin(page, size=size, white="human")
    if moves:
        open_text(page, record(moves, size))
        wait_for_moves(page, rf"\d+/{moves}")
        page.keyboard.press("End")
        wait_for_moves(page, f"{moves}/{moves}")


def reload_with(page, changes: dict) -> None:
    """Reload the page, and change the game that the tab has stored before the page reads it."""
    page.add_init_script(f"({_STORED})({json.dumps(changes)})")
    page.reload()


_STORED = """(changes) => {
    const stored = JSON.parse(sessionStorage.getItem("rlgo-game"));
    sessionStorage.setItem("rlgo-game", JSON.stringify({ ...stored, ...changes }));
}"""
