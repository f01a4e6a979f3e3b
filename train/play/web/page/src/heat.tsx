// Numbers on the board: what a search thinks of each move, as discs of colour with the number on them.

import type { JSX } from "preact";
import type { Mark } from "./board";
import { percent, whole } from "./controls";
import { fromVertex } from "./go";
import { sequential } from "./scales";
import type { Search } from "./types";

export interface Quantity {
  title: string; // of the table's column
  name: string; // in full
  hint: string;
  isValue: boolean; // P(Black wins); otherwise a count or a share
  show: (x: number | null | undefined) => string;
}

const value = (title: string, name: string, hint: string): Quantity => ({ title, name, hint, isValue: true, show: (x) => percent(x) });
const share = (title: string, name: string, hint: string): Quantity => ({ ...value(title, name, hint), isValue: false });
const count = (title: string, name: string, hint: string): Quantity => ({ title, name, hint, isValue: false, show: whole });

/** What the columns of a search mean. Values are P(Black wins), in per cent. */
export const QUANTITIES: Record<string, Quantity> = {
  value: value("V", "value", "P(Black wins) after the move, in per cent: what the search acts on"),
  visits: count("N", "visits N", "simulations that began with the move"),
  share: share("N %", "share of visits", "share of all simulations, in per cent"),
  q: value("Q", "Q (Monte-Carlo)", "mean outcome of the simulations that began with the move, in per cent"),
  q_amaf: value("Q~", "Q~ (AMAF)", "mean outcome of the simulations in which the colour played the move at any time, in per cent"),
  n_amaf: count("N~", "N~ (AMAF count)", "simulations in which the colour played the move at any time"),
  beta: share("β", "β, weight of AMAF", "weight of Q~ against Q, in per cent"),
  prior: value("prior", "prior H", "what the heuristic believed before the search, in per cent"),
  long_term: value("long", "long-term memory", "P(Black wins) by the long-term memory alone, in per cent"),
  short_term: value("short", "short-term memory", "P(Black wins) by the short-term memory alone, in per cent"),
  searched: value("searched", "searched value", "value of the move at the last depth; a bound, except for the best move"),
};

export const quantitiesOf = (search: Search | null): string[] =>
  Object.keys(QUANTITIES).filter((key) => search?.columns[key]?.some((x) => x !== null));

/** What the search thinks of the position: Black's chance after its best move. */
export const valueOf = (search: Search | null): number | null => search?.chance ?? null;

export interface Heat {
  marks: Mark[];
  low: number; // the worst number shown, and the best one, for the side to play
  high: number;
}

/** Discs for one quantity. Bright is good for the side to play, or many. */
export function heatOf(search: Search | null, key: string, size: number): Heat {
  const column = search?.columns[key];
  const quantity = QUANTITIES[key];
  if (!search || !column || !quantity) return { marks: [], low: 0, high: 0 };
  const isKnown = (i: number): boolean => column[i] !== null && (quantity.isValue || column[i]! > 0);
  const rows = search.moves.map((move, i) => ({ point: fromVertex(move, size), number: column[i]!, i }));
  const known = rows.filter(({ point, i }) => point >= 0 && isKnown(i));
  const numbers = known.map(({ number }) => number);
  const isReversed = quantity.isValue && search.to_play === "white";
  const [smallest, largest] = [Math.min(...numbers), Math.max(...numbers)];
  const [low, high] = isReversed ? [largest, smallest] : [smallest, largest];
  const marks = known.map(({ point, number, i }): Mark => {
    const { fill, ink } = sequential(high === low ? 1 : (number - low) / (high - low));
    return { point, fill, ink, text: shortText(number, quantity, largest - smallest), isBest: i === 0 };
  });
  return { marks, low, high };
}

/** Three characters or so. Numbers that lie close together, spread apart by less than a tenth, get a decimal. */
function shortText(number: number, quantity: Quantity, spread: number): string {
  if (quantity.show !== whole) return (100 * number).toFixed(number >= 0.0995 && spread > 0.1 ? 0 : 1);
  if (number < 1_000) return String(Math.round(number));
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 9_950 ? 1 : 0)}k`;
  return `${(number / 1e6).toFixed(1)}M`;
}

interface LegendProps {
  quantity: string;
  heat: Heat;
}

export function Legend({ quantity, heat }: LegendProps): JSX.Element {
  const about = QUANTITIES[quantity];
  const isEmpty = heat.marks.length === 0;
  return (
    <div class="legend" title={about?.hint}>
      <span class="low">{isEmpty ? "–" : about?.show(heat.low)}</span>
      <Ramp />
      <span class="high">{isEmpty ? "–" : about?.show(heat.high)}</span>
      <span>{about?.isValue ? "P(Black wins), %" : about?.name}</span>
    </div>
  );
}

function Ramp(): JSX.Element {
  const n = 64;
  return (
    <svg viewBox={`0 0 ${n} 1`} preserveAspectRatio="none" aria-hidden="true">
      {Array.from({ length: n }, (_, i) => (
        <rect key={i} x={i} width={1.2} height={1} fill={sequential(i / (n - 1)).fill} />
      ))}
    </svg>
  );
}
