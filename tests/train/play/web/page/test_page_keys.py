"""Keys and the wheel in a browser."""

from __future__ import annotations

import pytest
from page_tools import begin_alone, moves_shown, show, wait_for_moves

# Presses keys faster than any server answers.
_PRESS = """keys => keys.forEach(
    (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))
)"""


def test_every_one_of_twenty_quick_presses_counts(page):
    begin_alone(page, moves=25)
    page.keyboard.press("Home")
    wait_for_moves(page, "0/25")
    page.evaluate(_PRESS, ["ArrowRight"] * 20)
    wait_for_moves(page, "20/25")
    page.evaluate(_PRESS, ["Home", "ArrowRight"])
    wait_for_moves(page, "1/25")


@pytest.mark.parametrize("view", ["play", "review", "watch", "probe", "compare"])
def test_the_wheel_over_a_board_steps_moves(page, view):
    begin_alone(page, moves=3)
    show(page, view)
    page.locator(".board").first.hover()
    page.mouse.wheel(0, -120)
    wait_for_moves(page, "2/3")
    page.mouse.wheel(0, 120)
    wait_for_moves(page, "3/3")


@pytest.mark.parametrize("view", ["watch", "compare"])
def test_space_searches_after_a_click_on_a_tab(page, view):
    begin_alone(page, size=5)
    show(page, view)
    page.keyboard.press(" ")
    page.get_by_role("button", name="Stop").wait_for()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Search").first.wait_for()


def test_a_key_counts_while_a_dialog_that_has_closed_still_has_the_focus(page):
    page.evaluate("""document.querySelector("#new-game select").dispatchEvent(
        new KeyboardEvent("keydown", { key: "m", bubbles: true }))""")
    page.locator("#move:focus").wait_for()


def test_every_key_of_the_help_does_what_it_says(page):
    """The table is complete: it lists what is tried here, and no more."""
    page.on("filechooser", lambda _: None)  # from now on: one that opens before it is waited for would be cancelled
    begin_alone(page, size=9, moves=12)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    tried = {"?"}
    listed = set(keys.locator("th kbd").all_inner_texts())
    page.keyboard.press("Escape")
    keys.wait_for(state="hidden")

    def press(key: str, shown: str = "") -> None:
        tried.add(shown or key)
        page.keyboard.press(key)

    for key, sign, moves in (
        ("ArrowLeft", "←", "11/12"),
        ("ArrowUp", "↑", "1/12"),
        ("ArrowRight", "→", "2/12"),
        ("ArrowDown", "↓", "12/12"),
        ("Home", "", "0/12"),
        ("End", "", "12/12"),
        ("p", "", "13/13"),
        ("u", "", "12/12"),
    ):
        press(key, sign)
        wait_for_moves(page, moves)
    page.locator(".board").first.hover()
    page.mouse.wheel(0, -120)
    wait_for_moves(page, "11/12")
    tried.add("Wheel")
    press("End")
    wait_for_moves(page, "12/12")
    press("g")  # the server's player
    wait_for_moves(page, "13/13")
    press("e")
    page.get_by_label("Ownership").and_(page.locator(":checked")).wait_for()
    press("s")
    page.get_by_role("region", name="Score").wait_for()
    press("n")
    new_game = page.get_by_role("dialog", name="New game")
    new_game.wait_for()
    page.keyboard.press("Escape")
    new_game.wait_for(state="hidden")
    press("m")
    page.locator("#move:focus").wait_for()
    page.locator("#move").blur()
    with page.expect_file_chooser():
        press("o")
    with page.expect_download():
        press("w")
    press(" ", "Space")
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    for number, view in enumerate(("Play", "Review", "Watch", "Probe", "Compare", "Runs"), 1):
        press(str(number))
        page.get_by_role("main", name=view).wait_for()
    press("1")
    page.get_by_role("main", name="Play").wait_for()
    press("t")
    page.locator("html[data-theme=light]").wait_for()
    page.locator(".skip").focus()
    for _ in range(12):
        press("Tab")
        if page.locator(".board:focus").count():
            break
    assert page.locator(".board:focus").count()
    page.locator(".board").first.blur()
    page.once("dialog", lambda dialog: dialog.accept())
    press("r")
    page.locator(".result", has_text="resignation").wait_for()
    assert listed == tried | {",", "."}  # which need a review
    assert moves_shown(page) == "13/13"
