// A local shape, drawn small: rows from the bottom, as in the API.

import type { JSX } from "preact";
import { BLACK } from "./go";

const CELL = 10;

export function Shape({ cells }: { cells: number[][] }): JSX.Element {
  const n = cells.length;
  const side = n * CELL;
  const name = [...cells]
    .reverse()
    .map((row) => row.map((cell) => (cell === 0 ? "empty" : cell === BLACK ? "black" : "white")).join(" "))
    .join("; ");
  return (
    <svg class="board shape-board" viewBox={`0 0 ${side} ${side}`} role="img" aria-label={`Shape, from the top: ${name}`}>
      <rect class="wood" width={side} height={side} rx={1} />
      <path class="lines" d={cells.map((_, i) => `M${(i + 0.5) * CELL} 0V${side}M0 ${(i + 0.5) * CELL}H${side}`).join("")} />
      {cells.flatMap((row, r) =>
        row.map((cell, c) =>
          cell === 0 ? null : (
            <circle
              key={`${r} ${c}`}
              class={cell === BLACK ? "flat black" : "flat white"}
              cx={(c + 0.5) * CELL}
              cy={(n - r - 0.5) * CELL}
              r={4.3}
            />
          ),
        ),
      )}
    </svg>
  );
}
