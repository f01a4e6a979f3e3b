"""The table of verdicts on the page Results, in a real browser: sorting, filtering, and all claims without filters."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCRIPT = (DOCS / "assets" / "verdicts.js").read_text("utf-8")
LINES = (DOCS / "lab" / "results.md").read_text("utf-8").splitlines()
HEAD = next(i for i, line in enumerate(LINES) if line.startswith("| paper |"))
ROWS = []
for line in LINES[HEAD + 2 :]:
    if not line.startswith("|"):
        break
    cells = [re.sub(r"\*\*|\[(.*)\]\(.*\)", r"\1", cell.strip()) for cell in line[1:-1].split(" | ")]
    ROWS.append([cell.strip() for cell in cells])


def html(script: str) -> str:
    """The table as MkDocs makes it, and the script."""
    head = "".join(f"<th>{cell.strip()}</th>" for cell in LINES[HEAD].strip("|").split(" | "))
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in ROWS)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<script>{script}</script><table><tr><th>claims of</th></tr></table>{table}"


def test_the_script_needs_nothing_from_elsewhere():
    config = (DOCS.parent / "mkdocs.yml").read_text("utf-8")
    for asset in ("verdicts.js", "verdicts.css"):
        assert f"assets/{asset}" in config
        assert "http" not in (DOCS / "assets" / asset).read_text("utf-8")


@pytest.fixture
def page(browser):
    """A tab with the table, which may not have errors."""
    tab = browser.new_page()
    tab.set_default_timeout(120_000)
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.set_content(html(SCRIPT))
    yield tab
    tab.close()
    assert problems == []


def shown(page) -> list[list[str]]:
    """The rows that can be seen, from above."""
    rows = page.locator("table.verdicts tbody tr:not([hidden])")
    return rows.evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.textContent))")


def test_verdicts_can_be_sorted_and_filtered(page):
    assert len(ROWS) > 100
    assert shown(page) == ROWS
    page.get_by_label("verdict").select_option("does not hold")
    failed = [row for row in ROWS if row[5] == "does not hold"]
    assert shown(page) == failed
    assert page.get_by_role("status").inner_text() == f"{len(failed)} of {len(ROWS)} claims"
    page.get_by_label("paper").select_option("TD")
    page.get_by_label("search").fill("elo FORGETTING")
    assert [row[2] for row in shown(page)] == ["forgetting costs 400 to 800 Elo, at 1,000 simulations"]
    for name in ("verdict", "paper"):
        page.get_by_label(name).select_option("all")
    page.get_by_label("search").fill("")

    # By number: up, down, and back to the order of the papers.
    button = page.get_by_role("button", name="found")
    numbers = sorted(number(row) for row in ROWS)
    button.click()
    assert [number(row) for row in shown(page)] == numbers
    assert page.locator("th[aria-sort=ascending]").inner_text() == "found"
    button.click()
    assert [number(row) for row in shown(page)] == numbers[::-1]
    button.click()
    assert shown(page) == ROWS
    page.get_by_role("button", name="place").click()
    places = [row[1] for row in shown(page) if row[0] == "TD" and row[1].startswith("Section")]
    assert places.index("Section 3.3.5, Table 2") < places.index("Section 4.5.1, Figure 7a and 7b")


def number(row: list[str]) -> float:
    """What was found."""
    return float(re.match(r"[+-]?[\d,]+(\.\d+)?", row[4])[0].replace(",", ""))
