"""Play in a browser: what the board says, how a game begins, and who the opponent is."""

from __future__ import annotations

import json
import re

from page_tools import begin, begin_alone, click, open_text, reload_with, show, wait_for_moves, wait_until_ready


def test_passes_resignations_and_the_result_are_said_on_the_board(page):
    begin(page, white="human")
    note = page.locator(".board-frame .note")
    assert note.count() == 0
    page.keyboard.press("p")
    note.filter(has_text=re.compile("^Black passes$")).wait_for()
    page.keyboard.press("ArrowLeft")
    wait_for_moves(page, "0/1")
    assert note.count() == 0
    page.keyboard.press("ArrowRight")
    wait_for_moves(page, "1/1")
    page.once("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("r")
    note.filter(has_text="White resigns: Black wins by resignation").wait_for()
    begin(page, white="human")
    page.keyboard.press("p")
    wait_for_moves(page, "1/1")
    page.keyboard.press("p")
    note.filter(has_text=re.compile("^Both pass: unfinished")).wait_for()


def test_a_loss_on_time_is_said_on_the_board(page):
    begin(page, white="human")
    reload_with(page, {"time": "1", "timed": "both", "paused": False})
    page.locator(".note", has_text="Black\N{RIGHT SINGLE QUOTATION MARK}s time is up: White wins on time").wait_for()


def hold_new_games(page) -> list:
    """Hold requests for new games back: returns them, as functions that send them on."""
    held: list = []

    def route(socket) -> None:
        server = socket.connect_to_server()

        def pass_on(text: str) -> None:
            message = json.loads(text)
            if message["type"] == "new" and "sgf" not in message and not held:  # not what a reload gives back
                held.append(lambda: server.send(text))
            else:
                server.send(text)

        socket.on_message(pass_on)

    page.route_web_socket(re.compile("/api/session"), route)
    return held


def test_begin_shows_that_it_takes_long_and_changes_meanwhile_hold(page):
    held = hold_new_games(page)
    page.reload()
    wait_until_ready(page)
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("White", exact=True).select_option("human")
    dialog.get_by_label("Board").select_option("5")
    dialog.get_by_role("button", name="Begin").click()
    dialog.get_by_role("status").get_by_text(re.compile("can take a minute")).wait_for()
    dialog.get_by_label("Komi").fill("3.5")
    dialog.get_by_label("Komi").blur()
    while not held:
        page.wait_for_timeout(20)
    held[0]()
    dialog.wait_for(state="hidden")
    page.get_by_text(re.compile(r"5.5, komi 3\.5")).wait_for()


def test_settings_of_a_new_game_stay_when_another_view_is_shown(page):
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("Board").select_option("13")
    dialog.get_by_label("Clock").select_option("canadian")
    dialog.get_by_text(re.compile("Each side has 10 minutes, and then 30 s for every 3 moves")).wait_for()
    dialog.get_by_label("Handicap").select_option("2")
    dialog.get_by_text(
        re.compile("Black has 2 stones on the board, White plays first, and White gets 0.5 points")
    ).wait_for()
    page.keyboard.press("Escape")
    show(page, "watch")
    page.reload()
    show(page, "play")
    wait_until_ready(page)
    page.keyboard.press("n")
    assert dialog.get_by_label("Board").input_value() == "13"
    assert dialog.get_by_label("Clock").input_value() == "canadian"


def test_the_level_that_finds_yours_is_the_default_opponent(page):
    """Here of a server whose player is rlgo; a game that somebody else has played says nothing about yours."""
    sent: list[str] = []

    def route(socket) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda text: socket.send(text.replace('"player": "mc_rave,sims=300"', '"player": "rlgo"')))
        socket.on_message(lambda text: (sent.append(text), server.send(text)))

    page.route_web_socket(re.compile("/api/session"), route)
    page.evaluate("sessionStorage.clear()")
    page.reload()
    page.get_by_role("region", name="Players").get_by_text("White: rlgo, level 6").wait_for()
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    assert dialog.get_by_label("White", exact=True).input_value() == "rlgo"
    assert dialog.get_by_label("Level of White").input_value() == "auto"
    page.keyboard.press("Escape")
    open_text(page, "(;SZ[5]KM[7.5]AB[aa:ed][be:de];B[];W[])")
    wait_for_moves(page, r"\d/2")
    page.keyboard.press("End")
    page.locator(".result", has_text="wins").wait_for()
    assert page.get_by_text(re.compile("Your level is")).count() == 0


def test_messages_leave_when_they_are_out_of_date(page):
    begin_alone(page, size=5)
    alert = page.get_by_role("alert").get_by_text(re.compile("expected a point"))
    for leave in (lambda: show(page, "watch"), lambda: page.keyboard.press("p")):
        show(page, "play")
        page.get_by_label("Move", exact=True).fill("Z9")
        page.keyboard.press("Enter")
        alert.wait_for()
        page.get_by_label("Move", exact=True).blur()
        page.evaluate("setTimeout = () => 0")  # not by time
        leave()
        alert.wait_for(state="hidden")


def test_a_click_says_whether_stones_are_dead(page):
    begin(page, white="human")
    open_text(page, "(;SZ[5]KM[0.5];B[be];W[];B[bd];W[];B[bc];W[dd];B[bb];W[];B[ba];W[];B[dc];W[];B[])")
    wait_for_moves(page, r"\d+/13")
    page.keyboard.press("End")
    page.keyboard.press("s")
    score = page.get_by_role("region", name="Score")
    crosses = page.locator(".board .cross")
    crosses.nth(0).wait_for()
    score.get_by_text("Result: Black wins by 24.5").wait_for()
    click(page, "D2")
    score.get_by_text("Result: Black wins by 9.5").wait_for()
    page.locator(".note", has_text="Black wins by 9.5").wait_for()
    assert crosses.count() == 0
    click(page, "D2")
    score.get_by_text("Result: Black wins by 24.5").wait_for()
    assert crosses.count() == 1
    wait_for_moves(page, "13/13")
