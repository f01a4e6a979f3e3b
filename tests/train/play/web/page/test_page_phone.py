"""The page on a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from page_tools import begin, begin_alone, moves_shown, open_search, place, show, tap, wait_until_ready


@pytest.fixture
def phone(browser, url) -> Iterator:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    context.set_default_timeout(300_000)  # the server may have to compile
    page = context.new_page()
    page.goto(url)
    wait_until_ready(page)
    yield page
    context.close()


def is_in_view(page) -> bool:
    box = page.locator(".board").first.bounding_box()
    return bool(box["y"] >= 0 and box["y"] + box["height"] <= 844)


def test_the_board_is_in_view_after_begin(phone):
    phone.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert not is_in_view(phone)
    phone.keyboard.press("n")
    dialog = phone.get_by_role("dialog", name="New game")
    dialog.get_by_label("White", exact=True).select_option("human")
    dialog.get_by_role("button", name="Begin").click()
    dialog.wait_for(state="hidden")
    assert is_in_view(phone)


def search_19x19(phone) -> None:
    begin_alone(phone, size=19)
    show(phone, "watch")
    open_search(phone)
    phone.get_by_label("Player", exact=True).select_option("mc_rave")
    phone.get_by_label("Settings of Player").fill("sims=200")
    phone.get_by_label("Settings of Player").blur()
    phone.get_by_role("button", name="Search").click()
    phone.locator(".board .disc.best").wait_for()
    phone.get_by_role("button", name="Search").wait_for()


def test_numbers_on_a_large_board_can_be_read_and_a_tap_shows_the_rest(phone):
    search_19x19(phone)
    board = phone.locator(".board").first
    pixels = board.evaluate(
        """board => [...board.querySelectorAll(".marks text")].map(
            (text) => (parseFloat(getComputedStyle(text).fontSize) * board.clientWidth) / board.viewBox.baseVal.width
        )"""
    )
    assert min(pixels) >= 9
    best = phone.get_by_role("region", name="Candidates, best first").locator("tbody td").first.inner_text()
    tap(phone, best)
    phone.locator(".note", has_text="Simulations").wait_for()
    assert moves_shown(phone) == "0/0"
    tap(phone, best)  # a second one plays
    phone.locator(".navigation .count", has_text="1/1").wait_for()


def test_a_tap_on_a_row_shows_its_line_on_the_board_and_a_second_one_plays(phone):
    search_19x19(phone)
    row = phone.get_by_role("region", name="Candidates, best first").locator("tbody tr").first
    row.scroll_into_view_if_needed()
    phone.evaluate("scrollBy(0, 300)")
    row.tap()
    phone.locator(".board .ghost").first.wait_for()
    assert is_in_view(phone)
    assert moves_shown(phone) == "0/0"
    row.tap()
    phone.locator(".navigation .count", has_text="1/1").wait_for()


def test_the_first_board_is_not_hidden_by_its_note(phone):
    """A pass is said on the board, and does not take a tap."""
    begin(phone, size=9, white="human")
    phone.get_by_role("button", name="Pass").click()
    note = phone.locator(".note", has_text="Black passes")
    note.wait_for()
    place_of_note, board = note.bounding_box(), phone.locator(".board").first.bounding_box()
    assert place_of_note["height"] < board["height"] / 8
    assert place(phone, "E9")["y"] > 0
    tap(phone, "E9")
    phone.locator(".navigation .count", has_text="2/2").wait_for()
