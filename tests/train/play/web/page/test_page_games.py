"""Games in a browser: moves, players, clocks, the score and the end."""

from __future__ import annotations

import re

from page_tools import begin, cell, click, moves_shown, open_advanced, show, tap, wait_for_moves, wait_until_ready


def test_new_game_in_players_words(page):
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("White", exact=True).select_option("rlgo")
    assert not dialog.get_by_label("Settings of White").is_visible()
    komi, handicap = dialog.get_by_label("Komi"), dialog.get_by_label("Handicap")
    usual = komi.input_value()
    handicap.select_option("3")
    assert komi.input_value() == "0.5"
    handicap.select_option("0")
    assert komi.input_value() == usual
    komi.fill("3.5")
    komi.blur()
    handicap.select_option("2")
    assert komi.input_value() == "3.5"  # somebody has chosen it
    handicap.select_option("0")
    dialog.get_by_label("Clock").select_option("byo-yomi")
    dialog.get_by_label("for humans, too").check()
    dialog.get_by_role("button", name="Begin").click()
    clock = page.get_by_label("Black's time")
    clock.filter(has_text=re.compile(r"^(10:00|9:\d\d)")).wait_for()
    clock.filter(has_text=re.compile(r"^9:")).wait_for()  # it runs for a human


def test_a_strength_is_one_of_the_settings_and_replaces_others(page):
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("White", exact=True).select_option("rlgo")
    open_advanced(dialog)
    settings, strength = dialog.get_by_label("Settings of White"), dialog.get_by_label("Level of White")
    assert strength.locator("option").count() == 12
    settings.fill("sims=50,seed=5")
    settings.blur()
    strength.select_option("3")
    assert settings.input_value() == "strength=3,seed=5"
    strength.select_option("")
    assert settings.input_value() == "seed=5"
    dialog.get_by_label("White", exact=True).select_option("mc_rave")
    assert strength.count() == 0


def test_whole_game_against_an_engine(page):
    begin(page)
    click(page, "C3")
    cell(page, "C3", "black").wait_for(state="attached")
    result = page.locator(".result")
    for _ in range(30):  # the engine passes, too, once it is ahead
        page.locator(".result", has_text=re.compile("Black to play|wins|Unfinished")).wait_for()
        if "to play" not in result.inner_text():
            break
        before = moves_shown(page)
        page.get_by_role("button", name="Pass").click()
        page.locator(".navigation .count").filter(has_not_text=before).wait_for()
    assert re.search("wins|Unfinished", result.inner_text())
    assert "game is over" in page.locator("#live").inner_text() or "Score" in page.locator("#live").inner_text()
    page.get_by_role("region", name="Score").wait_for()
    page.locator(".board .owner").first.wait_for(state="attached")  # decided by a search, which takes a while


def test_undo_and_keys_go_through_the_game(page):
    begin(page)
    click(page, "C3")
    wait_for_moves(page, "2/2")
    assert page.locator("#live").inner_text().startswith("White ")
    page.keyboard.press("ArrowLeft")
    wait_for_moves(page, "1/2")
    page.keyboard.press("Home")
    wait_for_moves(page, "0/2")
    page.keyboard.press("End")
    wait_for_moves(page, "2/2")
    page.keyboard.press("u")
    wait_for_moves(page, "0/0")
    cell(page, "C3", "empty").wait_for(state="attached")
    page.get_by_label("Move", exact=True).fill("b2")  # without a mouse
    page.keyboard.press("Enter")
    cell(page, "B2", "black").wait_for(state="attached")


def test_board_can_be_played_on_with_the_keyboard(page):
    begin(page, white="human")
    board = page.locator(".board").first
    board.focus()
    page.keyboard.press("ArrowUp")
    active = board.get_attribute("aria-activedescendant")
    assert page.locator(f"[id='{active}']").get_attribute("aria-label") == "C4, empty"
    page.keyboard.press("Enter")
    cell(page, "C4", "black").wait_for(state="attached")


def test_on_a_dense_board_a_second_tap_plays(browser, url):
    """The first shows where the finger is, since it covers several points."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    context.set_default_timeout(300_000)
    page = context.new_page()
    page.goto(url)
    wait_until_ready(page)
    begin(page, size=19, white="human")
    board = page.locator(".board").first
    tap(page, "K10")
    board.locator(".stone.ghost").wait_for(state="attached")
    assert moves_shown(page) == "0/0"
    tap(page, "L10")  # elsewhere: not yet
    tap(page, "L10")
    cell(page, "L10", "black").wait_for(state="attached")
    wait_for_moves(page, "1/1")
    begin(page, size=5, white="human")
    tap(page, "C3")
    cell(page, "C3", "black").wait_for(state="attached")
    context.close()


def test_bad_input_gets_a_message_and_the_game_goes_on(page):
    begin(page, white="human")
    click(page, "C3")
    cell(page, "C3", "black").wait_for(state="attached")
    click(page, "C3")
    page.get_by_role("alert").get_by_text(re.compile("illegal move")).wait_for()
    page.get_by_label("Move", exact=True).fill("Z9")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text(re.compile("expected a point")).wait_for()
    answer = page.evaluate(
        """() => new Promise((resolve) => {
            const socket = new WebSocket(`ws://${location.host}/api/session`);
            socket.onclose = () => resolve("closed");
            socket.onmessage = ({ data }) => JSON.parse(data).type === "error" && (socket.close(), resolve(data));
            socket.onopen = () => socket.send("{bad");
        })"""
    )
    assert '"error"' in answer
    page.get_by_label("Move", exact=True).fill("D4")
    page.keyboard.press("Enter")
    cell(page, "D4", "white").wait_for(state="attached")


def test_players_can_be_changed_during_a_game(page):
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("White", exact=True).select_option("mc_rave")
    open_advanced(dialog)
    dialog.get_by_label("Settings of White").fill("sims=300")
    dialog.get_by_role("button", name="Change players only").click()
    dialog.wait_for(state="hidden")
    wait_for_moves(page, "2/2")  # the new player answers
    cell(page, "C3", "black").wait_for(state="attached")
    assert "mc_rave" in page.get_by_role("region", name="Players").inner_text()


def test_nobody_moves_for_an_engine_that_thinks(page):
    begin(page, white="td_search", settings="seconds=3600")  # it thinks until it is told, or the server's limit
    click(page, "C3")
    page.locator(".result", has_text="White is thinking").wait_for()
    page.keyboard.press("p")
    page.keyboard.press("r")
    click(page, "D4")
    page.keyboard.press("ArrowLeft")  # the server answers in turn: had it been sent, a move would be there by now
    wait_for_moves(page, "0/1")
    assert "wins" not in page.locator(".result").inner_text()
    begin(page, white="human")  # which ends the search


def test_resigning_asks_first(page):
    begin(page, white="human")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Resign").click()
    assert "to play" in page.locator(".result").inner_text()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Resign").click()
    page.locator(".result", has_text="White wins by resignation").wait_for()
    show(page, "runs")
    page.keyboard.press("u")  # there is no board to look at
    show(page, "play")
    page.locator(".result", has_text="White wins by resignation").wait_for()


def test_chances_are_those_of_this_game(page):
    begin(page)
    for vertex, moves in (("C3", "2/2"), ("A1", "4/4")):
        page.get_by_label("Move", exact=True).fill(vertex)
        page.keyboard.press("Enter")
        wait_for_moves(page, moves)
    chances = page.get_by_role("region", name="Chances")
    chances.wait_for()
    begin(page)
    chances.wait_for(state="hidden")
    click(page, "C3")
    wait_for_moves(page, "2/2")
    assert chances.count() == 0  # two values make a curve


def test_a_score_with_its_name_and_a_result_at_the_end(page):
    begin(page, white="human")
    for vertex, moves in (("C3", "1/1"), ("C4", "2/2")):
        page.get_by_label("Move", exact=True).fill(vertex)
        page.keyboard.press("Enter")
        wait_for_moves(page, moves)
    page.get_by_role("button", name="Score").click()
    score = page.get_by_role("region", name="Score")
    score.get_by_text("If the game ended here").wait_for()
    score.get_by_text(re.compile("to whoever moves first")).wait_for()
    assert "wins" not in score.inner_text()
    assert "%" not in score.inner_text()
    for moves in ("3/3", "4/4"):
        page.get_by_role("button", name="Pass").click()
        wait_for_moves(page, moves)
    score.get_by_text("Result: unfinished").wait_for()
    assert "%" not in score.inner_text()


def test_a_level_that_finds_yours_in_three_games(page):
    """Losing on purpose: 6, 3, 2, and then it is known; one down after each further loss. A reload counts no game."""
    page.on("dialog", lambda dialog: dialog.accept())
    for text in ("from 1 to 5", "from 1 to 2", "about 1"):
        page.keyboard.press("n")
        dialog = page.get_by_role("dialog", name="New game")
        dialog.get_by_label("White", exact=True).select_option("rlgo")
        dialog.get_by_label("Level of White").select_option("auto")
        dialog.get_by_role("button", name="Begin").click()
        dialog.wait_for(state="hidden")
        page.locator(".result", has_text="Black to play").wait_for()
        page.keyboard.press("r")
        page.get_by_role("alert").get_by_text(re.compile(f"Your level is {text}")).wait_for()
        page.reload()
        page.locator(".result", has_text="White wins by resignation").wait_for()
    assert "level 2" in page.get_by_role("region", name="Players").inner_text()
