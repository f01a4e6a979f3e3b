"""Fuzz the readers of game records, of GTP and of configs, led by coverage.

    pip install atheris
    python tools/fuzz.py records -max_total_time=900 CORPUS     # or gtp, or configs

The corpus is a folder, new or from an earlier run; the inputs that the tests know are put there first. Inputs that
cover new lines are added to it. What is refused must be refused in one printable line; anything else, such as another
exception, ends the run, and libFuzzer writes the input to a file. All further arguments are libFuzzer's.
"""

from __future__ import annotations

import sys
import tomllib
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import atheris  # noqa: E402
from wild_records import WILD_RECORDS  # noqa: E402

import rlgo.base.decoding  # noqa: E402
import rlgo.go.sgf  # noqa: E402
import rlgo.play.gtp  # noqa: E402
import train.config  # noqa: E402
from rlgo.base.errors import RlgoError  # noqa: E402
from rlgo.play.player import RandomPlayer  # noqa: E402

# Instrumented one by one: numba reads the byte code of kernels, which must stay as it is.
_MODULES = "rlgo.go.sgf rlgo.base.decoding rlgo.go.coords rlgo.play.gtp. rlgo.play.session train.config train.settings"
_MOST_RECORDS = 3  # played of a collection
_GTP = b"boardsize 5\nkomi 7.5\nplay b C3\n12 genmove w\nundo\nfinal_score\ntime_left b 10 0\n# note\nquit"


def records(data: bytes) -> None:
    """Read and play the games of a file."""
    for number, record in enumerate(rlgo.go.sgf.read_sgf_records(data), 1):
        game = record.game()
        note = rlgo.go.sgf.record_note(game)
        assert note.isprintable(), note
        again = rlgo.go.sgf.read_sgf(rlgo.go.sgf.write_sgf(game, "a", "b"))
        assert (again.moves, again.setup, again.komi) == (game.moves, game.setup, game.komi)
        if number == _MOST_RECORDS:
            break


def gtp(data: bytes) -> None:
    """Answer the lines of a session: one well-formed answer each."""
    engine = rlgo.play.gtp.GtpEngine(RandomPlayer(1), 5)
    for line in data.split(b"\n")[:20]:
        answer = engine.handle(line.decode("utf-8", "surrogateescape"))
        assert answer is None or (answer[0] in "=?" and answer.endswith("\n\n") and "internal error" not in answer)


def configs(data: bytes) -> None:
    """Read a config, and the same text as an override."""
    text = data.decode("utf-8", "replace")
    try:
        train.config.config_from_dict(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        train.config.config_from_dict(train.config.parse_override(text))


SEEDS = {
    records: [wild.data for wild in WILD_RECORDS if len(wild.data) < 1_000],
    gtp: [_GTP, *_GTP.split(b"\n")],
    configs: [path.read_bytes() for path in (ROOT / "configs").rglob("*.toml")],
}


def instrument() -> None:
    """Make the functions of `_MODULES` report what they cover."""
    modules = [module for name, module in sys.modules.items() if name.startswith(tuple(_MODULES.split()))]
    for module in modules:
        owners = [module, *(value for value in vars(module).values() if isinstance(value, type))]
        for function in (value for owner in owners for value in vars(owner).values()):
            if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
                atheris.instrument_func(function)


def main() -> None:
    """Run libFuzzer on the target that the command line names."""
    target = next((f for f in SEEDS if f.__name__ == sys.argv[1]), None)
    if target is None:
        sys.exit("fuzz: expected records, gtp or configs")
    corpus = Path(sys.argv[-1])
    corpus.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(SEEDS[target]):
        (corpus / f"seed-{i:03}").write_bytes(seed)

    def once(data: bytes) -> None:
        why = ""
        try:
            target(data)
        except RlgoError as error:
            why = str(error)
        assert why.isprintable(), why

    instrument()
    atheris.Setup([sys.argv[0], *sys.argv[2:]], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
