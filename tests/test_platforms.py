"""Installation and environment: wheels, folders, locales, missing packages."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Names that a person's own files may have, the standard library's among them.
NAMES = ("train", "mcts", "rlgo", "numpy", "json", "random", "signal", "socket", "types")
# What is optional, and what needs it.
OPTIONAL = {
    "matplotlib": (
        ["experiment", "plot", "shape_frequency", "--results", str(ROOT / "results" / "experiments")],
        "plot",
    ),
    "ray": (["train", "quick", "--set", "run.cluster=local"], "ray"),
    "pyspiel": (["match", "open_spiel", "random", "--games", "2", "--size", "5"], "open-spiel"),
    "starlette": (["web", "--no-browser"], "web"),
}


def run(*argv: str | Path, **options) -> subprocess.CompletedProcess[str]:
    """Run the command from the sources, or another program."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.run(
        [str(a) for a in argv],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        env=environment,
        check=False,
        **options,
    )


def rlgo(*argv: str | Path, **options) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "rlgo", *argv, **options)


# ---------------------------------------------------------------------------------------------
# A wheel in a fresh place
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the wheel and the sdist."""
    if not importlib.util.find_spec("hatchling") or not importlib.util.find_spec("hatch_fancy_pypi_readme"):
        pytest.skip("hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """The folder of programs of a fresh environment that has the wheel; what it needs comes from this one."""
    fresh = tmp_path_factory.mktemp("fresh")
    venv.create(fresh, symlinks=True)
    programs = fresh / "bin"
    (wheel,) = built.glob("*.whl")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        programs / "python",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    done = run(*pip, wheel, env={"PYTHONPATH": ""})
    if done.returncode and "No module named pip" in done.stderr:
        pytest.skip("pip is not installed")
    assert done.returncode == 0, done.stderr
    (packages,) = fresh.glob("lib/python*/site-packages")
    others = {str(Path(importlib.util.find_spec(name).origin).parents[1]) for name in ("numpy", "numba", "pydantic")}
    (packages / "others.pth").write_text("\n".join(others) + "\n")
    return programs


@pytest.mark.slow
@pytest.mark.process
def test_the_command_runs_in_any_folder_whatever_is_in_it(installed, tmp_path):
    folder = tmp_path / "Spiele für zwei"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the user was imported')\n")
    options = {"cwd": folder, "env": {"PYTHONPATH": "", "COLUMNS": "80"}}
    done = run(installed / "rlgo", "players", "greedy", **options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("greedy: One-ply search")
    # Processes that it starts: two for a match, one for a sweep.
    done = run(installed / "rlgo", "match", "random", "random", "--games", "2", "--size", "5", "--jobs", "2", **options)
    assert done.returncode == 0, done.stderr
    assert "2 distinct games" in done.stdout
    run_config = "[run]\ngames = 10\neval_every = 0\neval_games = 2\n[board]\nsize = 5\n[features]\nsizes = [1, 2]\n"
    (folder / "base.toml").write_text(run_config)
    (folder / "sweep.toml").write_text(
        '[sweep]\nbase = "base.toml"\ngames = 2\n[sweep.parameters]\nlearning.alpha = [0.1, 0.2]\n'
    )
    done = run(installed / "rlgo", "sweep", "sweep.toml", "--jobs", "1", **options)
    assert done.returncode == 0, done.stderr
    assert "| seeds | Elo | behind the best |" in done.stdout


@pytest.mark.slow
@pytest.mark.process
def test_python_m_rlgo_does_not_take_the_users_train(installed, tmp_path):
    for name in ("train", "mcts"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    for program in ([installed / "python", "-m", "rlgo"], [sys.executable, "-m", "rlgo"]):
        there = {"PYTHONPATH": "" if program[0] != sys.executable else str(ROOT)}
        done = run(*program, "players", "random", cwd=tmp_path, env=there)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")  # not to be imported here
def test_ray_workers_do_not_take_the_users_train_either(tmp_path, monkeypatch):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name in ("train", "mcts"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    done = rlgo("match", "random", "random", "--games", "2", "--size", "5", "--cluster", "local", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 distinct games" in done.stdout


@pytest.mark.slow
@pytest.mark.process
def test_what_is_shown_outside_the_repository_has_no_broken_links(built):
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert {name.partition("/")[0] for name in names if "dist-info" not in name} == {"rlgo", "mcts", "train"}
    readme = metadata.partition("\n\n")[2]
    assert readme.startswith("# rlgo\n")
    assert re.findall(r"\]\((?!https?:)[^)]*\)|(?m:^!)|!\[|<!--", readme) == []
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "SECURITY.md", "pyproject.toml", "docs/figure_12b.png", "noxfile.py"} <= inside
    if importlib.util.find_spec("twine"):
        done = run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
        assert done.returncode == 0, done.stdout


# ---------------------------------------------------------------------------------------------
# What may be missing
# ---------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("name", OPTIONAL)
def test_what_needs_a_missing_package_says_which_extra_has_it(name, tmp_path):
    argv, extra = OPTIONAL[name]
    hide = f"import sys; sys.modules[{name!r}] = None; from train.cli.main import main; sys.exit(main())"
    done = run(sys.executable, "-c", hide, *argv, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("rlgo: error: ")
    assert f"rlgo[{extra}]" in last
    assert "Traceback" not in done.stderr


def test_the_extras_that_are_named_exist_as_every_pip_spells_them():
    """pip 23.2, which comes with Python 3.11, installs nothing for an extra with an underscore, and only warns."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in extras)
    files = [ROOT / "README.md", *(path for folder in ("docs", "train", "rlgo", "mcts", "configs")
             for path in (ROOT / folder).rglob("*") if path.suffix in (".md", ".py", ".toml", ".ipynb"))]  # fmt: skip
    named = {name for path in files for text in re.findall(r"rlgo\[([\w, -]+)\]", path.read_text("utf-8"))
             for name in text.replace(" ", "").split(",")}  # fmt: skip
    assert {"open-spiel", "web"} <= named <= set(extras)


@pytest.mark.process
def test_an_engine_that_is_not_installed_is_named(tmp_path):
    done = rlgo("match", "gtp:nosuchgo --mode gtp", "random", "--games", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("rlgo: error: ")
    assert "nosuchgo" in done.stderr


# ---------------------------------------------------------------------------------------------
# Homes, caches, locales
# ---------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="locales are POSIX")
@pytest.mark.parametrize(("utf8", "encoding"), [("0", "ascii"), ("1", "utf-8")])
def test_any_encoding_and_any_path(utf8, encoding, tmp_path):
    # Left alone, Python takes the locale C for UTF-8 (PEP 538, PEP 540).
    environment = {"LC_ALL": "C", "PYTHONUTF8": utf8, "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    code = "import codecs, locale; print(codecs.lookup(locale.getpreferredencoding(False)).name)"
    assert run(sys.executable, "-c", code, env=environment).stdout.split() == [encoding]
    folder = tmp_path / "Bücher & mehr, 囲碁"
    folder.mkdir()
    weights = folder / "Gewichte ä.npz"
    weights.write_bytes((ROOT / "checkpoints" / "9x9-1M.npz").read_bytes())
    done = rlgo("weights", "info", weights, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    assert "9x9" in done.stdout
    done = rlgo("weights", "show", weights, cwd=folder, env=environment)  # with stones
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_a_home_and_a_cache_that_cannot_be_written(tmp_path):
    """Files in place of folders: not even the superuser can write below them."""
    blocked = tmp_path / "file"
    blocked.touch()
    environment = {
        name: str(blocked / "below") for name in ("HOME", "XDG_CACHE_HOME", "RLGO_CACHE_DIR", "MPLCONFIGDIR")
    }
    child = "import rlgo.compiler.cache_folders as code; print(code.CACHE_DIR, flush=True)"
    code = f"{child}; import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    done = run(sys.executable, "-c", code, env={**environment, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    own, of_child = map(Path, done.stdout.splitlines())
    assert own == of_child
    assert own.parent.parent == tmp_path
    assert own.is_dir()  # for the next process
    assert done.stderr.count("machine code is kept in") == 1
