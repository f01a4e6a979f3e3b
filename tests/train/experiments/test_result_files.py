"""Files of raw results: they read back as written, and other files are refused."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlgo.base.errors import RlgoError
from train.experiments.results.files import (
    RawResults,
    pair_line,
    read_raw,
    scores_of,
    sum_of_lines,
    write_raw,
)


def test_a_pair_line_by_hand():
    line = pair_line("A", "B", [(1, 0), (0.5, 1.0), (1, 0), (0, 0)], forfeits=2)
    assert line == {"pair": ["A", "B"], "openings": {"DW": 1, "LL": 1, "WL": 2}, "forfeits": 2}
    assert scores_of(line) == [(0.5, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 0.0)]


def test_the_sum_of_two_lines_by_hand():
    more = {"distinct": 5, "forfeits": 1, "moves": 50.0, "seconds_of": [2.0, 1.5], "seconds": 3.5}
    first = pair_line("A", "B", [(1, 0), (1, 1)], **more)
    more = {"distinct": 8, "forfeits": 0, "moves": 62.0, "seconds_of": [1.0, 0.25], "seconds": 1.25}
    second = pair_line("A", "B", [(0, 0), (1, 1), (1, 1), (0.5, 0)], engines={"GNU Go": "3.8"}, **more)
    other = {**second, "engines": {"GNU Go": "3.9"}}
    assert sum_of_lines([second, other, second])["engines"] == {"GNU Go": "3.8 and 3.9"}
    assert sum_of_lines([first, second]) == {
        "pair": ["A", "B"], "openings": {"DL": 1, "LL": 1, "WL": 1, "WW": 3}, "distinct": 13, "forfeits": 1,
        "moves": 58.0, "seconds_of": [3.0, 1.75], "seconds": 4.75, "engines": {"GNU Go": "3.8"},
    }  # fmt: skip
    assert sum_of_lines([second]) == second


RESULT = st.sampled_from([0.0, 0.5, 1.0])


OPENINGS = st.lists(st.lists(RESULT, min_size=1, max_size=2).map(tuple), min_size=1, max_size=30)


@given(OPENINGS)
def test_scores_come_back(openings):
    line = json.loads(json.dumps(pair_line("A", "B", openings)))
    assert Counter(scores_of(line)) == Counter(openings)
    assert list(line["openings"]) == sorted(line["openings"])


def test_raw_results_come_back(tmp_path):
    path = tmp_path / "new" / "x.jsonl"
    assert read_raw(path) is None
    raw = RawResults({"kind": "games"}, [{"number": "größe", "value": 3}, {"pair": ["a", "b"], "openings": {"W": 1}}])
    write_raw(path, raw)
    assert read_raw(path) == raw
    assert raw.of("number") == raw.lines[:1]
    assert raw.of("run") == []
    first, *rest = path.read_text("utf-8").splitlines()
    header = json.loads(first)
    assert len(header.pop("check")) == 8
    assert header == {"format": "rlgo-experiment-1", "kind": "games"}
    assert len(rest) == 2


@pytest.mark.parametrize(
    "text", ["", "no JSON\n", '{"format": "rlgo-results-1"}\n', "{}\n", "[1]\n", "3\n", '{"a": \n', "\xff"]
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "x.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RlgoError, match=rf"^{path}: not the raw results of an experiment, or damaged$"):
        read_raw(path)
