"""The views of a browser beside the game: Watch, Probe, Compare and Runs."""

from __future__ import annotations

import re

from page_tools import begin, cell, click, open_search, show, wait_for_moves


def test_watch_view_during_a_search(page):
    begin(page, white="human")
    show(page, "watch")
    search = page.locator(".search-bar")
    open_search(page)
    search.get_by_label("Player", exact=True).select_option("mc_rave")
    search.get_by_label("Seconds").fill("120")  # until it is stopped
    search.get_by_role("button", name="Search").click()
    page.get_by_label("Details").check()
    rows = page.get_by_role("region", name="Candidates, best first").locator("tbody tr")
    rows.nth(5).wait_for()
    search.get_by_role("button", name="Stop").wait_for()  # still running
    page.locator(".board .disc.best").wait_for()
    candidates = page.locator(".board .disc").count()
    assert candidates <= 12
    assert "best:" in page.locator(".legend").inner_text()
    page.get_by_label("All moves").check()
    page.locator(".board .disc").nth(23).wait_for()  # all that are legal and not silly
    assert (
        "Black\N{RIGHT SINGLE QUOTATION MARK}s chance"
        in page.get_by_role("region", name="Search", exact=True).inner_text()
    )
    assert "P(Black wins)" not in page.locator("main").inner_text()
    search.get_by_role("button", name="Stop").click()
    slider = page.get_by_label("Moment of the search")
    page.locator("input[aria-label='Moment of the search']:enabled").wait_for()
    total = page.get_by_text(re.compile(r"^[\d,]+ of [\d,]+ simulations$"))
    first, last = total.inner_text().split(" of ")
    assert first == last.removesuffix(" simulations")
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_text(re.compile(rf"^(?!{first} )[\d,]+ of {last}$")).wait_for()
    rows.first.hover()
    assert page.locator(".board .ghost").count() > 0
    assert page.locator(".board .disc").count() == 0
    head = page.get_by_role("columnheader", name="N~")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    numbers = [
        int(text.replace(",", ""))
        for text in rows.locator(
            f"td:nth-child({page.locator('th').all_inner_texts().index('N~') + 1})"
        ).all_inner_texts()
        if text != "\N{EN DASH}"
    ]
    assert numbers == sorted(numbers, reverse=True)
    page.mouse.move(1, 1)
    click(page, "C3")
    wait_for_moves(page, "1/1")
    assert page.locator(".board .disc").count() == 0  # the search was about another position
    page.keyboard.press("u")
    wait_for_moves(page, "0/0")
    page.locator(".board .disc").nth(5).wait_for()


def test_ownership_at_any_time(page):
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    assert page.locator(".board .owner").count() == 0
    page.keyboard.press("e")
    page.locator(".board .owner").first.wait_for()
    page.get_by_text(re.compile("mean of playouts")).first.wait_for()
    show(page, "watch")
    page.locator(".board .owner").first.wait_for()
    page.reload()
    page.locator(".board .owner").first.wait_for()
    page.keyboard.press("e")
    page.locator(".board .owner").first.wait_for(state="detached")


def test_probe_shows_windows_whose_sum_is_the_difference(page):
    begin(page, size=9, white="human")
    click(page, "E5")
    show(page, "probe")
    page.get_by_label("Weights", exact=True).select_option("9x9-1M")
    page.locator(".board .frame").first.wait_for()
    click(page, "C4")
    change = page.get_by_role("region", name="What C4 changes")
    change.wait_for()

    def number(text: str) -> float:
        return float(text.replace("\N{MINUS SIGN}", "-"))

    listed = number(change.locator("#listed").inner_text())
    numbers = [number(text) for text in change.locator(".equation b").all_inner_texts()]
    *parts, after, before = numbers
    rows = change.locator("tbody tr td:last-child").all_inner_texts()
    assert len(rows) > 5
    assert abs(sum(map(number, rows)) - listed) < 0.0006 * len(rows)  # three decimals are shown
    assert abs(sum(parts) - (after - before)) < 0.003
    assert abs(sum(parts) - number(change.locator("#difference").inner_text())) < 0.003

    value = page.get_by_role("region", name="Weight files").locator("dd").first
    shown = value.inner_text()
    page.get_by_text("○ White", exact=True).click()
    click(page, "F4")  # an edit of the position
    value.filter(has_not_text=shown).wait_for()
    page.get_by_role("button", name="Back to the game").wait_for()


def test_probe_shows_values_of_moves(page):
    begin(page, size=9, white="human")
    click(page, "E5")
    show(page, "probe")
    page.get_by_label("Weights", exact=True).select_option("9x9-1M")
    page.get_by_text("Values of moves", exact=True).click()
    discs = page.locator(".board .disc")
    discs.nth(79).wait_for()
    assert discs.count() == 80  # all points but the stone
    values = [int(text) for text in page.locator(".board .marks text").all_text_contents()]
    assert len(values) == 80
    assert 0 <= min(values) < max(values) <= 100


def test_probe_says_that_it_loads(page):
    begin(page, size=9, white="human")
    held = []
    page.route("**/api/probe", lambda route: held.append(route))
    show(page, "probe")
    page.get_by_text("Loading the weights").wait_for()
    assert "+0.000" not in page.locator("main").inner_text()
    assert "No window has a weight" not in page.locator("main").inner_text()
    for route in held:
        route.continue_()
    page.unroute("**/api/probe")
    page.get_by_text("add up to the logit").wait_for()


def test_a_position_of_the_probe_becomes_the_game(page):
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    show(page, "probe")
    page.get_by_text("○ White", exact=True).click()
    click(page, "B2")
    page.get_by_role("button", name="Play from here").click()
    page.get_by_role("button", name="Back to the game").wait_for(state="hidden")
    show(page, "play")
    cell(page, "B2", "white").wait_for(state="attached")
    cell(page, "C3", "black").wait_for(state="attached")
    wait_for_moves(page, "0/0")
    page.get_by_text("2 stones placed").wait_for()


def test_compare_two_players(page):
    begin(page, white="human")
    show(page, "compare")
    for side, name in (("A", "mc_rave"), ("B", "uct")):
        page.get_by_label(f"Player {side}", exact=True).select_option(name)
        page.get_by_label(f"Settings of Player {side}").fill("sims=300")
    page.get_by_role("button", name="Search both").click()
    for side in "AB":
        page.get_by_role("region", name=f"Side {side}").locator("tbody tr:nth-child(3)").wait_for()


def test_a_slider_changes_a_setting_and_searches_again(page):
    begin(page, white="human")
    show(page, "compare")
    page.get_by_label("Player A", exact=True).select_option("td_search")  # which makes all its simulations
    settings, side = page.get_by_label("Settings of Player A"), page.get_by_role("region", name="Side A")
    settings.fill("sims=300,alpha=0.2")
    settings.blur()
    page.get_by_role("button", name="Search both").click()
    count = side.locator("dd").nth(2)
    side.locator("tbody tr:nth-child(3)").wait_for()
    page.get_by_role("button", name="Search both").wait_for()  # both have ended
    before = count.inner_text()
    slider = side.get_by_label("sims")
    slider.focus()
    page.keyboard.press("End")
    sims = int(re.search(r"simulations=(\d+)", settings.input_value())[1])
    assert sims > 300
    assert "alpha=0.2" in settings.input_value()
    count.filter(has_not_text=before).wait_for()


def test_runs_are_laid_over_one_another(page):
    """The server has none; these are made up."""
    run = {"state": "finished", "reason": "", "games": 100, "of": 100, "games_per_s": 5.0, "elo": 1000.0, "size": 9,
           "features": "1 LI", "resume": "", "rounds": None}  # fmt: skip
    all_ = [{**run, "name": f"run{i}", "started": f"2026-01-0{i}T00:00:00"} for i in range(1, 7)]
    page.route("**/api/runs", lambda route: route.fulfill(json={"folder": "runs", "runs": all_}))

    def curves(route) -> None:
        name = re.search("run=(run.)", route.request.url)[1]
        route.fulfill(json={"run": name, "after": 0, "next": 1, "curves": {"strength/elo": [[50, 900], [100, 1000]]}})

    def shapes(route) -> None:
        asked.append(route.request.url)
        route.fulfill(
            json={"run": None, "weights": None, "blocks": ["1x1-LI"], "block": "1x1-LI", "sort": "weight", "shapes": []}
        )

    asked: list[str] = []
    page.route("**/api/runs/curves**", curves)
    page.route("**/api/runs/shapes**", shapes)
    show(page, "runs")
    curves_card = page.get_by_role("region", name="Curves")
    curves_card.get_by_text("run6", exact=True).first.wait_for()  # the newest
    assert page.get_by_role("region", name="List of runs").locator("tbody tr").count() == 6
    page.get_by_label("Compare run2").check()
    curves_card.get_by_role("heading", name="run6, run2").wait_for()
    curves_card.locator("figure.chart").first.locator("path.line").nth(3).wait_for(
        state="attached"
    )  # two lines, and their keys
    assert "run=run6" in asked[-1]  # the shapes of the selected run


def test_networks_that_learn_are_followed_beside_runs_of_weights(page):
    """The server has none; these are made up."""
    run = {"state": "running", "reason": "", "games": 6, "of": 0, "games_per_s": None, "elo": 20.0, "size": 9,
           "features": "network 3 x 32", "resume": "", "name": "loop", "started": "2026-01-01"}  # fmt: skip
    rounds = {"elo": [[1, 20.0]], "value_loss": [[1, 0.6]], "policy_loss": [[1, 2.5]]}
    page.route("**/api/runs", lambda route: route.fulfill(json={"folder": "runs", "runs": [{**run, "rounds": rounds}]}))
    logged = {"loss/total": [[10, 4.5], [20, 4.0]], "loss_held_out_9x9/total": [[20, 4.2]]}
    page.route(
        "**/api/runs/curves**",
        lambda route: route.fulfill(json={"run": "loop", "after": 0, "next": 1, "curves": logged}),
    )
    show(page, "runs")
    card = page.get_by_role("region", name="Curves")
    assert card.locator("h3").all_inner_texts() == ["Loss", "Held-out games", "Elo"]
    card.get_by_text(re.compile(r"loop, learning\s*4\.00")).wait_for()
    card.get_by_text(re.compile(r"loop, held out\s*4\.20")).wait_for()
    card.get_by_text(re.compile(r"loop, outcome\s*0\.600")).wait_for()
    rounds["elo"].append([2, 55.0])  # it goes on
    logged["loss/total"].append([30, 3.5])
    card.get_by_text(re.compile(r"loop\s*55")).wait_for()
    card.get_by_text(re.compile(r"loop, learning\s*3\.50")).wait_for()
