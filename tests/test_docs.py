"""README and documentation: links work, code runs, and figures match the raw results."""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from documents import Block, agrees, blocks_of, check_words, comparable, run_command, transcript

from rlgo.base.budget import BATCH_SECONDS, SLICE_SECONDS
from train.experiments.results.analysis import read_raw, scores_of
from train.play.web.options import Limits
from train.players import engines
from train.players.keys import PLAYERS
from train.players.levels import LEVELS, STRENGTHS, spec_of_level

ROOT = Path(__file__).resolve().parents[1]
DOCS, RESULTS = ROOT / "docs", ROOT / "results"
LAB = DOCS / "lab"
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "checkpoints" / "README.md"]
PAGE_OF_RESULTS = (LAB / "results.md").read_text("utf-8")
NOTEBOOKS = sorted((DOCS / "examples").glob("*.ipynb"))
# Optional extras, by what shows that a block needs them.
NEEDS = {"import pyspiel": "pyspiel", "train.play.pettingzoo": "pettingzoo", "rlgo.vector_env": "gymnasium"}


BLOCKS = {page.relative_to(ROOT).as_posix(): blocks_of(page) for page in PAGES}


def python_blocks() -> list:
    """Every ```python block of every page, and what it prints, if the page says that."""
    return [
        pytest.param(block.text, after.text if after.is_output else None, id=block.name)
        for blocks in BLOCKS.values()
        for block, after in itertools.zip_longest(blocks, blocks[1:], fillvalue=Block("", "", "", False))
        if block.language == "python" and block.is_run
    ]


def test_readme_is_short():
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 110
    assert max(map(len, lines)) <= 100


def test_limits_are_those_of_the_documents():
    """docs/reliability.md, docs/web.md."""
    assert (engines.ANSWER_TIMEOUT, engines.GRACE_SECONDS) == (60, 5)
    assert (engines._MOST_BYTES, engines._MOST_ERRORS) == (1024 * 1024, 4 * 1024)
    assert (SLICE_SECONDS, BATCH_SECONDS) == (0.01, 0.1)
    assert (Limits().seconds, Limits().tabs, Limits().players) == (120, 32, 48)


def test_no_placeholder_is_left():
    for page in PAGES:
        assert not re.search(r"\b[A-Z]+_(OUTPUT|TABLE|SENTENCE)\b", page.read_text("utf-8")), page.name


@pytest.mark.slow
@pytest.mark.parametrize(("code", "expected"), python_blocks())
def test_python_block_runs(code, expected, tmp_path, monkeypatch, capsys):
    for line, module in NEEDS.items():
        if line in code:
            pytest.importorskip(module)
    if "import torch" in code and importlib.util.find_spec("torch") is None:  # which is too large to install for a test
        data = SimpleNamespace(IterableDataset=object, get_worker_info=lambda: None)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(utils=SimpleNamespace(data=data)))
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    exec(compile(code, "documentation", "exec", dont_inherit=True), names)
    if expected is not None:
        assert comparable(capsys.readouterr().out) == comparable(expected)


def test_there_are_python_blocks():
    pages = {block.id.rpartition("-")[0] for block in python_blocks()}
    assert {"README.md", "python.md", "engine.md", "arena.md"} <= pages


def printed_by(cell) -> list[str]:
    """The text that a cell of a notebook prints and returns, without what goes to standard error."""
    outputs = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
    return [line for o in outputs for line in comparable(o.get("text") or o.get("data", {}).get("text/plain", ""))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "notebook",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.thorough] * (path.stem == "own_network"))  # a minute
        for path in NOTEBOOKS
    ],
)
def test_notebook_runs(notebook, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.read(notebook, as_version=4)
    stored = [printed_by(cell) for cell in book.cells]
    client = nbclient.NotebookClient(book, timeout=None, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert [printed_by(cell) for cell in book.cells] == stored
    assert any(stored)


# ---------------------------------------------------------------------------------------------
# Commands, and what they print
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder in which the commands of all pages run, and what each has printed."""
    path = tmp_path_factory.mktemp("documents")
    for name in ("docs", "checkpoints"):
        (path / name).symlink_to(ROOT / name)
    return path, {}


@pytest.mark.slow
@pytest.mark.parametrize("page", [name for name, blocks in BLOCKS.items() if any(b.is_transcript for b in blocks)])
def test_commands_print_what_the_documents_show(page, folder, monkeypatch):
    path, printed = folder
    monkeypatch.chdir(path)
    for block in BLOCKS[page]:
        if named := re.match(r"# (\w+\.py)\n", block.text):
            Path(named[1]).write_text(block.text, "utf-8")
        if not block.is_transcript or not block.is_run:
            continue
        for command, expected in transcript(block.text):
            if command not in printed:
                printed[command] = run_command(command, expected)
            assert agrees(printed[command], expected), f"{block.name}: $ {command}\n{printed[command]}"


def test_the_comparison_sees_other_numbers():
    assert agrees("9x9: 63 weights\n a\n b\n200 games in 55 s", "9x9: 63 weights\n...\n200 games in 41 s\n")
    assert not agrees("9x9: 64 weights\n a\n b\n200 games in 55 s", "9x9: 63 weights\n...\n200 games in 41 s\n")
    assert not agrees("9x9: 63 weights\nand more", "9x9: 63 weights\n")


@pytest.mark.parametrize("page", BLOCKS)
def test_blocks_are_run_or_say_why_not(page):
    """Commands parse; what is printed belongs to a command or a Python block that is run."""
    for block in BLOCKS[page]:
        if block.language in ("", "py"):
            is_checked = block.is_transcript or block.is_output or bool(block.commands)
            assert (is_checked and block.language == "") or not block.is_run, f"{block.name}: {block.text[:80]}"
        if not block.language:
            for command in block.commands:
                if command.startswith("rlgo "):
                    check_words(command)


# ---------------------------------------------------------------------------------------------
# Links
# ---------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    names = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return names | set(re.findall(r'id="([^"]+)"', text))


def broken_links(page: Path, text: str) -> list[str]:
    """The relative links of a page's text that lead nowhere."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        is_missing = not target.exists()
        if is_missing or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=BLOCKS)
def test_links_lead_somewhere(page):
    assert not broken_links(page, page.read_text("utf-8"))


def test_every_picture_is_shown_and_has_a_command():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    shown = "".join(page.read_text("utf-8") for page in PAGES)
    for picture in (path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.suffix in (".png", ".gif")):
        assert f"{Path(picture).name})" in shown, picture
        assert f"`{picture}`" in text or picture.startswith("concepts/"), picture


def test_the_check_of_links_sees_broken_ones():
    page = DOCS / "index.md"
    text = "[a](training.md) [b](nowhere.md) [c](training.md#nowhere) [d](training.md#sweeps) [e](https://x.invalid)"
    assert broken_links(page, text) == ["nowhere.md", "training.md#nowhere"]


# ---------------------------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------------------------


def results_in(path: Path) -> set[tuple[float, int]]:
    """(won, games) of every pairing in a file of raw results, from either side."""
    if path.suffix == ".json":
        portions = json.loads(path.read_text("utf-8"))
        portions = portions if isinstance(portions, list) else [portions]
        return {(sum(p["wins"] for p in portions), sum(p["games"] for p in portions))}
    raw = read_raw(path)
    scores = [[y for opening in scores_of(line) for y in opening] for line in raw.of("pair")]
    return {score for ys in scores for score in ((sum(ys), len(ys)), (len(ys) - sum(ys), len(ys)))}


def test_won_games_are_those_of_the_raw_results():
    """Every ``won of games`` with a link to raw results, but for generated tables."""
    rows = []
    for page in (*LAB.glob("*.md"), DOCS / "knowledge.md"):
        text = re.sub(r"<!-- systems -->.*<!-- /systems -->", "", page.read_text("utf-8"), flags=re.DOTALL)
        found = re.findall(r"([\d,]+) of ([\d,]+):[^\n]*?\[raw\]\(([\w./-]+)\)", text)
        rows += [(won, games, page.parent / link) for won, games, link in found]
    assert len(rows) >= 30
    for won, games, path in rows:
        pair = float(won.replace(",", "")), int(games.replace(",", ""))
        assert pair in results_in(path), (*pair, path.name)


def test_raw_results_name_no_folders_of_a_machine():
    """Files in specs and commands have relative paths."""
    files = [*RESULTS.rglob("*.json*")]
    assert len(files) >= 50
    absolute = {path.name: re.findall(r"""(?<=[="' ])/\w[^"', ]*""", path.read_text("utf-8")) for path in files}
    assert {name: paths[:3] for name, paths in absolute.items() if paths} == {}


def test_the_table_of_all_players_names_them_all():
    text = (LAB / "strength.md").read_text("utf-8")
    named = re.findall(r"`(\w+)[`,]", re.search(r"<!-- players -->(.*)<!-- /players -->", text, re.DOTALL)[1])
    assert {*named} == {*PLAYERS}


def test_levels_are_those_that_were_measured():
    raw = json.loads((RESULTS / "strength.json").read_text("utf-8"))
    assert {f"{size}x{size}" for size in raw["levels"]} == {*LEVELS}
    for size, specs in raw["levels"].items():
        assert specs == [spec_of_level(level, int(size)) for level in STRENGTHS]
    for pair in raw["pairs"]:
        assert pair["won"] == pair["scores"].count("1"), pair["seed"]
        assert pair["games"] == len(pair["scores"].replace(" ", "")), pair["seed"]
        assert pair["forfeits"] == 0


def test_generated_parts_are_fresh(monkeypatch):
    """``python tools/generate.py`` would change nothing."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from generate import generated_pages

    stale = [path.name for path, text in generated_pages().items() if path.read_text("utf-8") != text]
    assert not stale


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", LAB / "index.md", LAB / "findings.md"], ids=lambda page: page.name
)
def test_pages_count_the_claims_of_the_results(page):
    counted = re.search(r"(\d+) claims; holds: (\d+), does not hold: (\d+), undecided: (\d+)", PAGE_OF_RESULTS)
    text = " ".join(page.read_text("utf-8").split())
    said = re.search(r"(\d+) of (\d+) claims hold, (\d+) do not,? and (\d+) are undecided", text)
    assert (said[2], said[1], said[3], said[4]) == counted.groups()


@pytest.mark.parametrize("page", [LAB / "index.md", LAB / "findings.md"], ids=lambda page: page.name)
def test_ratings_are_those_of_the_results(page):
    """Every ``87 Elo (43 to 131)`` is what an experiment found, so that new games change both."""
    rating = r"([\d,]+)(?: Elo)? \(([+-]?[\d,]+) to ([+-]?[\d,]+)\)"
    found = {tuple(n.replace("+", "") for n in m) for m in re.findall(rating, PAGE_OF_RESULTS)}
    said = re.findall(rating.replace("(?: Elo)?", " Elo"), " ".join(page.read_text("utf-8").split()))
    assert said
    assert {*said} <= found
