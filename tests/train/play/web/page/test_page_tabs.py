"""Tabs of a browser: each has its own game, and keeps it when it reloads or loses the connection."""

from __future__ import annotations

import re

from page_tools import begin, begin_alone, cell, click, open_search, reload_with, show, wait_for_moves, wait_until_ready


def test_lost_connection_comes_back_with_the_game(page):
    sockets = []
    page.route_web_socket(re.compile("/api/session"), lambda route: sockets.append((route, route.connect_to_server())))
    page.reload()
    wait_until_ready(page)
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    route, server = sockets[-1]
    server.close()
    route.close()
    page.locator(".status", has_text="reconnecting").wait_for()
    page.get_by_text("connected", exact=True).wait_for()
    cell(page, "C3", "black").wait_for(state="attached")
    click(page, "D4")
    wait_for_moves(page, "2/2")


def test_reload_keeps_the_moves_if_not_the_player(page):
    """Such as with a server that was started anew with other folders; and the time, if the player is there."""
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    reload_with(page, {"seats": {"black": "human", "white": "greedy,weights=elsewhere.npz"}})
    page.get_by_role("alert").get_by_text(re.compile("elsewhere")).wait_for()
    cell(page, "C3", "black").wait_for(state="attached")
    assert "White: human" in page.get_by_role("region", name="Players").inner_text()
    reload_with(page, {"seats": {"black": "human", "white": "uct,sims=10"}, "time": "60+3x10", "paused": True})
    page.get_by_label("White's time").wait_for()
    reload_with(page, {"size": 99})
    wait_until_ready(page)
    wait_for_moves(page, "0/0")


def test_two_tabs_have_games_of_their_own_and_one_level(page, url):
    """A game that is lost in one of them counts in the other, whose game goes on."""
    other = page.context.new_page()
    other.goto(url)
    wait_until_ready(other)
    for tab, text in ((page, "from 1 to 5"), (other, "from 1 to 2")):
        tab.on("dialog", lambda dialog: dialog.accept())
        tab.keyboard.press("n")
        dialog = tab.get_by_role("dialog", name="New game")
        dialog.get_by_label("White", exact=True).select_option("rlgo")
        dialog.get_by_label("Level of White").select_option("auto")
        dialog.get_by_role("button", name="Begin").click()
        dialog.wait_for(state="hidden")
        tab.locator(".result", has_text="Black to play").wait_for()
        tab.keyboard.press("r")
        tab.get_by_role("alert").get_by_text(re.compile(f"Your level is {text}")).wait_for()
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    other.locator(".result", has_text="White wins by resignation").wait_for()
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("White", exact=True).select_option("rlgo")
    assert "(2)" in dialog.get_by_label("Level of White").locator("option").all_inner_texts()[0]


def test_back_forward_and_reload_lose_nothing(page):
    begin_alone(page, moves=4)
    page.keyboard.press("ArrowLeft")
    wait_for_moves(page, "3/4")
    show(page, "review")
    page.get_by_label("Comment on this position").fill("a thought")
    page.get_by_label("Comment on this position").blur()
    show(page, "watch")
    open_search(page)
    page.get_by_label("Seconds").fill("7.5")
    page.get_by_label("Seconds").blur()
    page.go_back()
    page.get_by_role("main", name="Review").wait_for()
    page.go_forward()
    page.get_by_role("main", name="Watch").wait_for()
    page.goto("about:blank")
    page.go_back()
    page.get_by_role("main", name="Watch").wait_for()
    page.get_by_text("7.5 s").wait_for()
    wait_for_moves(page, "3/4")
    page.reload()
    page.get_by_text("7.5 s").wait_for()
    wait_for_moves(page, "3/4")
    page.go_back()
    page.get_by_role("main", name="Review").wait_for()
    assert page.get_by_label("Comment on this position").input_value() == "a thought"


def test_a_server_that_is_started_again_gets_the_game_back(browser, serve, tmp_path):
    token = ("--token-file", str(tmp_path / "token"))
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(300_000)
    page = context.new_page()
    with serve(*token) as url:
        page.goto(url)
        wait_until_ready(page)
        begin_alone(page, moves=4)
        show(page, "review")
        page.get_by_label("Comment on this position").fill("a thought")
        page.get_by_label("Comment on this position").blur()
        show(page, "play")
    page.locator(".status", has_text="reconnecting").wait_for()
    with serve(*token, port=re.search(r":(\d+)/", url)[1]) as again:
        assert again == url
        page.get_by_text("connected", exact=True).wait_for()
        wait_for_moves(page, "4/4")
        page.keyboard.press("p")
        wait_for_moves(page, "5/5")
        page.keyboard.press("ArrowLeft")
        show(page, "review")
        wait_for_moves(page, "4/5")
        assert page.get_by_label("Comment on this position").input_value() == "a thought"
    context.close()


def test_an_address_without_the_token_says_how_to_get_one(browser, url):
    page = browser.new_page()
    answer = page.goto(url.split("?")[0])
    assert answer.status == 403
    page.get_by_role("heading", name="This address is not complete").wait_for()
    assert "rlgo web prints an address" in page.locator("main").inner_text()
    assert "{" not in page.locator("body").inner_text()
    page.close()
