"""Networks as specs name them: rlgo's own files, shipped ones, ONNX files, and evaluators in Python.

Start reading at `load_evaluator`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mcts.judge import Judge
from mcts.outside.checked import CheckedNetwork
from mcts.outside.onnx import OnnxNetwork
from rlgo.base.errors import RlgoError
from rlgo.base.files import user_path
from rlgo.base.resources import NO_NETWORK, SHIPPED_NETWORKS, nearest_size
from rlgo.base.user_code import load
from rlgo.network.conv_network import load_network
from rlgo.network.policy_network import PolicyNetwork
from rlgo.play.player import Player
from train.players.loading import loaded, note_file, note_source

NAMES = SHIPPED_NETWORKS.files()
_OWN = ".npz"  # ends the name of a file with an rlgo network
_ONNX = ".onnx"


def is_own_network(name: str) -> bool:
    """Return whether a network is rlgo's own, by its name, which may be that of a shipped one."""
    path = Path(name)
    return path.suffix == _OWN or (path.name in NAMES and path.parent in (Path(), SHIPPED_NETWORKS.folder))


def is_program(name: str) -> bool:
    """Return whether a network is an evaluator in Python, ``MODULE:NAME`` or ``FILE.py:NAME``, by its name."""
    return ":" in name and not name.endswith((_OWN, _ONNX))


def is_outside(name: str) -> bool:
    """Return whether a network, or `NO_NETWORK`, is an evaluator outside of compiled code, by its name."""
    return name != NO_NETWORK and not is_own_network(name)


def load_evaluator(name: str, symmetries: int = 1, threads: int = 1) -> Any:
    """Load a network: a `ConvNetwork`, an `OnnxNetwork`, or any evaluator in Python. RlgoError if it cannot be loaded.

    symmetries, threads : of a network in ONNX, see `OnnxNetwork`
    """
    if is_program(name):
        return _load_program(name)
    file = user_path(name)
    if is_own_network(name) or not (file.is_file() or name.endswith(_ONNX)):  # then the shipped ones are named
        return loaded(load_network, SHIPPED_NETWORKS.find(name))
    if not file.is_file():
        raise RlgoError(f"network = {name}: no such file")
    if file.with_suffix(".toml").is_file():
        note_file(file.with_suffix(".toml"))
    return loaded(OnnxNetwork, file, symmetries, threads)


def load_any_network(name: str | Path) -> PolicyNetwork:
    """Load a network of any kind as a `PolicyNetwork`. RlgoError if it cannot be loaded."""
    found = load_evaluator(str(name))
    return found if isinstance(found, PolicyNetwork) else CheckedNetwork(found)


def _load_program(name: str) -> Any:
    source = name.rpartition(":")[0]
    if source.endswith(".py") and user_path(source).is_file():
        return loaded(_evaluator_in, user_path(source), name)  # once: games whose evaluator is one share its batches
    found = _evaluator_in(source, name)
    note_source(sys.modules[source])
    return found


def _evaluator_in(source: Any, name: str) -> Any:  # noqa: ARG001 - the file, for `loaded`
    return load(f"network {name}", name, "a function of rlgo.Positions, see mcts.Evaluator", callable)


def make_judge(size: int) -> Player | None:
    """Make the player that decides the end of games on a board, or return None without a shipped network."""
    if not NAMES:
        return None
    return Judge(size, load_evaluator(nearest_size(size, NAMES)))
