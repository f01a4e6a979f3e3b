// Watch: what a search believes while it runs, and afterwards, simulation by simulation.

import { batch, computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { Board } from "./board";
import { Chart, compact, type Line } from "./chart";
import { type Column, Fact, NumberField, percent, perCent, SearchBar, Table, whole } from "./controls";
import { BoardBar, GameBoard } from "./gameboard";
import { capital } from "./go";
import { heatOf, isDetailed, Legend, QuantityBar, quantitiesOf, QUANTITIES, valueOf } from "./heat";
import { kept } from "./kept";
import { lineOf, MoveList } from "./moves";
import { showError } from "./notices";
import { Navigation } from "./navigation";
import { PlayerField } from "./players";
import { seatText } from "./seat";
import { doing, frameOf, framesOf, game, hello, isConnected, onSearch, searches } from "./server";
import * as table from "./table";
import type { Depth, Frame, Role, Search } from "./types";

const BEST_MOVES = 3;

const player = kept("watch-player", "");
const seconds = kept("watch-seconds", 5);
const chosenQuantity = signal("chance");
const showsAll = signal(false); // every move, rather than the candidates
const hoveredMove = signal<string | null>(null);

/** The role watched: whichever searched last. */
const role = signal<Role>("analysis");
const frames = signal<Frame[]>([]);
const frameIndex = signal<number | null>(null); // null: the end
const frameShown = signal<Search | null>(null);

/** An engine that only gets ready for the game is no search that one would stop. */
export const isSearching = computed(() => doing.value.analysis !== "idle" || !["idle", "preparing"].includes(doing.value.game));
const shown = computed(() => frameShown.value ?? searches.value[role.value] ?? null);
const isCurrent = computed(() => table.ifCurrent(shown.value) !== null);

effect(() => {
  if (hello.value && !player.peek()) player.value = hello.value.player;
});

let number = -1; // of the search whose frames we have

effect(() => {
  if (!isConnected.value) number = -1; // the next connection counts anew
});

onSearch((search) => {
  if (search.role !== "game" && search.role !== "analysis") return;
  const best = search.moves.map((move, i): [string, number | null] => [move, search.columns.chance?.[i] ?? null]);
  batch(() => {
    const isNew = search.number !== number || search.role !== role.peek();
    if (isNew) {
      number = search.number;
      role.value = search.role;
      frameIndex.value = frameShown.value = null;
    }
    const frame = { count: search.count, seconds: search.seconds, best };
    frames.value = isNew ? [frame] : [...frames.peek(), frame];
  });
  if (search.final) void fetchFrames(search.role);
});

/** The server's frames are finer than what arrived ten times a second. */
async function fetchFrames(of: Role): Promise<void> {
  try {
    const answer = await framesOf(of);
    if (answer.number === number && answer.frames.length) frames.value = answer.frames;
  } catch {
    // The search is gone: what arrived while it ran is all there is.
  }
}

async function showFrame(index: number): Promise<void> {
  const isLast = index >= frames.value.length - 1;
  frameIndex.value = isLast ? null : index;
  if (isLast) {
    frameShown.value = null;
    return;
  }
  try {
    const frame = await frameOf(role.value, index);
    if (frameIndex.value === index) frameShown.value = frame;
  } catch (error) {
    showError(error);
  }
}

export function toggleSearch(): void {
  if (isSearching.value) void table.ask("stop");
  else table.search("analysis", player.value, seconds.value);
}

export function WatchView(): JSX.Element {
  const search = shown.value;
  const quantities = quantitiesOf(search);
  const quantity = quantities.includes(chosenQuantity.value) ? chosenQuantity.value : (quantities[0] ?? "chance");
  return (
    <div class="view board-first">
      <div class="stack">
        <HeatBoard quantity={quantity} />
        <Legend quantity={quantity} heat={heatOf(isCurrent.value ? search : null, quantity, game.value?.size ?? 9, showsAll.value)} />
        <SearchBar
          button={isSearching.value ? "Stop" : "Search"}
          onClick={toggleSearch}
          text={`${seatText(player.value)}, ${seconds.value} s`}
        >
          <PlayerField label="Player" value={player.value} onChange={(spec) => (player.value = spec)} />
          <NumberField label="Seconds" value={seconds.value} min={0.1} max={hello.value?.limits.seconds ?? 60} step={0.5} onChange={(n) => (seconds.value = n)} />
        </SearchBar>
        <Navigation />
        <BoardBar>
          <label class="check">
            <input type="checkbox" checked={showsAll.value} onChange={(event) => (showsAll.value = event.currentTarget.checked)} />
            All moves
          </label>
        </BoardBar>
      </div>
      <div class="stack">
        <section class="card" aria-label="Search">
          <Facts search={search} />
        </section>
        <section class="card" aria-label="Candidates">
          <QuantityBar quantities={quantities} chosen={quantity} onChange={(key) => (chosenQuantity.value = key)} />
          <MoveList
            label="Candidates, best first"
            search={search}
            quantities={quantities}
            hovered={hoveredMove}
            onPick={(move) => void (isCurrent.value && table.playMove(move))}
            minRows={13}
          />
        </section>
      </div>
      {search?.kind === "memory" && <Memories search={search} />}
      {search && search.depths.length > 0 && <Depths depths={search.depths} />}
      <section class="card wide" aria-label="Course of the search">
        <Course />
      </section>
    </div>
  );
}

function Facts({ search }: { search: Search | null }): JSX.Element {
  const { unit = "simulations", kind = "tree" } = search ?? {};
  const sizeName = { tree: "Tree nodes", memory: "Weights in use", depth: "Table entries", values: "Size" }[kind];
  return (
    <>
      <dl class="numbers">
        <Fact name="Best move" value={search?.chosen ?? search?.moves[0] ?? "–"} />
        <Fact name="Black’s chance" value={`${percent(valueOf(search))} %`} />
        <Fact name={capital(unit)} value={whole(search?.count)} />
        <Fact name="Seconds" value={search ? search.seconds.toFixed(1) : "–"} />
        {isDetailed.value && (
          <>
            <Fact name="Per second" value={search ? compact(Math.round(search.per_second)) : "–"} />
            <Fact name="Depth" value={whole(search?.depth)} />
            <Fact name={sizeName} value={search?.size === null || !search ? "–" : compact(search.size)} hint={bytesText(search)} />
          </>
        )}
      </dl>
      <p class="muted one-line" title={search?.report.join("\n")}>
        {describeSearch(search)}
      </p>
    </>
  );
}

const bytesText = (search: Search | null): string | undefined => (search?.bytes ? `${compact(search.bytes)}B of memory` : undefined);

function describeSearch(search: Search | null): string {
  const state = doing.value[role.value];
  if (state === "preparing") return "Preparing the player; it is compiled on first use …";
  if (!search) return "Choose a player and search, or let an engine move in Play.";
  if (!isCurrent.value) return `The last search was after move ${search.at}.`;
  return `${capital(search.to_play)} to play after move ${search.at}; ${seatText(search.player)}`;
}

function HeatBoard({ quantity }: { quantity: string }): JSX.Element {
  const size = game.value?.size ?? 9;
  const search = isCurrent.value ? shown.value : null;
  const isHovered = hoveredMove.value !== null && search !== null;
  return (
    <GameBoard
      label={`Go board, ${size} by ${size}, with ${QUANTITIES[quantity]?.name ?? "values"} of the moves`}
      marks={isHovered ? [] : heatOf(search, quantity, size, showsAll.value).marks}
      ghosts={isHovered ? lineOf(search, hoveredMove.value, size) : []}
    />
  );
}

/** The value of the moves that are best in the end, over the search. */
function courseOf(all: Frame[]): Line[] {
  const moves = (all.at(-1)?.best ?? []).slice(0, BEST_MOVES).map(([move]) => move);
  return moves.map((move) => ({
    name: move,
    points: all.flatMap(({ count, best }) =>
      best.flatMap(([m, value]): [number, number][] => (m === move && value !== null ? [[count, value]] : [])),
    ),
  }));
}

function Course(): JSX.Element {
  const all = frames.value;
  const index = frameIndex.value ?? Math.max(0, all.length - 1);
  const search = searches.value[role.value];
  const isRunning = search !== undefined && !search.final;
  const unit = search?.unit ?? "simulations";
  const nearest = (count: number): number =>
    all.reduce((best, frame, i) => (Math.abs(frame.count - count) < Math.abs(all[best]!.count - count) ? i : best), 0);
  return (
    <>
      <div class="row spread">
        <h2>Black’s chance after the best three moves, over the search</h2>
        <span class="muted">
          {all.length ? `${whole(all[index]?.count)} of ${whole(all.at(-1)?.count)} ${unit}` : ""}
        </span>
      </div>
      <Chart
        label="Black’s chance after the best three moves"
        lines={courseOf(all)}
        xLabel={unit}
        height={210}
        format={perCent}
        at={frameIndex.value === null ? undefined : all[index]?.count}
        onPick={(count) => !isRunning && void showFrame(nearest(count))}
      />
      <input
        type="range"
        aria-label="Moment of the search"
        aria-valuetext={`${whole(all[index]?.count ?? 0)} ${unit}`}
        min={0}
        max={Math.max(1, all.length - 1)}
        value={index}
        disabled={isRunning || all.length < 2}
        onInput={(event) => void showFrame(event.currentTarget.valueAsNumber)}
      />
    </>
  );
}

/** Long-term memory, short-term memory, and both. */
function Memories({ search }: { search: Search }): JSX.Element {
  const size = game.value?.size ?? 9;
  const kinds = [
    ["long_term", "Long-term memory"],
    ["short_term", "Short-term memory"],
    ["value", "Both together"],
  ] as const;
  return (
    <section class="card wide" aria-label="Memories">
      <div class="three">
        {kinds.map(([key, title]) => {
          const heat = heatOf(isCurrent.value ? search : null, key, size);
          return (
            <figure key={key} class="stack">
              <h2>{title}</h2>
              <Board size={size} stones={table.stones.value} label={title} last={table.lastPoint.value} marks={heat.marks} />
              <Legend quantity={key} heat={heat} />
            </figure>
          );
        })}
      </div>
    </section>
  );
}

const DEPTH_COLUMNS: Column<Depth>[] = [
  { key: "depth", title: "Depth", value: (row) => row.depth },
  { key: "value", title: "V", hint: "value for Black, in per cent", value: (row) => row.value, show: (row) => percent(row.value) },
  { key: "positions", title: "Positions", value: (row) => row.positions, show: (row) => whole(row.positions) },
  { key: "seconds", title: "Seconds", value: (row) => row.seconds, show: (row) => row.seconds.toFixed(3) },
  { key: "move", title: "Move", value: (row) => row.move, isText: true },
  { key: "line", title: "Line", value: (row) => row.line.length, show: (row) => row.line.slice(1).join(" "), isText: true },
];

function Depths({ depths }: { depths: Depth[] }): JSX.Element {
  return (
    <section class="card wide" aria-label="Depth by depth">
      <h2>Depth by depth</h2>
      <Table
        label="Depth by depth"
        columns={DEPTH_COLUMNS}
        rows={depths}
        rowKey={(row) => String(row.depth)}
        isMarked={(row) => row === depths.at(-1)}
        empty="No depth finished yet."
      />
    </section>
  );
}
