"""The Go Text Protocol, version 2, over a `GameSession`.

- `protocol`: reads a line, finds its command, formats the answer. Start reading at `GtpEngine.handle`.
- `commands`: the commands of the standard. `gnugo`, `gogui`, `kgs`, `cgos` and `analyze` (``lz-analyze``): those of
  others.
- `streams`: standard input and output, interrupts, thinking in the opponent's time.
- `arguments`: what commands take.

A command of your own takes three lines; `list_commands` then names it:

    @rlgo.play.gtp.command("my-stones")
    def count_stones(session, args):
        return str(session.game.board.n_stones.sum())

The standard is Farnebäck's "Specification of the Go Text Protocol, version 2, draft 2"; where it is silent, commands
behave as in GNU Go.
"""

# isort: off
from rlgo.play.gtp import commands, gnugo, gogui, kgs, cgos, analyze  # in the order in which `list_commands` names them

# isort: on
from rlgo.play.gtp.protocol import GtpEngine, Stream, command
from rlgo.play.gtp.streams import run

DIALECTS = (commands, gnugo, gogui, kgs, cgos, analyze)
__all__ = ["DIALECTS", "GtpEngine", "Stream", "command", "run"]
