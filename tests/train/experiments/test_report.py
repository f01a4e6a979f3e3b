"""The report: it lists everything and matches the results; the table of the papers' systems."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from experiment_files import PNG, curves_of, header, run_line
from PIL import Image
from systems import systems_table

from rlgo.base.errors import RlgoError
from train.experiments.declaration.experiment import GNUGO_0
from train.experiments.declaration.reading import list_experiments, read_experiment
from train.experiments.declaration.settings import Claim
from train.experiments.report.report import (
    PAPERS,
    games_to_decide,
    overview,
    place_of,
    report,
    section,
    write_report,
)
from train.experiments.results.analysis import (
    HELD,
    NOT_HELD,
    NOT_MEASURED,
    OPEN,
    Analysis,
    analyze,
)
from train.experiments.results.files import RawResults, pair_line
from train.stats import clustered_interval

ROOT = Path(__file__).resolve().parents[3]
RESULTS, MATCHES = ROOT / "results" / "experiments", ROOT / "results"


def cells(line: str) -> list[str]:
    assert re.fullmatch(r"\| .* \|", line), line
    return [cell.strip() for cell in line[1:-1].split("|")]


def tables(text: str) -> list[list[list[str]]]:
    """All tables; every row has as many cells as the head."""
    found = []
    for part in re.split(r"\n(?!\|)", text):
        lines = [line for line in part.splitlines() if line.startswith("|")]
        if lines:
            head, rule, *rows = lines
            assert rule == "|" + "---|" * len(cells(head)), part
            assert all(len(cells(row)) == len(cells(head)) for row in rows), part
            found.append([cells(head), *map(cells, rows)])
    return found


RUN = ("shape_counts", "gnugo", "plies", "learning_runs", "alphabeta_depth", "shape_frequency")


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory) -> Path:
    """The results, with pictures."""
    folder = tmp_path_factory.mktemp("report") / "experiments"
    shutil.copytree(results, folder)
    for name in RUN:
        if read_experiment(name).has_picture:
            (folder / f"{name}.png").write_bytes(PNG)
    return folder


@pytest.fixture(scope="module")
def text(folder) -> str:
    return report(folder, folder.parent / "results.md")


def test_the_report_says_which_experiments_have_run(text):
    _, summary, _, status, *_ = tables(text)
    experiments = [read_experiment(name) for name in RUN]
    assert summary[0] == ["paper", "place", "claim", "expected", "found", "verdict", "experiment"]
    assert status[0][:4] == ["experiment", "source", "games", "run"]
    assert {row[0] for row in status[1:]} == {f"[{e.name}](#{e.name})" for e in experiments}
    (missing,) = re.findall(r"^Not run here: (.*)\.$", text, re.MULTILINE)
    assert missing.split(", ") == [f"`{name}`" for name in list_experiments() if name not in RUN]
    for e in experiments:
        (row,) = (row for row in status if row[0] == f"[{e.name}](#{e.name})")
        assert row[1] == e.settings.source
        part = text.partition(f"\n## {e.name}\n")[2].partition("\n## ")[0]
        assert f"**Paper.** {e.settings.paper}" in part
        assert f"[{e.name}.jsonl](experiments/{e.name}.jsonl)" in part
        assert ("**Claims.**" in part) == bool(e.claims)
    assert "**Remarks.**" not in text


def test_remarks_are_on_the_shipped_results_and_on_ones_own_experiments_only(tmp_path):
    """Whoever repeats an experiment reads what he found, beside the shipped results, and no remarks on these."""
    e = read_experiment("lambda")
    shipped = section(e, analyze(RESULTS, "lambda"), RESULTS, RESULTS)
    assert e.settings.remarks
    assert f"**Remarks.** {e.settings.remarks}" in shipped
    assert "**Claims.**" not in shipped
    repeated = section(e, analyze(RESULTS, "lambda"), tmp_path, tmp_path)
    assert "**Remarks.**" not in repeated
    *_, (head, *rows) = tables(repeated)
    assert head == ["claim", "expected", "found here", "verdict here", "found in the shipped results", "verdict there"]
    assert len(rows) == len(e.claims) >= 2
    assert all(row[2:4] == row[4:6] for row in rows)  # they are the same results
    decided = sum(row[3] in (HELD, NOT_HELD) for row in rows)
    assert 0 < decided < len(rows)
    assert (
        f"{decided} of {len(rows)} claims are decided. The shipped results agree in all {decided} of them." in repeated
    )
    e = replace(e, argument="mine/lambda.toml")
    copied = section(e, analyze(RESULTS, "lambda"), tmp_path, tmp_path)
    assert "**Remarks.**" not in copied  # those of the file that it was copied from
    e = replace(e, settings=replace(e.settings, remarks="Found at home."))
    mine = section(e, analyze(RESULTS, "lambda"), tmp_path, tmp_path)
    assert "**Remarks.** Found at home." in mine
    assert "found in the shipped results" not in mine


def test_every_claim_has_a_verdict_and_they_add_up(text, results):
    by_paper, (_, *summary) = tables(text)[:2]
    claims = {
        (claim.text.removeprefix("(ours) "), e.name): claim for e in map(read_experiment, RUN) for claim in e.claims
    }
    named = [(row[2], re.sub(r"\[(.*)\].*", r"\1", row[6])) for row in summary]
    assert Counter(named) == Counter(claims.keys())
    total, counts = re.search(r"^(\d+) claims; (.*)\.$", text, re.MULTILINE).groups()
    by_name = {name: int(n) for name, n in (part.split(": ") for part in counts.split(", "))}
    assert int(total) == len(claims) == sum(by_name.values())
    assert by_name == Counter(row[5].strip("*") for row in summary)
    assert set(by_name) <= {HELD, NOT_HELD, OPEN, NOT_MEASURED}
    assert by_name[HELD] >= 2
    assert by_paper[0] == ["claims of", *by_name]
    for paper, *numbers in by_paper[1:]:
        found = Counter(row[5].strip("*") for row in summary if row[0] == paper)
        assert numbers == [str(found[name]) for name in by_name]
    for (_, name), row in zip(named, summary, strict=True):
        claim = claims[row[2], name]
        m = analyze(results, name).measure(claim)
        verdict = NOT_MEASURED if m is None else m.verdict(claim.low, claim.high)
        assert row[5] == (f"**{verdict}**" if verdict == NOT_HELD else verdict), row
        assert bool(row[4]) == (m is not None)
        assert (row[0], row[1]) == place_of(read_experiment(name), claim)
    assert [
        "TD",
        "Table 1",
        "969,894 features in all",
        "969,894",
        "969,894",
        HELD,
        "[shape_counts](#shape_counts)",
    ] in summary
    assert [row[0] for row in summary] == sorted((row[0] for row in summary), key=PAPERS.index)


def test_the_report_says_what_would_decide_the_rest(text):
    _, (_, *summary), (head, *needed), *_ = tables(text)
    assert head == ["paper", "claim", "experiment", "factor", "total"]
    assert Counter((row[0], row[1], row[2]) for row in needed) == Counter(
        (row[0], row[2], row[6]) for row in summary if row[5] == OPEN
    )
    times = [float(row[3].removeprefix("more than ")) for row in needed]
    assert times == sorted(times)
    assert len(times) >= 2
    for row in needed:
        assert bool(row[4]) == (not row[3].startswith("more than"))
        assert row[4].endswith((" games", " seeds", ""))


def test_what_decides_a_claim_is_counted_in_what_it_rests_on():
    runs = [run_line("a", 1, [5]), run_line("a", 2, [5]), run_line("b", 1, [5])]
    pairs = [pair_line("p", "q", [(1, 1), (1, 0)]), pair_line("p", "r", [(0, 1)])]
    found = Analysis(RawResults(header("x", "curves"), [*runs, *pairs]))
    assert games_to_decide(found, Claim("so", "a@1000", "b"), 2.1) == "5 and 3 seeds"
    assert games_to_decide(found, Claim("so", "a", "a@1000"), 2.1) == "5 seeds"
    assert games_to_decide(found, Claim("so", "a", of="spread"), 2) == "12 games"
    assert games_to_decide(found, Claim("so", "q", "p", of="won"), 2) == "8 games"


@pytest.mark.parametrize("name", list_experiments())
def test_every_claim_of_a_paper_has_its_place(name):
    e = read_experiment(name)
    for claim in e.claims:
        paper, place = place_of(e, claim)
        assert paper in PAPERS
        assert (paper == "ours") == claim.text.startswith("(ours)")
        assert re.match(r"(TD, |MC-RAVE, )?(Section \d|Table \d|Figures? \d)", place), place


def test_pictures_are_linked_where_there_are_some(text, folder):
    linked = set(re.findall(r"!\[.*\]\((.*)\)", text))
    assert linked == {f"experiments/{name}.png" for name in RUN if read_experiment(name).has_picture}
    assert all((folder.parent / link).is_file() for link in linked)
    for link in re.findall(r"[^!]\[[^]]*\]\(([^#)]+)\)", text):
        assert (folder.parent / link).exists(), link
    headings = set(re.findall(r"^## (.*)$", text, re.MULTILINE))
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= headings


def test_what_the_sections_say(text, results):
    """Some numbers of each kind, computed anew."""

    def part(name: str) -> str:
        return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]

    assert "All numbers match the paper's." in part("shape_counts")
    found = analyze(results, "plies")
    stated, table, _ = tables(part("plies"))
    assert stated[1][:4] == ["the paper", "two-ply", "1,000,000", "1,200 Elo"]
    assert table[0][2:5] == [f"Elo at {n} games" for n in ("1,000", "10,000", "100,000")]
    by_label = {row[0]: row for row in table[1:]}
    m = found.elo("one-ply")
    shown = f"{m.value:,.0f} ({m.low:,.0f} to {m.high:,.0f}) after 1,000"
    assert by_label["one-ply"][1:] == ["1", f"{m.value:,.0f}", "", "", shown, ""]
    eight = analyze(results, "learning_runs")
    met = [p for p in eight.pairs if p.b == GNUGO_0 and p.a.startswith("paper's settings")]
    _, table, _ = tables(part("learning_runs"))
    assert table[1][-1] == f"{100 * sum(p.score for p in met) / 160:.1f} % of 160"
    assert [row[1] for row in table[1:]] == ["8", "4"]
    assert f"is {found.repeats.deviation(1000):.0f} Elo after a thousand games" in text.replace("\n", " ")

    table, _ = tables(part("alphabeta_depth"))
    depth = analyze(results, "alphabeta_depth")
    by_name = {row[0]: row for row in table[1:]}
    assert table[0] == ["player", "Elo", "games", "won against GNU Go level 0", "seconds a game"]
    assert len(by_name) == 7
    assert by_name[GNUGO_0][3] == ""
    m = depth.won("depth 3", GNUGO_0)
    assert by_name["depth 3"][2:4] == ["240", f"{100 * m.value:.1f} % ({100 * m.low:.1f} to {100 * m.high:.1f})"]
    # Each has met those after it, 2 s for 40 games, and those before it, 4 s: depth 3 three of each.
    assert float(by_name["depth 3"][4]) == pytest.approx((3 * 2 + 3 * 4) / 240, rel=0.05)
    assert "1,000 games" in part("shape_frequency")
    assert part("shape_frequency").partition("**Claims.**")[0].count("12,345") == 10


def test_a_report_of_nothing(tmp_path):
    text = report(tmp_path, tmp_path / "results.md")
    assert "## Summary\n\nNo claims.\n" in text
    assert all(f"`{name}`" in text for name in list_experiments())
    assert "35 Elo, as in the paper, because learning_runs has not run here" in text.replace("\n", " ")
    assert "![" not in text
    assert len(tables(text)) == 1
    assert all("has not run" in line for line in overview(tmp_path).splitlines()[1:])


def test_every_claim_of_a_paper_that_does_not_hold_has_a_cause_or_a_sentence_on_what_was_tried():
    """In the table of docs/lab/findings.md, which has a row for each such experiment."""
    text = (ROOT / "docs" / "lab" / "findings.md").read_text("utf-8")
    (_, *rows), *_ = tables(text.partition("## What does not hold, and why")[2])
    listed = {re.search(r"results\.md#(\w+)", row[0])[1]: int(row[1]) for row in rows}
    failed = Counter[str]()
    for e in map(read_experiment, list_experiments()):
        analysis = analyze(RESULTS, e.name)
        for claim in e.claims if analysis is not None else ():
            m = analysis.measure(claim)
            if m is not None and m.verdict(claim.low, claim.high) == NOT_HELD and place_of(e, claim)[0] != "ours":
                failed[e.name] += 1
    assert listed == failed
    assert all(len(row[2]) > 40 and len(row[3]) > 10 for row in rows)


def test_the_report_is_written_and_written_again(tmp_path):
    path = tmp_path / "results.md"
    write_report(tmp_path, path)
    assert path.read_text("utf-8") == report(tmp_path, path)
    write_report(tmp_path, path)
    (tmp_path / "plies.jsonl").write_text("other\n")
    with pytest.raises(RlgoError, match=r"plies.jsonl: not the raw results of an experiment"):
        write_report(tmp_path, path)


def test_diverged_runs_are_shown():
    e = read_experiment("plies")
    raw = curves_of(e, openings=4)
    assert raw.lines[8]["run"] == "one-ply"
    raw.lines[8] |= {"state": "diverged"}
    rows = {row[0]: row for row in tables(section(e, Analysis(raw), Path("nowhere"), Path("x")))[-2]}
    assert rows["one-ply"][1] == "1, 1 diverged"
    assert rows["two-ply"][1] == "8"
    # It has no end to compare with, but what it was until then can be compared.
    found = Analysis(raw)
    assert found.elo("two-ply", "one-ply") is None
    assert found.elo("two-ply", "one-ply@1000") is not None
    # Before it has a checkpoint, there is nothing to rate.
    gone = [line for line in raw.lines if not any("one-ply" in name for name in line.get("pair", []))]
    gone[8] = run_line("one-ply", 1, [], "diverged")
    rows = {
        row[0]: row
        for row in tables(section(e, Analysis(RawResults(raw.header, gone)), Path("nowhere"), Path("x")))[-2]
    }
    assert rows["one-ply"] == ["one-ply", "1, 1 diverged", *[""] * 5]


def test_labels_that_came_later_are_shown():
    """Results that are older than a label of their experiment's file."""
    e = read_experiment("plies")
    raw = curves_of(replace(e, runs={"two-ply": e.runs["two-ply"]}), openings=4)
    text = section(e, Analysis(raw), Path("nowhere"), Path("x"))
    rows = {row[0]: row for row in tables(text)[-2]}
    assert rows["one-ply"] == ["one-ply", "not run", *[""] * 5]
    assert rows["two-ply"][1] == "8"
    assert Analysis(raw).measure(e.claims[0]) is None


@pytest.mark.slow
@pytest.mark.skipif(not list((ROOT / "results" / "experiments").glob("*.jsonl")), reason="no raw results here")
def test_the_shipped_report_is_that_of_the_shipped_results(monkeypatch):
    """Whoever adds raw results makes it anew: `rlgo experiment report`."""
    monkeypatch.chdir(ROOT)
    text = report(Path("results/experiments"), Path("docs/lab/results.md"))
    assert Path("docs/lab/results.md").read_text("utf-8") == text
    assert tables(text)
    for link in re.findall(r"\]\(([^#)]+)\)", text):
        assert Path("docs/lab", link).exists(), link


@pytest.mark.parametrize("name", [n for n in list_experiments() if read_experiment(n).has_picture])
def test_the_shipped_pictures_are_those_of_the_shipped_results(name):
    """Whoever adds raw results draws them anew: `rlgo experiment plot NAME --results results/experiments`."""
    picture, analysis = RESULTS / f"{name}.png", analyze(RESULTS, name)
    assert picture.is_file() == (analysis is not None)
    if analysis is not None:
        assert Image.open(picture).info["Description"] == f"{name}, results {analysis.checksum}"


# ---------------------------------------------------------------------------------------------
# The systems of the papers
# ---------------------------------------------------------------------------------------------


def test_the_systems_are_those_of_the_raw_results():
    """Every score is counted again from the file that is linked next to it, and nothing is shown that has no file."""
    (table,) = tables(systems_table(RESULTS, MATCHES, ROOT / "page.md"))
    (narrow,) = tables(systems_table(RESULTS, MATCHES))
    assert [[re.sub(r".* of .*: | \[raw\].*", "", cell) for cell in row] for row in table] == narrow
    assert table[0] == ["system", "against", "the paper", "rlgo, equal simulations", "rlgo, equal time"]
    systems = ("TD learning", "TD search", "Dyna-2", "two-phase", "UCT", "MC-RAVE", "heuristic MC-RAVE")
    assert all(any(row[0].startswith(system) for row in table[1:]) for system in systems)
    checked = 0
    for name, level, _, *found in table[1:]:
        for cell in found:
            if cell == "does not search":
                continue
            won, games, rate, low, high, link = re.fullmatch(
                r"(\d+) of (\d+): ([\d.]+) % \(([\d.]+) to ([\d.]+)\) \[raw\]\((.*)\)", cell
            ).groups()
            assert (float(won), int(games)) in scores_in(ROOT / link, f"GNU Go {level}", name), cell
            assert float(rate) == pytest.approx(100 * int(won) / int(games), abs=0.051)
            assert float(low) < float(rate) < float(high)
            checked += 1
    assert checked == 16


def scores_in(path: Path, opponent: str, system: str) -> set[tuple[float, int]]:
    """What was won of how many games by each player against this opponent, in a file of raw results."""
    if path.suffix == ".json":
        portions = json.loads(path.read_text("utf-8"))
        portions = portions if isinstance(portions, list) else [portions]
        assert all(f"--{opponent.removeprefix('GNU Go ')} " in portion["b"] for portion in portions)
        return {(sum(p["wins"] for p in portions), sum(p["games"] for p in portions))}
    won: dict[str, tuple[float, int]] = {}
    for line in map(json.loads, path.read_text("utf-8").splitlines()[1:]):
        if line.get("pair", ["", ""])[1] == opponent:
            name = line["pair"][0].partition(" #")[0]  # the seeds of a label are counted together
            letters = "".join(text * n for text, n in line["openings"].items())
            before = won.get(name, (0.0, 0))
            won[name] = (before[0] + letters.count("W") + letters.count("D") / 2, before[1] + len(letters))
    assert won, system
    return set(won.values())


def test_the_systems_by_hand():
    """Portions of a match add up; the interval is that of all their openings."""
    (table,) = tables(systems_table(RESULTS, MATCHES, ROOT / "docs" / "lab" / "strength.md"))
    by_name = {row[0]: row for row in table}
    portions = json.loads((MATCHES / "uct_level_10.json").read_text("utf-8"))
    scores = [opening for portion in portions for opening in portion["scores"]]
    low, high = clustered_interval(scores)
    expected = f"31 of 100: 31.0 % ({100 * low:.1f} to {100 * high:.1f}) [raw](../../results/uct_level_10.json)"
    assert by_name["UCT, 3,000"][:4] == ["UCT, 3,000", "level 10", "24 %", expected]
    assert by_name["TD learning, one ply"][3].startswith("46 of 800: 5.8 % (")
    assert "(../../results/experiments/learning_runs.jsonl)" in by_name["TD learning, one ply"][3]


def test_systems_without_results_are_refused(tmp_path):
    with pytest.raises(RlgoError, match=r"learning_runs.jsonl: no games of paper's settings # against GNU Go level 0"):
        systems_table(tmp_path / "experiments", tmp_path / "results", tmp_path / "page.md")
    shutil.copytree(RESULTS, tmp_path / "experiments")
    with pytest.raises(RlgoError, match=r"td_search_10000.json: not the results of a match"):
        systems_table(tmp_path / "experiments", tmp_path / "results", tmp_path / "page.md")
