"""A client of the Computer Go Server (CGOS), which plays rated games there.

- `config`: the server, our account and our player.
- `client`: how each line from the server is answered. Start reading at `CgosClient._obey`.
- `seat`: our session, kept in sync with the server's game.
- `messages`: the server's lines, parsed.
- `connection`: lines to and from the server, and the log of both.
- `record`: SGF.

The protocol is the server's "e1". The public server (zakki/cgos on GitHub) sends these lines of text:

    protocol ..., username, password        the login; who we are
    info TEXT                               for people
    setup ID SIZE KOMI MS WHITE(RATING) BLACK(RATING) [MOVE MS]...
                                            a game begins or continues, with its moves so far, Black's first
    play COLOUR MOVE MS                     the opponent's move, and the time it has left
    genmove COLOUR MS                       a request for our move, and the time we have left
    gameover DATE RESULT [REASON]           to be answered by ``ready`` for another game, or by ``quit``

MS are milliseconds. Each side has its main time, and loses when that is used up. All stones count as alive at the end,
and positional superko applies.
"""

from train.play.cgos.client import CgosClient, main, run_cgos
from train.play.cgos.config import CgosConfig, load_cgos

__all__ = ["CgosClient", "CgosConfig", "load_cgos", "main", "run_cgos"]
