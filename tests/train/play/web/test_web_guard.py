"""Access to the server, and the headers of every answer."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from web_tools import HOME, SESSION, SMALL, TOKEN, make_client, open_page

from train.play.web.options import Limits
from train.play.web.server.guard import HEADERS, cookie_name

COOKIE = cookie_name("127.0.0.1:8000")
SGF = f"/api/sgf?token={TOKEN}"  # a cookie is for one port
PATHS = ["/", "/api/players", "/api/weights", "/api/nothing"]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return make_client(knows_token=False)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "given", [{}, {"cookie": f"{COOKIE}=x"}, {"cookie": f"other={TOKEN}"}, {"authorization": f"Bearer {TOKEN}"}]
)
def test_without_the_token_nothing_is_answered(client, path, given):
    answer = client.get(path, headers=given)
    assert answer.status_code == 403
    assert "token" in answer.json()["error"]
    page = client.get("/", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "rlgo web" in page.text


@pytest.mark.parametrize("token", ["", "x", TOKEN + "x", TOKEN[:-1], "ä", "%00"])
def test_a_wrong_token_in_the_address(client, token):
    assert client.get(f"/api/players?token={token}").status_code == 403
    assert client.get(f"/?token={token}").status_code == 403


def test_two_ways_to_know_the_token(client):
    assert client.get("/api/sgf", headers={"cookie": f"a=b; {COOKIE}={TOKEN}"}).status_code == 200
    assert client.get(f"/api/sgf?token={TOKEN}").status_code == 200


def test_the_printed_address_sets_a_cookie_and_hides_the_token():
    with make_client(knows_token=False) as browser:
        first = browser.get(f"/?token={TOKEN}", follow_redirects=False)
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        page = browser.get("/")
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert TOKEN not in page.text
        with open_page(browser):  # the cookie is enough for the WebSocket, and for a second tab
            pass


def test_an_old_token_in_the_address_leaves_a_good_cookie_alone():
    with make_client(knows_token=False) as browser:
        browser.get(f"/?token={TOKEN}")
        answer = browser.get("/?token=old", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "set-cookie" not in answer.headers
        assert browser.get("/").status_code == 200


def test_cookies_of_other_servers_are_read_as_browsers_write_them(client):
    cookies = f'a={{"b": 1}}; c[d]=e; {COOKIE}={TOKEN}'
    assert client.get("/api/sgf", headers={"cookie": cookies}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8000", "", "10.0.0.1", "x@127.0.0.1"]
)
def test_another_name_is_refused_even_with_the_token(host):
    client = make_client()
    assert client.get(SGF, headers={"host": host}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"{SESSION}?token={TOKEN}", headers={"host": host}),
    ):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:9", "localhost", "[::1]:8000"])
def test_names_of_this_computer(host):
    assert make_client().get(SGF, headers={"host": host}).status_code == 200


def test_bound_to_all_addresses_only_addresses_and_own_names_count():
    client = make_client(SMALL._replace(host="0.0.0.0"))
    assert client.get(SGF, headers={"host": "192.168.1.2:8000"}).status_code == 200
    assert client.get(SGF, headers={"host": "evil.example:8000"}).status_code == 403
    named = make_client(SMALL._replace(host="board.example"))
    assert named.get(SGF, headers={"host": "board.example"}).status_code == 200
    assert named.get(SGF, headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9000", "http://127.0.0.1", "file://"]
)
def test_pages_of_other_sites_are_refused(origin):
    client = make_client()
    assert client.get("/api/sgf", headers={"origin": origin}).status_code == 403
    assert client.post("/api/probe", json={}, headers={"origin": origin}).status_code == 403
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(SESSION, headers={"origin": origin}):
        pass


def test_a_websocket_needs_the_token(client):
    for path in (SESSION, f"{SESSION}?token=x"):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect(path, headers={"origin": HOME}):
            pass
    with client.websocket_connect(f"{SESSION}?token={TOKEN}") as socket:
        assert '"hello"' in socket.receive_text()


@pytest.mark.parametrize("path", [*PATHS, "/static/page.js", f"/?token={TOKEN}"])
def test_headers_of_every_answer(path):
    for knows_token in (True, False):
        answer = make_client(knows_token=knows_token).get(path, follow_redirects=False)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert answer.headers["cache-control"] == ("no-cache" if path.startswith("/static/") else "no-store")


def test_the_policy_allows_nothing_from_elsewhere():
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "*" not in policy


def test_static_files_need_no_token_and_stay_in_their_folder(client):
    assert client.get("/static/page.js").status_code == 200
    for path in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "..\\app.py", "nothing.js"):
        assert client.get(f"/static/{path}").status_code in (403, 404)


def test_large_bodies_are_refused():
    client = make_client(SMALL._replace(limits=Limits(message_bytes=1_000)))
    answer = client.post("/api/probe", content=b"x" * 1_001)
    assert (answer.status_code, answer.json()) == (413, {"error": "expected a request of at most 1,000 bytes"})

    def chunks():
        for _ in range(11):
            yield b"x" * 100

    assert client.post("/api/probe", content=chunks()).status_code == 413
    assert client.post("/api/probe", content=b"x" * 1_000).status_code == 422


def test_servers_at_several_ports_have_cookies_of_their_own():
    assert len({cookie_name("127.0.0.1:8000"), cookie_name("127.0.0.1:8001"), cookie_name("127.0.0.1")}) == 3
