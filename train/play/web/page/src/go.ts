// Points, vertices and colours. The rules are the server's.

export const EMPTY = 0;
export const BLACK = 1;
export const WHITE = 2;
export type Color = typeof BLACK | typeof WHITE;
export type ColorName = "black" | "white";

/** A point is row * size + column, as everywhere in rlgo: row 0 is the board's row 1. This is none. */
export const NO_POINT = -1;

const COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ";

export const otherName = (color: ColorName): ColorName => (color === "black" ? "white" : "black");
export const toColor = (name: ColorName): Color => (name === "black" ? BLACK : WHITE);
export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
export const columnName = (column: number): string => COLUMNS[column] ?? "?";

export const toVertex = (point: number, size: number): string => columnName(point % size) + (Math.floor(point / size) + 1);

/** NO_POINT for "pass", and for text that names no point of the board. */
export function fromVertex(text: string | null, size: number): number {
  if (!text) return NO_POINT;
  const column = COLUMNS.indexOf(text[0]!.toUpperCase());
  const row = Number(text.slice(1)) - 1;
  const isOnBoard = column >= 0 && column < size && Number.isInteger(row) && row >= 0 && row < size;
  return isOnBoard ? row * size + column : NO_POINT;
}

/** The point that SGF writes as "aa", the upper left corner; NO_POINT if there is none. */
export function fromSgf(text: string, size: number): number {
  const [column, fromTop] = [text.charCodeAt(0) - 97, text.charCodeAt(1) - 97];
  return column >= 0 && column < size && fromTop >= 0 && fromTop < size ? (size - 1 - fromTop) * size + column : NO_POINT;
}

export const toSgf = (point: number, size: number): string =>
  String.fromCharCode(97 + (point % size), 97 + size - 1 - Math.floor(point / size));

/** The points of a mark: one, or those of the rectangle between two corners, "aa:cc". */
export function pointsOf(mark: string, size: number): number[] {
  const [a, b] = [fromSgf(mark, size), fromSgf(mark.slice(3), size)];
  if (a < 0 || b < 0) return a < 0 ? [] : [a];
  const isBetween = (x: number, y: number, z: number): boolean => (x - y) * (x - z) <= 0;
  const row = (p: number): number => Math.floor(p / size);
  return [...Array(size * size).keys()].filter((p) => isBetween(row(p), row(a), row(b)) && isBetween(p % size, a % size, b % size));
}

/** uint8[size * size]: EMPTY, BLACK or WHITE at each point. */
export function toStones(size: number, stones: Record<ColorName, string[]>): Uint8Array {
  const board = new Uint8Array(size * size);
  for (const vertex of stones.black) board[fromVertex(vertex, size)] = BLACK;
  for (const vertex of stones.white) board[fromVertex(vertex, size)] = WHITE;
  return board;
}

export function toVertices(board: Uint8Array, size: number): Record<ColorName, string[]> {
  const of = (color: Color): string[] =>
    [...board.keys()].filter((point) => board[point] === color).map((point) => toVertex(point, size));
  return { black: of(BLACK), white: of(WHITE) };
}

/** The points that carry a dot. */
export function starPoints(size: number): number[] {
  if (size < 9) return size % 2 ? [(size * size - 1) / 2] : [];
  const edge = size < 13 ? 2 : 3;
  const middle = (size - 1) / 2;
  const lines = size % 2 ? [edge, middle, size - 1 - edge] : [edge, size - 1 - edge];
  const hasSides = size >= 15; // smaller boards have no dots in the middle of a side
  return lines
    .flatMap((row) => lines.map((column) => [row, column] as const))
    .filter(([row, column]) => hasSides || (row === middle) === (column === middle))
    .map(([row, column]) => row * size + column);
}
