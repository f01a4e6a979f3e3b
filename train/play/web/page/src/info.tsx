// What a record says about its game.

import type { JSX } from "preact";
import { game } from "./server";

const TITLES: Record<string, string> = {
  PB: "Black", BR: "Black’s rank", BT: "Black’s team", PW: "White", WR: "White’s rank", WT: "White’s team", RE: "Result",
  HA: "Handicap", KM: "Komi", RU: "Rules", TM: "Time", OT: "Overtime", EV: "Event", RO: "Round", GN: "Game", DT: "Date",
  PC: "Place", ON: "Opening", SO: "Source", AN: "Annotated by", US: "Entered by", CP: "Copyright", GC: "Remark",
};

export function Info(): JSX.Element | null {
  const info = Object.entries(game.value?.info ?? {});
  if (!info.length) return null;
  return (
    <section class="card" aria-label="Record">
      <h2>Record</h2>
      <dl class="info">
        {info.map(([name, text]) => (
          <div key={name}>
            <dt>{TITLES[name] ?? name}</dt>
            <dd>{name === "TM" && /^\d+$/.test(text) ? `${Number(text) / 60} minutes` : text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
