"""Models of every WebSocket message and every answer to an HTTP request, for the documentation.

Start reading at `Game` and `Search`. Tests check what the server sends against these models.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from train.play.web.requests import Color, Model, Role, Setup

Map = list[list[float]]
ValueOrNone = float | None

# ---------------------------------------------------------------------------------------------
# The WebSocket
# ---------------------------------------------------------------------------------------------


class Ok(Model):
    """The request was carried out."""

    type: Literal["ok"]
    id: int | None


class Error(Model):
    """A request that is impossible or malformed, or a search that failed."""

    type: Literal["error"]
    id: int | None
    message: str
    role: Role | None = Field(None, description="of a search that failed")


class LimitsOf(Model):
    """What a tab may use; see `train.play.web.options.Limits`."""

    tabs: int
    players: int
    analyses: int
    seconds: float
    memory_mb: float
    message_bytes: int
    frames: int
    moves_factor: int


class Hello(Model):
    """The first message."""

    type: Literal["hello"]
    version: str
    size: int
    komi: float
    player: str = Field(description="the default spec of seats and searches")
    sizes: tuple[int, int] = Field(description="the smallest and the largest board")
    limits: LimitsOf
    has_runs: bool
    has_sgf: bool
    tensorboard: str | None


class ClockOf(Model):
    """The time that a player has left."""

    seconds: float
    stones: int = Field(description="moves to make in that time, or periods left; 0 in main time")
    period: float = Field(description="seconds of a period of overtime; 0 without overtime")
    periods: int = Field(description="of byo-yomi, in all")
    period_stones: int = Field(description="moves to make in a period; 0 without overtime")
    runs: bool = Field(description="whether it is running, for a human")


class VariationOf(Model):
    """A move that the record has after the position shown."""

    move: tuple[Color, str] | None
    name: str
    moves: int = Field(description="of its first line")
    is_current: bool


class Sides(Model):
    """A number for each colour."""

    black: int
    white: int


class Game(Model):
    """The game, after every change."""

    type: Literal["game"]
    size: int
    komi: float
    setup: Setup
    first: Color = Field(description="who played first")
    moves: list[tuple[Color, str]]
    at: int = Field(description="moves shown")
    to_play: Color
    last_move: str | None
    ko: str | None
    stones: Setup
    captures: Sides = Field(description="stones that each colour has taken")
    legal: list[str]
    is_over: bool
    resigned: Color | None
    result: str | None
    seats: dict[Color, str]
    clocks: dict[Color, ClockOf | None]
    time: str | None = Field(description="the time, as in `new`")
    timed: Literal["engines", "both"]
    paused: bool
    is_own: bool = Field(description="whether it began here, not in a record")
    info: dict[str, str] = Field(
        description="what the record says about the game, by SGF's names; empty for a new game"
    )
    comment: str = Field(description="on the position shown")
    variations: list[VariationOf] = Field(description="the moves that follow the position shown, the main one first")
    branches: list[int] = Field(description="positions of the line that more than one move follows")
    is_main: bool = Field(description="whether the line is the main one")


class State(Model):
    """What a role is doing."""

    type: Literal["state"]
    role: Role
    doing: Literal["preparing", "waiting", "searching", "idle"]


class Depth(Model):
    """A finished depth of alpha-beta."""

    depth: int
    value: float
    move: str
    line: list[str]
    positions: int
    seconds: float


class Search(Model):
    """The statistics of a search, so far or at its end."""

    type: Literal["search"]
    id: int | None = None
    role: Role
    number: int
    player: str
    at: int
    to_play: Color
    final: bool
    chosen: str | None
    kind: Literal["tree", "memory", "depth", "values"]
    unit: Literal["simulations", "positions"]
    count: int
    chance: float | None
    seconds: float
    per_second: float
    depth: int
    size: int
    bytes: int
    report: list[str]
    moves: list[str]
    columns: dict[str, list[ValueOrNone]]
    lines: dict[str, list[str]]
    depths: list[Depth]


class RecordOf(Model):
    """The whole record, after every change of it; `new` takes it back."""

    type: Literal["record"]
    sgf: str


class Phase(Model):
    """What the moves of one colour have lost in one phase of the game."""

    color: Color
    phase: Literal["opening", "middle game", "endgame"]
    moves: int
    mean: float
    turns: int = Field(description="moves that lost a tenth of the chances or more")


class ReviewOf(Model):
    """What is known of the positions of the line, by a review or from the record."""

    type: Literal["review"]
    player: str | None
    is_running: bool
    done: int
    of: int
    values: list[ValueOrNone] = Field(description="the chance that Black wins, by the number of moves")
    lines: list[list[str]] = Field(description="the player's move in each position, and what it expects after it")
    phases: list[Phase]


class OwnershipOf(Model):
    """Who will own which point of the position shown."""

    type: Literal["ownership"]
    at: int
    ownership: Map
    score: float = Field(description="the expected score, for Black")
    source: Literal["playouts", "network"]


class Score(Model):
    """The score of the position shown."""

    type: Literal["score"]
    id: int | None
    result: str
    score: float
    area: Sides = Field(description="points of each colour without the dead stones, before komi")
    estimate: float = Field(description="mean score of the playouts, for Black")
    dead: list[list[str]]
    ownership: Map
    wins: float


class Sgf(Model):
    """The game as a record."""

    type: Literal["sgf"]
    id: int | None
    sgf: str
    file: str | None


class CurvePoint(Model):
    """The best moves at one moment of a search."""

    count: int
    seconds: float
    best: list[tuple[str, ValueOrNone]]


class Frames(Model):
    """The curve of the last search."""

    type: Literal["frames"]
    id: int | None
    role: Role
    number: int
    frames: list[CurvePoint]


MESSAGES = (Ok, Error, Hello, Game, State, Search, RecordOf, ReviewOf, OwnershipOf, Score, Sgf, Frames)

# ---------------------------------------------------------------------------------------------
# HTTP
# ---------------------------------------------------------------------------------------------


class Refusal(Model):
    """Why a request was refused."""

    error: str


class SliderRange(Model):
    """The useful range of a key."""

    low: float
    high: float
    scale: Literal["linear", "log"]
    default: float | None


class Key(Model):
    """A setting of a player."""

    name: str
    aliases: list[str]
    default: str
    expected: str
    meaning: str
    kind: Literal["number", "integer", "switch", "choice", "sizes", "weights", "text"]
    choices: list[str]
    range: SliderRange | None


class PlayerOf(Model):
    """A player."""

    name: str
    summary: str
    keys: list[Key]


class Players(Model):
    """All players."""

    players: list[PlayerOf]


class WeightFileOf(Model):
    """A weight file."""

    name: str
    size: int
    komi: float
    value: Literal["logistic", "linear"]
    games: int
    features: str
    blocks: list[str]
    is_default: bool


class WeightFilesOf(Model):
    """The weight files that requests may name."""

    weights: list[WeightFileOf]


class Files(Model):
    """The game records that requests may name."""

    files: list[str]


class WindowOf(Model):
    """The contribution of a window to the logit."""

    vertex: str
    row: int
    col: int
    size: int
    kind: Literal["LI", "LD", "inversion", "none"]
    weight: float
    cells: list[list[int]]


class BlockOf(Model):
    """The contribution of the windows of a block to the logit."""

    block: str
    size: int
    kind: Literal["LI", "LD", "inversion", "none"]
    sum: float
    windows: int
    in_use: int
    top: list[WindowOf]


class Probe(Model):
    """V of a position, taken apart."""

    weights: str
    value: float
    logit: float
    kind: Literal["logistic", "linear"]
    blocks: list[BlockOf]
    moves: dict[str, float]


class ValueOf(Model):
    """V of a position."""

    value: float
    logit: float


class WindowChange(Model):
    """A window that a move changes."""

    vertex: str
    row: int
    col: int
    size: int
    kind: Literal["LI", "LD", "inversion", "none"]
    before: float
    after: float
    difference: float
    cells_before: list[list[int]]
    cells_after: list[list[int]]


class LeftOut(Model):
    """The windows that were not listed."""

    windows: int
    difference: float


class ProbeMove(Model):
    """What a move changes, window by window."""

    weights: str
    move: str
    before: ValueOf
    after: ValueOf
    difference: float
    windows: list[WindowChange]
    left_out: LeftOut


class RunOf(Model):
    """A training run."""

    name: str
    state: Literal["running", "interrupted", "finished", "damaged"]
    reason: str
    games: int
    of: int
    games_per_s: float
    elo: float | None
    size: int | None
    features: str
    started: str
    resume: str


class Runs(Model):
    """The training runs of a folder."""

    folder: str
    tensorboard: str | None
    runs: list[RunOf]


class Curves(Model):
    """The logged numbers of a run."""

    run: str
    after: int
    next: int
    curves: dict[str, list[tuple[int, ValueOrNone]]]


class ShapeOf(Model):
    """A learned shape."""

    weight: float
    occurrences: int | None
    vertex: str
    row: int
    col: int
    cells: list[list[int]]


class Shapes(Model):
    """The shapes of a block."""

    run: str | None
    weights: str | None
    blocks: list[str]
    block: str
    sort: Literal["weight", "occurrences"]
    shapes: list[ShapeOf]
