// Probe: the value function opened up. Which windows add what to V, and what a move changes.

import { computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { Board, type Frame as BoardFrame } from "./board";
import { Button, type Column, Fact, Icon, percent, Segments, Select, signed, Table } from "./controls";
import { BLACK, capital, EMPTY, fromVertex, NO_POINT, otherName, toColor, toVertex, toVertices, WHITE, type ColorName } from "./go";
import { showError } from "./notices";
import { Navigation } from "./navigation";
import { weightFiles } from "./players";
import { game, isConnected, post } from "./server";
import { Shape } from "./shape";
import { sequential } from "./scales";
import * as table from "./table";
import type { ChangedWindow, Position, Probe, ProbedMove, ProbeWindow } from "./types";
import { isShown } from "./views";

const TOP_WINDOWS = 10; // of each block
const TOP_CHANGES = 500;
const MOST_FRAMES = 8; // drawn at once; more would hide the board

type Tool = "move" | "black" | "white" | "erase";
type Layer = "windows" | "values" | "none";

interface Edited {
  size: number;
  komi: number;
  stones: Uint8Array;
  to_play: ColorName;
}

/** One weight file's opinion; `change` is there once a move is chosen. */
interface Opinion {
  weights: string;
  probe: Probe;
  change: ProbedMove | null;
}

const NONE = "";
const chosenWeights = signal<[string, string]>([NONE, NONE]); // NONE: the best of this size, and no second file
const edited = signal<Edited | null>(null);
const tool = signal<Tool>("move");
const layer = signal<Layer>("windows");
const ALL = "all";
const chosenBlock = signal<string | null>(null); // null: the last one, whose windows are the largest
const move = signal<string | null>(null);
const opinions = signal<Opinion[]>([]);
const side = signal(0); // whose windows are drawn, if there are two files
const hovered = signal<string | null>(null); // a window

const position = computed<Position | null>(() => {
  const now = edited.value;
  if (!now) return table.position.value;
  const { size, komi, stones, to_play } = now;
  return { size, komi, setup: toVertices(stones, size), to_play, moves: [] };
});

const stones = computed(() => edited.value?.stones ?? table.stones.value);
const toPlay = computed<ColorName>(() => edited.value?.to_play ?? game.value?.to_play ?? "black");
const filesHere = computed(() => weightFiles.value.filter((file) => file.size === position.value?.size));

let asked: AbortController | null = null;

// Whatever the answer depends on has changed: ask again. The last question wins.
effect(() => {
  const [here, vertex, files] = [position.value, move.value, filesHere.value];
  if (!isShown("probe") || !here || !isConnected.value || files.length === 0) return;
  asked?.abort();
  asked = new AbortController();
  const known = (name: string): boolean => files.some((file) => file.name === name);
  const first = known(chosenWeights.value[0]) ? chosenWeights.value[0] : (files.find((file) => file.is_default) ?? files[0]!).name;
  const names = [first, chosenWeights.value[1]].filter(known);
  void askAll([...new Set(names)], here, vertex, asked.signal);
});

// A move that is chosen belongs to its position.
effect(() => {
  void position.value;
  move.value = null;
});

async function askAll(names: string[], here: Position, vertex: string | null, signal: AbortSignal): Promise<void> {
  try {
    const answers = await Promise.all(names.map((name) => askOne(name, here, vertex, signal)));
    if (signal.aborted) return;
    opinions.value = answers;
    if (side.value >= answers.length) side.value = 0;
  } catch (error) {
    if (signal.aborted) return;
    move.value = null;
    showError(error);
  }
}

async function askOne(weights: string, position: Position, move: string | null, signal: AbortSignal): Promise<Opinion> {
  const [probe, change] = await Promise.all([
    post<Probe>("/api/probe", { position, weights, top: TOP_WINDOWS }, signal),
    move === null ? null : post<ProbedMove>("/api/probe/move", { position, weights, move, top: TOP_CHANGES }, signal),
  ]);
  return { weights, probe, change };
}

function edit(change: (now: Edited) => void): void {
  const now = game.value;
  const copy = edited.value
    ? { ...edited.value, stones: edited.value.stones.slice() }
    : now && { size: now.size, komi: now.komi, stones: table.stones.value.slice(), to_play: now.to_play };
  if (!copy) return;
  change(copy);
  edited.value = copy;
}

function press(point: number): void {
  const size = position.value?.size ?? 9;
  if (tool.value === "move") {
    const vertex = toVertex(point, size);
    if (vertex === move.value) move.value = null;
    else if (stones.value[point] !== EMPTY) showError(`${vertex}: there is a stone; choose an empty point, or edit the position`);
    else move.value = vertex;
    return;
  }
  const color = { black: BLACK, white: WHITE, erase: EMPTY }[tool.value];
  edit((now) => (now.stones[point] = now.stones[point] === color ? EMPTY : color));
}

async function useInGame(): Promise<void> {
  const here = position.value;
  const seats = game.value?.seats;
  if (here && seats && (await table.ask("new", { ...here, ...seats, paused: true }))) edited.value = null;
}

export function ProbeView(): JSX.Element {
  const opinion = opinions.value[side.value] ?? null;
  const size = position.value?.size ?? 9;
  const noFiles = weightFiles.value.length > 0 && filesHere.value.length === 0;
  return (
    <div class="view board-first">
      <div class="stack">
        <ProbeBoard opinion={opinion} />
        <Scale />
        <Tools />
        {!edited.value && <Navigation />}
      </div>
      <div class="stack">
        <section class="card" aria-label="Weight files">
          <Files />
          {noFiles ? <p>No weights for {size}×{size} yet: train some with “rlgo train”.</p> : <Values />}
        </section>
        {move.value !== null && opinion?.change ? <Change change={opinion.change} /> : <Windows probe={opinion?.probe ?? null} />}
      </div>
    </div>
  );
}

function Files(): JSX.Element {
  const names = filesHere.value.map((file): [string, string] => [file.name, `${file.name}, ${file.features}`]);
  const [first, second] = chosenWeights.value;
  return (
    <div class="fields two">
      <Select
        label="Weights"
        value={first}
        options={[[NONE, "the best of this size"], ...names]}
        onChange={(name) => (chosenWeights.value = [name, second])}
      />
      <Select
        label="Compare with"
        value={second}
        options={[[NONE, "nothing"], ...names]}
        onChange={(name) => (chosenWeights.value = [first, name])}
      />
    </div>
  );
}

function Values(): JSX.Element {
  const all = opinions.value;
  if (all.length < 2) return <Numbers opinion={all[0] ?? null} title={<h2>{all[0]?.weights ?? "Loading …"}</h2>} />;
  return (
    <>
      {all.map((opinion, i) => (
        <div key={opinion.weights} class={i === side.value ? "opinion chosen" : "opinion"}>
          <Numbers
            opinion={opinion}
            title={
              <label class="check">
                <input type="radio" name="side" checked={i === side.value} onChange={() => (side.value = i)} /> {opinion.weights}
              </label>
            }
          />
        </div>
      ))}
    </>
  );
}

function Numbers({ opinion, title }: { opinion: Opinion | null; title: JSX.Element }): JSX.Element {
  const { probe, change } = opinion ?? { probe: null, change: null };
  return (
    <div>
      {title}
      <dl class="numbers">
        <Fact name="Value V" hint="P(Black wins) by the weights alone" value={`${percent(probe?.value)} %`} />
        <Fact name="Logit" value={probe ? signed(probe.logit) : "–"} />
        <Fact name={change ? `after ${change.move}` : "after a move"} value={change ? `${percent(change.after.value)} %` : "–"} />
        <Fact name="Difference" value={change ? signed(change.difference) : "–"} hint="of the logit" />
      </dl>
    </div>
  );
}

const TOOLS = [
  ["move", "Try a move"],
  ["black", "● Black"],
  ["white", "○ White"],
  ["erase", "Erase"],
] as const;

function Tools(): JSX.Element {
  return (
    <div class="row">
      <Segments<Tool> label="What a click does" value={tool.value} options={TOOLS} onChange={(t) => (tool.value = t)} />
      <Button onClick={() => edit((now) => (now.to_play = otherName(now.to_play)))}>{capital(toPlay.value)} to play</Button>
      <Button onClick={() => edit((now) => now.stones.fill(EMPTY))}>Clear</Button>
      {edited.value && (
        <>
          <Button onClick={() => (edited.value = null)}>Back to the game</Button>
          <Button onClick={() => void useInGame()}>Play from here</Button>
        </>
      )}
    </div>
  );
}

const keyOf = (w: { vertex: string; size: number; kind: string }): string => `${w.size}x${w.size}-${w.kind} ${w.vertex}`;

const blockOf = (probe: Probe | null): string => chosenBlock.value ?? probe?.blocks.at(-1)?.block ?? ALL;

/** The windows of the chosen block, strongest first. */
function windowsOf(probe: Probe | null): ProbeWindow[] {
  const chosen = blockOf(probe);
  const blocks = probe?.blocks.filter(({ block }) => chosen === ALL || block === chosen) ?? [];
  return blocks.flatMap((block) => block.top).sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
}

interface Weighted {
  key: string;
  row: number;
  col: number;
  size: number;
  weight: number;
}

function weightedOf(opinion: Opinion | null): Weighted[] {
  if (!opinion) return [];
  if (opinion.change) return opinion.change.windows.map((w) => ({ ...w, key: keyOf(w), weight: w.difference }));
  return windowsOf(opinion.probe).map((w) => ({ ...w, key: keyOf(w) }));
}

/** The strongest windows as frames. LI and LD of one window are one frame, and no two have their texts in one place. */
function framesOf(opinion: Opinion | null): BoardFrame[] {
  const all = weightedOf(opinion).filter(({ key }) => hovered.value === null || key === hovered.value);
  const places = new Map<string, Weighted>();
  for (const w of all) {
    const place = `${w.size} ${w.row} ${w.col}`;
    places.set(place, { ...w, weight: w.weight + (places.get(place)?.weight ?? 0) });
  }
  const sorted = [...places.values()].sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  const corners = new Set<string>();
  const drawn = sorted.filter(({ row, col, size }) => corners.size < corners.add(`${row + size} ${col}`).size).slice(0, MOST_FRAMES);
  const largest = Math.max(1e-9, ...drawn.map(({ weight }) => Math.abs(weight)));
  return drawn.map(({ row, col, size, weight }) => ({
    row,
    column: col,
    size,
    color: weight > 0 ? BLACK : WHITE,
    weight: Math.abs(weight) / largest,
    text: signed(weight, 2),
  }));
}

function ProbeBoard({ opinion }: { opinion: Opinion | null }): JSX.Element {
  const size = position.value?.size ?? 9;
  const after = move.value === null ? NO_POINT : fromVertex(move.value, size);
  const moves = Object.entries(opinion?.probe.moves ?? {}).filter(([vertex]) => vertex !== "pass" && vertex !== move.value);
  const numbers = moves.map(([, value]) => value);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const isReversed = toPlay.value === "white";
  const marks = moves.map(([vertex, value]) => {
    const share = high === low ? 1 : (value - low) / (high - low);
    const { fill, ink } = sequential(isReversed ? 1 - share : share);
    return { point: fromVertex(vertex, size), fill, ink, text: (100 * value).toFixed(0) };
  });
  const cursors = { move: toColor(toPlay.value), black: BLACK, white: WHITE, erase: 0 } as const;
  return (
    <Board
      size={size}
      stones={stones.value}
      label={`Go board, ${size} by ${size}; ${tool.value === "move" ? "choose a move to see what it changes" : "edit the stones"}`}
      last={edited.value ? undefined : table.lastPoint.value}
      turn={cursors[tool.value]}
      marks={layer.value === "values" ? marks : []}
      frames={layer.value === "windows" ? framesOf(opinion) : []}
      ghosts={after >= 0 ? [{ point: after, color: toColor(toPlay.value) }] : []}
      selected={after}
      onPoint={press}
      onStep={edited.value ? undefined : table.step}
    />
  );
}

function Scale(): JSX.Element {
  return (
    <div class="row spread">
      <Segments<Layer>
        label="Drawn on the board"
        value={layer.value}
        options={[
          ["windows", "Windows"],
          ["values", "Values of moves"],
          ["none", "Nothing"],
        ]}
        onChange={(l) => (layer.value = l)}
      />
      {layer.value === "windows" && (
        <span class="muted row">
          <span class="swatch for-black" /> for Black <span class="swatch for-white" /> for White
        </span>
      )}
      {layer.value === "values" && <span class="muted">V after each move, %; bright is good for {capital(toPlay.value)}</span>}
    </div>
  );
}

const bar = (weight: number, largest: number): JSX.Element => (
  <svg class="weight-bar" viewBox="-1 0 2 1" preserveAspectRatio="none" aria-hidden="true">
    <rect
      class={weight > 0 ? "for-black" : "for-white"}
      x={Math.min(0, weight / largest)}
      width={Math.abs(weight / largest)}
      height={1}
    />
  </svg>
);

function Windows({ probe }: { probe: Probe | null }): JSX.Element {
  const windows = windowsOf(probe);
  const largest = Math.max(1e-9, ...windows.map(({ weight }) => Math.abs(weight)));
  const blocks = probe?.blocks ?? [];
  const sum = blocks.reduce((total, block) => total + block.sum, 0);
  const columns: Column<ProbeWindow>[] = [
    { key: "shape", title: "Shape", value: (w) => w.vertex, show: (w) => <Shape cells={w.cells} />, isText: true },
    { key: "where", title: "At", hint: "lower left corner", value: (w) => w.vertex, isText: true },
    { key: "block", title: "Block", value: (w) => `${w.size}x${w.size}-${w.kind}`, isText: true },
    { key: "bar", title: "", value: (w) => w.weight, show: (w) => bar(w.weight, largest) },
    { key: "weight", title: "Weight", value: (w) => w.weight, show: (w) => signed(w.weight) },
  ];
  return (
    <section class="card" aria-label="Windows">
      <div class="blocks" role="group" aria-label="Blocks">
        {[{ block: ALL, sum }, ...blocks].map(({ block, sum: part }) => (
          <button key={block} type="button" aria-pressed={block === blockOf(probe)} onClick={() => (chosenBlock.value = block)}>
            {block} <b>{probe ? signed(part) : "…"}</b>
          </button>
        ))}
      </div>
      <p class="muted" role="status">
        {probe ? `The blocks' sums add up to the logit ${signed(probe.logit)}. Below: the strongest windows.` : "Loading the weights …"}
      </p>
      <Table
        label="Windows, strongest first"
        columns={columns}
        rows={windows}
        rowKey={keyOf}
        onHover={(w) => (hovered.value = w && keyOf(w))}
        empty={probe ? "No window has a weight here." : "Loading …"}
        minRows={13}
      />
    </section>
  );
}

/** What a move changes, window by window; the sum is the difference of the logits. */
function Change({ change }: { change: ProbedMove }): JSX.Element {
  const listed = change.windows.reduce((total, w) => total + w.difference, 0);
  const largest = Math.max(1e-9, ...change.windows.map((w) => Math.abs(w.difference)));
  const columns: Column<ChangedWindow>[] = [
    {
      key: "shape",
      title: "Before → after",
      value: (w) => w.vertex,
      show: (w) => (
        <span class="pair">
          <Shape cells={w.cells_before} />→<Shape cells={w.cells_after} />
        </span>
      ),
      isText: true,
    },
    { key: "where", title: "At", hint: "lower left corner", value: (w) => w.vertex, isText: true },
    { key: "block", title: "Block", value: (w) => `${w.size}x${w.size}-${w.kind}`, isText: true },
    { key: "before", title: "Before", value: (w) => w.before, show: (w) => signed(w.before) },
    { key: "after", title: "After", value: (w) => w.after, show: (w) => signed(w.after) },
    { key: "bar", title: "", value: (w) => w.difference, show: (w) => bar(w.difference, largest) },
    { key: "difference", title: "Difference", value: (w) => w.difference, show: (w) => signed(w.difference) },
  ];
  return (
    <section class="card" aria-label={`What ${change.move} changes`}>
      <div class="row spread">
        <h2>
          What {change.move} changes: <span id="difference">{signed(change.difference)}</span>
        </h2>
        <Button onClick={() => (move.value = null)} label="Back to the windows of the position">
          <Icon name="close" />
        </Button>
      </div>
      <p class="equation">
        {change.windows.length} windows <b id="listed">{signed(listed)}</b>
        {change.left_out.windows > 0 && (
          <>
            {" "}
            and {change.left_out.windows} more <b>{signed(change.left_out.difference)}</b>
          </>
        )}{" "}
        = logit after <b>{signed(change.after.logit)}</b> − before <b>{signed(change.before.logit)}</b>
      </p>
      <Table
        label="Windows that change, largest difference first"
        columns={columns}
        rows={change.windows}
        rowKey={keyOf}
        onHover={(w) => (hovered.value = w && keyOf(w))}
        empty="This move changes no window."
        minRows={13}
      />
    </section>
  );
}
