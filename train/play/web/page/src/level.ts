// A level that finds yours: three games halve the ten levels down to one, and later ones follow it.

import { signal } from "@preact/signals";
import { say, toast } from "./notices";
import { otherName } from "./go";
import type { Game } from "./types";

const KEY = "rlgo-level";
export const FINDS_YOURS = "auto";

interface Search {
  low: number; // the levels that may still be yours
  high: number;
  games: number;
}

interface Stored extends Search {
  isOn: boolean; // the game that is played counts
}

const stored = localStorage.getItem(KEY);
export const search = signal<Stored>(stored ? (JSON.parse(stored) as Stored) : { low: 1, high: 10, games: 0, isOn: false });

function keep(next: Stored): void {
  search.value = next;
  localStorage.setItem(KEY, JSON.stringify(next));
}

export const levelOf = ({ low, high }: Search): number => Math.ceil((low + high) / 2);

/** Whether the next game, or the one that begins, is for finding the level. */
export const count = (isOn: boolean): void => keep({ ...search.value, isOn });

/** After a game at `levelOf`: the levels that remain. Once one is left, a win is a level up, and a loss a level down. */
export function after({ low, high, games }: Search, isWon: boolean): Search {
  const level = levelOf({ low, high, games });
  if (low === high) {
    const next = Math.min(10, Math.max(1, level + (isWon ? 1 : -1)));
    return { low: next, high: next, games: games + 1 };
  }
  const below = Math.max(low, level - 1);
  if (games >= 2) return isWon ? { low: level, high: level, games: games + 1 } : { low: below, high: below, games: games + 1 };
  return isWon ? { low: level, high, games: games + 1 } : { low, high: below, games: games + 1 };
}

/** Take the result of a game of a human against an engine, if it counts. */
export function takeResult({ seats, result }: Game): void {
  const human = seats.black === "human" ? "black" : "white";
  if (!search.value.isOn || !result || seats[human] !== "human" || seats[otherName(human)] === "human") return;
  if (result === "0") return;
  const next = after(search.value, result.startsWith(human === "black" ? "B" : "W"));
  keep({ ...next, isOn: true });
  const text = next.low === next.high ? `Your level is about ${next.low}.` : `Your level is from ${next.low} to ${next.high}.`;
  toast(`${text} The next game is at level ${levelOf(next)}.`);
  say(text);
}
