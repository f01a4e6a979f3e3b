// Review: a whole game, analysed in the background. What each move lost, what was better, variations and comments.

import { computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Board, type Ghost } from "./board";
import { Chart } from "./chart";
import { Button, type Column, Fact, NumberField, percent, Select, Table } from "./controls";
import { capital, fromVertex, otherName, toColor, toVertex, type ColorName } from "./go";
import { Info } from "./info";
import { Navigation } from "./navigation";
import { OwnershipSwitch, shownOwners } from "./ownership";
import { PlayerField, withLimit, type Limit } from "./players";
import { game, hello, review } from "./server";
import * as table from "./table";
import { variationMarks, Variations } from "./variations";

const TURN = 0.1; // as in train/play/curve.py
const BLUNDER = 0.2;
const ROWS = 8;

const player = signal("");
const limit = signal<Limit>("seconds");
const amount = signal(1);
const hovered = signal<number | null>(null); // the number of a move

effect(() => {
  if (hello.value && !player.peek()) player.value = hello.value.player;
});

interface Step {
  number: number;
  color: ColorName;
  move: string;
  value: number;
  loss: number;
  line: string[]; // the better one
}

/** What is known of each move of the line. */
const steps = computed<Step[]>(() => {
  const [now, known] = [game.value, review.value];
  if (!now || !known) return [];
  return now.moves.flatMap(([color, move], i): Step[] => {
    const [before, value] = [known.values[i] ?? null, known.values[i + 1] ?? null];
    if (before === null || value === null) return [];
    return [{ number: i + 1, color, move, value, loss: color === "black" ? before - value : value - before, line: known.lines[i] ?? [] }];
  });
});

export function toggleReview(): void {
  const seconds = limit.value === "seconds" ? amount.value : null;
  if (review.value?.is_running) void table.ask("stop", { role: "review" });
  else void table.ask("review", { player: withLimit(player.value, limit.value, amount.value), seconds });
}

export function ReviewView(): JSX.Element {
  return (
    <div class="view board-first">
      <div class="stack">
        <ReviewBoard />
        <Navigation />
        <OwnershipSwitch />
        <Variations />
        <Comment />
      </div>
      <div class="stack">
        <section class="card" aria-label="Review">
          <Setup />
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
    <>
      <PlayerField label="Reviewer" value={player.value} onChange={(spec) => (player.value = spec)} />
      <div class="setup limits">
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
        <Button onClick={toggleReview} shortcut="Space" primary disabled={!game.value?.moves.length}>
          {review.value?.is_running ? "Stop" : "Review"}
        </Button>
      </div>
    </>
  );
}

function Progress(): JSX.Element {
  const known = review.value;
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
  const step = steps.value.find(({ number }) => number === now?.at);
  const value = review.value?.values[now?.at ?? 0] ?? null;
  const isTurn = step !== undefined && step.loss >= TURN;
  return (
    <>
      <dl class="numbers">
        <Fact name="Black’s chance" value={`${percent(value)} %`} />
        <Fact name="Move" value={step ? `${step.number} ${step.move}` : "–"} />
        <Fact name={step && step.loss < 0 ? "Gained" : "Lost"} value={step ? percent(Math.abs(step.loss)) : "–"} hint="points of the mover's chance of winning" />
        <Fact name={isTurn ? "Better" : "Reviewer’s move"} value={step?.line[0] ?? "–"} />
      </dl>
      <p class="muted one-line">{step?.line.length ? `${isTurn ? "Better" : "The reviewer expects"}: ${step.line.join(" ")}` : " "}</p>
    </>
  );
}

function Curve(): JSX.Element {
  const points = (review.value?.values ?? []).flatMap((y, x): [number, number][] => (y === null ? [] : [[x, y]]));
  const dots = steps.value
    .filter(({ loss }) => loss >= TURN)
    .map(({ number, value, color }) => ({ x: number, y: value, kind: color }));
  return (
    <Chart
      label="Black’s chance by move"
      lines={[{ name: "Black’s chance", points }]}
      dots={dots}
      xLabel="moves"
      height={170}
      range={[0, 1]}
      format={(y) => `${percent(y, 0)} %`}
      at={game.value?.at}
      onPick={(x) => table.goTo(Math.round(x))}
    />
  );
}

/** A line from before a move on, as stones that are not there. */
function ghostsOf(step: Step, size: number): Ghost[] {
  const ghosts: Ghost[] = [];
  let color = step.color;
  for (const [i, vertex] of step.line.entries()) {
    const point = fromVertex(vertex, size);
    if (point >= 0 && ghosts.every((ghost) => ghost.point !== point)) ghosts.push({ point, color: toColor(color), label: String(i + 1) });
    color = otherName(color);
  }
  return ghosts;
}

function ReviewBoard(): JSX.Element {
  const now = game.value;
  const size = now?.size ?? 9;
  const better = review.value?.lines[now?.at ?? 0]?.[0];
  const step = steps.value.find(({ number }) => number === hovered.value && number === (now?.at ?? 0) + 1);
  const marks = variationMarks();
  const point = better ? fromVertex(better, size) : -1;
  if (point >= 0) {
    const label = marks.find((mark) => mark.point === point);
    if (label) label.isBest = true;
    else marks.push({ point, text: "★", isLabel: true, isBest: true });
  }
  return (
    <Board
      size={size}
      stones={table.stones.value}
      label={table.boardLabel()}
      last={table.lastPoint.value}
      turn={step ? 0 : table.turn.value}
      marks={step ? [] : marks}
      ghosts={step ? ghostsOf(step, size) : []}
      owners={shownOwners()}
      onPoint={(at) => void table.playMove(toVertex(at, size))}
    />
  );
}

const COLUMNS: Column<Step>[] = [
  { key: "number", title: "Move", value: (row) => row.number },
  { key: "move", title: "Played", value: (row) => row.move, show: (row) => `${capital(row.color)} ${row.move}`, isText: true },
  {
    key: "loss",
    title: "Lost",
    hint: "points of the chance of winning",
    value: (row) => row.loss,
    show: (row) => (
      <>
        {percent(row.loss)} {row.loss >= BLUNDER ? "bad" : "doubtful"}
      </>
    ),
  },
  { key: "better", title: "Better", value: (row) => row.line[0] ?? "", show: (row) => row.line.join(" "), isText: true },
];

function Worst(): JSX.Element {
  const worst = steps.value.filter(({ loss }) => loss >= TURN).sort((a, b) => b.loss - a.loss);
  return (
    <>
      <h2>Moves that lost most, dots in the curve</h2>
      <Table
        label="Moves that lost most"
        columns={COLUMNS}
        rows={worst}
        rowKey={(row) => String(row.number)}
        isMarked={(row) => row.number === game.value?.at}
        onHover={(row) => (hovered.value = row?.number ?? null)}
        onPick={(row) => {
          hovered.value = row.number;
          table.goTo(row.number - 1);
        }}
        empty={steps.value.length ? "No move lost 10 points or more." : "Nothing reviewed yet."}
        minRows={ROWS}
      />
      <p class="muted">A click shows the position before the move; while you point at the row, the better line is on the board.</p>
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

function Comment(): JSX.Element {
  const text = game.value?.comment ?? "";
  const [draft, setDraft] = useState<string | null>(null); // what is being written: drawing anew must not undo it
  return (
    <div class="field">
      <label for="comment">Comment on this position</label>
      <textarea
        id="comment"
        rows={4}
        value={draft ?? text}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={(event) => {
          setDraft(null);
          void table.ask("comment", { text: event.currentTarget.value.slice(0, 100_000) });
        }}
      />
    </div>
  );
}
