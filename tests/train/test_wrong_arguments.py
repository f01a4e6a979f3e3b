"""Wrong arguments to the documented functions of `train` raise one-line errors."""

from __future__ import annotations

import functools
import inspect

import pytest
from nonsense import NONSENSE

import rlgo
from rlgo.base.checks import validated
from train.arena.match import MatchSettings, play_match
from train.arena.sprt import Sprt
from train.arena.tournament import read_tournament, run_tournament
from train.experiments.declaration.reading import read_experiment
from train.experiments.running.run import run_experiment
from train.play.analyze import analyze
from train.play.pettingzoo import raw_env
from train.players.spec import find_player, make_player, parse_spec
from train.runs.evaluate import evaluate
from train.runs.run import current_weights, resume
from train.runs.run import run as train
from train.runs.sweep import read_sweep, run_sweep


@functools.wraps(MatchSettings)
def match_settings(**values):
    return validated(MatchSettings(**values))


# What reaches the file system or starts games is far away where one argument is wrong and the others lead nowhere.
CALLS = {
    play_match: {"a": "greedy,weights=nowhere.npz", "b": "random", "games": 2},
    match_settings: {"games": 2},
    Sprt: {},
    read_tournament: {"path": "nowhere.toml"},
    run_tournament: {"plan": None},
    read_experiment: {"path": "nowhere.toml"},
    run_experiment: {"e": None, "results": "nowhere"},
    analyze: {"game": rlgo.Game(5), "player": rlgo.RandomPlayer(1)},
    raw_env: {"size": 5},
    find_player: {"name": "random"},
    make_player: {"spec": "random", "size": 5},
    parse_spec: {"text": "random"},
    evaluate: {"targets": ["nowhere.npz"]},
    current_weights: {"path": "nowhere"},
    resume: {"path": "nowhere"},
    train: {"config": None},
    read_sweep: {"path": "nowhere.toml"},
    run_sweep: {"sweep": None},
}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_any_nonsense_is_taken_or_refused_in_one_line(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    messages = []
    named = [p.name for p in inspect.signature(call).parameters.values() if p.kind is not p.VAR_KEYWORD]
    for name in named:
        for value in NONSENSE:
            try:
                call(**(CALLS[call] | {name: value}))
            except rlgo.RlgoError as error:
                messages.append(str(error))
    assert messages
    assert max(len(message.splitlines()) for message in messages) == 1
    assert list(tmp_path.iterdir()) == []
