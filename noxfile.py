"""The tests on other Pythons and with other packages: `make test-all`, or one of them, `nox -s lowest`.

A Python that is not on this machine is skipped, and said so.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
QUICK = "not slow and not process and not gnugo and not ray and not browser"


def lower_bounds() -> list[str]:
    """Return ``name==version`` for every ``name>=version`` that users need, from pyproject.toml; not for our tools."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [
        *project["dependencies"],
        *(need for name in extras if name not in ("docs", "test") for need in extras[name]),
    ]
    return [re.sub(r"(\[[^]]*\])?>=", "==", need).partition(";")[0].partition(",")[0] for need in needed]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run all tests, with the thorough ones, in the three ways of `make test-more`."""
    session.install("--editable", ".[test]")
    session.env["OPENBLAS_NUM_THREADS"] = "1"  # see the Makefile
    pytest = ("python", "-m", "pytest", "--numprocesses=auto", "--dist=loadfile", "--no-loadscope-reorder")
    session.run(*pytest, *session.posargs)
    if session.posargs:
        return
    session.run(*pytest, "-m", "interpreted", env={"NUMBA_DISABLE_JIT": "1"})
    cache = str(Path(session.create_tmp()) / "cache-boundscheck")
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "0", "RLGO_CACHE_DIR": cache}
    session.run(*pytest, "-m", "boundscheck", "-W", "ignore::numba.core.errors.NumbaWarning", env=checked)


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run the quick tests with the lowest versions that pyproject.toml allows."""
    constraints = Path(session.create_tmp()) / "lowest.txt"
    constraints.write_text("\n".join(lower_bounds()) + "\n", "utf-8")
    extras = "gymnasium,network,onnx,open-spiel,pettingzoo,plot,ray,tensorboard,web"
    session.install("--constraint", str(constraints), "--editable", f".[{extras}]")
    session.install("--constraint", str(constraints), "choix", "httpx", "hypothesis", "pytest", "pytest-timeout")
    session.run(
        "python", "-m", "pytest", "-m", QUICK, *(session.posargs or ["tests/rlgo", "tests/mcts", "tests/train"])
    )


@nox.session(python=PYTHONS[0])
def bare(session: nox.Session) -> None:
    """Run the quick tests of the core and of the command line without any of the extras."""
    session.install("--editable", ".", "hypothesis", "pytest", "pytest-timeout")
    session.run(
        "python", "-m", "pytest", "-m", QUICK, *(session.posargs or ["tests/rlgo", "tests/mcts", "tests/train/cli"])
    )
