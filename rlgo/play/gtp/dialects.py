"""All commands of GTP engines, registered, and the names of `rlgo.play.gtp`."""

# isort: off
from rlgo.play.gtp import commands, gnugo, gogui, servers, analyze, kata  # in the order of `list_commands`

# isort: on
from rlgo.play.gtp.protocol import GtpEngine, Stream, command
from rlgo.play.gtp.streams import run

DIALECTS = (commands, gnugo, gogui, servers, analyze, kata)
__all__ = ["DIALECTS", "GtpEngine", "Stream", "command", "run"]
