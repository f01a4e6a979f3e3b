"""What the page asks over HTTP: every answer against its type, and the sums of the probe."""

from __future__ import annotations

import math

import numpy as np
import pytest
from starlette.testclient import TestClient
from web_tools import SMALL, check_fields, make_client

from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.features.weights import load_weights, shape_of
from rlgo.go.coords import to_vertex
from rlgo.learning.value import ValueFunction
from train.play.web.messages.positions import game_of
from train.play.web.messages.requests import Position

POSITION = {"size": 9, "moves": [["black", "E5"], ["white", "C3"], ["black", "G3"]]}
WEIGHTS = load_weights(checkpoints_dir() / "9x9-1M.npz")


TYPES = {  # of the answers, in types.ts
    "/api/probe": "Probe",
    "/api/probe/move": "ProbedMove",
    "/api/runs": "Runs",
    "/api/runs/curves": "Curves",
    "/api/runs/shapes": "Shapes",
}


class FakeRuns:
    """Two runs, one of which is damaged."""

    def describe(self) -> dict:
        run = {
            "name": "quick", "state": "running", "reason": "", "games": 5, "of": 10, "games_per_s": 1.5, "elo": None,
            "size": 9, "features": "1 LI", "started": "", "resume": "",
        }  # fmt: skip
        return {"folder": "runs", "runs": [run, {**run, "name": "s/b", "state": "damaged", "size": None}]}

    def curves(self, name: str, after: int = 0) -> dict:
        self.find(name)
        return {"after": after, "next": after + 10, "curves": {"strength/elo": [[5, 100.0]]}}

    def learned(self, name: str):
        self.find(name)
        return WEIGHTS, np.arange(len(WEIGHTS.theta))

    def find(self, name: str) -> None:
        if name != "quick":
            raise RlgoError(f"run {name!r}: no such run in runs")


@pytest.fixture(scope="module")
def client() -> TestClient:
    return make_client(SMALL, FakeRuns())


def post(client: TestClient, path: str, **body):
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.json()
    check_fields(TYPES[path], answer.json())
    return answer.json()


def get(client: TestClient, path: str, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.json()
    if path in TYPES:
        check_fields(TYPES[path], answer.json())
    return answer.json()


# ---------------------------------------------------------------------------------------------
# The probe
# ---------------------------------------------------------------------------------------------


def test_the_probe_adds_up_to_the_value(client):
    answer = post(client, "/api/probe", position=POSITION, weights="9x9-1M", top=3)
    game = game_of(Position.model_validate(POSITION, strict=False))
    V = ValueFunction(WEIGHTS)
    assert answer["value"] == pytest.approx(V.value(game.board), abs=1e-6)
    assert answer["value"] == pytest.approx(1 / (1 + math.exp(-answer["logit"])), abs=1e-6)
    assert sum(block["sum"] for block in answer["blocks"]) == pytest.approx(answer["logit"])
    assert [block["block"] for block in answer["blocks"]] == [b.name for b in WEIGHTS.features.blocks]
    for block in answer["blocks"]:
        weights = [abs(window["weight"]) for window in block["top"]]
        assert len(weights) == min(3, block["in_use"])
        assert weights == sorted(weights, reverse=True)
        check_fields("ProbeBlock", block)
        for window in block["top"]:
            check_fields("ProbeWindow", window)
    after = V.afterstates(game.board)
    assert set(answer["moves"]) == {"pass", *(to_vertex(p, 9) for p in game.legal_moves())}
    assert answer["moves"]["A1"] == pytest.approx(after[0], abs=1e-6)
    assert answer["moves"]["pass"] == pytest.approx(after[-1], abs=1e-6)
    assert "E5" not in answer["moves"]


def test_all_windows_of_the_probe_add_up_to_their_blocks(client):
    answer = post(client, "/api/probe", position=POSITION, weights="9x9-1M", top=2_000)
    for block in answer["blocks"]:
        assert sum(window["weight"] for window in block["top"]) == pytest.approx(block["sum"], abs=1e-3)


@pytest.mark.parametrize("top", [0, 5, 500])
def test_the_differences_of_a_move_add_up(client, top):
    answer = post(client, "/api/probe/move", position=POSITION, move="D4", weights="9x9-1M", top=top)
    shown = sum(window["difference"] for window in answer["windows"])
    assert len(answer["windows"]) <= top
    assert shown + answer["left_out"]["difference"] == pytest.approx(answer["difference"])
    assert answer["difference"] == pytest.approx(answer["after"]["logit"] - answer["before"]["logit"])
    probe = post(client, "/api/probe", position=POSITION, weights="9x9-1M")
    assert answer["after"]["value"] == pytest.approx(probe["moves"]["D4"], abs=1e-5)
    for window in answer["windows"]:
        assert window["difference"] == pytest.approx(window["after"] - window["before"], abs=2e-6)
        assert window["cells_before"] != window["cells_after"]
        check_fields("ChangedWindow", window)


def test_the_position_may_be_anything(client):
    free = {"size": 9, "setup": {"black": ["A1", "A2"], "white": ["J9"]}, "to_play": "white"}
    assert post(client, "/api/probe", position=free)["weights"] == "9x9-100M"
    assert post(client, "/api/probe", position={"size": 9})["moves"].keys() > {"A1", "pass"}


@pytest.mark.parametrize(
    ("path", "body", "status", "error"),
    [
        ("/api/probe", {}, 422, "position: Field required"),
        ("/api/probe", {"position": {"size": 99}}, 422, "position.size: Input should be less than or equal to 19"),
        ("/api/probe", {"position": {"size": 7}}, 400, "no shipped weights for board size 7: expected"),
        ("/api/probe", {"position": {}, "weights": "/etc/passwd"}, 400, "'/etc/passwd'"),
        ("/api/probe", {"position": {}, "weights": "9x9-2M"}, 400, "weights '9x9-2M': expected the name"),
        ("/api/probe", {"position": {"size": 5}, "weights": "9x9-1M"}, 400, "9x9-1M: expected weights for 5x5"),
        ("/api/probe", {"position": {"setup": {"black": ["A1", "A1"]}}}, 400, "setup Black A1: occupied"),
        ("/api/probe", {"position": {}, "top": 1e9}, 422, "top: "),
        ("/api/probe/move", {"position": POSITION, "move": "E5"}, 400, "move E5: illegal: occupied"),
        ("/api/probe/move", {"position": POSITION, "move": "Z5"}, 400, "vertex 'Z5'"),
    ],
)
def test_refusals_are_one_line(client, path, body, status, error):
    answer = client.post(path, json=body)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert error in answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 5_000, b"null"])
def test_malformed_bodies(client, body):
    for path in ("/api/probe", "/api/probe/move"):
        assert client.post(path, content=body).status_code == 422


# ---------------------------------------------------------------------------------------------
# Lists and runs
# ---------------------------------------------------------------------------------------------


def test_lists(client):
    players = get(client, "/api/players")["players"]
    assert players[0]["name"] == "random"
    for player in players:
        check_fields("PlayerInfo", player)
        for key in player["keys"]:
            check_fields("PlayerKey", key)
    files = get(client, "/api/weights")["weights"]
    for file in files:
        check_fields("WeightFile", file)
    assert [file["name"] for file in files if file["is_default"] and file["size"] == 9] == ["9x9-100M"]
    assert {file["size"] for file in files} == {9, 13, 19}
    assert get(client, "/api/sgf") == {"files": []}


def test_runs(client):
    runs = get(client, "/api/runs")
    assert [run["name"] for run in runs["runs"]] == ["quick", "s/b"]
    assert get(client, "/api/runs/curves", run="quick", after=5)["next"] == 15
    assert client.get("/api/runs/curves?run=slow").json()["error"] == "run 'slow': no such run in runs"
    assert client.get("/api/runs/curves").status_code == 422
    without = make_client().get("/api/runs")
    assert (without.status_code, "--runs" in without.json()["error"]) == (400, True)


def test_shapes_by_weight_and_by_occurrences(client):
    block = next(block for block in WEIGHTS.features.blocks if block.name == "2x2-LD")
    strongest = get(client, "/api/runs/shapes", weights="9x9-1M", block="2x2-LD", top=4)
    weights = [shape["weight"] for shape in strongest["shapes"]]
    assert weights == pytest.approx(np.sort(np.abs(WEIGHTS.block(block)))[::-1][:4], abs=1e-6)
    assert {shape["occurrences"] for shape in strongest["shapes"]} == {None}
    frequent = get(client, "/api/runs/shapes", run="quick", block="2x2-LD", sort="occurrences", top=4)
    assert [shape["occurrences"] for shape in frequent["shapes"]] == [block.stop - i for i in (1, 2, 3, 4)]
    first = frequent["shapes"][0]
    check_fields("Shape", first)
    expected = shape_of(WEIGHTS, block.stop - 1)
    assert (first["row"], first["col"], first["cells"]) == (expected.row, expected.col, expected.cells.tolist())
    assert first["weight"] == pytest.approx(expected.weight, abs=1e-6)
    for query in ("weights=9x9-1M&sort=occurrences", "weights=9x9-1M&block=x", "", "run=quick&weights=9x9-1M"):
        assert client.get(f"/api/runs/shapes?{query}").status_code == 400


def test_unknown_paths_and_methods_are_json_errors(client):
    assert client.get("/api/nothing").json() == {"error": "Not Found"}
    assert client.delete("/api/players").status_code == 405
    assert "error" in client.post("/api/players").json()
