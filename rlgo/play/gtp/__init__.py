"""The Go Text Protocol, version 2, over a `GameSession`.

- `protocol`: reads a line, finds its command, formats the answer. Start reading at `GtpEngine.handle`.
- `commands`: the standard commands. `gnugo`, `gogui`, `servers` (KGS, CGOS), `analyze`
  (``lz-analyze``) and `kata` (``kata-analyze``): extensions of other programs.
- `queries`: KataGo's analysis protocol, JSON instead of GTP; `query_fields` checks what is asked.
- `streams`: standard input and output, interrupts, pondering.
- `arguments`, `lines`: parsers of arguments and of whole lines.

You can add a command in three lines; `list_commands` then includes it:

    @rlgo.play.gtp.command("my-stones")
    def count_stones(session, args):
        return str(session.game.board.n_stones.sum())

The standard is Farnebäck's "Specification of the Go Text Protocol, version 2, draft 2"; where it is silent, commands
behave as in GNU Go.
"""

# isort: off
from rlgo.play.gtp import commands, gnugo, gogui, servers, analyze, kata  # in the order of `list_commands`

# isort: on
from rlgo.play.gtp.protocol import GtpEngine, Stream, command
from rlgo.play.gtp.streams import run

DIALECTS = (commands, gnugo, gogui, servers, analyze, kata)
__all__ = ["DIALECTS", "GtpEngine", "Stream", "command", "run"]
