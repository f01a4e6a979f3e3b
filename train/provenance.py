"""Where results come from: versions, commit, machine, and digests of the files used.

`versions` goes into every result. A run adds `commit`, an experiment `machine`, a match the digests that `programs`
returns, so that its games are not continued with other code or other weights.
"""

from __future__ import annotations

import hashlib
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlgo.base.machine import processors
from rlgo.base.resources import version
from rlgo.compiler.sources import sources_digest


def versions(engines: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the versions of rlgo and of the software that computes its results, by name.

    Parameters
    ----------
    engines : versions of external engines by name, which are added
    """
    import numba  # imported late: numba and numpy are slow to load
    import numpy as np

    return {
        "rlgo": version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        **(engines or {}),
    }


def command_line() -> str:
    """Return the command that this process runs, as it is typed in a shell; "" if it is not one of rlgo's."""
    program = Path(sys.argv[0])
    is_ours = program.name == "rlgo" or program.parts[-2:] == ("rlgo", "__main__.py")
    return shlex.join(["rlgo", *sys.argv[1:]]) if is_ours else ""


def commit() -> str:
    """Return the short git commit of the source tree, with "+" for local changes; "" outside a git checkout."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return ""

    def git(*arguments: str) -> str:  # found on PATH
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=10)  # nosec B607
        return done.stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def cpu_name() -> str:
    """Return the name of the processor as the system reports it, or else its architecture."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()


def machine() -> str:
    """Return the processors of this machine in words: ``8 x NAME``."""
    return f"{processors()} x {cpu_name()}"


def file_digest(path: str | Path) -> str:
    """Return the first 16 hexadecimal digits of a file's SHA-256."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def programs(files: Mapping[str, Path]) -> dict[str, Any]:
    """Return digests of the code and the files that games depend on.

    Parameters
    ----------
    files : weight files, by their names in specs

    Returns
    -------
    "sources": the digest of rlgo's compiled sources; "files", if there are any: a digest for each file, by its name.
    """
    digests = {name: file_digest(path) for name, path in files.items()}
    return {"sources": sources_digest(), **({"files": digests} if digests else {})}
