"""The Go Text Protocol, version 2, over a `GameSession`.

- `protocol`: reads a line, finds its command, formats the answer. Start reading at `GtpEngine.handle`.
- `commands`: the standard commands. `gnugo`, `gogui`, `servers` (KGS, CGOS), `analyze`
  (``lz-analyze``) and `kata` (``kata-analyze``): extensions of other programs.
- `queries`: KataGo's analysis protocol, JSON instead of GTP.
- `streams`: standard input and output, interrupts, pondering.
- `early`: what is answered while rlgo still starts.
- `arguments`, `lines`: parsers of arguments and of whole lines.

You can add a command in three lines; `list_commands` then includes it:

    @rlgo.play.gtp.command("my-stones")
    def count_stones(session, args):
        return str(session.game.board.n_stones.sum())

The standard is Farnebäck's "Specification of the Go Text Protocol, version 2, draft 2"; where it is silent, commands
behave as in GNU Go.
"""

from rlgo.base.lazy import lazily

# `early` answers before numba is loaded, so nothing here loads it.
__all__, __getattr__, __dir__ = lazily(
    __name__, {"rlgo.play.gtp.dialects": ("DIALECTS", "GtpEngine", "Stream", "command", "run")}
)
