"""TensorBoard logs of runs, interrupted or not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_runs
from tiny_runs import BLOCKS, interrupt

from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from train.config import Config, flat
from train.runs import monitor as monitor_module
from train.runs.learners import make_learner, seeds
from train.runs.monitor import METRICS, Monitor
from train.runs.run import Result, resume
from train.runs.run import run as train

event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def tiny(out: Path, **run: Any) -> Config:
    return tiny_runs.tiny(out, run={"log_every": 100, **run})


def events(folder: Path) -> Any:
    """TensorBoard's own reader of a run, with everything in it."""
    kinds = ("scalars", "histograms", "images", "tensors")
    reader = event_accumulator.EventAccumulator(str(folder), size_guidance=dict.fromkeys(kinds, 0))
    return reader.Reload()


def everything(folder: Path) -> dict[str, list[Any]]:
    """All points by tag, without clocks."""
    found, tags = events(folder), events(folder).Tags()
    out = {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in tags["scalars"] if "speed/" not in tag}
    out |= {tag: [(e.step, e.histogram_value) for e in found.Histograms(tag)] for tag in tags["histograms"]}
    out |= {tag: [(e.step, e.encoded_image_string) for e in found.Images(tag)] for tag in tags["images"]}
    return out


def metrics(folder: Path, key: str) -> list[tuple[int, float]]:
    points = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [(point["games"], point[key]) for point in points if key in point]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Config, Result]:
    config = tiny(tmp_path_factory.mktemp("runs"))
    return config, train(config, progress=False)


# ---------------------------------------------------------------------------------------------
# What TensorBoard shows
# ---------------------------------------------------------------------------------------------


def test_histograms_hold_the_weights_that_occurred(finished):
    config, result = finished
    found = events(result.folder)
    names = [f"weights/{b}" for b in BLOCKS] + [f"occurrences/log10_{b}" for b in BLOCKS]
    assert sorted(found.Tags()["histograms"]) == sorted(names)
    learner = make_learner(config, seeds(config)[0])
    for games in (100, 200, 300):
        learner.learn(100)
        occurrences = learner.pool.occurrences()
        for block in learner.features.blocks:
            seen, theta = occurrences[block.start : block.stop], learner.mean()[block.start : block.stop]
            weights, counts = (
                next(e.histogram_value for e in found.Histograms(name.format(block.name)) if e.step == games)
                for name in ("weights/{}", "occurrences/log10_{}")
            )
            assert weights.num == counts.num == np.count_nonzero(seen)
            assert (weights.min, weights.max) == (theta[seen > 0].min(), theta[seen > 0].max())
            assert 10**counts.max == pytest.approx(seen.max())
            assert 10 ** (counts.sum / counts.num) == pytest.approx(np.exp(np.log(seen[seen > 0]).mean()))
            never = dict(metrics(result.folder, f"occurrences/never_seen_{block.name}"))
            assert never[games] == pytest.approx(1 - counts.num / len(seen))
    assert never[300] > 0  # 2x2-LD: or the test would tell nothing


def test_a_block_that_never_occurred_has_no_histogram(tmp_path):
    weights = Weights(make_features(5, (1, 2)), np.zeros(make_features(5, (1, 2)).n_weights + 1, np.float32))
    occurrences = np.zeros(weights.theta.shape, np.int64)
    occurrences[1] = 5
    with Monitor(tmp_path) as monitor:
        monitor.learned(100, weights, occurrences)
    assert set(events(tmp_path).Tags()["histograms"]) == {"weights/1x1-LI", "occurrences/log10_1x1-LI"}


def test_pictures_are_as_many_as_checkpoints(finished, tmp_path):
    _, result = finished
    found = everything(result.folder)
    # At 250, 50 and 150 games it measured too.
    often = train(tiny(tmp_path, eval_every=50), progress=False)
    for tag in ("V/after_each_first_move", "shapes/strongest"):
        assert [step for step, _ in found[tag]] == [100, 200, 300]
        assert everything(often.folder)[tag] == found[tag]
    assert [step for step, _ in everything(often.folder)["weights/1x1-LI"]] == [50, 100, 150, 200, 250, 300]


def test_without_matplotlib_there_are_no_pictures(finished, tmp_path, monkeypatch, capsys):
    """It is said once, for all runs of a process."""
    _, result = finished
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monitor_module._can_draw.cache_clear()
    with Monitor(tmp_path) as monitor:
        monitor.log(100, {"a": 1.0})
        for games in (200, 300):
            monitor.pictures(games, result.weights)
    monitor_module._can_draw.cache_clear()
    assert "V/after_each_first_move" not in everything(tmp_path)
    assert capsys.readouterr().err == "rlgo: no pictures: pictures need matplotlib: pip install 'rlgo[plot]'\n"


# ---------------------------------------------------------------------------------------------
# The table of runs
# ---------------------------------------------------------------------------------------------


def hparams(folder: Path) -> tuple[Any, dict[str, Any], bool]:
    """What TensorBoard's plugin reads: the experiment, this run's settings, and whether it ended well."""
    from tensorboard.plugins.hparams import metadata
    from tensorboard.plugins.hparams.api_pb2 import STATUS_SUCCESS

    content = events(folder).PluginTagToContent("hparams")
    start = metadata.parse_session_start_info_plugin_data(content[metadata.SESSION_START_INFO_TAG])
    values = {key: getattr(value, value.WhichOneof("kind")) for key, value in start.hparams.items()}
    end = content.get(metadata.SESSION_END_INFO_TAG)
    ended = end is not None and metadata.parse_session_end_info_plugin_data(end).status == STATUS_SUCCESS
    return metadata.parse_experiment_plugin_data(content[metadata.EXPERIMENT_TAG]), values, ended


def test_the_table_of_runs_has_settings_and_strengths(finished):
    config, result = finished
    experiment, values, ended = hparams(result.folder)
    shown = {key: value if isinstance(value, int | float | str) else str(value) for key, value in flat(config).items()}
    assert values == shown
    assert {info.name for info in experiment.hparam_infos} == set(shown)
    first = [info.name for info in experiment.hparam_infos][:5]
    assert first == ["features.sizes", "learning.alpha", "policy.epsilon", "run.games", "run.seed"]
    assert [info.name.tag for info in experiment.metric_infos] == [*METRICS]
    # TensorBoard fills in the last of the scalars of these names.
    assert {tag for tag in everything(result.folder) if tag.startswith("strength/")} <= set(METRICS)
    assert ended


def test_the_table_follows_a_run_that_goes_on(tmp_path, monkeypatch):
    interrupt(monkeypatch, at=50)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path, games=60), progress=False)
    assert hparams(tmp_path / "tiny")[2] is False
    resume(tmp_path / "tiny", games=80, progress=False)
    _, values, ended = hparams(tmp_path / "tiny")
    assert (values["run.games"], ended) == (80, True)
    # TensorBoard reads files in this order, and waits at the last one.
    assert min(path.name for path in (tmp_path / "tiny").glob("*tfevents*")) == "config.tfevents"


# ---------------------------------------------------------------------------------------------
# After an interruption
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [100, 130, 290])
def test_a_resumed_run_shows_the_same(finished, tmp_path, monkeypatch, at):
    _, result = finished
    interrupt(monkeypatch, at)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path), progress=False)
    monkeypatch.undo()
    again = resume(tmp_path / "tiny", progress=False)
    assert again.elo == result.elo
    whole, parts = everything(result.folder), everything(again.folder)
    assert set(parts) == set(whole)
    for tag, points in whole.items():
        assert parts[tag] == points, tag
