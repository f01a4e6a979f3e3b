"""The structure of the code: which layer may import which, no cycles, functions that fit on a page."""

from __future__ import annotations

import ast
import graphlib
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rlgo", "mcts", "train")  # a package may import itself and those before it
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
NAMES = [str(path.relative_to(ROOT)) for path in FILES]

# Inside a package, a room may import itself and the rooms of lower floors.
FLOORS = {
    "rlgo": (
        ("base",),
        ("compiler",),
        ("go",),
        ("moves",),
        ("features",),
        ("network",),
        ("learning",),
        ("play",),
        ("search",),
    ),
    "train": (
        ("stats", "checksums", "provenance", "locks", "process", "console", "plots", "ray_cluster"),
        ("settings", "board_pictures"),
        ("config",),
        ("players",),
        ("arena", "play"),
        ("runs", "games"),
        ("experiments", "bench", "network"),
        ("cli",),
    ),
}
# Packages within a room, in the order in which they may import each other.
INNER_FLOORS = {
    "train.play.web": ("options", "messages", "access", "searching", "tab", "server"),
    "train.experiments": ("declaration", "results", "running", "report"),
}
FLOOR_OF = {f"{package}.{room}": i for package in FLOORS for i, rooms in enumerate(FLOORS[package]) for room in rooms}
ENTRY = "rlgo.__main__"  # `python -m rlgo` is the command line: it stands above everything

MOST_LINES = 60
MOST_ARGUMENTS = 8


def module_of(path: Path) -> str:
    """The name of a module by its file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


def imports_of(source: str, module: str = "", is_package: bool = False) -> set[str]:
    """Everything that a source imports, in full: inside functions, for type checkers alone, and by name, too."""
    package = module if is_package else module.rpartition(".")[0]
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(("import_module", "__import__"))
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            names.add(str(node.args[0].value))
    return names


def our_module(name: str) -> str | None:
    """The module of ours that an imported name is, or stands in: a.b for ``from a.b import c``."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def edges() -> dict[str, set[str]]:
    """For each module, the modules of ours that it imports."""
    graph = {}
    for module, path in MODULES.items():
        names = imports_of(path.read_text("utf-8"), module, path.name == "__init__.py")
        graph[module] = {found for name in names if (found := our_module(name))} - {module}
    return graph


GRAPH = edges()


def room_of(module: str) -> str:
    """The package and the room of a module: the first two parts of its name."""
    return ".".join(module.split(".")[:2])


IN_ROOMS = [name for name in MODULES if name.partition(".")[0] in FLOORS and "." in name and name != ENTRY]


@pytest.mark.parametrize("module", MODULES)
def test_packages_import_one_way(module: str) -> None:
    if module == ENTRY:
        return
    above = set(PACKAGES[PACKAGES.index(module.partition(".")[0]) + 1 :]) | {"tests"}
    names = imports_of(MODULES[module].read_text("utf-8"))
    wrong = {name for name in names if name.partition(".")[0] in above}
    assert not wrong, f"{module} imports {', '.join(sorted(wrong))}; imports go train -> mcts -> rlgo"


def test_every_room_has_a_floor() -> None:
    assert {room_of(module) for module in IN_ROOMS} == set(FLOOR_OF)


@pytest.mark.parametrize("module", IN_ROOMS)
def test_rooms_import_downwards(module: str) -> None:
    room = room_of(module)
    for other in GRAPH[module]:
        if other in IN_ROOMS and other.partition(".")[0] == module.partition(".")[0] and room_of(other) != room:
            assert FLOOR_OF[room_of(other)] < FLOOR_OF[room], f"{module} imports {other}"


@pytest.mark.parametrize("package", INNER_FLOORS)
def test_packages_within_a_room_import_downwards(package: str) -> None:
    floors = INNER_FLOORS[package]

    def floor(module: str) -> int:
        return floors.index(module.removeprefix(f"{package}.").partition(".")[0])

    for module in (name for name in MODULES if name.startswith(f"{package}.")):
        for other in GRAPH[module]:
            if other.startswith(f"{package}."):
                assert floor(other) <= floor(module), f"{module} imports {other}"


def test_there_are_no_circles() -> None:
    try:
        tuple(graphlib.TopologicalSorter(GRAPH).static_order())
    except graphlib.CycleError as error:
        pytest.fail(f"modules import each other: {' <- '.join(error.args[1])}")


def test_the_check_sees_every_kind_of_import() -> None:
    source = """
import train.run
from mcts.tree import Tree
from . import board
if TYPE_CHECKING:
    from ..cli import main
def f():
    import scipy.optimize as o
    importlib.import_module("tests.naive")
"""
    assert imports_of(source, "train.runs.run") == {
        "train.run",
        "mcts.tree.Tree",
        "train.runs.board",
        "train.cli.main",
        "scipy.optimize",
        "tests.naive",
    }


# ---------------------------------------------------------------------------------------------
# Data stays data
# ---------------------------------------------------------------------------------------------

UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "dbm"}
UNSAFE_CALLS = {"eval", "exec", "compile", "os.system", "os.popen"}


def unsafe(source: str) -> set[str]:
    """What a source does that would turn data into code: pickles, evaluation, shells."""
    found = {name for name in imports_of(source) if name.partition(".")[0] in UNSAFE_MODULES}
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        options = {option.arg: ast.unparse(option.value) for option in call.keywords}
        if name in UNSAFE_CALLS or options.get("shell", "False") != "False":
            found.add(name)
        if name.endswith("np.load") and options.get("allow_pickle") != "False":
            found.add(name)
    return found


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_data_never_becomes_code(path: Path) -> None:
    """The cache of machine code is code; only its owner can write to it. A pipe to a child belongs to the two alone."""
    exempt = (ROOT / "rlgo/compiler/machine_code.py", ROOT / "rlgo/compiler/parallel.py")
    expected = {"pickle"} if path in exempt else set()
    assert unsafe(path.read_text("utf-8")) == expected


def test_the_check_sees_what_is_unsafe() -> None:
    source = """
import pickle
np.load(file)
np.load(file, allow_pickle=True)
np.load(file, allow_pickle=False)
subprocess.run(text, shell=True)
eval(text)
re.compile(text)
"""
    assert unsafe(source) == {"pickle", "np.load", "subprocess.run", "eval"}


# ---------------------------------------------------------------------------------------------
# Functions
# ---------------------------------------------------------------------------------------------


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether numba compiles a function."""
    names = ("njit", "inline", "inline_once", "apart")
    return any(ast.unparse(d).partition("(")[0] in names for d in function.decorator_list)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_functions_fit_on_a_page(path: Path) -> None:
    for f in functions(path):
        lines = f.end_lineno - f.lineno + 1  # type: ignore[operator]
        assert lines <= MOST_LINES, f"{f.name}: {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_functions_take_few_arguments(path: Path) -> None:
    """Compiled functions at most eight; others at most eight by position, and settings by keyword."""
    for f in functions(path):
        arguments = [a.arg for a in (*f.args.posonlyargs, *f.args.args) if a.arg not in ("self", "cls")]
        is_command = "train/cli/" in str(path)  # Typer makes the options of its arguments
        assert is_command or len(arguments) <= MOST_ARGUMENTS, f"{f.name}: {len(arguments)} arguments"
        assert not (is_compiled(f) and f.args.kwonlyargs), f.name


# ---------------------------------------------------------------------------------------------
# Packages
# ---------------------------------------------------------------------------------------------


def test_only_jit_knows_how_numba_compiles() -> None:
    """One njit decorator for all: its options and its cache stand in one place each."""
    for path in FILES:
        source, name = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
        assert name == "rlgo/compiler/decorators.py" or "numba.njit" not in source, name
        if not name.startswith("rlgo/compiler/"):
            assert "from numba" not in source, name


def test_durations_are_measured_by_clocks_that_do_not_jump() -> None:
    """``time.time`` does, when the clock of a machine is set; TensorBoard wants the time of day."""
    users = [path.name for path in FILES if re.search(r"\btime\.time\(|import time\b.*\bas\b", path.read_text("utf-8"))]
    assert users == ["monitor.py"]


def test_where_no_test_may_be_skipped_all_packages_are_there() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    needed = {name for text in texts for name in re.findall(r'importorskip\("(\w+)', text)} | {"ray"}
    assert len(needed) >= 8
    if os.environ.get("RLGO_TESTS") == "all":
        assert {name for name in needed if importlib.util.find_spec(name) is None} == set()


@pytest.mark.parametrize("path", sorted((ROOT / "checkpoints").rglob("*.npz")), ids=lambda path: path.stem)
def test_shipped_files_name_no_folder_of_a_machine(path: Path) -> None:
    """What a file says about its making, such as the weights that a run started from, is for other machines, too."""
    content = path.read_bytes()
    assert [
        folder for folder in (b'"/', b"=/", b" /") if folder + b"tmp/" in content or folder + b"home/" in content
    ] == []
