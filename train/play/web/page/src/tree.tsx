// The game tree around the position shown: a click goes to a position.

import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { game, tree } from "./server";
import * as table from "./table";

const STEP = 16; // pixels between two nodes
const [COLUMNS, ROWS] = [26, 6]; // that are shown

interface Place {
  x: number;
  y: number;
}

/** Where each node stands: a column for each move, and a row for each variation, as close as they fit. */
const places = computed((): Place[] => {
  const parents = tree.value?.parents ?? [];
  const found: Place[] = [];
  const seen = new Set<number>(); // whose first child has been placed
  const starts: number[] = []; // the first column that a row has taken so far: variations come from the end to the start
  for (const [i, parent] of parents.entries()) {
    const above = found[parent] ?? { x: -1, y: 0 };
    const x = above.x + 1;
    let y = above.y;
    if (seen.has(parent)) {
      let last = i; // of the variation's first line
      while (parents[last + 1] === last) last++;
      const end = x + last - i;
      do y++;
      while ((starts[y] ?? Infinity) <= end);
    }
    seen.add(parent);
    starts[y] = Math.min(starts[y] ?? Infinity, x - 1); // and the line to its parent
    found.push({ x, y });
  }
  return found;
});

export function Tree(): JSX.Element | null {
  const [known, now] = [tree.value, game.value];
  if (!known || !now || places.value.every(({ y }) => y === 0)) return null;
  const all = places.value;
  const onLine = new Set(known.line);
  const here = known.line[now.at] ?? 0;
  const end = all.reduce((most, { x, y }) => ({ x: Math.max(most.x, x), y: Math.max(most.y, y) }));
  const left = Math.max(0, Math.min(all[here]!.x - COLUMNS / 2, end.x - COLUMNS));
  const top = Math.max(0, Math.min(all[here]!.y - 1, end.y - ROWS + 1));
  const isSeen = ({ x, y }: Place): boolean => x >= left - 1 && x <= left + COLUMNS + 1 && y >= top - 1 && y <= top + ROWS;
  return (
    <svg class="tree" viewBox={`${(left - 0.6) * STEP} ${(top - 0.6) * STEP} ${(COLUMNS + 1.2) * STEP} ${(Math.min(ROWS, end.y + 1) + 0.2) * STEP}`} aria-hidden="true">
      {all.map((place, i) => {
        const above = all[known.parents[i]!];
        if (!above || !isSeen(place)) return null;
        const [x, y] = [place.x * STEP, place.y * STEP];
        return <path key={i} class={onLine.has(i) ? "shown" : ""} d={`M${above.x * STEP} ${above.y * STEP}V${Math.max(above.y * STEP, y - STEP)}L${x} ${y}`} />;
      })}
      {all.map((place, i) => {
        if (!isSeen(place)) return null;
        const color = known.colors[i];
        const at = known.line.indexOf(i);
        return (
          <g key={i} transform={`translate(${place.x * STEP} ${place.y * STEP})`} onClick={() => (at < 0 ? table.showNode(i) : table.goTo(at))}>
            {i === here && <circle class="here" r={7.5} />}
            <circle class={color === "B" ? "for-black" : color === "W" ? "for-white" : "none"} r={color ? 5 : 3} />
            {known.comments[i] && <circle class="comment" r={1.8} />}
            <rect x={-STEP / 2} y={-STEP / 2} width={STEP} height={STEP} />
          </g>
        );
      })}
    </svg>
  );
}
