"""What a GTP engine answers before it exists, while numba is loaded and kernels are compiled.

Start reading at `EarlyAnswers.answer`. A controller asks for the name, the version and the commands first, and then
sets the board up. Nothing here loads numba, which takes most of the time of a start.
"""

from __future__ import annotations

from rlgo.base.resources import version
from rlgo.play.gtp.arguments import parse_integer, parse_number
from rlgo.play.gtp.lines import format_answer, split_line

_NAMES = """
protocol_version name version known_command list_commands help quit boardsize clear_board komi fixed_handicap
place_free_handicap set_free_handicap play genmove reg_genmove undo time_settings time_left final_score
final_status_list loadsgf showboard restricted_genmove black genmove_black white genmove_white gg-undo clear_cache
is_legal all_legal captures list_stones color countlib findlib final_status last_move move_history query_boardsize
get_komi get_handicap printsgf cputime echo analyze lz-analyze genmove_analyze lz-genmove_analyze gogui-title
gogui-interrupt gogui-play_sequence gogui-setup gogui-setup_player gogui-analyze_commands rlgo-map rlgo-variation
rlgo-ownership rlgo-shapes rlgo-report kgs-time_settings kgs-genmove_cleanup kgs-rules kgs-game_over
cgos-opponent_name cgos-gameover kata-get-rules kata-set-rules kata-analyze kata-genmove_analyze kata-search_analyze
kata-raw-nn
"""
NAMES = tuple(_NAMES.split())  # all commands of `rlgo gtp`, in the order of `list_commands`


class EarlyAnswers:
    r"""Answers to what controllers ask first. They are those that the engine gives when it carries out the same lines.

    Parameters
    ----------
    title : as of `GtpEngine`
    size : the board size that the engine begins with

    >>> from rlgo.play.gtp.early import EarlyAnswers
    >>> early = EarlyAnswers("level 3", 9)
    >>> early.answer("1 name")
    '=1 rlgo level 3\n\n'
    >>> early.answer("genmove b") is None
    True
    """

    def __init__(self, title: str, size: int) -> None:
        self._texts = {
            "protocol_version": "2",
            "name": f"rlgo {title}".strip(),
            "version": version(),
            "list_commands": "\n".join(NAMES),
            "help": "\n".join(NAMES),
            "clear_board": "",
            "quit": "",
        }
        self._size = size

    def answer(self, line: str) -> str | None:
        """Return the answer to a line, "" if it gets none, and None if it needs the engine."""
        id_, words = split_line(line)
        if not words:
            return None if id_ else ""
        text = self._text(*words)
        return None if text is None else format_answer("=", id_, text)

    def _text(self, name: str, *args: str) -> str | None:
        if name in self._texts:
            return self._texts[name]
        if not args:
            return None
        try:
            if name == "known_command":
                return "true" if args[0] in NAMES else "false"
            if name == "boardsize":  # the same one; another needs another player
                return "" if parse_integer(args[0]) == self._size else None
            if name == "komi":
                parse_number(args[0])
                return ""
        except ValueError:
            pass
        return None
