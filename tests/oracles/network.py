"""The network in plain numpy, written from its equations: a slow, obvious version in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Answer(NamedTuple):
    logits: np.ndarray
    value: float
    score: float
    ownership: np.ndarray


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)


def convolution(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """x : [size, size, C]; kernel : [3, 3, C, C'], rows from below to above, columns from left to right."""
    size = len(x)
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    y = np.zeros((size, size, kernel.shape[3]))
    for row in range(size):
        for col in range(size):
            for dr in range(3):
                for dc in range(3):
                    y[row, col] += padded[row + dr, col + dc] @ kernel[dr, dc]
    return y


def pooled(y: np.ndarray) -> np.ndarray:
    mean = y.mean(axis=(0, 1))
    return np.concatenate([mean, mean * (len(y) - 14) / 10, y.max(axis=(0, 1))])


def evaluate(planes: np.ndarray, parameters: Any) -> Answer:
    """planes : [K, size, size]"""
    w = {name: np.asarray(a, np.float64) for name, a in parameters._asdict().items()}

    def kernel(flat: np.ndarray) -> np.ndarray:
        return flat.reshape(3, 3, -1, flat.shape[-1])

    x = relu(convolution(planes.transpose(1, 2, 0).astype(np.float64), kernel(w["stem"])) + w["stem_bias"])
    for k in range(len(w["pool"])):
        h = relu(convolution(x, kernel(w["conv"][2 * k])) + w["conv_bias"][2 * k])
        h = relu(h + pooled(h) @ w["pool"][k])
        x = relu(x + convolution(h, kernel(w["conv"][2 * k + 1])) + w["conv_bias"][2 * k + 1])
    p, g, v = np.split(x @ w["head"] + w["head_bias"], 3, axis=-1)
    global_ = pooled(relu(g))
    logits = relu(p + global_ @ w["policy_pool"]) @ w["policy"]
    passing = global_ @ w["pass_move"] + w["pass_bias"]
    win, score = relu(pooled(relu(v)) @ w["hidden"] + w["hidden_bias"]) @ w["result"] + w["result_bias"]
    return Answer(
        np.append(logits.ravel(), passing),
        1 / (1 + np.exp(-win)),
        20 * score,
        np.tanh(relu(v) @ w["ownership"]),
    )
