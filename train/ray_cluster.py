"""Connecting to a Ray cluster, and checking that all machines run the same rlgo.

Training and matches both use this module; it is the only one that imports Ray. Ray is optional
(``pip install 'rlgo[ray]'``) and slow to import, so it is imported in `connect`, not at the top.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rlgo.base.errors import RlgoError
from rlgo.base.files import check_folder, user_path
from rlgo.base.resources import version
from rlgo.compiler.sources import sources_digest

_CONNECT_SECONDS = 5.0  # for a TCP connection to the head
_MEBI = 2**20
_AUTHENTICATION = (
    "RAY_AUTH_MODE=token with the cluster's token in ~/.ray/auth_token, RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN"
)


def fingerprint() -> str:
    """Return what must be equal on all machines of a cluster: the version and a digest of the compiled sources."""
    return f"rlgo {version()} ({sources_digest()})"


def check_fingerprint(expected: str, setting: str) -> None:
    """Raise RlgoError if this machine of a cluster runs a different rlgo from the one that needs it.

    setting : the setting that names the cluster, for the message
    """
    if expected != fingerprint():
        raise RlgoError(f"{setting}: {socket.gethostname()} has {fingerprint()}: expected {expected}, as here")


def connect(cluster: str, workers: int, n_weights: int = 0, setting: str = "") -> tuple[Any, bool]:
    """Connect this process to a Ray cluster.

    Parameters
    ----------
    cluster : "local": a cluster on this machine alone, with one CPU per worker, that ends with this process.
        "auto": the cluster this machine belongs to, or the one in the environment variable RAY_ADDRESS. "HOST:PORT":
        the same, by the address of its head. "ray://HOST:PORT": a cluster this machine is not part of, through Ray's
        client server.
    workers : number of workers that will be started
    n_weights : number of weights each worker learns, 0 if it learns none. A local cluster reserves memory for
        them.
    setting : name of the setting in error messages; by default ``run.cluster = "..."``

    Returns
    -------
    tuple[module, bool]
        The module `ray`, and whether the connection is new. A process that is already connected stays connected
        to the same cluster.

    Raises
    ------
    RlgoError : if Ray is not installed, the cluster does not exist, or it rejects the token
    """
    setting = setting or cluster_setting(cluster)
    ray = _import_ray(setting, is_remote=cluster != "local")
    if ray.is_initialized():
        return ray, False
    options: dict[str, Any] = {"address": cluster, "log_to_driver": False, "logging_level": "ERROR"}
    if cluster == "local":
        # Room for the weights sent, the weights and occurrences returned, and copies not yet freed.
        bytes_per_worker = 3 * (n_weights + 1) * (4 + 4 + 8) if n_weights else 0
        store = 128 * _MEBI + workers * bytes_per_worker
        options |= {"num_cpus": workers, "include_dashboard": False, "object_store_memory": store}
        _ensure_token()
    else:
        _check_reachable(setting, _address_of_auto(setting) if cluster == "auto" else cluster)
    try:
        # Ray's workers search the current folder first, where a user's train.py would hide ours.
        with _quiet_stderr(), _own_sigterm(ray), contextlib.chdir(Path(__file__).resolve().parents[1]):
            ray.init(**options)
    except ray.exceptions.AuthenticationError as error:
        raise RlgoError(f"{setting}: {short_error(error)}: expected {_AUTHENTICATION}") from None
    except ConnectionError:
        raise RlgoError(f"{setting}: connection refused: expected a port of Ray's, and {_AUTHENTICATION}") from None
    except Exception as error:  # anything else Ray finds wrong: versions, addresses, permissions
        raise RlgoError(f"{setting}: {' '.join(str(error).split())}") from None
    return ray, True


def check_alive(ray: Any, setting: str) -> None:
    """Raise RlgoError if a process of a cluster of our own is gone. Ray would end this process a while later.

    setting : see `connect`
    """
    node = ray._private.worker._global_node  # None for Ray's client
    if node is not None and (dead := node.dead_processes()):
        raise RlgoError(f"{setting}: Ray's process {dead[0][0]} is gone: expected it to run until the end")


def cancel(ray: Any, calls: Iterable[Any]) -> None:
    """Interrupt tasks as Ctrl-C would. Not by force, which has made Ray abort this process."""
    for call in calls:
        with contextlib.suppress(Exception):
            ray.cancel(call)


def cluster_setting(cluster: str) -> str:
    """Return the config setting that names `cluster`, for error messages."""
    return f'run.cluster = "{cluster}"'


def short_error(error: Exception) -> str:
    """Return a Ray error as one line: the last line of the traceback it contains, or its first sentence."""
    ends = re.findall(r"^\s*([\w.]+(?:Error|Exception): .*)$", str(error), re.MULTILINE)
    return ends[-1] if ends else str(error).partition(". ")[0].strip()


def _import_ray(setting: str, is_remote: bool) -> Any:
    # Ray writes long messages to stdout and stderr. It reads these variables when it is imported.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # drops the lines that match
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # Started by `uv run`, it would make an environment for each worker from the current folder. Ours are equal anyway.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    os.environ.setdefault("RAY_task_oom_retries", "3")  # otherwise a task that needs too much memory never ends
    if is_remote:
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")  # a wrong token fails after 3 s instead of 20 s
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise RlgoError(f"{setting}: Ray is not installed: pip install 'rlgo[ray]'") from None
    return ray


def _address_of_auto(setting: str) -> str:
    """Return the head of this machine's cluster, as `ray start` notes it. Ray itself would try others for minutes."""
    noted = Path(os.environ.get("RAY_TMPDIR") or ("/tmp" if sys.platform == "darwin" else tempfile.gettempdir()))  # nosec B108
    noted = noted / "ray" / "ray_current_cluster"
    address = os.environ.get("RAY_ADDRESS") or (noted.read_text("utf-8").strip() if noted.is_file() else "")
    if not address:
        raise RlgoError(f"{setting}: Ray is not running on this machine: expected `ray start` first, or RAY_ADDRESS")
    return address


def _check_reachable(setting: str, address: str) -> None:
    """Raise RlgoError if nothing listens at `address`. Ray itself would keep trying for 15 minutes."""
    url = urlsplit(address if "://" in address else f"ray://{address}")
    try:
        socket.create_connection((url.hostname or "", url.port or 0), _CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise RlgoError(f"{setting}: no answer from {address} ({error}): expected the head of a Ray cluster") from None


def _ensure_token() -> None:
    """Make a token for a cluster of our own if Ray cannot keep one in the home folder, or if there is none."""
    try:
        check_folder(user_path("~/.ray"))
    except RlgoError:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex())


@contextlib.contextmanager
def _own_sigterm(ray: Any) -> Iterator[None]:
    """Keep our SIGTERM handler, which Ray replaces with one that exits with status 15."""
    utils = ray._private.utils
    theirs, utils.set_sigterm_handler = utils.set_sigterm_handler, lambda _: None
    try:
        yield
    finally:
        utils.set_sigterm_handler = theirs


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Discard everything written to standard error, including by Ray's C++ code and its child processes."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
