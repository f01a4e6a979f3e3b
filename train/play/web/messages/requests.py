"""Models of every WebSocket request and every body of an HTTP request.

Start reading at `read_request`. Types are strict, unknown fields are refused, and every text and list has a largest
length.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, MAX_SIZE, MIN_SIZE

MOST_MOVES = 3_000

Color = Literal["black", "white"]
Role = Literal["game", "analysis", "a", "b", "review"]
LookRole = Literal["analysis", "a", "b"]
Vertex = Annotated[str, Field(min_length=2, max_length=4)]
Seat = Annotated[str, Field(min_length=1, max_length=1_000)]  # "human" or a player spec
PlayerSpec = Annotated[str, Field(min_length=1, max_length=1_000)]
FileName = Annotated[str, Field(min_length=1, max_length=500)]
WeightName = Annotated[str, Field(max_length=500)]
Size = Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)]
Komi = Annotated[float, Field(ge=-1_000, le=1_000)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
Top = Annotated[int, Field(ge=0, le=2_000)]
Moves = Annotated[list[tuple[Color, Vertex]], Field(max_length=MOST_MOVES)]
MarkName = Literal["TR", "SQ", "MA", "CR", "LB", "LN", "AR"]
HUMAN = "human"


class Model(BaseModel):
    """A strict object without unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Setup(Model):
    """Stones that a position begins with."""

    black: list[Vertex] = Field([], max_length=MAX_SIZE**2)
    white: list[Vertex] = Field([], max_length=MAX_SIZE**2)


class Position(Model):
    """A position: stones, and moves after them."""

    size: Size = DEFAULT_SIZE
    komi: Komi = DEFAULT_KOMI
    setup: Setup | None = None
    to_play: Color | None = None  # who plays first; by default Black, or White after a handicap
    moves: Moves = []


# ---------------------------------------------------------------------------------------------
# The WebSocket
# ---------------------------------------------------------------------------------------------


class Request(Model):
    """A request of a tab."""

    id: int | None = Field(None, ge=0, le=2**53)  # repeated in the answer


class New(Request, Position):
    """Begin a game."""

    type: Literal["new"]
    handicap: int = Field(0, ge=0, le=9)
    black: Seat = HUMAN
    white: Seat | None = None  # by default the server's player
    time: str | None = Field(None, max_length=40)
    timed: Literal["engines", "both"] = "engines"  # whose clocks run: humans', too, or not
    paused: bool = False
    sgf: str | None = Field(None, max_length=1_000_000)  # a record that has the moves, and more
    game: int = Field(0, ge=0, le=MOST_MOVES)  # its place in the record's file
    node: int | None = Field(None, ge=0, le=1_000_000)  # of the record: one that the line goes through
    is_own: bool | None = None  # whether its game began here; by default, if it names no players


class Seats(Request):
    """Replace players."""

    type: Literal["seats"]
    black: Seat | None = None
    white: Seat | None = None


class Play(Request):
    """Play a move for the side to play."""

    type: Literal["play"]
    move: Vertex


class Command(Request):
    """Carry out a request that has no fields.

    ``genmove`` lets the engine play one move for the side to play, ``pause`` stops engines from moving by themselves,
    ``resume`` lets them, and ``resign`` resigns for the side to play.
    """

    type: Literal["genmove", "pause", "resume", "resign"]


class Score(Request):
    """Score the position shown, as if the game ended there."""

    type: Literal["score"]
    dead: list[Vertex] | None = Field(None, max_length=MAX_SIZE**2)  # a stone of each; null: a search decides


class Undo(Request):
    """Take moves back."""

    type: Literal["undo"]
    moves: int | None = Field(None, ge=1, le=MOST_MOVES)


class Goto(Request):
    """Show the position after some moves."""

    type: Literal["goto"]
    at: int = Field(ge=0, le=MOST_MOVES)


class Load(Request):
    """Load a game record."""

    type: Literal["load"]
    sgf: str | None = Field(None, max_length=1_000_000)
    file: FileName | None = None
    game: int | None = Field(None, ge=0, le=MOST_MOVES)  # its place; without one, a file of several is only listed


class Save(Request):
    """Write the game as SGF."""

    type: Literal["save"]
    file: FileName | None = None


class Branch(Request):
    """Go along one of the moves that follow the position shown, or back to the main line."""

    type: Literal["branch"]
    index: int | None = Field(None, ge=0, le=MOST_MOVES)  # in `variations`; null: the main line


class Show(Request):
    """Show the position of one of the record's nodes."""

    type: Literal["show"]
    index: int = Field(ge=0, le=1_000_000)  # in the ``tree`` message


class Remove(Request):
    """Remove a variation, with all that follows it."""

    type: Literal["remove"]
    index: int = Field(ge=0, le=MOST_MOVES)


class Name(Request):
    """Name a variation."""

    type: Literal["name"]
    index: int = Field(ge=0, le=MOST_MOVES)
    name: str = Field(max_length=200)


class Comment(Request):
    """Replace the comment on the position shown."""

    type: Literal["comment"]
    text: str = Field(max_length=100_000)


class Marks(Request):
    """Replace marks of the position shown."""

    type: Literal["marks"]
    marks: dict[MarkName, list[Annotated[str, Field(pattern="^[a-s]{2}(:.{1,20})?$")]]]


class Review(Request):
    """Analyse the positions of the line shown, in the background."""

    type: Literal["review"]
    player: PlayerSpec | None = None  # by default the server's player
    seconds: Seconds | None = None  # for each position
    first: int = Field(0, ge=0, le=MOST_MOVES)  # the position to begin with; earlier ones keep what is known


class ShowOwnership(Request):
    """Send `ownership` messages, or no longer."""

    type: Literal["ownership"]
    on: bool = True


class Search(Request):
    """Search the position shown without playing."""

    type: Literal["search"]
    role: LookRole = "analysis"
    player: PlayerSpec | None = None  # by default the server's; an analysis is not by a level, but the strongest
    seconds: Seconds | None = None


class Stop(Request):
    """End a search, or all of them."""

    type: Literal["stop"]
    role: Role | None = None


class Frames(Request):
    """Ask for the curve of the last search."""

    type: Literal["frames"]
    role: Role = "game"


class Frame(Request):
    """Ask for one frame of the last search."""

    type: Literal["frame"]
    role: Role = "game"
    index: int = Field(ge=0, le=1_000_000)


AnyRequest = (
    New | Seats | Play | Command | Score | Undo | Goto | Load | Save | Branch | Show | Remove | Name | Comment | Marks
    | Review | ShowOwnership | Search | Stop | Frames | Frame
)  # fmt: skip
REQUESTS: TypeAdapter[AnyRequest] = TypeAdapter(Annotated[AnyRequest, Field(discriminator="type")])


def read_request(text: str) -> AnyRequest:
    """Read a request of the WebSocket. RlgoError if it is malformed."""
    return _read(REQUESTS, text)


# ---------------------------------------------------------------------------------------------
# HTTP
# ---------------------------------------------------------------------------------------------


class Probe(Model):
    """Ask for the value of a position, taken apart."""

    position: Position
    weights: WeightName | None = None  # by default the best shipped file of that size
    top: Top = 10


class ProbeMove(Model):
    """Ask what a move changes, window by window."""

    position: Position
    move: Vertex
    weights: WeightName | None = None
    top: Top = 500


class CurvesQuery(Model):
    """Ask for the logged numbers of a run."""

    model_config = ConfigDict(strict=False)
    run: FileName
    after: int = Field(0, ge=0)


class ShapesQuery(Model):
    """Ask for the strongest or most frequent shapes of a run or of a weight file."""

    model_config = ConfigDict(strict=False)
    run: FileName | None = None
    weights: WeightName | None = None
    block: str = Field("", max_length=20)
    sort: Literal["weight", "occurrences"] = "weight"
    top: Top = 50


_Model = Any


def read_body(model: type[_Model], body: bytes) -> _Model:
    """Read the body of an HTTP request. RlgoError if it is malformed."""
    return _read(TypeAdapter(model), body)


def read_query(model: type[_Model], query: dict[str, str]) -> _Model:
    """Read the query of an HTTP request; the token is not part of it. RlgoError if it is malformed."""
    try:
        return model.model_validate({key: value for key, value in query.items() if key != "token"})
    except ValidationError as error:
        raise MalformedError(_first_mistake(error)) from None


class MalformedError(RlgoError):
    """A request that is malformed, regardless of the state of the game."""


def _read(adapter: TypeAdapter[Any], text: str | bytes) -> Any:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise MalformedError(_first_mistake(error)) from None


def _first_mistake(error: ValidationError) -> str:
    """Describe the first of several mistakes in one line, without repeating what was sent."""
    mistake = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in mistake["loc"])
    text = " ".join(mistake["msg"].split())
    return f"{where[:100]}: {text[:200]}" if where else text[:200]
