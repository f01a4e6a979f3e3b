"""Show where the time of a search goes, by module, function and line: python tools/profile_search.py PLAYER.

perf samples the compiled code, and addr2line finds the line behind each sample, even in inlined functions. Needs
Linux with perf and binutils. Everything is recompiled with debug information, which takes minutes and changes the
speed by a few percent.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rlgo.compiler.inlined import InlinedLibrary
from rlgo.go.game import Game
from train.players.spec import make_player


def search(spec: str, seconds: float, folder: Path) -> None:
    """Search a few positions of a game for some CPU seconds, and keep what was compiled in a folder."""
    player, game = make_player(spec, 9, seed=1), Game(9)
    start: float | None = None
    while start is None or time.process_time() < start + seconds:
        for _ in range(2):
            game.play(player.genmove(game))
        if len(game.moves) > 40:
            game = Game(9)
            player.new_game()
        start = start or time.process_time()
    write_kernels(folder)


def write_kernels(folder: Path) -> None:
    """Write the object file of every function compiled in this process; its name is the address of its code."""
    from numba.core.dispatcher import Dispatcher

    for dispatcher in [o for o in gc.get_objects() if isinstance(o, Dispatcher)]:
        for compiled in dispatcher.overloads.values():
            name, library = compiled.fndesc.mangled_name, compiled.library
            if isinstance(library, InlinedLibrary):  # its code is in that of its callers
                continue
            file = folder / "kernel"
            file.write_bytes(library._get_compiled_object())
            symbols = (line.split() for line in run("nm", str(file)).splitlines())
            offset = next(int(first, 16) for first, *_, last in symbols if last == name)
            file.rename(folder / f"{library.get_pointer_to_function(name) - offset:x}.o")


def run(*command: str, text: str | None = None) -> str:
    """Run a program and return what it prints."""
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def code_size(kernel: Path) -> int:
    """Return the bytes of code in an object file, which has debug information as well."""
    sections = (line.split() for line in run("size", "-A", str(kernel)).splitlines())
    return next(int(words[1]) for words in sections if words[:1] == [".ltext"])


def lines_of(kernel: Path, offsets: list[int]) -> list[tuple[str, str]]:
    """Return the innermost function and the line of source of each offset in a kernel."""
    text = "\n".join(map(hex, offsets))
    found = run("addr2line", "-f", "-e", str(kernel), "-j", ".ltext", text=text).splitlines()
    return list(zip(map(readable, found[::2]), (Path(line).name for line in found[1::2]), strict=True))


def readable(mangled: str) -> str:
    """Return the dotted name in a mangled one, whose parts follow their lengths: _ZN4mcts6search6selectB..."""
    name, parts = mangled.removeprefix("_ZN"), []
    while length := re.match(r"\d+", name):
        start, end = length.end(), length.end() + int(length[0])
        parts.append(name[start:end])
        name = name[end:]
    return ".".join(parts) or mangled


def main() -> None:
    """Profile a search and print the modules, functions and lines that took most of the time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("player")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--kernels", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.kernels is not None:
        search(arguments.player, arguments.seconds, arguments.kernels)
        return
    missing = [program for program in ("perf", "nm", "size", "addr2line") if shutil.which(program) is None]
    if missing:
        parser.error(f"{' and '.join(missing)}: not installed")
    functions, lines = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        samples = f"{folder}/perf.data"
        environment = os.environ | {"NUMBA_DEBUGINFO": "1", "RLGO_CACHE_DIR": folder, "PYTHONWARNINGS": "ignore"}
        environment["RLGO_COMPILE_AHEAD"] = "0"  # another process would leave no debug information here
        command = [sys.executable, __file__, arguments.player, "--seconds", f"{arguments.seconds}", "--kernels", folder]
        perf = ["perf", "record", "-q", "-e", "cpu-clock", "-o", samples]
        subprocess.run([*perf, *command], env=environment, check=True)
        taken = Counter(int(word, 16) for word in run("perf", "script", "-i", samples, "-F", "ip").split())
        for kernel in Path(folder).glob("*.o"):
            start = int(kernel.stem, 16)
            end = start + code_size(kernel)
            here = {address - start: n for address, n in taken.items() if start <= address < end}
            for (function, line), n in zip(lines_of(kernel, list(here)), here.values(), strict=True):
                functions[function] += n
                lines[line] += n
    modules = Counter[str]()
    for function, n in functions.items():
        modules[".".join(function.split(".")[:2])] += n
    for counts in (modules, functions, lines):
        print(*(f"{n / counts.total():6.1%}  {name}" for name, n in counts.most_common(25)), "", sep="\n")


if __name__ == "__main__":
    main()
