// Compare: two players on one position, side by side.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { compact } from "./chart";
import { Fact, NumberField, percent, SearchBar, whole } from "./controls";
import { GameBoard } from "./gameboard";
import { heatOf, Legend, QuantityBar, QUANTITIES, quantitiesOf, valueOf } from "./heat";
import { kept } from "./kept";
import { lineOf, MoveList } from "./moves";
import { Navigation } from "./navigation";
import { parseSpec, PlayerField, SettingSliders } from "./players";
import { doing, game, hello, searches } from "./server";
import * as table from "./table";

const ROWS = 8;
const SIDES = ["a", "b"] as const;
type Side = (typeof SIDES)[number];

const players = { a: kept("player-a", ""), b: kept("player-b", "") };
const seconds = kept("compare-seconds", 2);
const isEager = kept("compare-eager", true); // search again whenever a setting changes
const chosenQuantity = signal("chance");
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
  const quantity = known.has(chosenQuantity.value) ? chosenQuantity.value : "chance";
  return (
    <div class="view">
      <section class="card wide" aria-label="Both">
        <div class="row spread">
          <SearchBar button={SIDES.every(isIdle) ? "Search both" : "Stop"} onClick={compareBoth} text={`${seconds.value} s each`}>
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
          </SearchBar>
          <QuantityBar quantities={quantities} chosen={quantity} onChange={(key) => (chosenQuantity.value = key)} />
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
  const ghosts = lineOf(result, hovered.value, size);
  return (
    <section class="card" aria-label={`Side ${side.toUpperCase()}`}>
      <PlayerField label={`Player ${side.toUpperCase()}`} value={players[side].value} onChange={(spec) => choose(side, spec)} />
      <GameBoard label={`What player ${side.toUpperCase()} thinks`} marks={ghosts.length ? [] : heat.marks} ghosts={ghosts} />
      <Legend quantity={quantity} heat={heat} />
      <dl class="numbers">
        <Fact name="Best move" value={result?.chosen ?? result?.moves[0] ?? "–"} />
        <Fact name="Black’s chance" value={`${percent(valueOf(result))} %`} />
        <Fact name={result?.unit === "positions" ? "Positions" : "Simulations"} value={whole(result?.count)} />
        <Fact name="Per second" value={result ? compact(Math.round(result.per_second)) : "–"} />
      </dl>
      <MoveList
        label={`Best moves of player ${side.toUpperCase()}`}
        search={result}
        quantities={[...new Set(["chance", "visits", quantity])].filter((key) => result?.columns[key])}
        hovered={hovered}
        minRows={ROWS}
      />
      <SettingSliders value={players[side].value} onChange={(spec) => choose(side, spec)} />
    </section>
  );
}
