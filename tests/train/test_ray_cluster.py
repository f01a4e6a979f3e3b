"""A Ray cluster of our own, on machines that Ray does not expect."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rlgo.base.errors import RlgoError
from train import ray_cluster

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]


def test_ray_does_not_take_sigterm() -> None:
    import ray

    before = signal.getsignal(signal.SIGTERM)
    with ray_cluster._own_sigterm(ray):
        ray._private.utils.set_sigterm_handler(lambda *_: sys.exit(15))
        assert signal.getsignal(signal.SIGTERM) is before


def test_a_process_of_the_cluster_that_is_gone(monkeypatch) -> None:
    import ray

    node = SimpleNamespace(dead_processes=lambda: [("gcs_server", None)])
    monkeypatch.setattr(ray._private.worker, "_global_node", None)
    ray_cluster.check_alive(ray, "--cluster local")
    monkeypatch.setattr(ray._private.worker, "_global_node", node)
    with pytest.raises(RlgoError, match=r"^--cluster local: Ray's process gcs_server is gone: expected it to run"):
        ray_cluster.check_alive(ray, "--cluster local")


def test_a_token_is_made_where_none_can_be_kept(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "to be restored")
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setenv("HOME", str(tmp_path))
    ray_cluster._ensure_token()
    assert "RAY_AUTH_TOKEN" not in os.environ  # Ray keeps it at home
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    ray_cluster._ensure_token()
    assert len(os.environ["RAY_AUTH_TOKEN"]) == 64


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="names a process as on Linux")
def test_under_uv_and_without_a_home(tmp_path: Path) -> None:
    """As `uv run` starts it, which makes Ray prepare an environment for each process, and never get ready."""
    command = f"{sys.executable} -m rlgo match random random --games 2 --size 5 --komi 0.5 --cluster local"
    (tmp_path / "run").write_text(f"{command}\nexit $?\n")
    environment = {
        **os.environ,
        "HOME": str(tmp_path / "run"),
        "PYTHONPATH": str(Path(ray_cluster.__file__).parents[1]),
    }
    environment.pop("RAY_AUTH_TOKEN", None)
    done = subprocess.run(
        ["bash", "-c", "exec -a uv bash run"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "random against random, 5x5, komi 0.5"), done.stderr
