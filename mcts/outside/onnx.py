"""Networks from ONNX files, as evaluators. They need onnxruntime: `pip install 'rlgo[onnx]'`.

Start reading at `OnnxNetwork`. What goes into the network, and what its outputs mean, is a `NetworkDescription`: the
file itself says it, in metadata whose keys begin with ``rlgo.``, or a small TOML file of the same name beside it:

    planes = "alphago_zero"      # the input, see `rlgo.planes`; several kinds: "stones+liberties+komi"
    layout = "nchw"              # or nhwc
    policy = "policy"            # the name of the output; leave it out if there is none
    policy_kind = "logits"       # or probabilities
    value = "value"
    value_view = "to_play"       # whose value it is: to_play or black
    value_range = "tanh"         # tanh: -1 to 1; probability: 0 to 1; logit: before a sigmoid
    ownership = "ownership"      # optional; view and range are those of the value
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
from annotated_types import Ge, Le

from mcts.outside.evaluator import ROUNDING
from rlgo.base.checks import Choice, check
from rlgo.base.errors import RlgoError, cut, nearest, shown
from rlgo.base.files import read_text
from rlgo.base.settings import Threads
from rlgo.base.softmax import softmax
from rlgo.features.planes import apply_symmetry, history_of, kinds_of, plane_names, planes
from rlgo.go.board import BLACK
from rlgo.go.game import Game
from rlgo.go.positions import Positions

METADATA = "rlgo."  # begins the keys of the metadata
Symmetries = Annotated[int, Ge(1), Le(8)]

_LAYOUTS = {"nchw": 0, "nhwc": 1}
_POLICY_KINDS = {"logits": 0, "probabilities": 1}
_VIEWS = {"to_play": 0, "black": 1}
_RANGES = {"tanh": 0, "probability": 1, "logit": 2}
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


class NetworkDescription(NamedTuple):
    """What a network takes and returns. An empty name stands for an output that it lacks.

    >>> from mcts.outside.onnx import NetworkDescription
    >>> NetworkDescription(planes="stones+liberties", policy="p").policy_kind
    'logits'
    """

    planes: str = "alphago_zero"
    layout: Annotated[str, Choice(_LAYOUTS)] = "nchw"
    policy: str = ""
    policy_kind: Annotated[str, Choice(_POLICY_KINDS)] = "logits"
    value: str = ""
    value_view: Annotated[str, Choice(_VIEWS)] = "to_play"
    value_range: Annotated[str, Choice(_RANGES)] = "tanh"
    ownership: str = ""


def read_description(entries: dict[str, Any], source: str) -> NetworkDescription:
    """Check the description of a network. RlgoError, beginning with `source`, for anything wrong in it."""
    hints = get_type_hints(NetworkDescription, include_extras=True)
    for name, entry in entries.items():
        if name not in hints:
            raise RlgoError(f"{source}: unknown key {cut(name)}; {nearest(name, hints)}")
        if not isinstance(entry, str):
            raise RlgoError(f"{source}: {name} = {shown(entry)}: expected text")
        check(f"{source}: {name}", entry, hints[name])
    description = NetworkDescription(**entries)
    if not description.policy and not description.value:
        raise RlgoError(f"{source}: expected the name of an output for policy or value, or both")
    try:
        kinds_of(description.planes.split("+"))
    except RlgoError as error:
        raise RlgoError(f"{source}: {error}") from None
    return description


class OnnxNetwork:
    """A network from an ONNX file, as an evaluator.

    Parameters
    ----------
    file : the ONNX file; its metadata or a TOML file beside it describe it, see above
    symmetries : average over so many of the eight symmetries of the board: 1 for none, 8 for all
    threads : of onnxruntime
    providers : of onnxruntime, in order of preference; None: all that are installed

    Attributes
    ----------
    description : the `NetworkDescription`
    input_shape : of its input: numbers, or names of what is left open

    Raises
    ------
    RlgoError : if onnxruntime is missing, or the file is bad or does not fit its description

    >>> import mcts, rlgo
    >>> try:
    ...     mcts.OnnxNetwork("missing.onnx")
    ... except rlgo.RlgoError as error:
    ...     print(error)
    missing.onnx: no such file
    """

    def __init__(self, file: str | Path, symmetries: int = 1, threads: int = 1, providers: Sequence[str] | None = None):
        self.file = Path(file)
        self.symmetries = check("symmetries", symmetries, Symmetries)
        self._session = _open(self.file, check("threads", threads, Threads), providers)
        self.description = self._describe()
        self._kinds = kinds_of(self.description.planes.split("+"))
        self.history = history_of(self._kinds)
        self._input = self._session.get_inputs()[0]
        self.input_shape = list(self._input.shape)
        if self._input.type not in _TYPES:
            raise RlgoError(f"{self.file}: its input is {self._input.type}: expected one of {', '.join(_TYPES)}")
        self._dtype = _TYPES[self._input.type]
        d = self.description
        self._names = [name for name in (d.policy, d.value, d.ownership) if name]
        known = [output.name for output in self._session.get_outputs()]
        for name in self._names:
            if name not in known:
                raise RlgoError(f"{self.file}: no output {cut(name)}; its outputs are {', '.join(known)}")

    def _describe(self) -> NetworkDescription:
        """Read the description from the TOML file beside the network or, if there is none, from its metadata."""
        beside = self.file.with_suffix(".toml")
        if beside.is_file():
            try:
                entries = tomllib.loads(read_text(beside))
            except ValueError as error:
                raise RlgoError(f"{beside}: not valid TOML: {error}") from None
            return read_description(entries, str(beside))
        stored = self._session.get_modelmeta().custom_metadata_map
        entries = {name.removeprefix(METADATA): text for name, text in stored.items() if name.startswith(METADATA)}
        if not entries:
            raise RlgoError(f"{self.file}: does not say what its inputs and outputs are: expected metadata or {beside}")
        return read_description(entries, str(self.file))

    def warm_up(self, size: int) -> None:
        """Check that the network fits a board size, and compile what encodes positions. RlgoError if it does not."""
        n_planes = len(plane_names(self._kinds))
        wanted = [n_planes, size, size]
        shape = self.input_shape
        dims = shape[1:] if self.description.layout == "nchw" else [*shape[3:], *shape[1:3]]
        if len(shape) != 4 or any(isinstance(d, int) and d != w for d, w in zip(dims, wanted, strict=True)):
            raise RlgoError(
                f"{self.file}: its input has shape {shape}: expected {n_planes} planes ({self.description.planes}) "
                f"of {size}x{size}"
            )
        self(Positions.of(Game(size), self.history))

    def __call__(self, positions: Positions) -> dict[str, np.ndarray]:
        """Evaluate positions: ``policy``, ``value`` and ``ownership`` as far as the network has them."""
        x = planes(positions, self._kinds)
        if self.symmetries == 1:
            return self._read(self._run(x), positions)
        answers = []
        for g in range(self.symmetries):
            answer = self._read(self._run(apply_symmetry(x, g)), positions)
            if "logits" in answer:  # probabilities are averaged, as in AlphaGo
                answer["policy"] = softmax(answer.pop("logits"))
            for name in ("policy", "ownership"):
                if name in answer:
                    answer[name] = apply_symmetry(answer[name], g, inverse=True)
            answers.append(answer)
        return {name: np.mean([answer[name] for answer in answers], axis=0) for name in answers[0]}

    def _run(self, x: np.ndarray) -> list[np.ndarray]:
        """Run the network on planes, float32[n, planes, size, size]."""
        if self.description.layout == "nhwc":
            x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
        x = x.astype(self._dtype, copy=False)
        fixed = self._input.shape[0]
        if not isinstance(fixed, int):
            return self._outputs(x)
        parts = []
        for first in range(0, len(x), fixed):  # the network takes batches of one size only
            part = x[first : first + fixed]
            padded = np.zeros((fixed, *x.shape[1:]), x.dtype)
            padded[: len(part)] = part
            parts.append([np.atleast_1d(output)[: len(part)] for output in self._outputs(padded)])
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def _outputs(self, x: np.ndarray) -> list[np.ndarray]:
        try:
            return self._session.run(self._names, {self._input.name: x})
        except Exception as error:  # onnxruntime has its own
            raise RlgoError(f"{self.file}: onnxruntime cannot run it: {_reason(error, self.file)}") from None

    def _read(self, outputs: list[np.ndarray], positions: Positions) -> dict[str, np.ndarray]:
        """Translate the outputs to what an evaluator returns."""
        d, n, size = self.description, len(positions), positions.size
        by_name = dict(zip(self._names, outputs, strict=True))
        answer: dict[str, np.ndarray] = {}
        if d.policy:
            policy = np.asarray(by_name[d.policy], np.float32)
            if policy.size % n:
                raise RlgoError(f"{self.file}: {d.policy} has shape {policy.shape}: expected numbers for each position")
            policy = policy.reshape(n, -1)
            answer["policy" if d.policy_kind == "probabilities" else "logits"] = policy
        if d.value:
            value = by_name[d.value]
            if value.size != n:
                raise RlgoError(f"{self.file}: {d.value} has shape {value.shape}: expected a number for each position")
            answer["value"] = self._black(value.reshape(n), positions.to_play)
        if d.ownership:
            owned = by_name[d.ownership]
            if owned.size != n * size * size:
                raise RlgoError(f"{self.file}: {d.ownership} has shape {owned.shape}: expected {[n, size, size]}")
            answer["ownership"] = self._black(owned.reshape(n, size, size), positions.to_play[:, None, None])
        return answer

    def _black(self, x: np.ndarray, to_play: np.ndarray) -> np.ndarray:
        """Return a value, or ownership, as P(Black wins)."""
        x = np.asarray(x, np.float64)
        d = self.description
        if d.value_range == "tanh":
            x = (x + 1.0) / 2.0
        elif d.value_range == "logit":
            x = 1.0 / (1.0 + np.exp(-x))
        elif (least := x.min(initial=0.0)) < -ROUNDING:
            raise RlgoError(f'{self.file}: an output of {least:.4g}: expected value_range = "tanh", which is -1 to 1')
        return x if d.value_view == "black" else np.where(to_play == BLACK, x, 1.0 - x)


def _open(file: Path, threads: int, providers: Sequence[str] | None) -> Any:
    """Open an ONNX file with onnxruntime."""
    if not file.is_file():
        raise RlgoError(f"{file}: no such file")
    try:
        import onnxruntime
    except ImportError:
        raise RlgoError(f"{file}: needs onnxruntime, which is not installed: pip install 'rlgo[onnx]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # it raises an exception as well
    found = list(onnxruntime.get_available_providers()) if providers is None else list(providers)
    found = [name for name in found if name != "AzureExecutionProvider"]  # it runs no network of ours
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=found)
    except Exception as error:
        raise RlgoError(f"{file}: onnxruntime cannot read it: {_reason(error, file)}") from None
    if len(session.get_inputs()) != 1:
        names = ", ".join(one.name for one in session.get_inputs())
        raise RlgoError(f"{file}: its inputs are {names}: expected one")
    return session


def _reason(error: Exception, file: Path) -> str:
    """Return what onnxruntime says, whole, on one line, without the path, which the message begins with."""
    return " ".join(str(error).replace(str(file), file.name).split())
