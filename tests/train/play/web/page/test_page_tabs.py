"""Tabs of a browser: each has its own game, and keeps it when it reloads or loses the connection."""

from __future__ import annotations

import json
import re

from page_tools import begin, cell, click, wait_for_moves, wait_until_ready


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


def reload_with(page, changes: dict) -> None:
    """Reload the page, and change the game that the tab has stored before the page reads it."""
    page.add_init_script(f"({_STORED})({json.dumps(changes)})")
    page.reload()


_STORED = """(changes) => {
    const stored = JSON.parse(sessionStorage.getItem("rlgo-game"));
    sessionStorage.setItem("rlgo-game", JSON.stringify({ ...stored, ...changes }));
}"""
