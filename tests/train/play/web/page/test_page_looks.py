"""How the page looks: its widths, its colours, and names for those who cannot see it."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_tools import begin, click, open_text, show, wait_for_moves, wait_until

VIEWS = ("play", "review", "watch", "probe", "compare", "runs")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window_and_every_control_has_a_name(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    begin(page, size=9, white="human")
    for view in VIEWS:
        show(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.evaluate(_UNNAMED) == [], view


# Controls and pictures without an accessible name, and ids that stand twice.
_UNNAMED = """() => {
    const named = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim()
        || [...(e.labels ?? [])].some((label) => label.textContent.trim());
    const kinds = "button, input, select, a, dialog, [role=grid], [role=gridcell], [role=img]";
    const unnamed = [...document.querySelectorAll(kinds)].filter((e) => !named(e)).map((e) => e.outerHTML);
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
    return [...unnamed, ...ids.filter((id, i) => ids.indexOf(id) < i)];
}"""


def test_axe_finds_nothing(page):
    """The rules of axe, in every view and dialog, light and dark; contrast is one of them."""
    base = pytest.importorskip("axe_playwright_python.base")
    source = next(Path(base.__file__).parent.glob("axe*.js")).read_text()

    def check(rules: dict, *where: str) -> None:
        found = page.evaluate("rules => axe.run(rules)", rules)["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], where

    begin(page, size=9, white="human")
    click(page, "E5")
    page.keyboard.press("e")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # nothing is half transparent
        for view in VIEWS:
            show(page, view)
            if view == "play":
                page.keyboard.press("s")
                page.get_by_role("region", name="Score").wait_for()
            page.evaluate(source)
            rules = {} if scheme == "light" else {"runOnly": ["color-contrast"]}  # nothing else depends on it
            check(rules, scheme, view)
        for key, dialog in (("n", "New game"), ("?", "Keys")):
            page.keyboard.press(key)
            page.get_by_role("dialog", name=dialog).wait_for()
            check(rules, scheme, dialog)
            page.keyboard.press("Escape")
        page.keyboard.press("p")
        page.locator(".note", has_text="passes").wait_for()
        click(page, "E5")
        page.get_by_role("alert").get_by_text("illegal move").wait_for()
        check(rules, scheme, "a pass and a message")
        page.keyboard.press("u")  # two passes would end the game


def test_colours_can_be_switched(page):
    def background() -> str:
        return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    page.emulate_media(color_scheme="light")
    light = background()
    page.keyboard.press("t")
    page.keyboard.press("t")  # system, light, dark
    assert background() != light
    page.reload()
    assert background() != light  # remembered


def test_the_board_grows_and_another_view_begins_at_its_top(page):
    def side() -> float:
        return page.locator(".board").first.bounding_box()["width"]

    page.set_viewport_size({"width": 1366, "height": 800})
    small = side()
    page.set_viewport_size({"width": 1920, "height": 1080})
    assert side() > small * 1.3
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("scrollTo(0, 400)")
    assert page.evaluate("scrollY") > 0
    page.evaluate("location.hash = 'watch'")
    page.get_by_role("main", name="Watch").wait_for()
    wait_until(page, "scrollY === 0")
    page.evaluate("location.hash = 'play'")
    buttons = page.get_by_role("region", name="Moves").locator(".buttons button").all()
    assert len({round(button.bounding_box()["width"]) for button in buttons}) == 1


def test_coordinates_have_one_size_and_ownership_lies_below_the_stones_and_crosses_above(page):
    pixels = """board => (parseFloat(getComputedStyle(board.querySelector(".coordinates text")).fontSize)
        * board.clientWidth) / board.viewBox.baseVal.width"""
    for size in (9, 19):
        begin(page, size=size, white="human")
        assert 9 <= page.locator(".board").first.evaluate(pixels) <= 14
    open_text(page, "(;SZ[5]AB[aa:ed][ce]AW[ae];B[];W[])")  # White's stone is dead
    wait_for_moves(page, "2/2")
    page.keyboard.press("s")
    page.locator(".board .cross").first.wait_for()
    assert page.locator(".board .owner").count() > 5
    order = page.locator(".board").first.evaluate(
        """board => ["rect.owner", ".stone", ".cross"].map(
            (kind) => [...board.querySelectorAll("*")].indexOf(board.querySelector(kind)))"""
    )
    assert order == sorted(order)
    assert page.locator(".board .cross").first.evaluate("cross => getComputedStyle(cross.parentElement).opacity") == "1"


def test_the_main_button_is_near_the_board(page):
    begin(page, size=9, white="human")
    for view in ("play", "review", "watch", "compare"):
        show(page, view)
        board, button = (page.locator(kind).first.bounding_box() for kind in (".board", "main button.primary"))
        gap = max(button["y"] - board["y"] - board["height"], board["y"] - button["y"] - button["height"])
        assert gap < 240 or button["x"] > board["x"] + board["width"], view
        assert button["y"] + button["height"] < 900, view  # without scrolling
