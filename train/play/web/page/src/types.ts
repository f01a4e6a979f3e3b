// What the server sends. Tests compare each message with these types (tests/web_tools.py).

import type { ColorName } from "./go";

export interface Hello {
  type: "hello";
  version: string;
  size: number;
  komi: number;
  player: string;
  sizes: [number, number];
  limits: { seconds: number; memory_mb: number; message_bytes: number; frames: number };
  has_runs: boolean;
  has_sgf: boolean;
}

/** The games of a file of several: of each, Black, White, result, date, event and name. */
export interface Games {
  type: "games";
  games: string[][];
}

export type Stones = Record<ColorName, string[]>;

/** What a probe or an analysis is about. */
export interface Position {
  size: number;
  komi: number;
  setup: Stones;
  to_play: ColorName;
  moves: [ColorName, string][];
}

export interface Game {
  type: "game";
  size: number;
  komi: number;
  setup: Stones;
  first: ColorName;
  moves: [ColorName, string][];
  at: number;
  to_play: ColorName;
  last_move: string | null;
  ko: string | null;
  stones: Stones;
  captures: Record<ColorName, number>;
  legal: string[];
  is_over: boolean;
  result: string | null;
  seats: Record<ColorName, string>;
  clocks: Record<ColorName, Clock | null>;
  time: string | null; // as in a new game
  timed: "engines" | "both";
  is_own: boolean; // whether it began here
  lost: string; // why the record has only the moves of its file; "": it has everything
  info: Record<string, string>; // of a record, by SGF's names
  comment: string;
  marks: Marks;
  variations: Variation[]; // what follows the position shown, the main one first
  is_main: boolean;
  resigned: ColorName | null;
  paused: boolean;
  is_helped: boolean; // an engine has moved for a human: the game counts for no level
}

export interface Clock {
  seconds: number;
  stones: number; // moves to make in that time, or periods left; 0: main time
  period: number;
  periods: number;
  period_stones: number; // moves to make in a period
  runs: boolean; // for a human
}

export interface Variation {
  move: [ColorName, string] | null;
  name: string;
  moves: number;
  is_current: boolean;
}

/** By SGF's names, "aa", "aa:bb" for a line or an arrow, or "aa:text" for a label. */
export type Marks = Record<string, string[]>;

/** The nodes of the record, each after its parent, the main line first. */
export interface Tree {
  type: "tree";
  game: number; // its place in the record's file
  parents: number[];
  colors: ("B" | "W" | "")[];
  comments: boolean[];
  line: number[]; // the nodes of the positions of the line shown
}

export interface Losses {
  color: ColorName;
  phase: string;
  moves: number;
  mean: number; // loss of a move, in chances of winning
  points: number | null; // the same in points
  turns: number;
}

/** What is known of the main line of the record. */
export interface Review {
  type: "review";
  moves: [ColorName, string][];
  player: string | null;
  is_running: boolean;
  done: number;
  of: number;
  values: Values; // by the number of moves
  scores: Values; // Black's points
  losses: Values; // of the moves played in these positions, in chances of winning
  points: Values; // the same in points
  lines: string[][];
  phases: Losses[];
  variation: Review | null; // of the line shown, if it is another one
}

export interface Ownership {
  type: "ownership";
  at: number;
  ownership: number[][];
  score: number | null; // by the search; playouts alone have none
  source: "playouts" | "network";
}

export type Role = "game" | "analysis" | "a" | "b" | "review";
export type Doing = "preparing" | "searching" | "idle";

export interface State {
  type: "state";
  role: Role;
  doing: Doing;
}

/** A number for each move, or null where there is none. */
export type Values = (number | null)[];

export interface Depth {
  depth: number;
  value: number;
  move: string;
  line: string[];
  positions: number;
  seconds: number;
}

export interface Search {
  type: "search";
  role: Role;
  number: number;
  player: string;
  at: number;
  to_play: ColorName;
  final: boolean;
  chosen: string | null;
  kind: "tree" | "memory" | "depth" | "values";
  unit: string;
  count: number;
  chance: number | null;
  score: number | null; // Black's points
  seconds: number;
  per_second: number;
  depth: number | null;
  size: number | null;
  bytes: number | null;
  report: string[];
  moves: string[];
  columns: Record<string, Values | null>;
  lines: Record<string, string[]>;
  depths: Depth[];
}

export interface Frame {
  count: number;
  seconds: number;
  best: [string, number | null][];
}

export interface Frames {
  type: "frames";
  role: Role;
  number: number;
  frames: Frame[];
}

export interface Score {
  type: "score";
  result: string; // "?" if unfinished
  score: number; // Black's points, komi included
  area: Record<ColorName, number>;
  dead: string[][]; // chains
  seki: string[][];
  unfinished: string[];
  ownership: number[][];
}

export interface PlayerKey {
  name: string;
  aliases: string[];
  default: string;
  expected: string;
  meaning: string;
  kind: "number" | "integer" | "switch" | "choice" | "sizes" | "weights" | "text";
  choices: string[];
  range: { low: number; high: number; scale: "log" | "linear"; default: number } | null;
}

export interface PlayerInfo {
  name: string;
  summary: string;
  keys: PlayerKey[];
}

export interface WeightFile {
  name: string;
  size: number;
  komi: number;
  games: number;
  features: string;
  blocks: string[];
  is_default: boolean;
}

export interface ProbeWindow {
  vertex: string;
  row: number;
  col: number;
  size: number;
  kind: string;
  weight: number;
  cells: number[][];
}

export interface ProbeBlock {
  block: string;
  size: number;
  kind: string;
  sum: number;
  windows: number;
  in_use: number;
  top: ProbeWindow[];
}

export interface Probe {
  weights: string;
  value: number;
  logit: number;
  kind: "logistic" | "linear";
  blocks: ProbeBlock[];
  moves: Record<string, number>;
}

export interface ChangedWindow {
  vertex: string;
  row: number;
  col: number;
  size: number;
  kind: string;
  before: number;
  after: number;
  difference: number;
  cells_before: number[][];
  cells_after: number[][];
}

export interface ProbedMove {
  weights: string;
  move: string;
  before: { value: number; logit: number };
  after: { value: number; logit: number };
  difference: number;
  windows: ChangedWindow[];
  left_out: { windows: number; difference: number };
}

export interface Run {
  name: string;
  state: "running" | "interrupted" | "finished" | "damaged" | "not running"; // the last one of a network, whose end is open
  reason: string;
  games: number;
  of: number;
  games_per_s: number | null;
  elo: number | null;
  size: number;
  features: string;
  started: string;
  resume: string;
  rounds: Record<string, [number, number][]> | null; // of a network: curves by the number of a round
}

export interface Runs {
  folder: string;
  runs: Run[];
}

export interface Curves {
  run: string;
  after: number; // points before these; 0: the curves begin anew
  next: number;
  curves: Record<string, [number, number][]>;
}

export interface Shape {
  weight: number;
  occurrences: number | null;
  vertex: string;
  row: number;
  col: number;
  cells: number[][];
}

export interface Shapes {
  blocks: string[];
  block: string;
  sort: "weight" | "occurrences";
  shapes: Shape[];
}
