// What happens at the table: the game shown, what is drawn over it, and everything people can do with it.

import { computed, effect, signal } from "@preact/signals";
import { capital, fromVertex, toColor, toStones, type ColorName } from "./go";
import { valueOf } from "./heat";
import { kept } from "./kept";
import { takeResult } from "./level";
import { leave, say, showError, toast } from "./notices";
import { withSeconds } from "./players";
import { game, get, hello, isConnected, isRestoring, onSearch, request, tree } from "./server";
import type { Game, Games, Position, Role, Score, Search } from "./types";

export const stones = computed(() => toStones(game.value?.size ?? 9, game.value?.stones ?? { black: [], white: [] }));
export const lastPoint = computed(() => fromVertex(game.value?.last_move ?? null, game.value?.size ?? 9));
export const isHumanTurn = computed(() => game.value !== null && !game.value.is_over && game.value.seats[game.value.to_play] === "human");

/** The score of the position shown, once somebody has asked for it. */
export const score = signal<Score | null>(null);

/** Whether the server still decides what is alive. */
export const isDeciding = signal(false);

/** The result of a finished game: by the dead stones that people have agreed on, unless it ended otherwise. */
export const result = computed(() => (game.value?.resigned ? null : score.value?.result) ?? game.value?.result ?? null);

type Chances = readonly [at: number, chance: number][];

/** Black's chance by the number of moves played, as each engine saw it before it moved. */
export const chances = kept<Record<ColorName, Chances>>("chances", { black: [], white: [] });

export const position = computed<Position | null>(() => {
  const now = game.value;
  if (!now) return null;
  const { size, komi, setup, first, moves, at } = now;
  return { size, komi, setup, to_play: first, moves: moves.slice(0, at) };
});

let before: Game | null = null;

effect(() => {
  const now = game.value;
  if (now && before !== now) announce(now, before);
  before = now;
});

onSearch((search) => {
  const value = valueOf(search);
  if (search.role !== "game" || !search.final || value === null) return;
  const known = chances.peek();
  const others = known[search.to_play].filter(([at]) => at !== search.at);
  chances.value = { ...known, [search.to_play]: [...others, [search.at, value]] };
});

/** Say what has changed, and drop what no longer fits the position. */
function announce(now: Game, then: Game | null): void {
  forgetScore();
  if (!then) return;
  forgetChances(now, then);
  if (now.at > 0 && now.at === then.at + 1) {
    say(describeMove(now.moves[now.at - 1]!));
  } else if (now.at !== then.at) {
    say(`Move ${now.at} of ${now.moves.length}. ${capital(now.to_play)} to play.`);
  }
  if (now.is_over && !then.is_over) {
    if (!isRestoring && isPlayedOn(now, then)) takeResult(now); // else it has counted already, or nobody has played it
    say(`${now.at === then.at + 1 ? describeMove(now.moves[now.at - 1]!) : ""} The game is over: ${describeResult(now.result)}.`);
    if (now.result && !now.result.endsWith("+R")) void askScore();
  }
}

/** Keep the chances of positions that both games have. */
function forgetChances(now: Game, then: Game): void {
  const isSameStart = keyOf(now, 0) === keyOf(then, 0) && now.moves.length > 0;
  let common = 0;
  while (common < then.moves.length && String(now.moves[common]) === String(then.moves[common])) common++;
  const still = (known: Chances): Chances => known.filter(([at]) => isSameStart && at <= common);
  const { black, white } = chances.peek();
  chances.value = { black: still(black), white: still(white) };
}

/** Whether a game is another one with one move more at most. */
function isPlayedOn(now: Game, then: Game): boolean {
  const before = then.moves.length;
  return now.moves.length <= before + 1 && keyOf(now, before) === keyOf(then, before);
}

function describeMove([color, move]: [ColorName, string]): string {
  return move === "pass" ? `${capital(color)} passes.` : `${capital(color)} plays ${move}.`;
}

/** What the board itself does not show of the position: passes, and how the game ended. */
export function remark(): string | undefined {
  const now = game.value;
  if (!now) return undefined;
  if (now.is_over && now.at === now.moves.length) {
    const loser = now.resigned && capital(now.resigned);
    const how = loser ? (now.result?.endsWith("T") ? `${loser}’s time is up` : `${loser} resigns`) : "Both pass";
    return `${how}: ${describeResult(result.value)}`;
  }
  return now.last_move === "pass" ? `${capital(now.moves[now.at - 1]![0])} passes` : undefined;
}

/** "B+3.5" in words. */
export function describeResult(result: string | null): string {
  if (result === null) return "no result";
  if (result === "?") return "unfinished";
  if (result === "0") return "a draw";
  const winner = result.startsWith("B") ? "Black" : "White";
  const margin = result.slice(2);
  return margin === "R" ? `${winner} wins by resignation` : margin === "T" ? `${winner} wins on time` : `${winner} wins by ${margin}`;
}

const UNSAVED_KEY = "rlgo-unsaved";
const WRITES = ["comment", "marks", "name", "remove", "review"]; // what people would miss

/** Whether the record has something that no file has. */
let isUnsaved = sessionStorage.getItem(UNSAVED_KEY) !== null;

export function setUnsaved(on: boolean): void {
  isUnsaved = on;
  if (on) sessionStorage.setItem(UNSAVED_KEY, "yes");
  else sessionStorage.removeItem(UNSAVED_KEY);
}

export const mayLeave = (): boolean => !isUnsaved || confirm("Comments, marks or a review of this record have not been saved. Go on without them?");

/** The games of a file, while one of them is being chosen. */
export const choices = signal<{ fields: object; games: string[][] } | null>(null);

/** Ask the server, and show its error if there is one. Returns whether it went well. */
export async function ask(type: string, fields: object = {}): Promise<boolean> {
  const isAnother = type === "new" || type === "load";
  if (isAnother && !mayLeave()) return false;
  try {
    const answer = await request<Games | { type: "ok" }>(type, fields);
    choices.value = answer.type === "games" ? { fields, games: answer.games } : null;
    if (choices.value) return false;
    if (isAnother || WRITES.includes(type)) setUnsaved(!isAnother);
    leave(["error"]);
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

/** Whether an engine is to move, so that nobody else may: unless it pauses, or an earlier position is shown. */
export function isEngineTurn(): boolean {
  const now = game.value;
  return now !== null && !now.is_over && !isHumanTurn.value && !now.paused && now.at === now.moves.length;
}

export async function playMove(move: string): Promise<boolean> {
  return !isEngineTurn() && ask("play", { move });
}

export const undo = (): Promise<boolean> => ask("undo");
export const pass = (): Promise<boolean> => playMove("pass");
export async function resign(): Promise<boolean> {
  return isHumanTurn.value && confirm("Resign this game?") && ask("resign");
}

export const letEngineMove = (): Promise<boolean> => ask("genmove");
export const togglePause = (): Promise<boolean> => ask(game.value?.paused ? "resume" : "pause");

/** The position that the last search of each role is about: another branch may have as many moves. */
const searched = new Map<Role, { number: number; key: string }>();

function keyOf({ size, setup, first, moves }: Game, at: number): string {
  return JSON.stringify([size, setup, first, moves.slice(0, at)]);
}

onSearch(({ role, number, at }) => {
  if (game.value && searched.get(role)?.number !== number) searched.set(role, { number, key: keyOf(game.value, at) });
});

effect(() => {
  if (!isConnected.value) searched.clear(); // the next connection counts anew
});

/** The search, if it is about the position shown. */
export function ifCurrent(search: Search | null | undefined): Search | null {
  const now = game.value;
  const known = search && searched.get(search.role);
  return now && known?.number === search?.number && known?.key === keyOf(now, now.at) ? (search ?? null) : null;
}

/** Search the position shown, without playing. */
export function search(role: Role, player: string, seconds: number): void {
  void ask("search", { role, player: withSeconds(player, seconds), seconds });
}

let wanted: number | null = null; // on the way to another position: that position

/** Show another position. Returns whether there is one to go to; while one is on its way, only the last one asked for counts. */
export function goTo(at: number): boolean {
  const now = game.value;
  if (!now) return false;
  const within = Math.min(now.moves.length, Math.max(0, at));
  if (within === (wanted ?? now.at)) return false;
  const isOnTheWay = wanted !== null;
  wanted = within;
  if (!isOnTheWay) void go();
  return true;
}

async function go(): Promise<void> {
  let asked: number | null;
  do asked = wanted;
  while ((await ask("goto", { at: asked })) && asked !== wanted);
  wanted = null;
}

export const showNode = (index: number): Promise<boolean> => ask("show", { index });

/** The node before the line shown or after it: stones set up in between begin a line of their own. */
function beyond(moves: number): number {
  const known = tree.value;
  if (!known) return -1;
  return moves < 0 ? known.parents[known.line[0]!]! : known.parents.indexOf(known.line.at(-1)!);
}

export function canStep(moves: number): boolean {
  const now = game.value;
  return now !== null && ((moves < 0 ? now.at > 0 : now.at < now.moves.length) || beyond(moves) >= 0);
}

/** Returns whether there is such a position. */
export function step(moves: number): boolean {
  const now = game.value;
  const at = wanted ?? now?.at ?? 0;
  if (at !== (moves < 0 ? 0 : now?.moves.length) || !canStep(moves)) return goTo(at + moves);
  void showNode(beyond(moves));
  return true;
}

let asks = 0;

/** Score the position; a search decides which chains are dead, unless a stone of each is given. */
export async function askScore(dead?: string[]): Promise<void> {
  isDeciding.value = true;
  const asked = ++asks;
  try {
    const answer = await request<Score>("score", { dead });
    if (asked !== asks) return;
    score.value = answer;
    say(`Score: ${describeResult(answer.result)}.`);
  } catch (error) {
    if (asked === asks) showError(error);
  } finally {
    if (asked === asks) isDeciding.value = false;
  }
}

/** Hide the score, and the answer that is still to come. */
export function forgetScore(): void {
  asks++;
  score.value = null;
  isDeciding.value = false;
}

/** Let the chain of a stone count as dead, or as alive if it did not. */
export function toggleDead(vertex: string): void {
  const others = score.value!.dead.filter((chain) => !chain.includes(vertex));
  const stones = others.map((chain) => chain[0]!);
  void askScore(others.length < score.value!.dead.length ? stones : [...stones, vertex]);
}

/** The names of the records in the server's folders. */
export const records = signal<string[]>([]);

export async function loadRecords(): Promise<void> {
  try {
    records.value = (await get<{ files: string[] }>("/api/sgf")).files;
  } catch (error) {
    showError(error);
  }
}

/** Download the game's record; a server with a folder for records keeps it there, too. */
export async function saveSgf(): Promise<void> {
  const name = `game-${new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-")}.sgf`;
  const lost = game.value?.lost;
  if (lost && !confirm(`Only the moves were read, since the file has ${lost}: what is saved has nothing else. Save it?`)) return;
  const isKept = hello.value?.has_sgf ?? false;
  try {
    const { sgf } = await request<{ type: string; sgf: string }>("save", isKept ? { file: name } : {});
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([sgf], { type: "application/x-go-sgf" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
    setUnsaved(false);
    toast(`Saved ${name}${isKept ? ", also in the server's folder" : ""}.`);
    if (isKept) await loadRecords();
  } catch (error) {
    showError(error);
  }
}

export async function openSgf(file: File): Promise<void> {
  const most = hello.value?.limits.message_bytes ?? Infinity;
  if (file.size > most) {
    showError(`${file.name}: expected at most ${most.toLocaleString("en")} bytes`);
    return;
  }
  if (await ask("load", { sgf: decoded(await file.arrayBuffer()) })) toast(`Opened ${file.name}.`);
}

/** The text of a record, in the encoding that it states, else UTF-8, else Latin-1. */
function decoded(bytes: ArrayBuffer): string {
  const latin = new TextDecoder("latin1").decode(bytes);
  for (const encoding of [/\bCA\s*\[\s*([^\]\s]+)\s*\]/.exec(latin)?.[1], "utf-8"]) {
    try {
      if (encoding) return new TextDecoder(encoding, { fatal: true }).decode(bytes);
    } catch {
      // not that encoding, or one that browsers do not know
    }
  }
  return latin;
}

/** Whose stone follows the pointer. */
export const turn = computed(() => (game.value && !game.value.is_over ? toColor(game.value.to_play) : 0));

export function boardLabel(): string {
  const now = game.value;
  const size = now?.size ?? hello.value?.size ?? 9;
  return `Go board, ${size} by ${size}. ${now ? `${capital(now.to_play)} to play.` : ""}`;
}
