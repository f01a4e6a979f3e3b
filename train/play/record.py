"""A game record with all that its file had: variations, comments, names, and properties that rlgo has no use for.

Start reading at `Record.read`. A record is sgfmill's tree. Its *line* is the path from the root to a leaf that is shown
and played on; `rlgo.go.sgf` reads its game, so a variation is checked exactly as a main line is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sgfmill import sgf
from sgfmill.sgf_grammar import escape_text, make_coarse_game_tree, serialise_game_tree, text_value

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_row_col, to_row_col
from rlgo.go.game import Game
from rlgo.go.sgf import read_sgf, read_sgf_records, write_sgf
from rlgo.go.sgf_files import OWN, is_own, read_trees, without_own

_COLORS = {"b": BLACK, "w": WHITE}
_LETTERS = {color: letter for letter, color in _COLORS.items()}
# Properties of the game, in the order in which they are shown.
INFO = (
    "PB", "BR", "BT", "PW", "WR", "WT", "RE", "HA", "KM", "RU", "TM", "OT", "EV", "RO", "GN", "DT", "PC", "ON", "SO",
    "AN", "US", "CP", "GC",
)  # fmt: skip
_JUDGEMENTS = {"BM", "DO", "IT", "TE"}  # of moves; a node has one

MARKS = ("TR", "SQ", "MA", "CR", "LB", "LN", "AR")  # triangles, squares, crosses, circles, labels, lines, arrows

Node = Any  # sgfmill.sgf.Tree_node; sgfmill has no types


class Variation(NamedTuple):
    """A move that the record has after the position shown."""

    node: Node
    move: tuple[int, int] | None  # colour and point of its first move; None if it has none
    name: str
    moves: int  # of its first line
    is_current: bool  # whether the line goes through it


class Record:
    """A game record, and the line of it that is shown.

    Parameters
    ----------
    tree : the record
    komi : used if the record does not state it
    is_own : whether the game is played here, so that its players and its result are written anew

    >>> import rlgo
    >>> record = Record.read(b"(;SZ[5]PB[Ann];B[cc]C[centre](;W[bb])(;W[dd]N[other]))")
    >>> game = record.game
    >>> [(rlgo.to_vertex(v.move[1], 5), v.name) for v in record.variations(1)]
    [('B4', ''), ('D2', 'other')]
    >>> record.choose(1, 1)
    2
    >>> record.add(2, rlgo.BLACK, rlgo.PASS)
    >>> record.game.moves[-1], record.comment(1), b"PB[Ann]" in record.write()
    ((1, 0), 'centre', True)
    """

    lost = ""  # why it has only the moves of its file, in words; "": it has everything
    place = 0  # of its game in its file
    _file: Sequence[Any] = (None,)  # all games of the file, as sgfmill parses them

    def __init__(self, tree: sgf.Sgf_game, komi: float, *, is_own: bool = False) -> None:
        self._tree, self._komi, self.is_own = tree, komi, is_own
        self._own: set[int] = set()  # ids of the nodes that were added here
        self._follow(tree.get_root())

    @classmethod
    def read(cls, data: bytes, komi: float = 7.5, place: int = 0) -> Record:
        """Read a game of a file by its place, and keep the others. RlgoError as `read_sgf` raises it for its main line.

        Of a file that `read_trees` cannot read as a whole, the record has the moves alone, and `lost` says why.
        """
        games = list(read_sgf_records(data))
        if place >= len(games):
            raise RlgoError(f"game = {place}: expected less than {len(games)}, the number of games")
        game = games[place].game(komi)
        try:
            trees = [*read_trees(data)]
            record = cls(sgf.Sgf_game.from_coarse_game_tree(trees[place], "UTF-8"), komi)
            record.place, record._file = place, trees
        except (IndexError, ValueError, RlgoError) as error:
            record = cls.of(game)
            record.lost = str(error)
        return record

    @classmethod
    def of(cls, game: Game, black: str = "", white: str = "", *, is_own: bool = False) -> Record:
        """Begin the record of a game."""
        return cls(sgf.Sgf_game.from_bytes(write_sgf(game, black, white)), game.komi, is_own=is_own)

    # --- the line ---

    def _follow(self, *path: Node) -> None:
        """Let the line go along a path from the root, and then to the end of first variations."""
        line = list(path)
        while len(line[-1]):
            line.append(line[-1][0])
        game = read_sgf(self._written(line), self._komi)  # which raises what is wrong with the line
        self._set(line, game)

    def _set(self, line: list[Node], game: Game) -> None:
        self.game = game
        n = len(game.moves)  # an edited position begins the game anew: the last moves count
        at = [i for i, node in enumerate(line) if _has_move(node)]
        self._line, self._at = line, at[len(at) - n :]
        edits = [i for i, node in enumerate(line[: self._at[0] if n else None]) if _is_edit(node)]
        self._start = edits[-1] if n < len(at) and edits else 0  # the node of the position before the first move

    def _written(self, line: Sequence[Node]) -> bytes:
        parts = [b"".join([b";", *_properties(node)]) for node in line]
        return b"(" + b"".join(parts) + b")"

    def _stretch(self, at: int) -> list[Node]:
        """Return the nodes of a position: that of its last move, and those after it without a move."""
        first = self._at[at - 1] if at else self._start
        last = self._at[at] if at < len(self._at) else len(self._line)
        return self._line[first:last] or [self._line[self._start]]

    def is_main(self) -> bool:
        """Return whether the line is the main one."""
        return all(node.parent is None or node.parent[0] is node for node in self._line)

    def main(self) -> Record:
        """Return the same record with its main line shown."""
        return Record(self._tree, self._komi)

    def variations(self, at: int) -> list[Variation]:
        """List the moves that follow the position after `at` moves, the main one first."""
        on_line = {id(node) for node in self._line}
        stretch = self._stretch(at)
        within = {id(node) for node in stretch[1:]}
        return [
            Variation(child, *_first_line(child), is_current=id(child) in on_line)
            for node in stretch
            for child in node
            if id(child) not in within
        ]

    def choose(self, at: int, index: int | None) -> int:
        """Let the line go through a variation of the position after `at` moves; None: along the main line.

        Returns the moves of the variation's first position; 0 for the main line. RlgoError, with the line unchanged, if
        there is none, or if it has an illegal move.
        """
        if index is None:
            self._follow(self._tree.get_root())
            return 0
        return self.show(self._variation(at, index).node)

    def nodes(self) -> list[tuple[Node, int]]:
        """List the root and the nodes with moves or edits, main ones first, each with its parent's place, or -1."""
        found, left = [], [(self._tree.get_root(), -1)]
        while left:
            node, above = left.pop()
            if above < 0 or _has_move(node) or _is_edit(node):
                found.append((node, above))
                above = len(found) - 1
            left += [(child, above) for child in node][::-1]
        return found

    def describe_tree(self) -> dict[str, Any]:
        """Return the ``tree`` message: of all `nodes`, parents, colours and comments, and those of the line shown."""
        nodes = self.nodes()
        index = {id(node): i for i, (node, _) in enumerate(nodes)}
        return {
            "type": "tree",
            "game": self.place,
            "parents": [parent for _, parent in nodes],
            "colors": ["".join(filter(node.has_property, "BW")) for node, _ in nodes],
            "comments": [node.has_property("C") for node, _ in nodes],
            "line": [index[id(self.node(at))] for at in range(len(self._at) + 1)],
        }

    def show(self, node: Node | int) -> int:
        """Let the line go through a node, or one of `nodes`, and end before a later one that edits the position.

        Returns the number of moves of the node's position. RlgoError, with the line unchanged, for an illegal move.
        """
        if isinstance(node, int):
            nodes = self.nodes()
            if node >= len(nodes):
                raise RlgoError(f"index = {node}: expected less than {len(nodes)}, the number of nodes")
            node = nodes[node][0]
        line = self._line
        if not any(known is node for known in line[self._start :]):
            line = _path(node)
            while len(line[-1]) and not _is_edit(line[-1][0]):
                line.append(line[-1][0])
            self._set(line, read_sgf(self._written(line), self._komi))
        depth = next(i for i, known in enumerate(line) if known is node)
        return sum(i <= depth for i in self._at)

    def go_along(self, moves: Sequence[tuple[int, int]]) -> None:
        """Let the line be these moves, (colour, point) each, from the beginning on; the record gets those it lacks.

        RlgoError if one is illegal.
        """
        if self.game.moves == list(moves):
            return
        node = self._line[self._start]
        for move in moves[bool(moves) and _move(node, self.game.size) == moves[0] :]:
            node = self._next(node, *move)
        line = _path(node)
        self._set(line, read_sgf(self._written(line), self._komi))

    def _next(self, node: Node, color: int, p: int) -> Node:
        """Return the node of a move after another, a new one if there is none."""
        here: Node | None = node
        while here is not None:
            found = next((child for child in here if _move(child, self.game.size) == (color, p)), None)
            if found is not None:
                return found
            here = next((child for child in here if not _has_move(child)), None)
        return self._new(node, color, p)

    def _new(self, parent: Node, color: int, p: int) -> Node:
        node = parent.new_child()
        node.set_move(_LETTERS[color], None if p == PASS else to_row_col(p, self.game.size))
        return node

    def _variation(self, at: int, index: int) -> Variation:
        known = self.variations(at)
        if not 0 <= index < len(known):
            raise RlgoError(f"index = {index}: expected less than {len(known)}, the number of moves that follow")
        return known[index]

    # --- changes ---

    def add(self, at: int, color: int, point: int, game: Game | None = None) -> None:
        """Play a move after the position at `at`; the line ends with it. What followed stays as a variation.

        game : the game with this move, if it is known, which saves reading it again
        """
        node = next((v.node for v in self.variations(at) if v.move == (color, point) and _has_move(v.node)), None)
        if node is None:
            node = self._new(self._stretch(at)[-1], color, point)
            self._own.add(id(node))
        elif not without_own(node.get_raw_property_map()):
            node.unset(OWN)  # it is no longer rlgo's alone
        line = _path(node)
        self._set(line, read_sgf(self._written(line), self._komi) if game is None else game)

    def take_back(self, n: int, game: Game) -> None:
        """End the line n moves earlier, and forget the moves taken back unless they have come from a file.

        game : the game without them
        """
        for _ in range(n):
            node = self._line[self._at[-1]]
            line = self._line[: self._at[-1]]
            if id(node) in self._own and not len(node):
                node.delete()
                self._own.discard(id(node))
            self._line, self._at = line, self._at[:-1]
        self._set(self._line, game)

    def remove(self, at: int, index: int) -> None:
        """Remove a variation, with all that follows it. RlgoError if there is none."""
        variation = self._variation(at, index)
        rest = self._line if not variation.is_current else _path(variation.node.parent)
        variation.node.delete()
        if variation.is_current:
            self._follow(*rest)

    def name_variation(self, at: int, index: int, name: str) -> None:
        """Name a variation; an empty name removes it."""
        set_text(self._variation(at, index).node, "N", name)

    def comment(self, at: int) -> str:
        """Return the comment on a position."""
        return "\n".join(filter(None, (text_of(node, "C") for node in self._stretch(at))))

    def set_comment(self, at: int, text: str) -> None:
        """Replace the comment on a position; an empty one removes it."""
        first, *others = self._stretch(at)
        for node in others:
            set_text(node, "C", "")
        set_text(first, "C", text)

    def set_own(self, at: int, properties: Mapping[str, str]) -> None:
        """Write what rlgo says of a position into its node, with a mark, in place of what it said and added before.

        What others have written stays. A comment is added to theirs; of BM, DO, IT and TE, a node has one.

        properties : by name; texts without brackets
        """
        for variation in self.variations(at):
            tree = make_coarse_game_tree(variation.node, lambda node: node, lambda node: node.get_raw_property_map())
            if not variation.is_current and is_own(tree):
                variation.node.delete()
        node = self.node(at)
        before = node.get_raw_property_map()
        now = without_own(before) | {name: before[name] for name in ("B", "W") if name in before}
        taken = {*now, *(_JUDGEMENTS if not _JUDGEMENTS.isdisjoint(now) else ())} - {"C"}
        ours = {name: text.encode() for name, text in properties.items() if name not in taken}
        for name, text in ours.items():
            *others, last = now.get(name, [b""])
            now[name] = [*others, last + b"\n" * (name in now) + text]
        now[OWN] = [name.encode() + b":" + text for name, text in ours.items()]
        for name in [name for name in {*before, *now} if before.get(name) != now.get(name)]:
            node.set_raw_list(name, now[name]) if name in now else node.unset(name)

    def marks(self, at: int) -> dict[str, list[str]]:
        """Return the marks of a position by SGF's names: ``aa``, ``aa:bb`` or ``aa:text`` each."""
        return {name: [text for node in self._stretch(at) for text in _texts(node, name)] for name in MARKS}

    def set_marks(self, at: int, marks: Mapping[str, Sequence[str]]) -> None:
        """Replace the marks of a position that have these names."""
        for name, texts in marks.items():
            for i, node in enumerate(self._stretch(at)):
                _set_texts(node, name, () if i else texts)

    def node(self, at: int) -> Node:
        """Return the node of a position, for properties of single programs."""
        return self._stretch(at)[0]

    def info(self) -> dict[str, str]:
        """Return the properties of the game, by SGF's names, in the order of `INFO`."""
        root = self._tree.get_root()
        known = {name: text_of(root, name) for name in INFO}
        return {name: text for name, text in known.items() if text}

    def set_info(self, **texts: str | None) -> None:
        """Set properties of the game; None removes one."""
        for name, text in texts.items():
            set_text(self._tree.get_root(), name, text or "")

    def add_line(self, at: int, moves: Sequence[tuple[int, int]], name: str) -> None:
        """Add a variation of rlgo's to a position, unless it has one with this first move. The line stays as it is."""
        if any(variation.move == moves[0] for variation in self.variations(at)):
            return
        node = self._stretch(at)[-1]
        for i, (color, p) in enumerate(moves):
            node = self._new(node, color, p)
            set_text(node, "N", "" if i else name)
            own = node.get_raw_property_map().items()
            node.set_raw_list(OWN, [key.encode() + b":" + value for key, (value,) in own])

    def points_of(self, node: Node) -> tuple[int, ...]:
        """Return the points of the first line from a node on."""
        moves, here = [], node
        while here is not None:
            moves.append(_move(here, self.game.size))
            here = here[0] if len(here) else None
        return tuple(move[1] for move in moves if move is not None)

    def write(self) -> bytes:
        """Return the record as SGF, among the other games of its file."""
        others = [*self._file[: self.place], *self._file[self.place + 1 :]]
        for tree in others:
            tree.sequence[0]["CA"] = [b"UTF-8"]
        games = [serialise_game_tree(tree) for tree in others]
        games.insert(self.place, self._tree.serialise())
        return b"".join(games)


def _path(node: Node) -> list[Node]:
    """Return the nodes from the root to a node."""
    path = [node]
    while path[-1].parent is not None:
        path.append(path[-1].parent)
    return path[::-1]


def _has_move(node: Node) -> bool:
    return bool(node.has_property("B") or node.has_property("W"))


def _is_edit(node: Node) -> bool:
    return any(node.has_property(name) for name in ("AB", "AW", "AE"))


def _properties(node: Node) -> Iterator[bytes]:
    """Yield the properties of a node as they stand in a file."""
    for name in node.properties():
        yield name.encode() + b"".join(b"[" + value + b"]" for value in node.get_raw_list(name))


def _move(node: Node, size: int) -> tuple[int, int] | None:
    """Return the move of a node, (colour, point); None if it has none that can be read."""
    try:
        letter, place = node.get_move()
    except ValueError:
        return None
    if letter is None:
        return None
    return _COLORS[letter], PASS if place is None else from_row_col(place[0], place[1], size)


def _first_line(node: Node) -> tuple[tuple[int, int] | None, str, int]:
    """Return the first move, the name and the number of moves of the first line from a node on."""
    name, first, n = text_of(node, "N"), None, 0
    here: Node | None = node
    size = node.get_size()
    while here is not None:
        move = _move(here, size)
        first, n = first or move, n + (move is not None)
        here = here[0] if len(here) else None
    return first, name, n


def text_of(node: Node, name: str) -> str:
    """Return a property of a node as text; "" if it has none."""
    return "\n".join(_texts(node, name)).strip()


def _texts(node: Node, name: str) -> list[str]:
    """Return the values of a property of a node as text; none if it has no such property."""
    return [text_value(raw).decode() for raw in node.get_raw_list(name)] if node.has_property(name) else []


def set_text(node: Node, name: str, text: str) -> None:
    """Set a property of a node; an empty text removes it."""
    _set_texts(node, name, [text] if text else [])


def _set_texts(node: Node, name: str, texts: Sequence[str]) -> None:
    if texts:
        node.set_raw_list(name, [escape_text(text.encode()) for text in texts])
    elif node.has_property(name):
        node.unset(name)
