// Compare: two players on one position, side by side.

import { effect, signal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { Board } from "./board";
import { compact } from "./chart";
import { Button, type Column, Fact, NumberField, percent, Segments, Table, whole } from "./controls";
import { toVertex } from "./go";
import { heatOf, Legend, QUANTITIES, quantitiesOf, valueOf } from "./heat";
import { Navigation } from "./navigation";
import { parseSpec, PlayerField, SettingSliders } from "./players";
import { doing, game, hello, searches } from "./server";
import * as table from "./table";
import type { Search } from "./types";
import { ghostsOf } from "./watch";

const ROWS = 8;
const SIDES = ["a", "b"] as const;
type Side = (typeof SIDES)[number];

const players: Record<Side, Signal<string>> = { a: signal(""), b: signal("") };
const seconds = signal(2);
const isEager = signal(true); // search again whenever a setting changes
const chosenQuantity = signal("value");
const hovered = signal<string | null>(null); // a move, on both boards

effect(() => {
  if (!hello.value || players.a.peek()) return;
  players.a.value = hello.value.player;
  players.b.value = parseSpec(hello.value.player).name === "mc_rave" ? "uct" : "mc_rave";
});

const isIdle = (side: Side): boolean => doing.value[side] === "idle";

const search = (side: Side): void => table.search(side, players[side].value, seconds.value);

export function compareBoth(): void {
  if (SIDES.every(isIdle)) for (const side of SIDES) search(side);
  else for (const side of SIDES) void table.ask("stop", { role: side });
}

function choose(side: Side, spec: string): void {
  players[side].value = spec;
  if (isEager.value && searches.value[side]) search(side);
}

export function CompareView(): JSX.Element {
  const known = new Set(SIDES.flatMap((side) => quantitiesOf(searches.value[side] ?? null)));
  const quantities = Object.keys(QUANTITIES).filter((key) => known.has(key));
  const quantity = known.has(chosenQuantity.value) ? chosenQuantity.value : "value";
  return (
    <div class="view">
      <section class="card wide" aria-label="Both">
        <div class="row spread">
          <div class="row">
            <Button onClick={compareBoth} shortcut="Space" primary>
              {SIDES.every(isIdle) ? "Search both" : "Stop"}
            </Button>
            <NumberField
              label="Seconds each"
              value={seconds.value}
              min={0.1}
              max={hello.value?.limits.seconds ?? 60}
              step={0.5}
              onChange={(n) => (seconds.value = n)}
            />
            <label class="check">
              <input type="checkbox" checked={isEager.value} onChange={(event) => (isEager.value = event.currentTarget.checked)} />
              search again when a setting changes
            </label>
          </div>
          <Segments
            label="Shown on the boards"
            value={quantity}
            options={(quantities.length ? quantities : ["value"]).map((key) => [key, QUANTITIES[key]!.title] as const)}
            onChange={(key) => (chosenQuantity.value = key)}
          />
        </div>
        <Navigation />
      </section>
      {SIDES.map((side) => (
        <SidePanel key={side} side={side} quantity={quantity} />
      ))}
    </div>
  );
}

function SidePanel({ side, quantity }: { side: Side; quantity: string }): JSX.Element {
  const size = game.value?.size ?? 9;
  const result = table.ifCurrent(searches.value[side]);
  const heat = heatOf(result, quantity, size);
  const ghosts = ghostsOf(result, hovered.value, size);
  return (
    <section class="card" aria-label={`Side ${side.toUpperCase()}`}>
      <PlayerField label={`Player ${side.toUpperCase()}`} value={players[side].value} onChange={(spec) => choose(side, spec)} />
      <Board
        size={size}
        stones={table.stones.value}
        label={`What player ${side.toUpperCase()} thinks`}
        last={table.lastPoint.value}
        turn={ghosts.length ? 0 : table.turn.value}
        marks={ghosts.length ? [] : heat.marks}
        ghosts={ghosts}
        onPoint={(point) => void table.playMove(toVertex(point, size))}
      />
      <Legend quantity={quantity} heat={heat} />
      <dl class="numbers">
        <Fact name="Best move" value={result?.chosen ?? result?.moves[0] ?? "–"} />
        <Fact name="Black’s chance" value={`${percent(valueOf(result))} %`} />
        <Fact name={result?.unit === "positions" ? "Positions" : "Simulations"} value={whole(result?.count)} />
        <Fact name="Per second" value={result ? compact(Math.round(result.per_second)) : "–"} />
      </dl>
      <Best side={side} result={result} quantity={quantity} />
      <SettingSliders value={players[side].value} onChange={(spec) => choose(side, spec)} />
    </section>
  );
}

interface Row {
  move: string;
  index: number;
}

function Best({ side, result, quantity }: { side: Side; result: Search | null; quantity: string }): JSX.Element {
  const keys = [...new Set(["value", "visits", quantity])].filter((key) => result?.columns[key]);
  const columns: Column<Row>[] = [
    { key: "move", title: "Move", value: (row) => row.move, isText: true },
    ...keys.map(
      (key): Column<Row> => ({
        key,
        title: QUANTITIES[key]!.title,
        hint: QUANTITIES[key]!.hint,
        value: (row) => result?.columns[key]?.[row.index] ?? null,
        show: (row) => QUANTITIES[key]!.show(result?.columns[key]?.[row.index]),
      }),
    ),
    {
      key: "line",
      title: "Line",
      value: (row) => result?.lines[row.move]?.length ?? 0,
      show: (row) => result?.lines[row.move]?.slice(1, 6).join(" ") ?? "",
      isText: true,
    },
  ];
  return (
    <Table
      label={`Best moves of player ${side.toUpperCase()}`}
      columns={columns}
      rows={(result?.moves ?? []).slice(0, ROWS).map((move, index) => ({ move, index }))}
      rowKey={(row) => row.move}
      isMarked={(row) => row.index === 0}
      onHover={(row) => (hovered.value = row?.move ?? null)}
      empty="No search of this position yet."
      minRows={ROWS}
    />
  );
}
