// Numbers on the board: what a search thinks of each move, as discs of colour with the number on them.

import type { JSX } from "preact";
import type { Mark } from "./board";
import { percent, Segments, whole } from "./controls";
import { fromVertex } from "./go";
import { kept } from "./kept";
import { sequential } from "./scales";
import type { Search } from "./types";

export interface Quantity {
  letter: string; // as papers have it
  name: string; // in full
  hint: string;
  isValue: boolean; // from 0, White wins, to 1; otherwise a count or a share
  show: (x: number | null | undefined) => string;
}

const value = (letter: string, name: string, hint: string): Quantity => ({ letter, name, hint, isValue: true, show: (x) => percent(x) });
const share = (letter: string, name: string, hint: string): Quantity => ({ ...value(letter, name, hint), isValue: false });
const count = (letter: string, name: string, hint: string): Quantity => ({ letter, name, hint, isValue: false, show: whole });

/** What the columns of a search mean. Values are for Black, in per cent. */
export const QUANTITIES: Record<string, Quantity> = {
  chance: value("Chance", "Black’s chance", "chance that Black wins after the move, in per cent: the value V, calibrated"),
  visits: count("N", "simulations", "simulations that began with the move"),
  share: share("N %", "share of simulations", "share of all simulations, in per cent"),
  value: value("V", "value V", "value of the move for Black, in per cent: what the search acts on, before calibration"),
  q: value("Q", "Q (Monte-Carlo)", "mean outcome of the simulations that began with the move, in per cent"),
  q_amaf: value("Q~", "Q~ (AMAF)", "mean outcome of the simulations in which the colour played the move at any time, in per cent"),
  n_amaf: count("N~", "N~ (AMAF count)", "simulations in which the colour played the move at any time"),
  beta: share("β", "β, weight of AMAF", "weight of Q~ against Q, in per cent"),
  prior: value("prior", "prior H", "what the heuristic believed before the search, in per cent"),
  policy: share("P %", "policy", "the probability of the move by the policy or the network, before any search, in per cent"),
  long_term: value("long", "long-term memory", "value by the long-term memory alone, in per cent"),
  short_term: value("short", "short-term memory", "value by the short-term memory alone, in per cent"),
  searched: value("searched", "searched value", "value of the move at the last depth; a bound, except for the best move"),
};

const PLAIN: Record<string, string> = { chance: "Chance", visits: "Simulations", share: "Share" };

/** Whether the numbers of papers are shown, too, by their letters. */
export const isDetailed = kept("details", false);

export const titleOf = (key: string): string => (isDetailed.value ? undefined : PLAIN[key]) ?? QUANTITIES[key]!.letter;

export const quantitiesOf = (search: Search | null): string[] =>
  Object.keys(QUANTITIES).filter((key) => (isDetailed.value || key in PLAIN) && search?.columns[key]?.some((x) => x !== null));

/** What the search thinks of the position: Black's chance after its best move. */
export const valueOf = (search: Search | null): number | null => search?.chance ?? null;

export interface Heat {
  marks: Mark[];
  best: number; // the number of the best move shown, and the worst that the colours tell apart from others
  worst: number;
}

const FAR = 0.15; // a value that is this much worse than the best is as dark as can be
const LEAST_SHARE = 0.01; // of the best move's visits: a candidate has more
const LEAST_SHOWN = 0.005; // a share that rounds to nothing is not shown
const [FEWEST_CANDIDATES, MOST_CANDIDATES] = [4, 12]; // if there are as many

/** Whether a move is one that the search has really looked at, rather than one of all that there are. */
function isCandidate(search: Search, i: number): boolean {
  const visits = search.columns.visits;
  const most = Math.max(...(visits ?? []).map((n) => n ?? 0));
  const least = i < FEWEST_CANDIDATES ? 1 : Math.max(1, LEAST_SHARE * most);
  return i === 0 || (i < MOST_CANDIDATES && (!visits || most <= 1 || (visits[i] ?? 0) >= least));
}

/** Discs for one quantity: the candidates, or all moves. Values are coloured by how far they are from the best move's. */
export function heatOf(search: Search | null, key: string, size: number, all = false): Heat {
  const column = search?.columns[key];
  const quantity = QUANTITIES[key];
  if (!search || !column || !quantity) return { marks: [], best: 0, worst: 0 };
  const shares = key === "visits" ? (search.columns.share ?? column) : column;
  const isKnown = (i: number): boolean => column[i] !== null && (quantity.isValue || (shares[i] ?? 0) >= LEAST_SHOWN);
  const names = quantitiesOf(search);
  const about = (i: number): string =>
    [search.moves[i], ...names.map((name) => `${titleOf(name)} ${QUANTITIES[name]!.show(search.columns[name]![i])}`)].join(" · ");
  const rows = search.moves.map((move, i) => ({ point: fromVertex(move, size), number: column[i]!, i }));
  const known = rows.filter(({ point, i }) => point >= 0 && isKnown(i) && (all || isCandidate(search, i)));
  const numbers = known.map(({ number }) => number);
  const isReversed = quantity.isValue && search.to_play === "white";
  const best = isReversed ? Math.min(...numbers) : Math.max(...numbers);
  const worst = quantity.isValue ? best + (isReversed ? FAR : -FAR) : 0;
  const isCounted = (search.columns.visits ?? []).some((n) => (n ?? 0) > 1);
  const spread = Math.max(...numbers) - Math.min(...numbers);
  const marks = known.map(({ point, number, i }): Mark => {
    const { fill, ink } = sequential(best === worst ? 1 : (number - worst) / (best - worst));
    const visits = key === "visits" || key === "share" ? null : search.columns.visits?.[i];
    const small = visits && isCounted && !all ? shortText(visits, QUANTITIES.visits!, 0) : undefined;
    const [text, brief] = [shortText(number, quantity, spread), shortText(number, quantity, 1)];
    return { point, fill, ink, text, small, brief, about: about(i), isBest: i === 0 };
  });
  return { marks, best, worst };
}

/** Three characters or so. Numbers that lie close together, spread apart by less than a tenth, get a decimal. */
function shortText(number: number, quantity: Quantity, spread: number): string {
  if (quantity.show !== whole) return (100 * number).toFixed(spread > 0.1 && (number >= 0.0995 || spread === 1) ? 0 : 1);
  if (number < 1_000) return String(Math.round(number));
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 9_950 ? 1 : 0)}k`;
  return `${(number / 1e6).toFixed(1)}M`;
}

interface QuantityBarProps {
  quantities: string[];
  chosen: string;
  onChange: (quantity: string) => void;
}

/** Which quantity is on the board, and whether there are more than the plain ones. */
export function QuantityBar({ quantities, chosen, onChange }: QuantityBarProps): JSX.Element {
  const keys = quantities.length ? quantities : Object.keys(PLAIN);
  return (
    <div class="row spread">
      <Segments label="Shown on the board" value={chosen} options={keys.map((key) => [key, titleOf(key)] as const)} onChange={onChange} />
      <label class="check">
        <input type="checkbox" checked={isDetailed.value} onChange={(event) => (isDetailed.value = event.currentTarget.checked)} />
        Details
      </label>
    </div>
  );
}

interface LegendProps {
  quantity: string;
  heat: Heat;
}

export function Legend({ quantity, heat }: LegendProps): JSX.Element {
  const about = QUANTITIES[quantity];
  const isEmpty = heat.marks.length === 0;
  const far = about?.isValue ? `${Math.round(100 * FAR)} points worse` : "0";
  return (
    <div class="legend" title={about?.hint}>
      <span class="low">{isEmpty ? "–" : far}</span>
      <Ramp />
      <span class="high">{isEmpty ? "–" : `${about?.isValue ? "best: " : ""}${about?.show(heat.best)}`}</span>
      <span>{about?.isValue ? `${about.name}, %` : about?.name}</span>
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
