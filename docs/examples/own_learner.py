"""A network of your own that learns in rounds: convolutions in JAX, for boards of any size; see docs/networks.md."""

import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

import rlgo

KINDS, CHANNELS, EPOCHS = ["stones", "ones", "liberties", "ko", "recent_moves", "komi"], 32, 4


def weights_beside(file: Path) -> dict:
    """Read the weights beside a program, or draw the first ones."""
    if (stored := file.with_name("weights.npz")).is_file():
        return dict(np.load(stored))
    n, c, rng = len(rlgo.plane_names(KINDS)), CHANNELS, np.random.default_rng(1)
    shapes = {f"c{i}": (c, k, 3, 3) for i, k in enumerate([n, c, c, c])} | dict.fromkeys(["point", "pass", "win"], (c,))
    return {name: rng.normal(0, np.prod(s[1:]) ** -0.5 / 2, s).astype(np.float32) for name, s in shapes.items()}


@jax.jit
def forward(w: dict, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the logits of moves [n, N + 1], and of a win of the side to play [n]."""
    for name in ("c0", "c1", "c2", "c3"):
        x = jax.nn.relu(jax.lax.conv(x, w[name], (1, 1), "SAME"))
    mean, points = x.mean(axis=(2, 3)), jnp.einsum("ncij,c->nij", x, w["point"]).reshape(len(x), -1)
    return jnp.concatenate([points, (mean @ w["pass"])[:, None]], axis=1), mean @ w["win"]


def evaluate(positions: rlgo.Positions) -> dict:
    """Four convolutions in JAX: a policy, and a value, Black's chance."""
    x = rlgo.planes(positions, KINDS)
    padded = np.resize(x, (1 << (len(x) - 1).bit_length(), *x.shape[1:]))  # JAX compiles for each length
    logits, win = (np.asarray(y)[: len(x)] for y in forward(WEIGHTS, padded))
    return {"logits": logits, "value": 1 / (1 + np.exp(np.where(positions.to_play == rlgo.BLACK, -win, win)))}


def loss(w: dict, planes: jax.Array, policy: jax.Array, chance: jax.Array) -> jax.Array:
    """Return the cross-entropies of the policy with visits, and of the value with outcomes."""
    logits, win = forward(w, planes)
    return (optax.softmax_cross_entropy(logits, policy) + optax.sigmoid_binary_cross_entropy(win, chance)).mean()


def learn(folders: list[Path], previous: str, out: Path) -> str:
    """Learn on from games; return an evaluator: a copy of this program, with the weights beside it."""
    w, data = weights_beside(Path(previous.rpartition(":")[0] or __file__)), rlgo.read_games(folders, KINDS)
    rule = optax.adam(optax.cosine_decay_schedule(2e-3, EPOCHS * len(data.batches(128))))
    state, gradient = rule.init(w), jax.jit(jax.grad(loss))
    for batch in (batch for epoch in range(EPOCHS) for batch in data.batches(128, epoch=epoch)):
        changes, state = rule.update(gradient(w, batch.planes, batch.policy, batch.z), state)
        w = optax.apply_updates(w, changes)
    np.savez(out / "weights.npz", **w)
    return f"{shutil.copy(__file__, out / 'network.py')}:evaluate"


WEIGHTS = weights_beside(Path(__file__))
