// What the moves of a game lost, by a review: one list for the table, the curve and the board.

import { computed } from "@preact/signals";
import type { ColorName } from "./go";
import { review } from "./server";
import type { Review } from "./types";

export interface Step {
  number: number;
  color: ColorName;
  move: string;
  value: number; // Black's chance after it
  loss: number; // of the mover's chance
  points: number | null;
  line: string[]; // the better one
}

function stepsOf({ moves, values, losses, points, lines }: Review): Step[] {
  return moves.flatMap(([color, move], i): Step[] => {
    const [before, value] = [values[i] ?? null, values[i + 1] ?? null];
    if (before === null || value === null) return [];
    const loss = losses ? losses[i] : color === "black" ? before - value : value - before;
    return loss == null ? [] : [{ number: i + 1, color, move, value, loss, points: points?.[i] ?? null, line: lines[i] ?? [] }];
  });
}

/** What is known of each move of the main line. */
export const mainSteps = computed(() => (review.value ? stepsOf(review.value) : []));

/** What is known of the line shown, which may be a variation. */
export const lineKnown = computed(() => review.value?.variation ?? review.value);
export const lineSteps = computed(() => (lineKnown.value ? stepsOf(lineKnown.value) : []));

/** From which loss on, how large a dot is, and its colour: whoever sees no colours sees the size. */
const DOTS = [
  [0.2, 3, "#7b2cbf"],
  [0.1, 2.6, "#d62828"],
  [0.05, 2.1, "#f77f00"],
  [0.02, 1.6, "#f4d35e"],
  [-Infinity, 1.1, "#3a9d5d"],
] as const;

export function paintOf(loss: number): { radius: number; fill: string } {
  const [, radius, fill] = DOTS.find(([least]) => loss >= least)!;
  return { radius, fill };
}
