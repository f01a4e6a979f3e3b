// Review: a whole game, analysed in the background. What each move lost, what was better, variations and comments.

import { computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { Annotate, begun, markPoint, tool } from "./annotate";
import { Chart } from "./chart";
import { type Column, Fact, NumberField, percent, perCent, SearchBar, Segments, Select, Table } from "./controls";
import { BoardBar, GameBoard, ghostsOf } from "./gameboard";
import { capital, fromVertex, toVertex, type ColorName } from "./go";
import { Info } from "./info";
import { lineKnown, lineSteps, mainSteps, paintOf, type Step } from "./losses";
import { Navigation } from "./navigation";
import { kept } from "./kept";
import { PlayerField, withLimit, type Limit } from "./players";
import { seatText } from "./seat";
import { game, hello, review } from "./server";
import * as table from "./table";
import { Tree } from "./tree";
import type { Review } from "./types";
import { variationMarks, Variations } from "./variations";

const TURN = 0.1; // as in train/play/curve.py
const WORST = 5; // moves of each colour that are always listed
const LINE_MS = 500; // between two moves of a line that is played

const player = kept("review-player", "");
const limit = kept<Limit>("review-limit", "seconds");
const amount = kept("review-amount", 1);
const side = signal<ColorName | "both">("both");
const played = signal({ number: 0, moves: 0 }); // of the better line of a move: how many of its moves are on the board

effect(() => {
  if (hello.value && !player.peek()) player.value = hello.value.player;
});

/** The moves that lost most of each colour, however little, and all that lost much; the worst first. */
const worst = computed(() => {
  const sorted = mainSteps.value.filter(({ loss }) => loss > 0).sort((a, b) => b.loss - a.loss);
  return (["black", "white"] as const)
    .filter((color) => side.value === color || side.value === "both")
    .flatMap((color) => sorted.filter((step) => step.color === color).filter(({ loss }, i) => i < WORST || loss >= TURN))
    .sort((a, b) => b.loss - a.loss);
});

/** Show a position of the main line. */
async function showMain(at: number): Promise<void> {
  played.value = { number: 0, moves: 0 };
  if (review.value?.variation) await table.ask("branch");
  table.goTo(at);
}

/** Go to the next listed mistake, or to the one before. */
export function goToMistake(direction: 1 | -1): void {
  const at = game.value?.at ?? 0;
  const next = worst.value.map(({ number }) => (number - at) * direction).filter((steps) => steps > 0);
  if (next.length) void showMain(at + direction * Math.min(...next));
}

/** Play the better line on the board, move by move; it does not go into the record. */
async function playLine({ number, line }: Step): Promise<void> {
  await showMain(number - 1);
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  for (let moves = isStill ? line.length : 1; moves <= line.length; moves++) {
    played.value = { number, moves };
    await new Promise((resolve) => setTimeout(resolve, LINE_MS));
    if (played.value.number !== number || played.value.moves !== moves) return;
  }
}

const runs = ({ is_running, variation }: Review): boolean => is_running || (variation?.is_running ?? false);

/** Review the line shown, or only its last move: a variation is evaluated as it is entered. */
function begin(first = 0): void {
  const seconds = limit.value === "seconds" ? amount.value : null;
  void table.ask("review", { player: withLimit(player.value, limit.value, amount.value), seconds, first });
}

/** Go along a move of the record, or play another one. */
async function enter(vertex: string): Promise<void> {
  const index = game.value!.variations.findIndex(({ move }) => move?.[1] === vertex);
  if (index >= 0) await table.ask("branch", { index });
  else if (await table.playMove(vertex)) begin(game.value!.at - 1);
}

export function toggleReview(): void {
  if (review.value && runs(review.value)) void table.ask("stop", { role: "review" });
  else begin();
}

export function ReviewView(): JSX.Element {
  return (
    <div class="view board-first">
      <div class="stack">
        <ReviewBoard />
        <Setup />
        <Navigation />
        <BoardBar />
        <Tree />
        <Variations />
        <Annotate />
      </div>
      <div class="stack">
        <section class="card" aria-label="Review">
          <Progress />
          <ThisMove />
          <Curve />
        </section>
        <section class="card" aria-label="Losses">
          <Worst />
          <Phases />
        </section>
        <Info />
      </div>
    </div>
  );
}

function Setup(): JSX.Element {
  const most = hello.value?.limits.seconds ?? 60;
  return (
    <SearchBar
      button={review.value && runs(review.value) ? "Stop" : "Review"}
      onClick={toggleReview}
      disabled={!game.value?.moves.length}
      text={`${seatText(player.value)}, ${amount.value} ${limit.value === "seconds" ? "s" : limit.value} a position`}
    >
      <PlayerField label="Reviewer" value={player.value} onChange={(spec) => (player.value = spec)} />
      <div class="fields two">
        <NumberField
          label="For each position"
          value={amount.value}
          min={limit.value === "seconds" ? 0.05 : 1}
          max={limit.value === "seconds" ? most : 1e6}
          step={limit.value === "seconds" ? 0.5 : 100}
          onChange={(n) => (amount.value = n)}
        />
        <Select
          label="of"
          value={limit.value}
          options={[
            ["seconds", "seconds"],
            ["simulations", "simulations"],
          ]}
          onChange={(kind) => {
            limit.value = kind as Limit;
            amount.value = kind === "seconds" ? 1 : 3000;
          }}
        />
      </div>
    </SearchBar>
  );
}

const pointsText = ({ points }: Step): string => (points === null ? "" : `, ${points.toFixed(1)} points`);

function Progress(): JSX.Element {
  const known = review.value?.variation?.is_running ? review.value.variation : review.value;
  if (!game.value?.moves.length) return <p class="muted">Play a game, or open a record: then every move of it can be reviewed.</p>;
  if (known?.is_running) {
    return (
      <label class="progress">
        <span>
          {known.done} of {known.of} positions
        </span>
        <progress max={known.of} value={known.done} />
      </label>
    );
  }
  const from = known?.player ? `Reviewed by ${known.player}` : "Values from the record";
  return <p class="muted">{known?.done ? `${from}: ${known.done} of ${known.of} positions.` : "Not reviewed yet."}</p>;
}

/** The move that led to the position shown. */
function ThisMove(): JSX.Element {
  const now = game.value;
  const step = lineSteps.value.find(({ number }) => number === now?.at);
  const value = lineKnown.value?.values[now?.at ?? 0] ?? null;
  const isTurn = step !== undefined && step.loss >= TURN;
  return (
    <>
      <dl class="numbers">
        <Fact name="Black’s chance" value={`${percent(value)} %`} />
        <Fact name="Move" value={step ? `${step.number} ${step.move}` : "–"} />
        <Fact name={step && step.loss < 0 ? "Gained" : "Lost"} value={step ? `${percent(Math.abs(step.loss))} %${pointsText(step)}` : "–"} hint="of the mover's chance of winning, and points" />
        <Fact name={isTurn ? "Better" : "Reviewer’s move"} value={step?.line[0] ?? "–"} />
      </dl>
      <p class="muted one-line">{step?.line.length ? `${isTurn ? "Better" : "The reviewer expects"}: ${step.line.join(" ")}` : " "}</p>
    </>
  );
}

const pointsOf = ({ values }: Review): [number, number][] => values.flatMap((y, x): [number, number][] => (y === null ? [] : [[x, y]]));

/** The main line's curve, and that of the variation shown from where it leaves. */
function Curve(): JSX.Element {
  const main = review.value;
  const branch = main?.variation;
  const leaves = branch?.moves.findIndex((move, i) => String(move) !== String(main?.moves[i])) ?? -1;
  const lines = [{ name: "Black’s chance", points: main ? pointsOf(main) : [] }];
  if (branch && leaves >= 0) lines.push({ name: "in the variation", points: pointsOf(branch).filter(([x]) => x >= leaves) });
  const dots = worst.value.map(({ number, value, color }) => ({ x: number, y: value, kind: color }));
  return (
    <Chart
      label="Black’s chance by move"
      lines={lines}
      dots={dots}
      xLabel="moves"
      height={170}
      range={[0, 1]}
      format={perCent}
      at={game.value?.at}
      onPick={(x) => table.goTo(Math.round(x))}
    />
  );
}

function ReviewBoard(): JSX.Element {
  const now = game.value;
  const size = now?.size ?? 9;
  const better = lineKnown.value?.lines[now?.at ?? 0]?.[0];
  const step = mainSteps.value.find(({ number }) => number === played.value.number && number === (now?.at ?? 0) + 1);
  const marks = variationMarks();
  const point = better ? fromVertex(better, size) : -1;
  if (point >= 0) {
    const label = marks.find((mark) => mark.point === point);
    if (label) label.isBest = true;
    else marks.push({ point, text: "★", isLabel: true, isBest: true });
  }
  return (
    <GameBoard
      {...(step || tool.value ? { turn: 0 as const } : {})}
      marks={step ? [] : marks}
      ghosts={step && ghostsOf(step.line.slice(0, played.value.moves), step.color, size)}
      selected={begun.value ?? undefined}
      onPoint={(at) => (tool.value ? markPoint(at) : void enter(toVertex(at, size)))}
    />
  );
}

const COLUMNS: Column<Step>[] = [
  { key: "number", title: "Move", value: (row) => row.number },
  {
    key: "move",
    title: "Played",
    value: (row) => row.move,
    show: (row) => (
      <span class="pair">
        <svg width="12" height="12" aria-hidden="true">
          <circle cx="6" cy="6" r="5" fill={paintOf(row.loss).fill} />
        </svg>
        {capital(row.color)} {row.move}
      </span>
    ),
    isText: true,
  },
  { key: "better", title: "Better", value: (row) => row.line[0] ?? "", isText: true },
  { key: "points", title: "Points", hint: "points that the move lost", value: (row) => row.points, show: (row) => row.points?.toFixed(1) ?? "–" },
  { key: "loss", title: "Chance", hint: "chance of winning that the move lost, in per cent", value: (row) => row.loss, show: (row) => percent(row.loss) },
  {
    key: "line",
    title: "Line",
    value: (row) => row.line.length,
    show: (row) => (
      <button type="button" class="line" title="Play the line on the board" disabled={!row.line.length} onClick={(event) => (event.stopPropagation(), void playLine(row))}>
        ▶ {row.line.join(" ") || "–"}
      </button>
    ),
    isText: true,
  },
];

function Worst(): JSX.Element {
  return (
    <>
      <div class="row spread">
        <h2>Moves that lost most</h2>
        <Segments
          label="Whose moves"
          value={side.value}
          options={[
            ["both", "both"],
            ["black", "Black"],
            ["white", "White"],
          ]}
          onChange={(color) => (side.value = color)}
        />
      </div>
      <Table
        label="Moves that lost most"
        columns={COLUMNS}
        rows={worst.value}
        rowKey={(row) => String(row.number)}
        isMarked={(row) => row.number === game.value?.at && !review.value?.variation}
        onHover={() => undefined}
        onPick={(row) => void showMain(row.number)}
        empty={mainSteps.value.length ? "No move lost anything." : "Nothing reviewed yet."}
        minRows={WORST}
      />
      <p class="muted">A click on a row shows its move, one on ▶ plays the better line. Keys: , and . go to the mistakes before and after.</p>
    </>
  );
}

function Phases(): JSX.Element | null {
  const phases = review.value?.phases ?? [];
  if (!phases.length) return null;
  return (
    <>
      <h2>By phase and colour</h2>
      <div class="table" role="region" aria-label="Losses by phase and colour" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {["Colour", "Phase", "Moves", "Mean loss", "Lost 10 or more"].map((title, i) => (
                <th key={title} scope="col" class={i < 2 ? "text plain" : "plain"}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {phases.map(({ color, phase, moves, mean, turns }) => (
              <tr key={color + phase}>
                <td class="text">{capital(color)}</td>
                <td class="text">{phase}</td>
                <td>{moves}</td>
                <td>{percent(mean)}</td>
                <td>{turns}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
