"""Numbers in Watch and Compare: those that are shown are those of the search."""

from __future__ import annotations

import re

from page_tools import begin_alone, open_search, show


def number(text: str) -> float:
    return float(text.replace(",", "").removesuffix(" %"))


def test_the_simulations_that_ran_and_one_estimate_a_side(page):
    """Also of a second search, which would go on with the tree of the first."""
    finals: list[str] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda text: finals.append(text)))
    page.reload()
    begin_alone(page, size=5)
    show(page, "compare")
    for side, name in (("A", "mc_rave"), ("B", "uct")):
        page.get_by_label(f"Player {side}", exact=True).select_option(name)
        page.get_by_label(f"Settings of Player {side}").fill("sims=300")
        page.get_by_label(f"Settings of Player {side}").blur()
    for n in (2, 4):
        page.get_by_role("button", name="Search both").click()
        while sum('"final": true' in text for text in finals) < n:
            page.wait_for_timeout(20)
        page.get_by_role("button", name="Search both").wait_for()
    page.get_by_label("Details").check()
    page.get_by_role("group", name="Shown on the board").get_by_text("N", exact=True).click()
    for side in "AB":
        panel = page.get_by_role("region", name=f"Side {side}")
        facts = dict(zip(panel.locator("dt").all_inner_texts(), panel.locator("dd").all_inner_texts(), strict=True))
        rows = panel.locator("tbody tr")
        assert number(facts["Simulations"]) == sum(map(number, rows.locator("td:nth-child(3)").all_inner_texts()))
        chance = rows.first.locator("td:nth-child(2)").inner_text()
        assert facts["Black\N{RIGHT SINGLE QUOTATION MARK}s chance"] == f"{chance} %"
        assert f"best: {chance}" not in panel.inner_text()  # the colours are those of N


def test_a_limit_by_time_is_not_one_of_simulations(page):
    begin_alone(page, size=5)
    show(page, "compare")
    side = page.get_by_role("region", name="Side A")
    page.get_by_label("Player A", exact=True).select_option("mc_rave")
    assert side.locator("output").first.inner_text() == "\N{EN DASH}"
    page.get_by_label("Settings of Player A").fill("sims=300")
    page.get_by_label("Settings of Player A").blur()
    side.locator("output", has_text="300").wait_for()


def test_all_moves_are_those_of_half_a_per_cent_and_plain_names_come_first(page):
    begin_alone(page, size=5)
    show(page, "watch")
    open_search(page)
    page.get_by_label("Player", exact=True).select_option("mc_rave")
    page.get_by_label("Settings of Player").fill("sims=2000")
    page.get_by_label("Settings of Player").blur()
    page.get_by_role("button", name="Search").click()
    page.locator(".board .disc.best").wait_for()
    page.get_by_role("button", name="Search").wait_for()
    heads = page.get_by_role("region", name="Candidates, best first").locator("th").all_inner_texts()
    assert heads == ["Move", "Chance", "Simulations", "Share", "Line"]
    page.get_by_text("Share", exact=True).first.click()
    page.get_by_label("All moves").check()
    shares = [float(text) for text in page.locator(".board .marks text").all_text_contents()]
    assert min(shares) >= 0.5
    assert len(shares) < 25
    page.get_by_label("Details").check()
    page.get_by_role("columnheader", name="Q~").wait_for()
    assert {"V", "N", "N %", "Q"} <= set(page.locator("th").all_inner_texts())


def test_the_count_of_moves_fits(page):
    begin_alone(page, size=19, moves=110)
    for view in ("play", "review", "watch", "compare"):
        show(page, view)
        inside = page.locator(".navigation").evaluate(
            """(bar) => {
                const range = document.createRange();
                range.selectNodeContents(bar.querySelector(".count"));
                const button = bar.querySelector("button:last-of-type").getBoundingClientRect();
                return range.getBoundingClientRect().left - button.right;
            }"""
        )
        assert inside > 0, view
        assert re.search("110/110", page.locator(".navigation .count").first.inner_text())
