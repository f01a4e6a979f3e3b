"""The page of `rlgo web`: its build, and its behaviour in a real browser."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import train

FOLDER = Path(train.__file__).parent / "play" / "web"
VIEWS = ("play", "review", "watch", "probe", "compare", "runs")


def digest_of_sources(page: Path) -> str:
    """SHA-256 of all names and contents, as `build.mjs` records it."""
    files = [path for folder in (page, page / "src") for path in folder.iterdir() if path.is_file()]
    content = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.relative_to(page).as_posix()):
        content.update(f"{path.relative_to(page).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return content.hexdigest()


def test_build_is_not_stale():
    recorded = (FOLDER / "static" / "sources.sha256").read_text().strip()
    assert recorded == digest_of_sources(FOLDER / "page"), "the page's sources have changed: run `make web`"


def test_page_is_small_and_needs_nothing_from_elsewhere():
    files = list((FOLDER / "static").iterdir())
    assert sum(path.stat().st_size for path in files) < 200_000
    index = (FOLDER / "static" / "index.html").read_text()
    assert "http" not in index
    assert not re.search(r"<style| style=|<script>", index)  # a strict Content-Security-Policy would refuse them


# --- in a browser ---


@pytest.fixture(scope="module")
def url(sources, tmp_path_factory) -> Iterator[str]:  # noqa: ARG001 - a fixture that the server's process needs
    """A server of its own, with a folder for records: the URL that it prints, token included."""
    command = [sys.executable, "-m", "rlgo", "web", "--no-browser", "--port", "0", "--player", "mc_rave,sims=300"]
    command += ["--sgf", str(tmp_path_factory.mktemp("records")), "--runs", str(tmp_path_factory.mktemp("runs"))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "token=" in line)
            yield re.search(r"http://\S+", line)[0]
            process.terminate()
            process.communicate(timeout=300)
        finally:
            process.kill()


@pytest.fixture
def page(browser, url):
    """A tab at 1280 pixels that may not write an error to its console, such as one about its security policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(300_000)  # the server may have to compile
    problems = []
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(url)
    wait_until_ready(page)
    yield page
    context.close()
    assert not problems


def wait_until_ready(page) -> None:
    page.locator(".result", has_text="to play").wait_for()


def show(page, view: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=view.capitalize()).click()
    page.get_by_role("main", name=view.capitalize()).wait_for()


def open_text(page, text: str) -> None:
    """Open a record."""
    page.get_by_label("SGF file").set_input_files({"name": "a.sgf", "mimeType": "text/plain", "buffer": text.encode()})


def begin(page, size: int = 5, white: str = "mc_rave", settings: str = "sims=300", black: str = "human") -> None:
    """Begin a new game through its dialog."""
    show(page, "play")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("Black", exact=True).select_option(black)
    dialog.get_by_label("White", exact=True).select_option(white)
    if white != "human":
        open_advanced(dialog)
        dialog.get_by_label("Settings of White").fill(settings)
    dialog.get_by_label("Board").select_option(str(size))
    dialog.get_by_role("button", name="Begin").click()
    dialog.wait_for(state="hidden")
    page.locator(f".board[data-size='{size}']").first.wait_for()


def open_advanced(dialog) -> None:
    """Show the settings in the dialog of a new game, which stay shown afterwards."""
    if not dialog.get_by_label("Settings of White").is_visible():
        dialog.get_by_text("Advanced").click()


def cell(page, vertex: str, content: str):
    """A point of the first board, with what is on it."""
    return page.locator(".board").first.locator(f"[role=gridcell][aria-label^='{vertex}, {content}']")


def click(page, vertex: str) -> None:
    """Click a point of the first board."""
    page.locator(".board").first.click(position=place(page, vertex))


def tap(page, vertex: str) -> None:
    """Tap a point of the first board with a finger."""
    page.locator(".board").first.tap(position=place(page, vertex))


def place(page, vertex: str) -> dict[str, float]:
    """Return where a point of the first board is, in pixels from its upper left corner."""
    board = page.locator(".board").first
    size = int(board.get_attribute("data-size"))
    column, row = "ABCDEFGHJKLMNOPQRST".index(vertex[0]), int(vertex[1:]) - 1
    scale = board.bounding_box()["width"] / ((size - 1) * 10 + 15.6)  # as board.tsx draws it
    return {"x": (9.6 + 10 * column) * scale, "y": (6 + 10 * (size - 1 - row)) * scale}


def moves_shown(page) -> str:
    """Such as ``2/4``: the second of four moves is shown."""
    return page.locator(".navigation .count").first.inner_text()


def wait_for_moves(page, text: str) -> None:
    page.locator(".navigation .count", has_text=re.compile(f"^{text}$")).first.wait_for()


def test_whole_game_against_an_engine(page):
    begin(page)
    click(page, "C3")
    cell(page, "C3", "black").wait_for(state="attached")
    result = page.locator(".result")
    for _ in range(30):  # the engine passes, too, once it is ahead
        page.locator(".result", has_text=re.compile("Black to play|wins")).wait_for()
        if "wins" in result.inner_text():
            break
        before = moves_shown(page)
        page.get_by_role("button", name="Pass").click()
        page.locator(".navigation .count").filter(has_not_text=before).wait_for()
    assert "wins" in result.inner_text()
    assert "game is over" in page.locator("#live").inner_text() or "Score" in page.locator("#live").inner_text()
    page.get_by_role("region", name="Score").wait_for()  # with ownership and dead stones
    assert page.locator(".board .owner").count() > 5


def test_a_strength_is_one_of_the_settings_and_replaces_others(page):
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("White", exact=True).select_option("rlgo")
    open_advanced(dialog)
    settings, strength = dialog.get_by_label("Settings of White"), dialog.get_by_label("Level of White")
    assert strength.locator("option").count() == 12
    settings.fill("sims=50,resign=0.1")
    settings.blur()
    strength.select_option("3")
    assert settings.input_value() == "strength=3,resign=0.1"
    strength.select_option("")
    assert settings.input_value() == "resign=0.1"
    dialog.get_by_label("White", exact=True).select_option("mc_rave")
    assert strength.count() == 0


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


def test_watch_view_during_a_search(page):
    begin(page, white="human")
    show(page, "watch")
    search = page.get_by_role("region", name="Search", exact=True)
    search.get_by_label("Player", exact=True).select_option("mc_rave")
    search.get_by_label("Seconds").fill("120")  # until it is stopped
    search.get_by_role("button", name="Search").click()
    rows = page.get_by_role("region", name="Candidates, best first").locator("tbody tr")
    rows.nth(5).wait_for()
    search.get_by_role("button", name="Stop").wait_for()  # still running
    page.locator(".board .disc.best").wait_for()
    candidates = page.locator(".board .disc").count()
    assert candidates <= 12
    assert "best:" in page.locator(".legend").inner_text()
    page.get_by_label("All moves").check()
    page.locator(".board .disc").nth(23).wait_for()  # all that are legal and not silly
    assert "Black\N{RIGHT SINGLE QUOTATION MARK}s chance" in search.inner_text()
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
        for text in rows.locator("td:nth-child(7)").all_inner_texts()
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


def test_second_tab_has_a_game_of_its_own(page, url):
    begin(page, white="human")
    click(page, "C3")
    other = page.context.new_page()
    other.goto(url)
    wait_until_ready(other)
    wait_for_moves(other, "0/0")
    begin(other, size=7, white="human")
    wait_for_moves(page, "1/1")
    assert page.locator(".board").first.get_attribute("data-size") == "5"


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


def test_reload_keeps_the_game(page):
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    page.reload()
    cell(page, "C3", "black").wait_for(state="attached")


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


def reload_with(page, changes: dict) -> None:
    """Reload the page, and change the game that the tab has stored before the page reads it."""
    page.add_init_script(f"({_STORED})({json.dumps(changes)})")
    page.reload()


_STORED = """(changes) => {
    const stored = JSON.parse(sessionStorage.getItem("rlgo-game"));
    sessionStorage.setItem("rlgo-game", JSON.stringify({ ...stored, ...changes }));
}"""


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


def test_wrong_token_is_refused(browser, url):
    context = browser.new_context()
    page = context.new_page()
    assert page.goto(url + "wrong").status == 403
    assert page.locator(".board").count() == 0
    context.close()


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


# --- records and reviews ---

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
    worst.first.click()
    page.locator(".board .ghost").first.wait_for()  # the better line
    page.mouse.move(1, 1)
    page.locator(".board .ground.best").wait_for()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.getElementById('comment').value.includes('lost')")
    ticks = page.get_by_role("region", name="Review").locator(".tick.x").all_text_contents()
    assert ticks == [str(int(tick)) for tick in ticks]  # whole moves


def test_one_estimate_with_its_name_and_a_result_at_the_end(page):
    begin(page, white="human")
    for vertex, moves in (("C3", "1/1"), ("C4", "2/2")):
        page.get_by_label("Move", exact=True).fill(vertex)
        page.keyboard.press("Enter")
        wait_for_moves(page, moves)
    page.get_by_role("button", name="Score").click()
    score = page.get_by_role("region", name="Score")
    score.get_by_text("Estimate by playouts").wait_for()
    assert "wins" not in score.inner_text()
    assert "%" not in score.inner_text()
    for moves in ("3/3", "4/4"):
        page.get_by_role("button", name="Pass").click()
        wait_for_moves(page, moves)
    score.get_by_text(re.compile("^Result: White wins by")).wait_for()
    assert "%" not in score.inner_text()
    black, white, komi, _ = [float(text) for text in score.locator("dd").all_inner_texts()]
    assert float(re.search(r"by ([\d.]+)", score.inner_text())[1]) == white + komi - black


def test_ownership_at_any_time(page):
    begin(page, white="human")
    click(page, "C3")
    wait_for_moves(page, "1/1")
    assert page.locator(".board .owner").count() == 0
    page.keyboard.press("e")
    page.locator(".board .owner").first.wait_for()
    page.get_by_text(re.compile("mean of playouts: ")).first.wait_for()
    show(page, "watch")
    page.locator(".board .owner").first.wait_for()
    page.reload()
    page.locator(".board .owner").first.wait_for()
    page.keyboard.press("e")
    page.locator(".board .owner").first.wait_for(state="detached")


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


def test_a_level_that_finds_yours_in_three_games(page):
    """Losing on purpose: 6, 3, 2, and then it is known; one down after each further loss."""
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
    assert "level 2" in page.get_by_role("region", name="Players").inner_text()


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
    page.wait_for_function("scrollY === 0")
    page.evaluate("location.hash = 'play'")
    buttons = page.get_by_role("region", name="Moves").locator(".buttons button").all()
    assert len({round(button.bounding_box()["width"]) for button in buttons}) == 1


def test_runs_are_laid_over_one_another(page):
    """The server has none; these are made up."""
    run = {"state": "finished", "reason": "", "games": 100, "of": 100, "games_per_s": 5.0, "elo": 1000.0, "size": 9,
           "features": "1 LI", "resume": ""}  # fmt: skip
    all_ = [{**run, "name": f"run{i}", "started": f"2026-01-0{i}T00:00:00"} for i in range(1, 7)]
    page.route("**/api/runs", lambda route: route.fulfill(json={"folder": "runs", "tensorboard": None, "runs": all_}))

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
    assert curves_card.locator("figure.chart").first.locator("path.line").count() == 4  # two lines, and their keys
    assert "run=run6" in asked[-1]  # the shapes of the selected run
    assert "Games/s" not in page.get_by_role("region", name="List of runs").inner_text()


def test_axe_finds_nothing(page):
    """The rules of axe, in every view, light and dark; contrast is one of them."""
    base = pytest.importorskip("axe_playwright_python.base")
    source = next(Path(base.__file__).parent.glob("axe*.js")).read_text()
    begin(page, size=9, white="human")
    click(page, "E5")
    page.keyboard.press("e")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for view in VIEWS:
            show(page, view)
            if view == "play":
                page.keyboard.press("s")
                page.get_by_role("region", name="Score").wait_for()
            page.evaluate(source)
            rules = {} if scheme == "light" else {"runOnly": ["color-contrast"]}  # nothing else depends on it
            found = page.evaluate("rules => axe.run(rules)", rules)["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (scheme, view)
