// A level that finds yours: three games halve the ten levels down to one, and later ones follow it.

import { kept } from "./kept";
import { say, toast } from "./notices";
import { otherName } from "./go";
import type { Game } from "./types";

export const FINDS_YOURS = "auto";

interface Search {
  low: number; // the levels that may still be yours
  high: number;
  games: number;
}

export const search = kept<Search>("level", { low: 1, high: 10, games: 0 }, localStorage);

/** Whether this tab's game is for finding the level. */
export const counts = kept("level-counts", false);

export const levelOf = ({ low, high }: Search): number => Math.ceil((low + high) / 2);

/** A player at the level that is looked for, if it has no settings of its own: the opponent of the first game. */
export function atLevel(player: string): string {
  counts.value = player === "rlgo";
  return counts.value ? `rlgo,strength=${levelOf(search.value)}` : player;
}

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

/** Take the result of an even game of a human against an engine, if it counts. */
export function takeResult({ seats, result, setup, is_helped }: Game): void {
  const human = seats.black === "human" ? "black" : "white";
  if (!counts.value || is_helped || setup.black.length || !result || seats[human] !== "human" || seats[otherName(human)] === "human") return;
  if (result === "0") return;
  const next = after(search.value, result.startsWith(human === "black" ? "B" : "W"));
  search.value = next;
  const text = next.low === next.high ? `Your level is about ${next.low}.` : `Your level is from ${next.low} to ${next.high}.`;
  toast(`${text} The next game is at level ${levelOf(next)}.`);
  say(text);
}
