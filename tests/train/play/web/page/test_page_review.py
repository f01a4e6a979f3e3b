"""Review in a browser: losses, lines, variations, marks, the game tree, and records that keep what they had."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_tools import begin, cell, click, open_search, open_text, show, wait_for_moves, wait_until
from sgfmill import sgf
from three_games import GAMES

from rlgo.go.sgf_files import OWN

POINTS = ["cc", "cb", "aa", "dc", "ea", "dd", "ae", "bb", "ee", "bd", "eb", "cd"]
LOSSES = (3, 6, 2, 1, 12, 7, 4, 2, 1, 25, 5, 3)  # of Black's and White's moves in turn, in per cent
MOVES = "".join(f";{'BW'[i % 2]}[{point}]" for i, point in enumerate(POINTS))
BRANCHES = "(;SZ[5]KM[0.5]C[start];B[cc]C[one];W[cb](;B[bb];W[dc])(;B[dd]N[other](;W[dc])(;W[de])))"


def reviewed(page, text: str, sims: int = 40) -> None:
    """Open a record, and let it be reviewed."""
    open_text(page, text)
    wait_for_moves(page, r"\d+/\d+")
    show(page, "review")
    open_search(page)
    page.get_by_label("of", exact=True).select_option("simulations")
    page.get_by_label("For each position").fill(str(sims))
    page.get_by_label("For each position").blur()
    page.get_by_role("button", name="Review", exact=True).click()
    page.get_by_text(re.compile(r"^Reviewed by .*: (\d+) of \1 positions\.$")).wait_for()


def reviewed_record() -> str:
    """A record as a review leaves it, with a better line for its tenth move."""
    chances = [50]
    for i, loss in enumerate(LOSSES):
        chances.append(chances[-1] + (loss if i % 2 else -loss))
    text = ""
    for i in reversed(range(len(POINTS))):
        chance, said = chances[i + 1], f"rlgo: Black {chances[i + 1]:.1f}%; lost {LOSSES[i]:.1f}%"
        text = f";{'BW'[i % 2]}[{POINTS[i]}]SBKV[{chance}.00]C[{said}]{text}"
        text = f"({text})(;W[be]N[better];B[de];W[ad])" if i == 9 else text
    return f"(;SZ[5]KM[0.5]SBKV[50.00]{text})"


def rows(page):
    return page.get_by_role("region", name="Moves that lost most").locator("tbody tr")


def test_the_worst_moves_of_each_side_and_their_lines(page):
    open_text(page, reviewed_record())
    wait_for_moves(page, r"\d+/12")
    show(page, "review")
    rows(page).filter(has_text="White").first.wait_for()
    worst = [text.split() for text in rows(page).all_inner_texts()]
    assert [(row[0], row[1], row[2]) for row in worst[:3]] == [
        ("10", "White", "B2"),
        ("5", "Black", "E5"),
        ("6", "White", "D2"),
    ]
    assert [sum(row[1] == color for row in worst) for color in ("Black", "White")] == [5, 5]
    assert [row[4] for row in worst if row[1] == "Black"] == ["12.0", "5.0", "4.0", "3.0", "2.0"]
    assert worst[0][3:6] == ["B1", "\N{EN DASH}", "25.0"]
    page.locator("label", has_text=re.compile("^White$")).click()
    rows(page).nth(5).wait_for(state="detached")
    assert [text.split()[0] for text in rows(page).all_inner_texts()] == ["10", "6", "2", "12", "8"]
    rows(page).first.locator("td").nth(1).click()
    wait_for_moves(page, "10/12")  # the move that was clicked
    cell(page, "B2", "white, last move").wait_for(state="attached")
    assert page.locator(".board .ghost").count() == 0
    rows(page).first.get_by_role("button").click()
    wait_for_moves(page, "9/12")  # the line begins before it
    page.locator(".board .ghost").nth(2).wait_for()
    assert page.locator(".board .ghost text").all_text_contents() == ["1", "2", "3"]
    page.keyboard.press("End")
    page.locator(".board .ghost").first.wait_for(state="detached")


def test_keys_go_from_mistake_to_mistake(page):
    open_text(page, reviewed_record())
    wait_for_moves(page, r"\d+/12")
    show(page, "review")
    rows(page).filter(has_text="White").first.wait_for()
    page.keyboard.press("Home")
    wait_for_moves(page, "0/12")
    for number in (1, 2, 3, 5):  # White's first loss is small
        page.keyboard.press(".")
        wait_for_moves(page, f"{number}/12")
    page.keyboard.press(",")
    wait_for_moves(page, "3/12")


def test_losses_and_numbers_on_the_stones(page):
    open_text(page, reviewed_record())
    wait_for_moves(page, r"\d+/12")
    show(page, "review")
    rows(page).filter(has_text="White").first.wait_for()
    assert page.locator(".board .disc").count() == 0
    page.get_by_label("Stones show").select_option("losses")
    stones = page.locator(".board .stone:not(.ghost)").count()
    wait_until(page, f"document.querySelectorAll('.board .disc').length === {stones}")
    page.get_by_label("Stones show").select_option("move numbers")
    texts = page.locator(".board .marks text")
    texts.get_by_text("12", exact=True).wait_for()
    assert page.locator(".board .disc").count() == 0
    page.keyboard.press("ArrowLeft")
    texts.get_by_text("12", exact=True).wait_for(state="detached")
    show(page, "play")
    texts.get_by_text("11", exact=True).wait_for()


def test_a_variation_is_evaluated_and_the_main_line_stays_in_sight(page):
    reviewed(page, f"(;SZ[5]KM[0.5]{MOVES})")
    before = rows(page).all_inner_texts()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    wait_for_moves(page, "1/12")
    cell(page, "B2", "empty").wait_for(state="attached")
    click(page, "B2")
    wait_for_moves(page, "2/2")
    curve = page.get_by_role("region", name="Review").locator("figcaption .key")
    curve.get_by_text(re.compile(r"in the variation\s*[\d.]+ %")).wait_for()
    page.locator("dt", has_text="Move").locator("+ dd", has_text="2 B2").wait_for()
    assert rows(page).all_inner_texts() == before
    rows(page).first.locator("td").nth(1).click()
    wait_for_moves(page, rf"{before[0].split()[0]}/12")  # back on the main line


def test_the_game_tree(page):
    open_text(page, BRANCHES)
    wait_for_moves(page, "4/4")
    show(page, "review")
    nodes = page.locator("svg.tree g")
    assert nodes.count() == 8
    assert page.locator("svg.tree .comment").count() == 2
    nodes.nth(7).click()
    wait_for_moves(page, "4/4")
    cell(page, "D1", "white").wait_for(state="attached")
    nodes.nth(1).click()
    wait_for_moves(page, "1/4")
    assert page.get_by_label("Comment on this position").input_value() == "one"


def test_stones_set_up_in_a_variation_keep_what_is_before_them(page):
    open_text(page, "(;SZ[5]KM[0.5];B[cc]C[one];W[bb](;B[dd])(;AW[aa]C[edit];B[bd]))")
    wait_for_moves(page, "3/3")
    page.keyboard.press("ArrowLeft")
    wait_for_moves(page, "2/3")
    page.get_by_role("group", name="Variations").get_by_role("button", name=re.compile("^B: ")).first.click()
    wait_for_moves(page, "0/1")
    cell(page, "A5", "white").wait_for(state="attached")
    page.keyboard.press("End")
    wait_for_moves(page, "1/1")
    page.reload()
    cell(page, "B2", "black").wait_for(state="attached")
    page.keyboard.press("Home")
    wait_for_moves(page, "0/1")
    page.keyboard.press("ArrowLeft")  # to before the stones
    wait_for_moves(page, "2/3")
    cell(page, "A5", "empty").wait_for(state="attached")
    page.keyboard.press("ArrowLeft")
    wait_for_moves(page, "1/3")
    show(page, "review")
    assert page.get_by_label("Comment on this position").input_value() == "one"


def test_marks_are_drawn_and_set(page, tmp_path):
    open_text(page, "(;SZ[5];B[cc]TR[aa:ab]SQ[cc]MA[ca]CR[da]LB[ea:1]LN[ae:ee]AR[ad:ed])")
    wait_for_moves(page, "1/1")
    drawn = page.locator(".board .drawn")
    assert (drawn.locator("> path").count(), drawn.locator("text").all_text_contents()) == (5, ["1"])
    assert drawn.locator(".between path").count() == 3  # a line, and an arrow with its head
    show(page, "review")
    for tool, vertices in (("triangle", "A5"), ("circle", "C3"), ("label", "B2"), ("arrow", "A1 E5")):
        page.get_by_title(tool, exact=True).click()
        for vertex in vertices.split():
            click(page, vertex)
    drawn.locator(".between path").nth(4).wait_for(state="attached")
    assert drawn.locator("text").all_text_contents() == ["1", "A"]
    wait_for_moves(page, "1/1")  # none of them was a move
    node = sgf.Sgf_game.from_string(saved(page, tmp_path)).get_main_sequence()[1]
    assert (node.get("TR"), node.get("CR"), node.has_property("SQ")) == ({(3, 0)}, {(4, 3), (2, 2)}, False)
    assert (node.get("LB"), node.get("AR")[-1]) == ([((4, 4), "1"), ((1, 1), "A")], ((0, 0), (4, 4)))


def test_comments_that_are_not_saved_are_asked_about(page):
    asked: list[str] = []

    def refuse(dialog: Any) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    open_text(page, BRANCHES)
    wait_for_moves(page, "4/4")
    show(page, "review")
    page.get_by_label("Comment on this position").fill("mine")
    page.get_by_label("Comment on this position").blur()
    page.locator("svg.tree .comment").nth(2).wait_for()
    page.once("dialog", refuse)
    show(page, "play")
    open_text(page, "(;SZ[9];B[ee])")
    page.wait_for_timeout(500)
    wait_for_moves(page, "4/4")
    assert "have not been saved" in asked[0]
    page.once("dialog", refuse)
    page.keyboard.press("n")
    page.get_by_role("dialog", name="New game").get_by_role("button", name="Begin").click()
    page.wait_for_timeout(500)
    assert len(asked) == 2
    page.get_by_role("button", name="Cancel").click()
    with page.expect_download():
        page.keyboard.press("w")
    begin(page, white="human")
    wait_for_moves(page, "0/0")
    assert len(asked) == 2


def test_a_file_of_several_games_asks_which_and_keeps_the_others(page, tmp_path):
    games = ((name, point) for name, point in (("Al", "aa"), ("Bo", "bb"), ("Cy", "dd")))
    open_text(page, "\n".join(f"(;SZ[5]PB[{name}]PW[Eve];B[cc];W[{point}])" for name, point in games))
    dialog = page.get_by_role("dialog", name="This file has 3 games")
    dialog.get_by_role("button", name="2: Bo").click()
    cell(page, "B4", "white").wait_for(state="attached")
    click(page, "A1")
    wait_for_moves(page, "3/3")
    page.reload()
    cell(page, "A1", "black").wait_for(state="attached")
    after = saved(page, tmp_path).replace("\n", "")
    assert after.index("PB[Al]") < after.index("PB[Bo]") < after.index("B[ae]") < after.index("PB[Cy]")
    assert "W[aa]" in after
    assert "W[dd]" in after


def test_a_record_that_could_not_be_read_strictly_says_so_before_it_is_saved(page):
    asked: list[str] = []
    open_text(page, "(;SZ[5]X1[y];B[cc];W[bb])")
    cell(page, "B4", "white").wait_for(state="attached")
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.keyboard.press("w")
    page.wait_for_timeout(500)
    assert "Only the moves were read" in asked[0]


def saved(page, folder: Path) -> str:
    """The record as it is saved."""
    with page.expect_download() as download:
        page.keyboard.press("w")
    download.value.save_as(folder / "saved.sgf")
    return (folder / "saved.sgf").read_text("utf-8")


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """What a node and those below it have lost, or got from others than a review."""
    for name in before.properties():
        was, now = before.get_raw_list(name), after.get_raw_list(name) if after.has_property(name) else []
        if now != was and not (name == "C" and now[0].startswith(was[0] + b"\nrlgo: ")):
            yield f"{path}/{name}: {was} {now}"
    for name in set(after.properties()) - set(before.properties()) - {"C", "SBKV", "BM", "DO", "AP", "CA", OWN}:
        yield f"{path}/{name}: new"
    yield from (f"{path}: {child.get_raw('N')}" for child in after[len(before) :] if child.get_raw("N") != b"better")
    for i, (child, other) in enumerate(zip(before, after, strict=False)):
        yield from differences(child, other, f"{path}/{i}")
    if len(after) < len(before):
        yield f"{path}: {len(after)} of {len(before)} variations"


@pytest.mark.parametrize("text", GAMES, ids=["japanese", "korean", "edited"])
def test_a_reviewed_game_keeps_all_that_it_had(page, tmp_path, text):
    reviewed(page, text, sims=10)
    page.keyboard.press("Home")
    click(page, "K10")  # a variation
    wait_for_moves(page, "1/1")
    page.get_by_text(re.compile(r"in the variation\s*[\d.]+ %")).wait_for()
    after = sgf.Sgf_game.from_string(saved(page, tmp_path)).get_root()
    next(child for child in after if child.get_move()[1] == (9, 9)).delete()  # a better first move may come after it
    assert list(differences(sgf.Sgf_game.from_string(text).get_root(), after)) == []
