"""Records in a browser: opened, shown, changed, saved, kept in the server's folder, and reviewed."""

from __future__ import annotations

import re

from page_tools import begin, cell, click, open_search, open_text, show, wait_for_moves, wait_until


def test_sgf_round_trip(page, tmp_path):
    begin(page, white="human")
    for vertex in ("C3", "B2", "D4"):
        click(page, vertex)
        cell(page, vertex, "").wait_for(state="attached")
    wait_for_moves(page, "3/3")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save SGF").click()
    path = tmp_path / "game.sgf"
    download.value.save_as(path)
    begin(page, white="human")
    wait_for_moves(page, "0/0")
    page.get_by_label("SGF file").set_input_files(path)
    wait_for_moves(page, r"\d/3")
    page.keyboard.press("End")
    cell(page, "D4", "black").wait_for(state="attached")

    begin(page, white="human")
    wait_for_moves(page, "0/0")
    transfer = page.evaluate_handle(
        "text => { const t = new DataTransfer(); t.items.add(new File([text], 'game.sgf')); return t; }",
        path.read_text(),
    )
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})
    wait_for_moves(page, r"\d/3")


def test_records_are_kept_in_the_folder_of_the_server(page):
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save SGF").click()
    name = download.value.suggested_filename
    menu = page.get_by_label("Open a record of the server's folder")
    menu.locator("option", has_text=name).wait_for(state="attached")
    begin(page, white="human")
    wait_for_moves(page, "0/0")
    menu.select_option(name)
    wait_for_moves(page, r"\d/1")


def test_a_record_that_is_too_large_is_refused(page, tmp_path):
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    path = tmp_path / "large.sgf"
    path.write_text(f"(;SZ[9]C[{'x' * 1_000_000}])")
    page.get_by_label("SGF file").set_input_files(path)
    page.get_by_role("alert").get_by_text("large.sgf: expected at most 1,000,000 bytes").wait_for()
    wait_for_moves(page, "1/1")


RECORD = """(;GM[1]FF[4]SZ[5]KM[0.5]PB[Ann]BR[3d]PW[Bob]RE[W+2]HA[0]TM[600]EV[Cup]
;B[cc]C[centre](;W[bb];B[dd];W[dc])(;W[cd]N[kick];B[bb]))"""


def test_a_record_is_shown_and_saved_with_all_that_it_has(page, tmp_path):
    open_text(page, RECORD)
    wait_for_moves(page, "4/4")
    players, record = page.get_by_role("region", name="Players"), page.get_by_role("region", name="Record")
    assert "Black: Ann 3d" in players.inner_text()
    assert "White: Bob" in players.inner_text()
    assert {"W+2", "Cup", "10 minutes"} <= set(record.locator("dd").all_inner_texts())
    page.keyboard.press("Home")
    wait_for_moves(page, "0/4")
    page.keyboard.press("ArrowRight")
    wait_for_moves(page, "1/4")
    variations = page.get_by_role("group", name="Variations").first
    variations.get_by_role("button", name="B: C2 kick").click()
    wait_for_moves(page, "2/3")
    page.once("dialog", lambda dialog: dialog.accept("kicked"))
    page.keyboard.press("ArrowLeft")
    wait_for_moves(page, "1/3")
    variations.get_by_role("button", name="Name variation B").click()
    variations.get_by_role("button", name="B: C2 kicked").wait_for()
    click(page, "A1")  # a third one
    wait_for_moves(page, "2/2")
    variations.get_by_role("button", name="Back to the main line").click()
    wait_for_moves(page, "1/4")
    variations.get_by_role("button", name=re.compile("^C: A1")).wait_for()
    page.once("dialog", lambda dialog: dialog.accept())
    variations.get_by_role("button", name="Remove variation A").click()
    variations.get_by_role("button", name=re.compile("^B: A1")).wait_for()
    show(page, "review")
    comment = page.get_by_label("Comment on this position")
    assert comment.input_value() == "centre"
    comment.fill("the centre")
    comment.blur()
    show(page, "play")
    page.reload()
    wait_for_moves(page, r"1/\d")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save SGF").click()
    download.value.save_as(tmp_path / "saved.sgf")
    saved = (tmp_path / "saved.sgf").read_text()
    assert all(text in saved for text in ("PB[Ann]", "BR[3d]", "EV[Cup]", "N[kicked]", "C[the centre]", "W[ae]"))
    assert "W[bb]" not in saved


def test_a_review_in_the_background(page):
    open_text(page, "(;SZ[5]KM[0.5];B[cc];W[cb];B[aa];W[dc];B[ea])")
    wait_for_moves(page, "5/5")
    show(page, "review")
    open_search(page)
    page.get_by_label("of", exact=True).select_option("simulations")
    page.get_by_label("For each position").fill("1000000")
    page.get_by_label("For each position").blur()
    page.keyboard.press(" ")  # the key of this view
    page.get_by_text(re.compile("of 6 positions$")).wait_for()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Review", exact=True).wait_for()
    page.get_by_label("For each position").fill("300")
    page.get_by_role("button", name="Review", exact=True).click()
    page.get_by_text("Reviewed by mc_rave,simulations=300: 6 of 6 positions.").wait_for()
    worst = page.get_by_role("region", name="Moves that lost most").locator("tbody tr")
    assert "Black A5" in worst.all_inner_texts()[0] or "Black E5" in worst.all_inner_texts()[0]  # corners lose
    page.get_by_role("region", name="Losses by phase and colour").get_by_text("opening").first.wait_for()
    worst.locator("button:enabled").first.click()
    page.locator(".board .ghost").first.wait_for()  # the better line
    page.keyboard.press("Home")
    page.locator(".board .ground.best").wait_for()
    page.keyboard.press("ArrowRight")
    wait_until(page, "document.getElementById('comment').value.includes('lost')")
    ticks = page.get_by_role("region", name="Review").locator(".tick.x").all_text_contents()
    assert ticks == [str(int(tick)) for tick in ticks]  # whole moves
